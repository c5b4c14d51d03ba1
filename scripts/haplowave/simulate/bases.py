"""Small operations on arrays of upper-case bases (uint8, ASCII)."""

import numpy as np

ACGT = np.frombuffer(b"ACGT", np.uint8)
_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[np.frombuffer(b"ACGTRYMK", np.uint8)] = np.frombuffer(b"TGCAYRKM", np.uint8)


def encode(text: str) -> np.ndarray:
    """A writable uint8 array of `text`."""
    return np.frombuffer(text.encode(), np.uint8).copy()


def decode(bases: np.ndarray) -> str:
    return bases.tobytes().decode()


def reverse_complement(bases: np.ndarray) -> np.ndarray:
    """Reverse complement along the last axis."""
    return _COMPLEMENT[bases[..., ::-1]]


def random_bases(rng: np.random.Generator, length: int, gc: float = 0.42) -> np.ndarray:
    """`length` independent bases with G + C = `gc`."""
    return rng.choice(ACGT, length, p=[(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2])


def other_bases(rng: np.random.Generator, bases: np.ndarray) -> np.ndarray:
    """For each base one of the three others, equally likely."""
    codes = np.searchsorted(ACGT, bases)
    return ACGT[(codes + rng.integers(1, 4, bases.shape)) % 4]


def run_lengths(bases: np.ndarray) -> np.ndarray:
    """For each base the length of the homopolymer that holds it; int64, shape of `bases` (one dimension)."""
    if not len(bases):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], bases[1:] != bases[:-1]]))
    lengths = np.diff(np.append(starts, len(bases)))
    return np.repeat(lengths, lengths)


def error_probability(quals: np.ndarray) -> np.ndarray:
    """10^(-Q/10) of Phred qualities of any integer type; float64."""
    return 10 ** (quals.astype(np.float64) / -10)
