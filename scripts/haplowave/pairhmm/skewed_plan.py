"""How pairs become jobs of the skewed kernel: a shape for every haplotype length, strips, groups of equal sub-warps, all in NumPy.

Short pairs are planned region by region: the device makes their jobs from `Units` (make_jobs in kernels/pairhmm_prepare.cl).
"""

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.tuning import Rates, Settings

_IN_USE, _RATE = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.66, 0.89, 0.97, 1.0)
"""Of the warps that a device holds, and the share of its rate that it then has with long pairs (H200)."""
_LAG = 48  # blocks that a strip is behind its left neighbour
_WORTH = 0.95  # long pairs take other columns a lane where that takes less than this share of the time

_LANES = 64  # more than a warp has: a class of short haplotypes is columns a lane times this plus lanes


@dataclass(frozen=True)
class Shapes:
    """What a chunk's haplotypes and reads are computed with; depends on the shape of each alone."""

    short: np.ndarray
    """int64 a haplotype: columns a lane (N) of short pairs times _LANES plus lanes; 0 where it is too wide for a warp."""
    long_reads: np.ndarray | None
    """bool a read: it keeps an exponent a lane, so that its pairs are long; None where there is none."""
    long_columns: np.ndarray | None
    """uint8 a haplotype: columns a lane of long pairs; None where there is none."""

    def without(self, which: np.ndarray) -> "Shapes":
        """The same with no short pair of some haplotypes (bool)."""
        return dataclasses.replace(self, short=np.where(which, 0, self.short)) if which.any() else self


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
    """uint32 (m, 8): first read, first haplotype (in the lists where there are any), haplotypes, target of the region's first pair, the
    region's first read, first haplotype and number of haplotypes, 0. Job i of a unit is read i / haplotypes, haplotype i % haplotypes."""
    offsets: np.ndarray
    """uint32 (m + 1,): first job of each unit."""
    reads: np.ndarray | None
    """uint32: indices of reads."""
    haplotypes: np.ndarray | None
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
def _best_shapes(rates: tuple[tuple[int, float], ...], warp: int) -> np.ndarray:
    """Shapes.short for a haplotype of each length; the last is for all that fit no warp."""
    longest = warp * max(columns for columns, _ in rates)
    length = np.arange(longest + 1)
    best, chosen = np.full(longest + 1, -1.0), np.zeros(longest + 2, np.int64)
    for columns, rate in rates:
        lanes = np.maximum(1, -(-length // columns))
        speed = np.where(lanes <= warp, rate * (warp // np.minimum(lanes, warp)) * length / (warp * columns), -1.0)
        chosen[:-1] = np.where(speed > best, columns * _LANES + lanes, chosen[:-1])
        best = np.maximum(best, speed)
    return chosen


def long_lanes(lanes: np.ndarray, warp: int) -> np.ndarray:
    """Lanes that a haplotype of `lanes` gets in the long form: whole warps, or half of one."""
    return np.where(2 * lanes <= warp, warp // 2, -(-lanes // warp) * warp)


def _long_columns(rates: Rates, warp: int, length: np.ndarray) -> np.ndarray:
    chosen, best = np.zeros(len(length), np.uint8), np.full(len(length), -1.0)
    for columns, rate in rates.items():
        lanes = -(-length // columns)
        used = long_lanes(lanes, warp) * columns
        speed = rate * length / used
        chosen = np.where(speed > best, np.uint8(columns), chosen)
        best = np.maximum(best, speed)
    return chosen


def filling_columns(blocks: np.ndarray, length: np.ndarray, default: np.ndarray, rates: Rates, warp: int, warps: int) -> np.ndarray:
    """Columns a lane of long pairs, uint8: `default`, or one number for all where that fills the device much better.

    blocks: of each pair's read; length: bases of its haplotype; warps: that the device holds at once.
    """
    best, least = default, _WORTH * _strip_time(blocks, length, default, rates, warp, warps)
    for columns in rates:
        same = np.full(len(blocks), columns, np.uint8)
        time = _strip_time(blocks, length, same, rates, warp, warps)
        if time < least:
            best, least = same, time
    return best


def _strip_time(blocks: np.ndarray, length: np.ndarray, columns: np.ndarray, rates: Rates, warp: int, warps: int) -> float:
    """Time, in no unit, that pairs take: whole rounds of warps that all run, a last one that leaves some idle, and the lag of strips."""
    rate = np.array([rates.get(n, 0.0) for n in range(int(columns.max()) + 1)])[columns]
    strips = -(-length // (warp * columns.astype(np.int64)))
    a_block = columns / rate
    longest = float((blocks * a_block).max())
    rounds = float((strips * blocks * a_block).sum()) / longest / warps
    rest = np.ceil((rounds - int(rounds)) * (len(_IN_USE) - 1)) / (len(_IN_USE) - 1)
    last = rest / np.interp(rest, _IN_USE, _RATE) if rest else 0.0
    at_once = np.minimum(strips, max(1.0, warps / len(blocks)))
    return longest * (int(rounds) + last) + _LAG * float(((at_once - 1) * a_block).max())


def shapes(rows: np.ndarray, columns: np.ndarray, settings: Settings, precision: str) -> Shapes:
    """The shapes of reads of `rows` and haplotypes of `columns` bases."""
    best = _best_shapes(tuple(settings.rates[precision].items()), settings.warp)
    short = best[np.minimum(columns, len(best) - 1)]
    long_reads = rows > settings.long_rows if int(rows.max()) > settings.long_rows else None
    long = long_reads is not None or not short.all()
    return Shapes(short, long_reads, _long_columns(settings.long_rates[precision], settings.warp, columns) if long else None)


def short_units(regions: Regions, kept: np.ndarray | None, chosen: Shapes) -> Units:
    """Units of the pairs whose haplotype fits a warp and whose read is short, by shape, widest first.

    kept: bool, parallel to `regions.rows`: the other reads of regions are left out; None: all are kept.
    """
    reads, read_count, first_read = _kept_reads(regions, kept, chosen.long_reads)
    if chosen.short[0] and (chosen.short == chosen.short[0]).all():
        region, haplotypes = np.arange(len(regions.spans)), None
        first, size, shape = regions.spans[:, 2], regions.spans[:, 3], np.full(len(region), chosen.short[0])
    else:
        region, first, size, haplotypes, shape = _by_shape(regions, chosen.short)
    offsets = np.append(0, np.cumsum(read_count[region] * size))
    units = np.zeros((len(region), 8), np.uint32)
    units[:, 0], units[:, 1], units[:, 2], units[:, 3] = first_read[region], first, size, regions.offsets[region]
    units[:, 4:7] = regions.spans[region][:, [0, 2, 3]]
    launches, partials = _launches(shape, offsets)
    return Units(units, offsets.astype(np.uint32), reads, haplotypes, launches, partials)


def _kept_reads(
    regions: Regions, kept: np.ndarray | None, long_reads: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """(list of reads, None where all take part; reads of each region; the first of each region, in the list where there is one)."""
    if kept is None and long_reads is None:
        return None, regions.spans[:, 1], regions.spans[:, 0]
    region, read = regions.rows
    taken = np.ones(len(read), bool) if kept is None else kept
    if long_reads is not None:
        taken = taken & ~long_reads[read]
    count = np.bincount(region[taken], minlength=len(regions.spans))
    return read[taken].astype(np.uint32), count, np.cumsum(count) - count


def _by_shape(regions: Regions, short: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(region, first in the list, haplotypes, the list, shape) of units, widest first: the haplotypes of one region and one shape."""
    region, haplotype = regions.columns
    shape = short[haplotype]
    order = np.argsort(-shape, kind="stable")[: np.count_nonzero(shape)]
    region, haplotype, shape = region[order], haplotype[order], shape[order]
    first = np.flatnonzero(np.diff(region << 16 | shape, prepend=-1))
    return region[first], first, np.diff(np.append(first, len(region))), haplotype.astype(np.uint32), shape[first]


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
    lanes = long_lanes(-(-columns // columns_a_lane), warp)[pairs[:, 1]]
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
