"""How pairs become jobs of the skewed kernel: a shape for every haplotype length, strips, groups of equal sub-warps, all in NumPy.

Short pairs are planned region by region: the device makes their jobs from `Units` (make_jobs in kernels/pairhmm_prepare.cl).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.tuning import Rates, Settings

_LANES = 64  # more than a warp has: a class of short haplotypes is columns a lane times this plus lanes


@dataclass(frozen=True)
class Shapes:
    """What a chunk's haplotypes and reads are computed with; depends on the shape of each alone."""

    columns: np.ndarray
    """uint8 a haplotype: columns a lane (N) of short pairs, 0 where it is too wide for a warp."""
    long_columns: np.ndarray
    """uint8 a haplotype: columns a lane of long pairs."""
    long_reads: np.ndarray
    """bool a read: it keeps an exponent a lane, so that its pairs are long."""


@dataclass(frozen=True)
class Launch:
    """Jobs that one launch of one kernel variant computes."""

    columns: int
    """Columns a lane (N)."""
    groups: np.ndarray
    """int32 (m, 4): lanes of a sub-warp, first job, last job + 1, first partial sum."""


@dataclass(frozen=True)
class Units:
    """Short pairs. A unit is some reads of a region with some of its haplotypes, all of one shape; its jobs follow one another."""

    units: np.ndarray
    """uint32 (m, 8): first in `reads`, first in `haplotypes`, haplotypes, target of the region's first pair, the region's first read,
    first haplotype and number of haplotypes, 0. Job i of a unit is read i / haplotypes and haplotype i % haplotypes of it."""
    offsets: np.ndarray
    """uint32 (m + 1,): first job of each unit."""
    reads: np.ndarray
    """uint32: indices of reads."""
    haplotypes: np.ndarray
    """uint32: indices of haplotypes."""
    launches: list[Launch]
    """Widest first; their groups count jobs and partial sums together."""
    partials: int

    @property
    def jobs(self) -> int:
        return int(self.offsets[-1])


@dataclass(frozen=True)
class Jobs:
    """Long pairs of one launch. A job is one strip of a pair."""

    order: np.ndarray
    """Indices of the pairs, in the order of `results`."""
    jobs: np.ndarray
    """int32 (n, 4): read, haplotype, strip, job of the strip to the left or -1."""
    groups: np.ndarray
    """As in Launch."""
    partials: int
    results: np.ndarray
    """int32: job of the last strip of pair `order[i]`."""
    border_offsets: np.ndarray
    """uint32 a job, first block of its pair's border."""
    border_blocks: int


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


def shapes(rows: np.ndarray, columns: np.ndarray, settings: Settings, precision: str) -> Shapes:
    """The shapes of reads of `rows` and haplotypes of `columns` bases."""
    best = _best_columns(tuple(settings.rates[precision].items()), settings.warp)
    too_wide = columns >= len(best)
    of_haplotype = best[np.where(too_wide, 0, columns)]
    return Shapes(
        np.where(too_wide, np.uint8(0), of_haplotype),
        _long_columns(settings.long_rates[precision], settings.warp, columns),
        rows > settings.long_rows,
    )


def short_units(regions: Regions, kept: np.ndarray, columns: np.ndarray, chosen: Shapes) -> Units:
    """Units of the pairs whose haplotype, of `columns` bases, fits a warp and whose read is short, by shape, widest first.

    kept: bool, parallel to `regions.rows`: the other reads of regions are left out.
    """
    region, haplotype = regions.columns
    lanes = -(-columns // np.maximum(chosen.columns, 1))
    shape = np.where(chosen.columns > 0, chosen.columns * np.int64(_LANES) + lanes, 0)[haplotype]
    if not (shape == shape[0]).all():
        order = np.argsort(-shape, kind="stable")[: np.count_nonzero(shape)]
        region, haplotype, shape = region[order], haplotype[order], shape[order]
    elif not shape[0]:
        region, haplotype, shape = region[:0], haplotype[:0], shape[:0]
    row_region, row = regions.rows
    kept = kept & ~chosen.long_reads[row]
    reads = np.bincount(row_region[kept], minlength=len(regions.spans))
    first = np.flatnonzero(np.diff(region * np.int64(1 << 16) + shape, prepend=-1))
    size = np.diff(np.append(first, len(region)))
    of = region[first]
    offsets = np.append(0, np.cumsum(reads[of] * size))
    target, begin = regions.offsets[of], (np.cumsum(reads) - reads)[of]
    spans = regions.spans[of]
    units = np.stack([begin, first, size, target, spans[:, 0], spans[:, 2], spans[:, 3], np.zeros_like(of)], axis=1).astype(np.uint32)
    launches, partials = _launches(shape[first], offsets)
    return Units(units, offsets.astype(np.uint32), row[kept].astype(np.uint32), haplotype.astype(np.uint32), launches, partials)


def _launches(shape: np.ndarray, offsets: np.ndarray) -> tuple[list[Launch], int]:
    """A launch for each number of columns a lane, of units of `shape` (in descending order) with jobs from `offsets` on."""
    begin = np.flatnonzero(np.diff(shape, prepend=-1))
    jobs = offsets[np.append(begin, len(shape))]
    kind, filled = shape[begin], np.diff(jobs) > 0
    if not filled.any():
        return [], 0
    groups, partials = _groups(kind[filled] % _LANES, jobs[:-1][filled], jobs[1:][filled])
    columns = kind[filled] // _LANES
    return [Launch(int(n), groups[columns == n]) for n in np.unique(columns)[::-1]], partials


def strip_jobs(pairs: np.ndarray, columns: np.ndarray, columns_a_lane: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(order, groups, partial sums) of `pairs` (int, (n, 2)) whose haplotypes, of `columns` bases, fit a warp; widest first."""
    lanes = (-(-columns // columns_a_lane))[pairs[:, 1]]
    order = np.argsort(-lanes, kind="stable")
    begin = np.flatnonzero(np.diff(lanes[order], prepend=-1))
    return order, *_groups(lanes[order[begin]], begin, np.append(begin[1:], len(order)))


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
