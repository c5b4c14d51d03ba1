"""How pairs are put into SIMD lanes.

Reads that meet the same haplotypes, or nearly so, form a block. Sorted by length and cut into groups of V lanes, they meet all haplotypes
of the block together (kernel `shared`); a result that nobody asked for is dropped. Groups that would leave too many lanes, rows or results
unused go to kernel `mixed`: V pairs of similar shape at a time, from anywhere.
"""

from dataclasses import dataclass, field

import numpy as np

from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.prefixes import plan

_FULL = 0.7  # share of a group's cells in use from which `shared` beats `mixed`
_ALIKE = 0.8  # share of a family's reads times haplotypes that must be asked for, to be one block
_WASTE = 0.5  # share of a group's cells in use below which it may be better halved
_MIX = np.uint64(0x9E3779B97F4A7C15)
_TASKS_A_THREAD = 4


@dataclass(frozen=True)
class Groups:
    """Reads in order of their block and falling length, cut into groups of at most V."""

    order: np.ndarray
    """int64: pairs sorted by read, then haplotype."""
    begin: np.ndarray
    """int64, one a read: where its pairs begin in `order`."""
    count: np.ndarray
    """int64, one a read: how many pairs it has."""
    lengths: np.ndarray
    """int64, one a read."""
    first: np.ndarray
    """int64, one a group and the end: index of its first read."""
    block: np.ndarray
    """int64, one a group: groups of one block meet the same haplotypes."""
    asked: np.ndarray
    """float64, one a group: share of its reads times the block's haplotypes that are pairs."""


@dataclass
class Shared:
    """Tasks of kernel `shared`; pairhmm_lanes.cl has the layouts. Heaviest first."""

    tasks: np.ndarray
    members: np.ndarray
    entries: np.ndarray
    saves: np.ndarray
    positions: np.ndarray
    """int64 (results,): the pair of each result, -1 where a lane is empty."""
    scales: np.ndarray
    """int64 (results,): index into the tasks' log2 scales."""
    borders: int
    """Borders kept at a time, at most."""
    cells_computed: int
    """Cells without padding: fewer than the pairs have where prefixes are shared, more where results are dropped."""


@dataclass
class _Tables:
    tasks: list = field(default_factory=list)
    members: list = field(default_factory=list)
    entries: list = field(default_factory=list)
    saves: list = field(default_factory=list)
    positions: list = field(default_factory=list)
    results: int = 0
    borders: int = 0
    cells: int = 0


def group_reads(work: Work, lanes: int) -> Groups:
    """Order the pairs of `work` by read and group reads with equal, or nearly equal, lists of haplotypes."""
    pairs = work.pairs
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    read, haplotype = pairs[order, 0], pairs[order, 1]
    begin = np.flatnonzero(np.concatenate([[True], read[1:] != read[:-1]]))
    count = np.diff(np.concatenate([begin, [len(read)]]))
    lengths = work.reads.bases.lengths[read[begin]]
    label, asked = _family_labels(haplotype, begin, count, len(work.haplotypes))
    rank = np.lexsort((-lengths, label))
    new = np.concatenate([[True], np.diff(label[rank]) != 0])
    block = np.cumsum(new) - 1
    place = np.arange(len(rank)) - np.flatnonzero(new)[block]
    first = np.flatnonzero(place % lanes == 0)
    return Groups(order, begin[rank], count[rank], lengths[rank], np.append(first, len(rank)), block[first], asked[rank[first]])


def _family_labels(haplotype: np.ndarray, begin: np.ndarray, count: np.ndarray, haplotypes: int) -> tuple[np.ndarray, np.ndarray]:
    """For each read's list: a number that the reads of its block share, and the share of the block's pairs that are asked for.

    A family is reads whose ranges of haplotypes overlap, as those of a region do. Where it asks for most of its pairs it is a block;
    otherwise each set of equal lists is.
    """
    lowest, highest = haplotype[begin], haplotype[begin + count - 1]
    by_lowest = np.argsort(lowest, kind="stable")
    reach = np.maximum.accumulate(highest[by_lowest])
    new = np.concatenate([[True], lowest[by_lowest][1:] > reach[:-1]])
    family = np.empty(len(begin), np.int64)
    family[by_lowest] = np.cumsum(new) - 1
    of_haplotype = np.full(haplotypes, -1)
    of_haplotype[haplotype] = np.repeat(family, count)
    width = np.bincount(of_haplotype[of_haplotype >= 0], minlength=int(new.sum()))
    asked = np.bincount(family, weights=count) / (np.bincount(family) * width)
    loose = asked[family] < _ALIKE
    if not loose.any():
        return family, asked[family]
    label = np.where(loose, len(begin) + _list_labels(haplotype, begin, count), family)
    return label, np.where(loose, 1.0, asked[family])


def _list_labels(haplotype: np.ndarray, begin: np.ndarray, count: np.ndarray) -> np.ndarray:
    """int64, one a list: the number of the first list that is the same. Equal hashes are compared in full."""
    with np.errstate(over="ignore"):
        mixed = (haplotype.astype(np.uint64) + np.uint64(1)) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX
        key = np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), begin) + count.astype(np.uint64)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    label = first[inverse]
    same_count = count[label] == count
    inside = np.arange(len(haplotype)) - np.repeat(begin, count)
    twin = np.repeat(begin[label], count) + np.where(np.repeat(same_count, count), inside, 0)
    equal = np.logical_and.reduceat(haplotype == haplotype[twin], begin) & same_count
    return np.where(equal, label, np.arange(len(begin)))


def full_groups(groups: Groups, lanes: int) -> np.ndarray:
    """bool, one a group: whether kernel `shared` is the right one for it."""
    used = np.add.reduceat(groups.lengths, groups.first[:-1]) * groups.asked
    return used >= _FULL * lanes * groups.lengths[groups.first[:-1]]


def left_over(groups: Groups, full: np.ndarray) -> np.ndarray:
    """int64: pairs of the groups that are not full."""
    reads = np.repeat(~full, np.diff(groups.first))
    count = groups.count[reads]
    ends = np.cumsum(count)
    inside = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - count, count)
    return groups.order[np.repeat(groups.begin[reads], count) + inside]


def plan_shared(work: Work, groups: Groups, full: np.ndarray, *, lanes: int, strip: int, threads: int, most_borders: int) -> Shared:
    """Tasks for the groups that are `full`. There must be at least one."""
    chosen = np.flatnonzero(full)
    cuts = np.flatnonzero(np.diff(groups.block[chosen])) + 1
    pieces = -(-_TASKS_A_THREAD * threads // len(chosen))
    tables = _Tables()
    for of_block in np.split(chosen, cuts):
        _plan_block(work, groups, of_block, tables, lanes, strip, pieces, most_borders)
    tasks = np.concatenate(tables.tasks)
    weight = tasks[:, 0].astype(np.int64) * tasks[:, 2]
    order = np.argsort(-weight, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    scales = [
        np.broadcast_to(index * lanes + np.arange(lanes), (haplotypes, lanes)).ravel()
        for index, haplotypes in zip(number.tolist(), tasks[:, 2].tolist(), strict=True)
    ]
    saves = np.array(tables.saves or [(0, 0)], np.int32)
    return Shared(
        tasks[order],
        np.concatenate(tables.members)[order],
        np.array(tables.entries, np.int32),
        saves,
        np.concatenate(tables.positions),
        np.concatenate(scales),
        tables.borders,
        tables.cells,
    )


def _plan_block(
    work: Work, groups: Groups, chosen: np.ndarray, tables: _Tables, lanes: int, strip: int, pieces: int, most_borders: int
) -> None:
    sizes = groups.first[chosen + 1] - groups.first[chosen]
    inside = np.arange(lanes) < sizes[:, None]
    reads = np.where(inside, groups.first[chosen][:, None] + np.arange(lanes), 0)
    members = np.where(inside, work.pairs[groups.order[groups.begin[reads]], 0], -1).astype(np.int32)
    rows = groups.lengths[groups.first[chosen]]
    read_bases = int((groups.lengths[reads] * inside).sum())
    identities, pairs = _pairs_of(work, groups, reads, inside)
    content = [work.haplotypes[index].tobytes() for index in identities.tolist()]
    offsets, widths = work.haplotypes.offsets[identities], work.haplotypes.lengths[identities]
    by_content = sorted(range(len(content)), key=content.__getitem__)
    size = -(-len(content) // pieces)
    for piece in (by_content[index : index + size] for index in range(0, len(content), size)):
        sweep = plan([content[index] for index in piece], strip, most_borders)
        columns = np.array(piece)[sweep.order]
        first_entry = len(tables.entries)
        for place, column in enumerate(columns.tolist()):
            saves, start = sweep.saves[place], sweep.first_strip[place]
            tables.entries.append((offsets[column], widths[column], start, sweep.border[place], len(tables.saves), len(saves)))
            tables.saves += saves
            tables.cells += max(0, int(widths[column]) - start * strip) * read_bases
        tables.borders = max(tables.borders, sweep.borders)
        count = len(chosen)
        result = tables.results + np.arange(count) * (len(piece) * lanes)
        tables.tasks.append(np.stack([rows, np.full(count, first_entry), np.full(count, len(piece)), result], axis=1).astype(np.int32))
        tables.members.append(members)
        tables.positions.append(pairs[:, :, columns].transpose(0, 2, 1).ravel())
        tables.results += count * len(piece) * lanes


def _pairs_of(work: Work, groups: Groups, reads: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Haplotypes that `reads` (groups, lanes) meet, ascending, and the pair of each (group, lane, haplotype), -1 where there is none."""
    flat = reads[inside]
    begin, count = groups.begin[flat], groups.count[flat]
    ends = np.cumsum(count)
    pairs = groups.order[np.repeat(begin - ends + count, count) + np.arange(ends[-1])]
    identities, column = np.unique(work.pairs[pairs, 1], return_inverse=True)
    table = np.full((*reads.shape, len(identities)), -1)
    table.reshape(-1, len(identities))[np.repeat(np.flatnonzero(inside), count), column] = pairs
    return identities, table


def plan_mixed(work: Work, which: np.ndarray, *, lanes: int, strip: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs `which` as tasks of kernel `mixed`, heaviest first.

    Returns (rows, columns) of each task, int32 (tasks, 2), columns a multiple of `strip`; and the pairs, int64 (tasks, lanes), -1 where
    a lane is empty. Pairs are sorted by rows, cut into about as many classes as each will then have groups, and sorted by columns there.
    """
    rows = work.reads.bases.lengths[work.pairs[which, 0]]
    columns = work.haplotypes.lengths[work.pairs[which, 1]]
    classes = max(1, int(np.sqrt(len(which) / lanes)))
    by_rows = np.argsort(rows, kind="stable")
    row_class = np.empty(len(which), np.int64)
    row_class[by_rows] = np.arange(len(which)) * classes // len(which)
    groups = np.full((-(-len(which) // lanes), lanes), -1)
    groups.reshape(-1)[: len(which)] = np.lexsort((columns, row_class))
    groups = _without_waste(groups, rows, columns)
    most_rows, most_columns, _ = _shape(groups, rows, columns)
    most_columns = -(-most_columns // strip) * strip
    heaviest = np.argsort(-most_rows * most_columns, kind="stable")
    positions = np.where(groups >= 0, which[groups], -1)[heaviest]
    return np.stack([most_rows, most_columns], axis=1)[heaviest].astype(np.int32), positions


def _shape(groups: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Most rows, most columns and the sum of cells of each group."""
    used = groups >= 0
    in_rows, in_columns = np.where(used, rows[groups], 0), np.where(used, columns[groups], 0)
    return in_rows.max(axis=1), in_columns.max(axis=1), (in_rows * in_columns).sum(axis=1)


def _without_waste(groups: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Groups in which long reads met long haplotypes that are not theirs are halved, as long as that saves cells."""
    most_rows, most_columns, cells = _shape(groups, rows, columns)
    suspects = np.flatnonzero(cells < _WASTE * groups.shape[1] * most_rows * most_columns)
    if not len(suspects):
        return groups
    parts = [part for group in suspects for part in _halved(groups[group][groups[group] >= 0], rows, columns)]
    split = np.full((len(parts), groups.shape[1]), -1)
    for line, part in zip(split, parts, strict=True):
        line[: len(part)] = part
    return np.concatenate([np.delete(groups, suspects, axis=0), split])


def _halved(members: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> list[np.ndarray]:
    def cost(part: np.ndarray) -> int:
        return int(rows[part].max() * columns[part].max())

    if len(members) < 2:
        return [members]
    ways = [np.array_split(members[np.argsort(key[members], kind="stable")], 2) for key in (rows, columns)]
    best = min(ways, key=lambda halves: cost(halves[0]) + cost(halves[1]))
    if cost(best[0]) + cost(best[1]) >= cost(members):
        return [members]
    return [part for half in best for part in _halved(half, rows, columns)]
