"""How pairs are put into SIMD lanes.

Reads that meet the same haplotypes, or nearly so, form a block. Sorted by length and cut into groups of V lanes, they meet all haplotypes
of the block together (kernel `shared`); a result that nobody asked for is dropped. Groups that would leave too many lanes, rows or results
unused go to kernel `mixed`: V pairs of similar shape at a time, from anywhere.
"""

from dataclasses import dataclass

import numpy as np

from haplowave.pairhmm.engines import Work

_FULL = 0.5  # share of a group's cells in use from which `shared` beats `mixed`, which makes the parameters of a row anew for every pair
_ALIKE = 0.8  # share of a family's reads times haplotypes that must be asked for, to be one block
_MIX = np.uint64(0x9E3779B97F4A7C15)


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
