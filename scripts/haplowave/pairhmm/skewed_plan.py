"""How pairs become jobs of the skewed kernel: a shape for every haplotype length, strips, groups of equal sub-warps, all in NumPy."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from haplowave.pairhmm.tuning import Rates, Settings


@dataclass(frozen=True)
class Bucket:
    """Pairs that one launch of one kernel variant computes."""

    long: bool
    columns: int
    """Columns a lane (N)."""
    which: np.ndarray
    """int64: indices of the pairs."""


@dataclass(frozen=True)
class Jobs:
    """The launch of a bucket. A job is one strip of a pair; short pairs have one strip, and job i is pair `order[i]` of the bucket."""

    order: np.ndarray
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


def buckets(rows: np.ndarray, columns: np.ndarray, settings: Settings, precision: str) -> list[Bucket]:
    """Split pairs of `rows` x `columns` (int64, one a pair). The choice depends on a pair's own shape only."""
    rates = settings.rates[precision]
    best = _best_columns(tuple(rates.items()), settings.warp)
    long = (rows > settings.long_rows) | (columns >= len(best))
    key = np.where(long, 0, best[np.where(long, 0, columns)])
    result = [Bucket(False, int(n), np.flatnonzero(key == n)) for n in sorted(rates, reverse=True)]
    which = np.flatnonzero(long)
    if len(which):
        long_key = _long_columns(settings.long_rates[precision], settings.warp, columns[which])
        result += [Bucket(True, int(n), which[long_key == n]) for n in sorted(settings.long_rates[precision], reverse=True)]
    return [bucket for bucket in result if len(bucket.which)]


def short_jobs(read: np.ndarray, haplotype: np.ndarray, columns: np.ndarray, columns_a_lane: int) -> Jobs:
    """Jobs of pairs whose haplotypes fit a warp; read, haplotype: int32 indices on the device; columns: haplotype lengths."""
    lanes = -(-columns // columns_a_lane)
    order = np.argsort((255 - lanes).astype(np.uint8), kind="stable")
    jobs = np.empty((len(order), 2), np.int32)
    jobs[:, 0], jobs[:, 1] = read[order], haplotype[order]
    groups, partials = _groups(lanes[order])
    return Jobs(order, jobs, groups, partials)


def _groups(lanes: np.ndarray) -> tuple[np.ndarray, int]:
    """Runs of equal values in `lanes`, one value a job."""
    begin = np.flatnonzero(np.diff(lanes, prepend=-1))
    end = np.append(begin[1:], len(lanes))
    sums = np.cumsum((end - begin) * lanes[begin])
    groups = np.stack([lanes[begin], begin, end, np.append(0, sums[:-1])], axis=1).astype(np.int32)
    return groups, int(sums[-1])


def long_jobs(read: np.ndarray, haplotype: np.ndarray, columns: np.ndarray, blocks: np.ndarray, columns_a_lane: int, warp: int) -> Jobs:
    """Jobs of pairs of any length, `blocks`: blocks of rows a pair. Strip 0 of all pairs comes first, then strip 1, and so on.

    In that order a job's left neighbour is as far ahead as it can be, and whoever draws a job knows that all before it are drawn.
    """
    lanes = -(-columns // columns_a_lane)
    strips = -(-lanes // warp)
    order = np.lexsort((-blocks, -np.minimum(lanes, warp), strips == 1))
    lanes, strips, blocks = lanes[order], strips[order], blocks[order]
    border_of = np.concatenate([[0], np.cumsum(np.where(strips > 1, blocks, 0))])
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
    jobs = np.stack([read[order][pair], haplotype[order][pair], strip, left], axis=1).astype(np.int32)
    groups, partials = _groups(np.where(strips[pair] > 1, warp, lanes[pair]))
    return Jobs(order, jobs, groups, partials, last.astype(np.int32), border_of[pair].astype(np.uint32), border_blocks=int(border_of[-1]))
