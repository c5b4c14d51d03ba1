"""What a record says of the reads behind it: depth, strand bias, mapping quality, position in the read."""

import functools
import math

import numpy as np


@functools.lru_cache(maxsize=1)
def _log_factorials() -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 1025)))])


def informative_alleles(log10: np.ndarray, margin: float) -> np.ndarray:
    """Best allele of each row, -1 where it does not beat the next by `margin` (log10).

    `log10`: (reads, alleles), an allele's value being that of its best haplotype. Shape (reads,).
    """
    if log10.shape[1] < 2 or not len(log10):
        return np.full(len(log10), -1)
    best = log10.argmax(axis=1)
    two = np.partition(log10, -2, axis=1)[:, -2:]
    return np.where(two[:, 1] - two[:, 0] >= margin, best, -1)


def strand_table(alleles: np.ndarray, reverse: np.ndarray) -> tuple[int, int, int, int]:
    """Informative reads: (reference forward, reference reverse, alternative forward, alternative reverse)."""
    reference, other = alleles == 0, alleles > 0
    return (
        int((reference & ~reverse).sum()),
        int((reference & reverse).sum()),
        int((other & ~reverse).sum()),
        int((other & reverse).sum()),
    )


def fisher_strand(table: tuple[int, int, int, int]) -> float:
    """FS: Phred p-value of Fisher's exact test, two-sided, of the 2 x 2 strand table.

    Tables of more than 200 reads are scaled to 200, as GATK does: the p-value of a tiny bias would vanish with depth alone.
    """
    total = sum(table)
    if total > 200:
        table = tuple(int(count * 200 / total) for count in table)  # type: ignore[assignment]
    a, b, c, d = table
    row, other_row, column = a + b, c + d, a + c
    low, high = max(0, column - other_row), min(row, column)
    if low >= high:
        return 0.0
    logs = _log_factorials()
    x = np.arange(low, high + 1)
    log_p = -(logs[x] + logs[row - x] + logs[column - x] + logs[other_row - column + x])
    log_p -= log_p.max()
    weights = np.exp(log_p)
    # The tolerance keeps tables that are equally likely in theory on the same side of the comparison.
    p = weights[log_p <= log_p[a - low] + 1e-9].sum() / weights.sum()
    return max(0.0, -10 * math.log10(min(1.0, max(float(p), 1e-320)))) + 0.0


def strand_odds_ratio(table: tuple[int, int, int, int]) -> float:
    """SOR: symmetric odds ratio of the strand table, as GATK defines it (pseudo-count 1)."""
    a, b, c, d = (count + 1.0 for count in table)
    ratio = a * d / (b * c)
    reference, other = min(a, b) / max(a, b), min(c, d) / max(c, d)
    return math.log(ratio + 1 / ratio) + math.log(reference) - math.log(other)


def rank_sum(alternative: np.ndarray, reference: np.ndarray) -> float | None:
    """z of the Mann-Whitney test, normal approximation with ties; negative where alternative values are lower. None without both."""
    n, m = len(alternative), len(reference)
    if not n or not m:
        return None
    values, inverse, counts = np.unique(np.concatenate([alternative, reference]), return_inverse=True, return_counts=True)
    if len(values) == 1:
        return 0.0
    ranks = np.cumsum(counts) - (counts - 1) / 2
    u = ranks[inverse[:n]].sum() - n * (n + 1) / 2
    total = n + m
    ties = (counts.astype(float) ** 3 - counts).sum() / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - ties))
    shift = u - n * m / 2
    # Continuity correction towards zero.
    shift = math.copysign(max(0.0, abs(shift) - 0.5), shift)
    return float(shift / deviation) + 0.0


def root_mean_square(values: np.ndarray) -> float:
    """MQ; 0 without values."""
    return math.sqrt(float((values.astype(float) ** 2).mean())) if len(values) else 0.0
