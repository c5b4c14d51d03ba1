"""Tasks of kernel `shared`: V reads and a list of haplotypes that each meets all of them (pairhmm_lanes.cl has the layouts)."""

from dataclasses import dataclass

import numpy as np

from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.lanes_groups import Groups
from haplowave.pairhmm.prefixes import plan, restarts

_TASKS_A_THREAD = 4


@dataclass
class Shared:
    """Tasks, heaviest first, and where the results of pairs will be."""

    tasks: np.ndarray
    members: np.ndarray
    entries: np.ndarray
    saves: np.ndarray
    results: int
    """How many results the kernel writes."""
    pairs: np.ndarray
    """int64 (m,): the pairs that are computed here,"""
    result: np.ndarray
    """int64 (m,): the result of each,"""
    scale: np.ndarray
    """int64 (m,): and its place among the log2 scales, which are (task, lane)."""
    borders: int
    """Borders kept at a time, at most."""
    cells_computed: int
    """Cells without padding: fewer than the pairs have where prefixes are shared, more where results are dropped."""


@dataclass(frozen=True)
class _Lists:
    """The haplotypes of each block, sorted by their bases, block after block."""

    haplotype: np.ndarray
    first: np.ndarray
    """int64, one a block and the end: where its list begins."""
    place: np.ndarray
    """int64, one a pair: place of its haplotype in the sorted list of its block."""


def plan_shared(work: Work, groups: Groups, full: np.ndarray, *, lanes: int, strip: int, threads: int, most_borders: int) -> Shared:
    """Tasks for the groups that are `full`. There must be at least one."""
    chosen = np.flatnonzero(full)
    sizes = groups.first[chosen + 1] - groups.first[chosen]
    read = np.repeat(groups.first[chosen] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    count = groups.count[read]
    pairs = groups.order[np.repeat(groups.begin[read] - np.cumsum(count) + count, count) + np.arange(count.sum())]
    group = np.repeat(np.arange(len(chosen)), sizes)
    lane = np.arange(len(read)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    _, block = np.unique(groups.block[chosen], return_inverse=True)
    lists = _haplotype_lists(work, pairs, np.repeat(block[group], count))
    members = np.full((len(chosen), lanes), -1, np.int32)
    members[group, lane] = work.pairs[groups.order[groups.begin[read]], 0]

    width = np.diff(lists.first)
    size = -(-width // -(-_TASKS_A_THREAD * threads // len(chosen)))  # haplotypes of a task: all, unless tasks are few
    tasks = -(-width // size)[block]
    first_task = np.cumsum(tasks) - tasks
    task_group = np.repeat(np.arange(len(chosen)), tasks)
    task_block = block[task_group]
    skipped = (np.arange(len(task_group)) - first_task[task_group]) * size[task_block]
    haplotypes = np.minimum(size[task_block], width[task_block] - skipped)
    result = (np.cumsum(haplotypes) - haplotypes) * lanes
    rows = groups.lengths[groups.first[chosen]][task_group]
    table = np.stack([rows, lists.first[task_block] + skipped, haplotypes, result], axis=1).astype(np.int32)
    order = np.argsort(-rows * haplotypes, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))

    entries, saves, borders, skipped_columns = _entries(work, lists, size, strip, most_borders)
    pair_task = first_task[np.repeat(group, count)] + lists.place // size[np.repeat(block[group], count)]
    pair_lane = np.repeat(lane, count)
    bases = np.bincount(block[group], weights=groups.lengths[read]).astype(np.int64)
    columns = np.add.reduceat(work.haplotypes.lengths[lists.haplotype] - skipped_columns, lists.first[:-1])
    return Shared(
        table[order],
        members[task_group[order]],
        entries,
        saves,
        int(haplotypes.sum()) * lanes,
        pairs,
        result[pair_task] + (lists.place - skipped[pair_task]) * lanes + pair_lane,
        number[pair_task] * lanes + pair_lane,
        borders,
        int(bases @ columns),
    )


def _haplotype_lists(work: Work, pairs: np.ndarray, block: np.ndarray) -> _Lists:
    """Lists of the blocks of `pairs`; `block` is 0.. without gaps, parallel to `pairs`."""
    keys, key = np.unique(block * len(work.haplotypes) + work.pairs[pairs, 1], return_inverse=True)
    of_block, haplotype = np.divmod(keys, len(work.haplotypes))
    content = [work.haplotypes[index].tobytes() for index in haplotype.tolist()]
    blocks = of_block.tolist()
    order = np.array(sorted(range(len(content)), key=lambda index: (blocks[index], content[index])))
    first = np.searchsorted(of_block, np.arange(blocks[-1] + 2))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - first[of_block]
    return _Lists(haplotype[order], first, place[key])


def _entries(work: Work, lists: _Lists, size: np.ndarray, strip: int, most_borders: int) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """The kernel's list of haplotypes, its saves, the most borders kept at a time, and the columns that each haplotype leaves out."""
    entries = np.zeros((len(lists.haplotype), 6), np.int32)
    entries[:, 0] = work.haplotypes.offsets[lists.haplotype]
    entries[:, 1] = work.haplotypes.lengths[lists.haplotype]
    saves: list[tuple[int, int]] = []
    borders = 0
    if most_borders:
        width = np.diff(lists.first)
        place = np.arange(len(lists.haplotype)) - np.repeat(lists.first[:-1], width)
        begins = place % np.repeat(size, width) == 0  # of a task's list
        first_strip = np.where(begins, 0, restarts(work.haplotypes, lists.haplotype, strip))
        starts = np.append(np.flatnonzero(begins), len(begins))
        shares = np.add.reduceat(first_strip, starts[:-1]) > 0
        strips = first_strip.tolist()
        for begin, end in zip(starts[:-1][shares].tolist(), starts[1:][shares].tolist(), strict=True):
            sweep = plan(tuple(strips[begin:end]), most_borders)
            borders = max(borders, sweep.borders)
            entries[begin:end, 2], entries[begin:end, 3] = sweep.first_strip, sweep.border
            for index, kept in enumerate(sweep.saves, begin):
                if kept:
                    entries[index, 4], entries[index, 5] = len(saves), len(kept)
                    saves += kept
    left_out = np.minimum(entries[:, 2].astype(np.int64) * strip, entries[:, 1])
    return entries, np.array(saves or [(0, 0)], np.int32), borders, left_out
