"""How regions become trees of lanes: which haplotypes share their beginnings, how many columns a lane has, which trees share a warp.

All of it is done for all regions of a chunk at once, in NumPy. Nothing of it changes a bit of a result.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from haplowave.pairhmm.regions import runs
from haplowave.pairhmm.trie_order import in_order
from haplowave.pairhmm.trie_pack import pack
from haplowave.pairhmm.tuning import Rates
from haplowave.sequences import Sequences

ROWS = 2  # rows of a block
_TELLING = 64  # haplotypes of a region that show whether they begin alike
_WORD = 0xFFFFFFFF
WHOLE = 1 << 16  # parts of a tree's reads that shares are counted in
_MOST, _LEAST = 128, 8  # blocks of the largest and the smallest bundles, times the blocks that a warp runs half empty; smaller and
_BUNDLES = 64  # smaller ones come last, so that all warps are through at the same time; so many a warp at most
_SLIVER = 0.1  # share of the smallest bundle that is not worth a task of its own
_FAR_BETTER, _FEW, _MUCH = 0.93, 0.1, 4.0  # costs of numbers of columns a lane: fewer kinds of launches are worth a few percent
_FIT = 0.5  # weight of the lanes that a tree leaves idle if only trees like it are packed with it


@dataclass(frozen=True)
class Trees:
    """One launch: the trees of some regions, with `columns` columns a lane."""

    columns: int
    branches: np.ndarray
    """uint32 (n, 8), one a haplotype of a region: its number, its depth where its own lanes begin, the first of these (counted through all
    warps), its parent within the warp, the region's first read and number of reads, haplotypes of the region, place of its first sum."""
    warps: int
    tasks: np.ndarray
    """uint32 (m, 4): warp, begin and end of the share of each tree's reads, in parts of WHOLE, 0."""
    bundles: np.ndarray
    """uint32 (k + 1,): first task of each bundle, which a warp computes one after another."""
    longest: int
    """Blocks that the longest tree takes."""
    spared: int
    """Cells that are not computed, since other haplotypes have them, too."""


@dataclass(frozen=True)
class _Sorted:
    """Haplotypes of regions, those of a region together; one item each."""

    region: np.ndarray
    haplotype: np.ndarray
    length: np.ndarray
    alike: np.ndarray
    """Columns that it begins with as the one before it, 0 where that is of another region."""

    def of(self, which: np.ndarray) -> "_Sorted":
        return _Sorted(self.region[which], self.haplotype[which], self.length[which], self.alike[which])


@dataclass(frozen=True)
class _Cut:
    """A list of sorted haplotypes cut into trees."""

    depth: np.ndarray
    """Of each haplotype, the depth of its first own lane."""
    own: np.ndarray
    """Of each haplotype, its own lanes."""
    first: np.ndarray
    """The first haplotype of each tree."""
    haplotypes: np.ndarray
    """Haplotypes of each tree."""
    lanes: np.ndarray
    """Lanes of each tree."""


def blocks_of(rows: np.ndarray) -> np.ndarray:
    """Blocks of reads of `rows` bases."""
    return -(-rows // ROWS)


def plan(
    spans: np.ndarray,
    haplotypes: Sequences,
    wanted: np.ndarray,
    rows: np.ndarray,
    rates: Rates,
    warp: int,
    resident: int,
    share: bool,
) -> list[Trees]:
    """Launches for the pairs of regions.

    spans: int64 (m, 4), as in `Regions`. wanted: bool a haplotype; none has more than `warp` times the most columns.
    rows: length of each read, 0 where it is left out. resident: warps that the device runs at a time. share: whether haplotypes may
    share lanes.
    """
    first_read, reads, first_haplotype, counts = spans.T
    height, length = (_sums(array, first_read, reads) for array in (rows, blocks_of(rows)))
    region, haplotype = runs(first_haplotype, counts)
    used = wanted[haplotype] & (length > 0)[region]
    if not used.all():
        region, haplotype = region[used], haplotype[used]
    if not len(region):
        return []
    place = np.cumsum(reads * counts) - reads * counts - first_read * counts - first_haplotype
    result = []
    for columns, mine, cut in _shapes(region, haplotype, haplotypes, share, rates, warp, len(spans)):
        of = mine.region
        at, base, warps = _packed(cut, length[of[cut.first]], warp)
        lane, parent = _lanes(cut, base)
        first_lane = np.repeat(at, cut.haplotypes) * warp + lane
        branches = np.empty((len(of), 8), np.uint32)
        for column, values in enumerate((mine.haplotype, cut.depth, first_lane, parent, first_read[of], reads[of], counts[of])):
            branches[:, column] = values
        branches[:, 7] = (place[of] + mine.haplotype) & _WORD
        order = np.argsort(at, kind="stable")
        each = np.flatnonzero(np.diff(at[order], prepend=-1))
        busy, near = np.maximum.reduceat(length[of[cut.first]][order], each), np.minimum.reduceat(of[cut.first][order], each)
        tasks, bundles = _tasks(busy, np.argsort(near, kind="stable"), cut.lanes.mean(), resident)
        spared = columns * int(cut.depth @ height[of])
        result.append(Trees(columns, branches, warps, tasks, bundles, int(busy.max()), spared))
    return result


def saved(spans: np.ndarray, haplotypes: Sequences, columns: int) -> float:
    """Share of the lanes of `columns` that haplotypes of these regions (as in `plan`) need not have for themselves."""
    counts = np.minimum(spans[:, 3], _TELLING)
    region, haplotype = runs(spans[:, 2], counts)
    some = Sequences.from_list(haplotypes[index].tobytes() for index in haplotype)
    ordered = _sorted(region, np.arange(len(some)), some)
    lanes = -(-ordered.length // columns)
    return float(np.minimum(ordered.alike // columns, lanes - 1).sum() / max(1, lanes.sum()))


def _shapes(
    region: np.ndarray, haplotype: np.ndarray, haplotypes: Sequences, share: bool, rates: Rates, warp: int, regions: int
) -> Iterator[tuple[int, _Sorted, _Cut]]:
    """As `_choose`; where nothing is shared and all haplotypes are equally long there is nothing to look for."""
    if share:
        yield from _choose(_sorted(region, haplotype, haplotypes), rates, warp, regions)
        return
    length = haplotypes.lengths[haplotype]
    unsorted = _Sorted(region, haplotype, length, np.zeros(len(region), np.int64))
    if (length != length[0]).any():
        yield from _choose(unsorted, rates, warp, regions)
        return
    one = _Sorted(np.zeros(1, np.int64), haplotype[:1], length[:1], unsorted.alike[:1])
    columns = next(_choose(one, rates, warp, 1))[0]
    lanes, number = np.full(len(region), -(-length[0] // columns)), np.arange(len(region))
    yield columns, unsorted, _Cut(unsorted.alike, lanes, number, np.ones(len(region), np.int64), lanes)


def _packed(cut: _Cut, length: np.ndarray, warp: int) -> tuple[np.ndarray, np.ndarray, int]:
    """As `pack`; equal trees fill warps as they come."""
    if (cut.lanes != cut.lanes[0]).any():
        return pack(cut.lanes, length, warp)
    number, each = np.arange(len(cut.lanes)), warp // int(cut.lanes[0])
    return number // each, number % each * cut.lanes, -(-len(number) // each)


def _sums(values: np.ndarray, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Sum of values[first : first + count] of each run."""
    until = np.append(0, np.cumsum(values))
    return until[first + count] - until[first]


def _sorted(region: np.ndarray, haplotype: np.ndarray, haplotypes: Sequences) -> _Sorted:
    length = haplotypes.lengths[haplotype]
    order, alike = in_order(region, haplotypes.offsets[haplotype], length, haplotypes.data)
    return _Sorted(region, haplotype[order], length[order], alike)


def _choose(ordered: _Sorted, rates: Rates, warp: int, regions: int) -> Iterator[tuple[int, _Sorted, _Cut]]:
    """(columns a lane, haplotypes, how they are cut) for each number of columns that is the fastest for a region."""
    cost, cuts = [], []
    longest = np.zeros(regions, np.int64)
    np.maximum.at(longest, ordered.region, ordered.length)
    for columns, rate in rates.items():
        cut = _cut(ordered, columns, warp)
        lanes = (1 - _FIT) * cut.lanes + _FIT * warp / (warp // cut.lanes)
        lanes = np.bincount(ordered.region[cut.first], lanes, regions)
        cost.append(np.where(longest > columns * warp, np.inf, lanes * columns / rate))
        cuts.append(cut)
    best = _best(np.array(cost))[ordered.region]
    for index, columns in enumerate(rates):
        which = np.flatnonzero(best == index)
        if len(which) == len(best):
            yield columns, ordered, cuts[index]
        elif len(which):
            mine = ordered.of(which)
            yield columns, mine, _cut(mine, columns, warp)


def _best(cost: np.ndarray) -> np.ndarray:
    """For each region (column) the cheapest row: the one that is cheapest for all, unless another is far better for enough of them."""
    least = cost.min(axis=0)
    common = np.argmin(np.minimum(cost, _MUCH * least).sum(axis=1))
    chosen = np.where(least < _FAR_BETTER * cost[common], np.argmin(cost, axis=0), common)
    shares = np.bincount(chosen, least, len(cost))
    few = (shares < _FEW * shares.sum())[chosen] & np.isfinite(cost[common])
    return np.where(few, common, chosen)


def _cut(ordered: _Sorted, columns: int, warp: int) -> _Cut:
    """Trees of at most `warp` lanes: each takes the next haplotypes as long as they share a lane with the one before and there is room."""
    lanes = np.minimum(-(-ordered.length // columns), warp)
    depth = np.minimum(ordered.alike // columns, lanes - 1)
    first = _first(lanes, depth, warp) if depth.any() else np.arange(len(lanes))
    depth[first] = 0
    own = lanes - depth
    return _Cut(depth, own, first, np.diff(np.append(first, len(lanes))), np.add.reduceat(own, first))


def _first(lanes: np.ndarray, depth: np.ndarray, warp: int) -> np.ndarray:
    """The first haplotype of each tree."""
    until = np.append(0, np.cumsum(lanes - depth))
    full = np.searchsorted(until, warp - lanes + until[1:], side="right") - 1  # the first that would be a lane too many
    begins = np.append(depth == 0, True)
    roots = np.flatnonzero(begins)
    follow = np.minimum(full, np.repeat(roots[1:], np.diff(roots)))
    new = roots[:-1]
    while len(new):
        new = follow[new]
        new = new[~begins[new]]
        begins[new] = True
    return np.flatnonzero(begins[:-1])


def _lanes(cut: _Cut, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first own lane, its parent or itself) of each haplotype within its warp; base: first lane of each tree."""
    until = np.cumsum(cut.own) - cut.own
    lane = until + np.repeat(base - until[cut.first], cut.haplotypes)
    owner = np.maximum(np.arange(len(lane)) - 1, 0)  # of the lane that it continues: the last one before it that is not as deep
    late = np.flatnonzero((cut.depth > 0) & (cut.depth[owner] >= cut.depth))
    while len(late):
        owner[late] -= 1
        late = late[cut.depth[owner[late]] >= cut.depth[late]]
    return lane, np.where(cut.depth > 0, lane[owner] + cut.depth - 1 - cut.depth[owner], lane)


def _tasks(busy: np.ndarray, order: np.ndarray, lanes: float, resident: int) -> tuple[np.ndarray, np.ndarray]:
    """(tasks, first of each bundle) of warps that take `busy` blocks, in an order in which those that read the same rows are together.

    lanes: of a tree, which is how many blocks a warp runs half empty.
    """
    busy = busy[order]
    until = np.cumsum(busy)
    a_warp = until[-1] / resident
    least, most = _LEAST * lanes, _MOST * lanes
    sizes = []
    while not sizes or (a_warp > 2 * least and len(sizes) < _BUNDLES):
        sizes.append(min(a_warp / 2, most) if a_warp > 2 * least else a_warp)
        a_warp -= sizes[-1]
    size = sizes[-1]
    cuts = np.cumsum(np.repeat([*sizes, *([size] * int(np.ceil(a_warp / size)))], resident))
    cuts = cuts[cuts < until[-1]]
    inside = np.searchsorted(until, cuts)
    after = until[inside]
    before = after - busy[inside]
    cuts = np.where(after - cuts < _SLIVER * size, after, np.where(cuts - before < _SLIVER * size, before, cuts))
    begin = until - busy
    edges = _distinct(np.concatenate([begin, cuts, until[-1:]]))
    of = np.searchsorted(begin, edges[:-1], side="right") - 1
    share = (np.stack([edges[:-1], edges[1:]], axis=1) - begin[of][:, None]) / busy[of][:, None]
    tasks = np.zeros((len(of), 4), np.uint32)
    tasks[:, 0], tasks[:, 1:3] = order[of], np.rint(share * WHOLE)
    bundles = _distinct(np.searchsorted(edges, np.concatenate([[0], cuts, until[-1:]])))
    return tasks, bundles.astype(np.uint32)


def _distinct(values: np.ndarray) -> np.ndarray:
    values = np.sort(values)
    return values[np.append(True, values[1:] > values[:-1])]
