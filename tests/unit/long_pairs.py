"""Pairs of strings for the tests of long distances: all similarities, long runs, repeats, any alphabet."""

import gzip
from pathlib import Path

import numpy as np
from hypothesis import strategies as st


@st.composite
def string_pairs(draw, longest: int = 3000):
    """Two uint8 arrays of 0 to `longest` symbols: unrelated, mutated at any rate, repeats with shifts, runs, or one the other's part."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    letters = draw(st.sampled_from([1, 2, 4, 4, 4, 5]))
    length = draw(st.integers(0, longest))
    kind = draw(st.sampled_from(["unrelated", "mutated", "mutated", "repeats", "runs", "part"]))
    if kind == "repeats":
        a = np.tile(rng.integers(0, letters, draw(st.integers(1, 50))), length)[:length]
    elif kind == "runs":
        a = np.repeat(rng.integers(0, letters, length // 40 + 1), rng.integers(1, 80, length // 40 + 1))[:length]
    else:
        a = rng.integers(0, letters, length)
    if kind == "unrelated":
        b = rng.integers(0, letters, draw(st.integers(0, longest)))
    elif kind == "part":
        start = draw(st.integers(0, length))
        b = a[start : draw(st.integers(start, length))]
    else:
        b = mutate(rng, a, draw(st.sampled_from([0.0, 0.002, 0.02, 0.1, 0.3])), letters)
    return a.astype(np.uint8), b.astype(np.uint8)


def mutate(rng: np.random.Generator, text: np.ndarray, rate: float, letters: int) -> np.ndarray:
    """Substitutions, insertions and deletions, a third of `rate` each."""
    text = text.copy()
    count = int(len(text) * rate / 3) + (rate > 0)
    if len(text) == 0:
        return text
    text[rng.integers(0, len(text), count)] = rng.integers(0, letters, count)
    text = np.insert(text, rng.integers(0, len(text), count), rng.integers(0, letters, count))
    return np.delete(text, rng.integers(0, len(text), count))


def read_gzipped(path: Path) -> np.ndarray:
    """Symbols of a gzipped FASTA file of one record."""
    with gzip.open(path) as handle:
        return np.frombuffer(b"".join(handle.read().split(b"\n")[1:]), np.uint8)


def expected_distances(folder: Path, longest: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Pairs of expected.tsv of at most `longest` symbols, and their distances by another program."""
    rows = [line.split("\t") for line in (folder / "expected.tsv").read_text().splitlines()[1:]]
    rows = [row for row in rows if max(int(row[2]), int(row[3])) <= longest]
    return [(read_gzipped(folder / f"{row[0]}.fa.gz"), read_gzipped(folder / f"{row[1]}.fa.gz"), int(row[4])) for row in rows]
