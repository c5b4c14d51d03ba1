"""Trees of lanes packed into warps."""

from collections import defaultdict

import numpy as np

_CLASSES = 4  # a doubling of the length is cut into so many classes of trees that count as equally long


def pack(lanes: np.ndarray, length: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(warp, first lane) of each tree and how many warps there are; int64.

    lanes: of each tree, 1 to `width`. length: how long it takes, > 0. Longest first, in a class widest first, each into the narrowest
    gap that takes it; so a warp's trees take about equally long, and what fills its gaps less.
    """
    kind = np.floor(_CLASSES * np.log2(length)).astype(np.int64)
    order = np.lexsort((-lanes, -kind))
    begin = np.flatnonzero(np.diff(kind[order] * (width + 1) + lanes[order], prepend=-1))
    warp, first = np.empty(len(lanes), np.int64), np.empty(len(lanes), np.int64)
    gaps: dict[int, list[np.ndarray]] = defaultdict(list)
    warps = 0
    for group in np.split(order, begin[1:]):
        size = int(lanes[group[0]])
        for free in sorted(free for free, found in gaps.items() if found and free >= size):
            while len(group) and gaps[free]:
                group = _fill(group, size, gaps[free].pop(), free, width, warp, first, gaps)
        if len(group):
            new = np.arange(warps, warps - (-len(group) // (width // size)))
            warps += len(new)
            _fill(group, size, new, width, width, warp, first, gaps)
    return warp, first, warps


def _fill(
    group: np.ndarray, size: int, into: np.ndarray, free: int, width: int, warp: np.ndarray, first: np.ndarray, gaps: dict
) -> np.ndarray:
    """Put trees of `size` lanes into warps that have `free` lanes left; returns the trees that found no place."""
    each = free // size
    placed = group[: each * len(into)]
    number = np.arange(len(placed))
    warp[placed] = into[number // each]
    first[placed] = width - free + number % each * size
    full, rest = divmod(len(placed), each)
    for warps, left in ((into[:full], free - each * size), (into[full : full + 1], free - rest * size), (into[full + 1 :], free)):
        if len(warps) and left:
            gaps[left].append(warps)
    return group[len(placed) :]
