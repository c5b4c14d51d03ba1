"""Pairs of strings with given lengths and about a given distance, for the pairs of the literature that are not at hand."""

import numpy as np

RANDOM_DISTANCE = 0.516  # distance over length of two long random strings of four letters


def simulate_pair(m: int, n: int, distance: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two uint8 strings (ACGT) of lengths m and n whose distance is near `distance`; the same for the same arguments.

    b is a copy of a with edits at random places: 80 % substitutions, 20 % short insertions and deletions, and longer ones that make
    up the difference in length. Where more edits are wanted than that model gives (12 % of the length), blocks of b are replaced
    by unrelated sequence, as chromosomes of distant species share only some regions.
    """
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, m, np.uint8)
    gap = n - m
    wanted = max(0, distance - abs(gap))
    unrelated = min(1.0, max(0.0, (wanted / min(m, n) - 0.12) / (RANDOM_DISTANCE - 0.12)))
    edits = int(wanted - unrelated * RANDOM_DISTANCE * min(m, n))
    inserted, deleted = max(gap, 0) + max(edits, 0) // 10, max(-gap, 0) + max(edits, 0) // 10
    b = _delete(rng, a, deleted, long_share=max(-gap, 0) / max(deleted, 1))
    b = _insert(rng, b, n - len(b), long_share=max(gap, 0) / max(inserted, 1))
    changed = (
        rng.choice(len(b), min(len(b), max(edits, 0) * 8 // 10), replace=False)
        if len(b) < 1 << 24
        else rng.integers(0, len(b), max(edits, 0) * 8 // 10)
    )
    b[changed] = (b[changed] + rng.integers(1, 4, len(changed), np.uint8)) & 3
    for start in np.linspace(0, n, 21).astype(np.int64)[:-1]:
        length = int(unrelated * n / 20)
        b[start : start + length] = rng.integers(0, 4, len(b[start : start + length]), np.uint8)
    letters = np.frombuffer(b"ACGT", np.uint8)
    return letters[a], letters[b]


def _lengths(rng: np.random.Generator, total: int, long_share: float) -> np.ndarray:
    """Lengths of gaps that sum to `total`: short ones (mean 2) and, for `long_share` of the total, long ones (mean 200)."""
    long_total = int(total * long_share)
    parts = [rng.geometric(1 / mean, part // mean + 1) for part, mean in ((total - long_total, 2), (long_total, 200)) if part > 0]
    lengths = np.concatenate(parts) if parts else np.empty(0, np.int64)
    lengths = lengths[np.cumsum(lengths) <= total]
    missing = total - int(lengths.sum())
    return np.append(lengths, missing) if missing else lengths


def _delete(rng: np.random.Generator, text: np.ndarray, total: int, long_share: float) -> np.ndarray:
    keep = np.ones(len(text), bool)
    lengths = _lengths(rng, total, long_share)
    steps = np.zeros(len(text) + 1, np.int64)
    starts = rng.integers(0, max(1, len(text) - int(lengths.max(initial=0))), len(lengths))
    np.add.at(steps, starts, 1)
    np.add.at(steps, starts + lengths, -1)
    keep = np.cumsum(steps[:-1]) == 0
    return text[keep]


def _insert(rng: np.random.Generator, text: np.ndarray, total: int, long_share: float) -> np.ndarray:
    if total < 0:
        return text[:total].copy()
    lengths = _lengths(rng, total, long_share)
    copies = np.ones(len(text), np.int64)
    np.add.at(copies, rng.integers(0, len(text), len(lengths)), lengths)
    result = rng.integers(0, 4, len(text) + total, np.uint8)
    result[np.cumsum(copies) - 1] = text
    return result
