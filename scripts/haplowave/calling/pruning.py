"""Pairs whose likelihood lies under the mismapping cap, proven from their edit distance.

The genotyper raises every haplotype of a read to the read's best less a cap (GATK: 4.5 decades), so the exact value below that has no
effect. A pair may be left out if an upper bound of its likelihood is below (best of the computed ones) - cap.

The bound. Give every edit of an alignment (mismatch, inserted base, deleted base) the weight theta >= 1. A pair at edit distance d has no
alignment with fewer than d edits, so L = sum of P(path) <= theta^-d * sum of P(path) * theta^edits(path) = theta^-d * Z. Z is bounded
for every haplotype at once: let M, I, D be the weighted sums over all columns of a row. Then M_i <= P_i*(M + I + D), I_i = theta*(mi_i*M +
ii_i*I), D_i <= theta*md_i/(1 - theta*ii_i) * M_i, with P_i = max(1 - e_i, theta*e_i/3, 2/3). Where theta*ii <= 1/2, the sum
M + D + 4*I grows by at most f_i = (1 + 2*theta*md_i)*P_i + 4*theta*mi_i a row, and it begins with sum D[0,j] = 1. So
log10 L <= sum of log10 f_i - d*log10(theta), with theta = 5 where no gap continues with more than 10^-1 (gap quality 10 or more).

Edit distance takes N for a letter of its own and PairHMM for a match to all, so pairs with an N are never left out.
"""

from dataclasses import dataclass

import numpy as np

from haplowave.pairhmm import Regions
from haplowave.pairhmm.model import QUALITY_MASK, tables, take
from haplowave.sequences import Reads, Sequences, members

THETA = 5.0
_LEAST_GAP_QUALITY = 10
_ROUNDING = 0.01  # decades left for the error of FP32 likelihoods
_MOST = 0.6
_N = ord("N")
_UNKNOWN = np.iinfo(np.int32).max  # distance


@dataclass(frozen=True)
class _Bounds:
    prior: np.ndarray
    insertion: np.ndarray
    deletion: np.ndarray


def _tables() -> _Bounds:
    table = tables("gatk")
    prior = np.maximum(np.maximum(table.match, THETA * table.mismatch), 2.0 / 3.0)
    # f <= P * (1 + 2*theta*md) * (1 + 4*theta*mi / P), and P >= 2/3
    return _Bounds(np.log10(prior), np.log10(1 + 6 * THETA * table.gap), np.log10(1 + 2 * THETA * table.gap))


def upper_bounds(reads: Reads, which: np.ndarray) -> np.ndarray:
    """log10 Z of the reads `which`, float64: log10 L(read | haplotype) <= log10 Z - edit distance * log10(THETA). inf where it fails."""
    if not len(which):
        return np.zeros(0)
    chosen = take(reads, which)
    first = chosen.bases.offsets[:-1]
    bounds = _tables()
    result = np.zeros(len(which))
    for table, quals in (
        (bounds.prior, chosen.base_quals),
        (bounds.insertion, chosen.insertion_quals),
        (bounds.deletion, chosen.deletion_quals),
    ):
        result += np.add.reduceat(table[quals & QUALITY_MASK], first)
    without = np.maximum.reduceat(chosen.bases.data == _N, first) | (
        np.minimum.reduceat(chosen.gap_quals & QUALITY_MASK, first) < _LEAST_GAP_QUALITY
    )
    return np.where(without, np.inf, result)


def first_of_reads(pairs: Regions | np.ndarray) -> np.ndarray:
    """int64: index of the first pair of each read, whose pairs stand together."""
    if isinstance(pairs, Regions):
        each = pairs.spans[pairs.rows[0], 3]
        return np.cumsum(each) - each
    return np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))


def candidates(haplotypes: Sequences, pairs: Regions | np.ndarray, distances: np.ndarray, first: np.ndarray, margin: int) -> np.ndarray:
    """Indices of the pairs at least `margin` edits worse than the best of their read; none with an N. first: from `first_of_reads`."""
    known = distances if distances.min(initial=0) >= 0 else np.where(distances >= 0, distances, _UNKNOWN)
    best = np.minimum.reduceat(known, first)
    limit = np.minimum(best.astype(np.int64) + margin, _UNKNOWN).astype(np.int32)
    worse = np.flatnonzero(distances >= np.repeat(limit, np.diff(np.append(first, len(distances)))))
    haplotype = pairs_at(pairs, worse)[:, 1]
    with_n = np.zeros(len(haplotypes), bool)
    used = np.unique(haplotype)
    with_n[used] = [bool((haplotypes[index] == _N).any()) for index in used.tolist()]
    return worse[~with_n[haplotype]]


def worth_waiting(pairs: Regions | np.ndarray, worse: np.ndarray, haplotypes: int) -> np.ndarray:
    """Those of the pairs `worse` whose haplotypes are worse for most of their reads.

    The engines compute reads of a region side by side, so a haplotype that many of them need costs nothing more for the others.
    """
    haplotype = pairs_at(pairs, worse)[:, 1]
    if isinstance(pairs, Regions):
        region, column = pairs.columns
        reads = np.bincount(column, weights=pairs.spans[region, 1], minlength=haplotypes)
    else:
        reads = np.bincount(pairs[:, 1], minlength=haplotypes)
    return worse[(np.bincount(haplotype, minlength=haplotypes) >= _MOST * reads)[haplotype]]


def best_of_reads(log10: np.ndarray, first: np.ndarray, which: np.ndarray) -> np.ndarray:
    """float64: for each of the pairs `which` the highest of `log10` among the pairs of its read. first: from `first_of_reads`."""
    if not len(which):
        return np.zeros(0)
    read, place = np.unique(np.searchsorted(first, which, side="right") - 1, return_inverse=True)
    begin = first[read]
    count = np.append(first, len(log10))[read + 1] - begin
    own = members(begin, count)
    return np.maximum.reduceat(log10[own], np.cumsum(count) - count)[place]


def proven(reads: Reads, pairs: Regions | np.ndarray, distances: np.ndarray, worse: np.ndarray, best: np.ndarray, cap: float) -> np.ndarray:
    """Those of the pairs `worse` whose likelihood is below `best` (log10, of the pair's read, parallel to `worse`) - `cap`."""
    read, place = np.unique(pairs_at(pairs, worse)[:, 0], return_inverse=True)
    bound = upper_bounds(reads, read)[place] - distances[worse] * np.log10(THETA)
    return worse[bound < best - cap - _ROUNDING]


def pairs_at(pairs: Regions | np.ndarray, which: np.ndarray) -> np.ndarray:
    """int64, (k, 2): the pairs with the indices `which`."""
    return pairs.pairs(which) if isinstance(pairs, Regions) else pairs[which]
