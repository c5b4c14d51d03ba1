"""How pairs become jobs of the skewed kernel: a shape for every haplotype length, strips, groups of equal sub-warps, all in NumPy."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from haplowave.pairhmm.tuning import Rates, Settings

_LONG = 128  # added to the columns a lane of long pairs


@dataclass(frozen=True)
class Bucket:
    """Pairs that one launch of one kernel variant computes."""

    long: bool
    columns: int
    """Columns a lane (N)."""
    which: np.ndarray | slice
    """int64: indices of the pairs; a slice where it is all of them."""


@dataclass(frozen=True)
class Jobs:
    """The launch of a bucket. A job is one strip of a pair; short pairs have one strip, and job i is pair `order[i]` of the bucket."""

    order: np.ndarray | slice
    jobs: np.ndarray
    """int32 (n, 2): read, haplotype; long: (n, 4): and strip, job of the strip to the left or -1."""
    groups: np.ndarray
    """int32 (m, 4): lanes of a sub-warp, first job, last job + 1, first partial sum."""
    partials: int
    results: np.ndarray | None = None
    """Long: int32, job of the last strip of pair `order[i]`."""
    border_offsets: np.ndarray | None = None
    """Long: uint32 a job, first block of its pair's border."""
    border_blocks: int = 0


@lru_cache
def _best_columns(rates: tuple[tuple[int, float], ...], warp: int) -> np.ndarray:
    """uint8: columns a lane for a haplotype of each length that fits a warp."""
    longest = warp * max(columns for columns, _ in rates)
    length = np.arange(longest + 1)
    best, chosen = np.full(longest + 1, -1.0), np.zeros(longest + 1, np.uint8)
    for columns, rate in rates:
        lanes = np.maximum(1, -(-length // columns))
        speed = np.where(lanes <= warp, rate * (warp // np.minimum(lanes, warp)) * length / (warp * columns), -1.0)
        chosen = np.where(speed > best, np.uint8(columns), chosen)
        best = np.maximum(best, speed)
    return chosen


def _long_columns(rates: Rates, warp: int, length: np.ndarray) -> np.ndarray:
    chosen, best = np.zeros(len(length), np.uint8), np.full(len(length), -1.0)
    for columns, rate in rates.items():
        lanes = -(-length // columns)
        used = np.where(lanes > warp, -(-lanes // warp) * warp * columns, warp * columns / (warp // np.minimum(lanes, warp)))
        speed = rate * length / used
        chosen = np.where(speed > best, np.uint8(columns), chosen)
        best = np.maximum(best, speed)
    return chosen


def buckets(rows: np.ndarray, columns: np.ndarray, pairs: np.ndarray, settings: Settings, precision: str) -> list[Bucket]:
    """Split `pairs` (int32, (n, 2)) of reads of `rows` and haplotypes of `columns` bases. The choice depends on a pair's shape only."""
    rates, long_rates = settings.rates[precision], settings.long_rates[precision]
    best = _best_columns(tuple(rates.items()), settings.warp)
    too_wide = columns >= len(best)
    of_haplotype = best[np.where(too_wide, 0, columns)]
    long_of_haplotype = _long_columns(long_rates, settings.warp, columns) + np.uint8(_LONG)
    of_haplotype = np.where(too_wide, long_of_haplotype, of_haplotype)
    long_reads = rows > settings.long_rows
    if not long_reads.any() and (of_haplotype == of_haplotype[0]).all():
        return [Bucket(bool(too_wide[0]), int(of_haplotype[0] % _LONG), slice(None))]
    key = of_haplotype[pairs[:, 1]]
    if long_reads.any():
        key = np.where(long_reads[pairs[:, 0]], long_of_haplotype[pairs[:, 1]], key)
    present = np.flatnonzero(np.bincount(key, minlength=256))[::-1]
    return [Bucket(int(n) >= _LONG, int(n) % _LONG, np.flatnonzero(key == n)) for n in present]


def short_jobs(pairs: np.ndarray, columns: np.ndarray, columns_a_lane: int) -> Jobs:
    """Jobs of `pairs` (int32, (n, 2)) whose haplotypes, of `columns` bases, fit a warp; widest first."""
    lanes_of = -(-columns // columns_a_lane)
    if (lanes_of == lanes_of[0]).all():
        groups, partials = _groups(lanes_of[:1], np.array([0]), np.array([len(pairs)]))
        return Jobs(slice(None), np.ascontiguousarray(pairs), groups, partials)
    lanes = np.minimum(lanes_of, 255).astype(np.uint8)[pairs[:, 1]]
    order = np.argsort(255 - lanes, kind="stable")
    begin = np.flatnonzero(np.diff(lanes[order].astype(np.int16), prepend=-1))
    groups, partials = _groups(lanes[order[begin]].astype(np.int64), begin, np.append(begin[1:], len(order)))
    return Jobs(order, pairs[order], groups, partials)


def _groups(lanes: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, int]:
    """Groups of jobs begin..end with sub-warps of `lanes`, and how many partial sums they leave."""
    sums = np.cumsum((end - begin) * lanes)
    return np.stack([lanes, begin, end, np.append(0, sums[:-1])], axis=1).astype(np.int32), int(sums[-1])


def long_jobs(pairs: np.ndarray, rows: np.ndarray, columns: np.ndarray, columns_a_lane: int, warp: int, block: int) -> Jobs:
    """Jobs of `pairs` (int32, (n, 2)) of any length; the reads have `rows`, padded to a multiple of `block`.

    Strip 0 of all pairs comes first, then strip 1, and so on: in that order a job's left neighbour is as far ahead as it can be, and
    whoever draws a job knows that all before it are drawn.
    """
    lanes = -(-columns // columns_a_lane)[pairs[:, 1]]
    blocks = -(-rows // block)[pairs[:, 0]]
    strips = -(-lanes // warp)
    order = np.lexsort((-blocks, -np.minimum(lanes, warp), strips == 1))
    lanes, strips, blocks = lanes[order], strips[order], blocks[order]
    border_of = np.append(0, np.cumsum(np.where(strips > 1, blocks, 0)))
    parts, last, drawn = [], np.full(len(order), -1, np.int64), 0
    many = int((strips > 1).sum())
    for strip in range(int(strips[:many].max(initial=0))):
        pair = np.flatnonzero(strips[:many] > strip)
        parts.append(np.stack([pair, np.full(len(pair), strip), last[pair]], axis=1))
        last[pair] = drawn + np.arange(len(pair))
        drawn += len(pair)
    single = np.arange(many, len(order))
    parts.append(np.stack([single, np.zeros(len(single), np.int64), np.full(len(single), -1)], axis=1))
    last[single] = drawn + np.arange(len(single))
    pair, strip, left = np.concatenate(parts).T
    jobs = np.column_stack([pairs[order][pair], strip, left]).astype(np.int32)
    width = np.where(strips[pair] > 1, warp, lanes[pair])
    begin = np.flatnonzero(np.diff(width, prepend=-1))
    groups, partials = _groups(width[begin], begin, np.append(begin[1:], len(width)))
    return Jobs(order, jobs, groups, partials, last.astype(np.int32), border_of[pair].astype(np.uint32), int(border_of[-1]))
