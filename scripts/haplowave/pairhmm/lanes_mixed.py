"""Tasks of kernel `mixed`: V pairs of similar shape, whatever their reads and haplotypes."""

import numpy as np

from haplowave.pairhmm.engines import Work

_WASTE = 0.5  # share of a group's cells in use below which it may be better halved


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
