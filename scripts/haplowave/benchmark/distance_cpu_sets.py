"""Strings that the suite `distance_cpu` compares."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.errors import UserError
from haplowave.sequences import Sequences

_LETTERS = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True)
class LongPair:
    """`distance`: the published one where `published`, otherwise about what to expect."""

    name: str
    a: np.ndarray
    b: np.ndarray
    distance: int
    published: bool


def mutated(rng: np.random.Generator, text: np.ndarray, rate: float) -> np.ndarray:
    """Substitutions, insertions and deletions in equal shares at independent places; `text` holds letters ACGT."""
    kind = rng.choice(4, len(text), p=[1 - rate, rate / 3, rate / 3, rate / 3])
    out = np.where(kind == 1, rng.choice(_LETTERS, len(text)), text).astype(np.uint8)
    copies = np.choose(kind, [1, 1, 0, 2])
    result = np.repeat(out, copies)
    first = np.cumsum(copies) - copies
    result[first[kind == 3]] = rng.choice(_LETTERS, int((kind == 3).sum()))
    return result


def simulated_pairs(length: int, rates: tuple[float, ...] = (0.01, 0.1, 0.3), seed: int = 1) -> list[LongPair]:
    """Random strings beside mutants of them."""
    pairs = []
    for rate in rates:
        rng = np.random.default_rng([seed, int(rate * 1000)])
        a = rng.choice(_LETTERS, length)
        pairs.append(LongPair(f"simulated {rate:.0%}", a, mutated(rng, a, rate), int(rate * length), False))
    return pairs


def real_pairs(folder: Path, longest: int) -> list[LongPair]:
    """The pairs of `folder`/expected.tsv (columns a, b, len_a, len_b, edit_distance) whose FASTA files NAME.fa.gz lie beside it."""
    table = folder / "expected.tsv"
    if not table.exists():
        raise UserError(f"{table}: no such file; give --data a folder with it, or leave --data out")
    pairs = []
    for line in table.read_text().splitlines()[1:]:
        first, second, *_, distance, _ = line.split("\t")
        a, b = (_sequence(folder / f"{name}.fa.gz") for name in (first, second))
        if max(len(a), len(b)) <= longest:
            pairs.append(LongPair(second, a, b, int(distance), True))
    return pairs


def _sequence(path: Path) -> np.ndarray:
    text = gzip.decompress(path.read_bytes()).split(b"\n", 1)[1]
    return np.frombuffer(text.replace(b"\n", b""), np.uint8)


def short_pairs(count: int, read_length: int, haplotype_length: int) -> tuple[Sequences, Sequences, np.ndarray]:
    """Reads with 1 % of errors from regions of ten haplotypes and hundred reads, all against all within a region."""
    rng = np.random.default_rng(5)
    regions = count // 1000
    haplotypes, reads = [], []
    for _ in range(regions):
        reference = rng.choice(_LETTERS, haplotype_length)
        family = [mutated(rng, reference, 0.005) for _ in range(10)]
        haplotypes += [bytes(text) for text in family]
        for read in range(100):
            begin = int(rng.integers(0, haplotype_length - read_length - 20))
            source = family[read % 10][begin : begin + read_length].copy()
            wrong = rng.random(read_length) < 0.01
            source[wrong] = rng.choice(_LETTERS, int(wrong.sum()))
            reads.append(bytes(source))
    read = np.arange(regions * 100)
    pairs = np.stack([np.repeat(read, 10), np.repeat(read // 100 * 10, 10) + np.tile(np.arange(10), len(read))], axis=1)
    return Sequences.from_list(reads), Sequences.from_list(haplotypes), pairs
