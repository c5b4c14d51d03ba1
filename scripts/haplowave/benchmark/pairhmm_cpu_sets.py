"""Sets of pairs for the benchmark of CPU kernels: synthetic, text files, tables; always whole testcases of reads x haplotypes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.sequences import Reads, Sequences

SIZES = ((152, 304), (151, 400), (32, 32), (128, 128), (512, 512), (2048, 2048))
_BASES = np.frombuffer(b"ACGT", np.uint8)
_CELLS = 4e8
_READS, _HAPLOTYPES = 128, 8


@dataclass
class Pairs:
    """Testcases that follow one another: the first takes the first `testcases[0]` reads and haplotypes, and so on."""

    name: str
    reads: Reads
    haplotypes: Sequences
    pairs: np.ndarray
    testcases: list[tuple[int, int]]

    @property
    def cells(self) -> int:
        return int(self.reads.bases.lengths[self.pairs[:, 0]] @ self.haplotypes.lengths[self.pairs[:, 1]])


def synthetic(rows: int, columns: int) -> Pairs:
    """Testcases of up to 128 reads and 8 haplotypes that differ by 2 %; reads are pieces with 1 % errors, base qualities 10 to 40."""
    rng = np.random.default_rng(rows * columns)
    wanted = max(16, int(_CELLS / (rows * columns * _HAPLOTYPES)))
    reads, haplotypes, cases = [], [], []
    while wanted > 0:
        size = min(_READS, max(16, wanted))
        founder = _BASES[rng.integers(0, 4, columns)]
        own = [_with_errors(rng, founder) for _ in range(_HAPLOTYPES)]
        for _ in range(size):
            begin = rng.integers(columns - rows + 1)
            reads.append(_with_errors(rng, own[rng.integers(_HAPLOTYPES)][begin : begin + rows]).tobytes())
        haplotypes += [haplotype.tobytes() for haplotype in own]
        cases.append((size, _HAPLOTYPES))
        wanted -= size
    bases = Sequences.from_list(reads)
    flat = (rng.integers(10, 41, len(bases.data)).astype(np.uint8), *(np.full(len(bases.data), q, np.uint8) for q in (45, 45, 10)))
    return Pairs(f"{rows} x {columns}", Reads(bases, *flat), Sequences.from_list(haplotypes), _all_pairs(cases), cases)


def _with_errors(rng: np.random.Generator, sequence: np.ndarray) -> np.ndarray:
    result = sequence.copy()
    wrong = rng.random(len(result)) < 0.0133  # a quarter of the bases put in are the same as before
    result[wrong] = _BASES[rng.integers(0, 4, wrong.sum())]
    return result


def testcases(path: str) -> Pairs:
    """A text file of testcases."""
    from haplowave.pairhmm.text import read_text

    with open(path, "rb") as stream:
        batch = next(read_text(stream, path, batch_pairs=1 << 62, batch_bases=1 << 62))
    return Pairs(Path(path).name, batch.reads, batch.haplotypes, batch.pairs, batch.testcases)


def tables(haplotypes: str, reads: str) -> Pairs:
    """All pairs of the regions of two tables."""
    from haplowave.calling.columns import column_sequences
    from haplowave.tables import read_table

    rows, columns = read_table(reads, "reads"), read_table(haplotypes, "haplotypes")
    quals = (column_sequences(rows.column(f"{name}_quals")).data for name in ("base", "insertion", "deletion", "gap"))
    regions, read_counts = np.unique(rows.column("region_id").to_numpy(), return_counts=True)
    of_haplotype = columns.column("region_id").to_numpy()
    kept = np.isin(of_haplotype, regions)
    sequences = column_sequences(columns.filter(kept).column("sequence"))
    _, haplotype_counts = np.unique(of_haplotype[kept], return_counts=True)
    cases = list(zip(read_counts.tolist(), haplotype_counts.tolist(), strict=True))
    return Pairs(Path(reads).name, Reads(column_sequences(rows.column("bases")), *quals), sequences, _all_pairs(cases), cases)


def _all_pairs(cases: list[tuple[int, int]]) -> np.ndarray:
    parts, corner = [], np.zeros(2, np.int64)
    for case in cases:
        parts.append(np.indices(case).reshape(2, -1).T + corner)
        corner = corner + case
    return np.concatenate(parts)


def write_testcases(path: Path, pairs: Pairs, times: int) -> None:
    """The set as text, `times` times over."""
    reads, at, lines = pairs.reads, np.zeros(2, np.int64), []
    for count, haplotypes in pairs.testcases:
        lines.append(f"{count} {haplotypes}".encode())
        for read in range(at[0], at[0] + count):
            span = slice(reads.bases.offsets[read], reads.bases.offsets[read + 1])
            quals = reads.qualities
            lines.append(b" ".join([reads.bases[read].tobytes(), *((values[span] + np.uint8(33)).tobytes() for values in quals)]))
        lines += [pairs.haplotypes[haplotype].tobytes() for haplotype in range(at[1], at[1] + haplotypes)]
        at += (count, haplotypes)
    path.write_bytes((b"\n".join(lines) + b"\n") * times)
