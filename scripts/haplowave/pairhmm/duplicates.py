"""Sequences that are the same, found without reading all of every one."""

import itertools

import numpy as np

from haplowave.sequences import members

_BASES = 1 << 18  # that are compared at a time
_PROBES = (6, 30)  # positions that are compared first, of the first two arrays and a sixth of the others; then, of those alike, more
_MIX = np.uint64(0x9E3779B97F4A7C15)


def representatives(begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray) -> np.ndarray:
    """int64 (n,): for each of n sequences, the index of the first one of its family whose every array is the same.

    Item i is the tuple of array[begin[i]:begin[i] + lengths[i]], `arrays` uint8 and parallel. begin, lengths, family: int64 (n,).
    Candidates have one length and agree at a few positions; only they are compared in full.
    """
    result = np.arange(len(lengths))
    alike = result
    for probes in _PROBES:
        if len(alike) > 1:
            key = _probe(begin[alike], lengths[alike], arrays, family[alike], probes)
            order = np.argsort(key, kind="stable")
            same = np.diff(key[order]) == 0
            alike, apart = alike[order], ~np.append(False, same)  # apart from the one before
            several = ~(apart & np.append(apart[1:], True))
            alike, apart = alike[several], apart[several]
    if len(alike) > 1:
        _settle_all(alike, apart, begin, lengths, arrays, family, result)
    return result


def _settle_all(
    alike: np.ndarray,
    apart: np.ndarray,
    begin: np.ndarray,
    lengths: np.ndarray,
    arrays: tuple[np.ndarray, ...],
    family: np.ndarray,
    result: np.ndarray,
) -> None:
    """Set the `result` of items that may be the same. alike: runs of them, in order; apart: bool, a run begins."""
    leader = alike[apart][np.cumsum(apart) - 1][~apart]
    member = alike[~apart]
    equal = _equal(member, leader, begin, lengths, arrays, family)
    result[member[equal]] = leader[equal]
    member, leader = member[~equal], leader[~equal]
    edges = np.flatnonzero(np.diff(leader, prepend=-1, append=-1)).tolist() if len(member) else []
    for first, last in itertools.pairwise(edges):
        _settle(member[first:last], begin, lengths, arrays, family, result)


def _equal(
    one: np.ndarray, other: np.ndarray, begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray
) -> np.ndarray:
    """bool: whether items one[i] and other[i] are the same."""
    result = (lengths[one] == lengths[other]) & (family[one] == family[other])
    which = np.flatnonzero(result & (lengths[one] > 0))
    ends = np.cumsum(lengths[one[which]])
    cuts = np.searchsorted(ends, np.arange(_BASES, ends[-1], _BASES)) if len(which) else []
    for part in np.split(which, cuts):
        result[part] = _same_content(begin[one[part]], begin[other[part]], lengths[one[part]], arrays)
    return result


def _same_content(one: np.ndarray, other: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """bool: whether array[one[i]:one[i] + lengths[i]] is array[other[i]:other[i] + lengths[i]] in all of them; none is empty."""
    if not len(one):
        return np.zeros(0, bool)
    first = np.cumsum(lengths) - lengths
    at = members(one, lengths)
    apart = np.repeat(other - one, lengths)
    differ = np.zeros(len(at), bool)
    for array in arrays:
        differ |= array[at] != array[at + apart]
    return ~np.logical_or.reduceat(differ, first)


def _probe(begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray, probes: int) -> np.ndarray:
    key = (lengths.astype(np.uint64) * _MIX) ^ family.astype(np.uint64)
    last = np.maximum(lengths - 1, 0)
    with np.errstate(over="ignore"):
        for step in range(probes):
            position = np.minimum(begin + last * step // (probes - 1), max(len(arrays[0]) - 1, 0))
            for array in arrays if step % 6 == 3 else arrays[:2]:
                key = (key ^ array[position].astype(np.uint64)) * _MIX
                key ^= key >> np.uint64(29)
    return key


def _settle(
    members: np.ndarray, begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray, result: np.ndarray
) -> None:
    seen: dict[tuple, int] = {}
    for member in members.tolist():
        where = slice(begin[member], begin[member] + lengths[member])
        content = (int(family[member]), *(array[where].tobytes() for array in arrays))
        result[member] = seen.setdefault(content, member)
