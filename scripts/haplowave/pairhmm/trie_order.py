"""Haplotypes of regions in an order in which those that begin alike stand together."""

import numpy as np

_LEVELS = 4  # of haplotypes that begin alike, within those that do; deeper ones are left as they come
_WORDS = 4  # of 8 bases each, compared at a time


def in_order(region: np.ndarray, begin: np.ndarray, length: np.ndarray, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order of the haplotypes, columns that each begins with as the one before it in that order), int64.

    region: of each haplotype, ascending; haplotypes of one region stay together. begin, length: where in `data` (uint8) the bases are.
    The columns may be fewer than there are, never more; the first haplotype of a region has 0.
    """
    order, alike = np.arange(len(region)), np.zeros(len(region), np.int64)
    text = np.concatenate([data, np.zeros(8 * _WORDS, np.uint8)])
    words = np.ndarray(len(text) - 7, "<u8", text, 0, (1,))  # those that begin at each base
    place, group = order, region
    for _ in range(_LEVELS):
        if not len(place):
            break
        first = np.append(True, group[1:] != group[:-1])
        leader = order[place[np.flatnonzero(first)]][np.cumsum(first)[~first] - 1]
        place, group = place[~first], group[~first]
        mine = order[place]
        same = _common(words, begin[mine], begin[leader], np.minimum(length[mine], length[leader]))
        key = group << 32 | (1 << 31) - same  # those that begin with more of the first one come first
        by_key = np.argsort(key, kind="stable")
        key = key[by_key]
        order[place], alike[place] = mine[by_key], same[by_key]
        run = np.cumsum(np.diff(key, prepend=-1) != 0) - 1
        several = np.bincount(run)[run] > 1
        place, group = place[several], run[several]
    return order, alike


def _common(words: np.ndarray, first: np.ndarray, second: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Bases that are equal from `first` and `second` on, at most `limit`."""
    result, column = limit.copy(), 0
    left = np.arange(len(first))
    while len(left):
        at = column + 8 * np.arange(_WORDS)
        differing = words[first[left][:, None] + at] ^ words[second[left][:, None] + at]
        differs = differing != 0
        word = differs.argmax(axis=1)
        bits = differing[np.arange(len(left)), word]
        found = np.flatnonzero(bits)
        lowest = bits[found] & (~bits[found] + np.uint64(1))
        base = np.log2(lowest.astype(np.float64)).astype(np.int64) // 8
        result[left[found]] = np.minimum(limit[left[found]], column + 8 * word[found] + base)
        column += 8 * _WORDS
        left = left[(bits == 0) & (limit[left] > column)]
    return result
