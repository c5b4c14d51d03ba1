"""Sequences that are the same, found without reading all of every one."""

import numpy as np

_PROBES = 6  # positions at which the first two arrays are compared first; the others at one of them
_MIX = np.uint64(0x9E3779B97F4A7C15)


def representatives(begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray) -> np.ndarray:
    """int64 (n,): for each of n sequences, the index of the first one of its family whose every array is the same.

    Item i is the tuple of array[begin[i]:begin[i] + lengths[i]], `arrays` uint8 and parallel. begin, lengths, family: int64 (n,).
    Candidates have one length and agree at a few positions; only they are compared in full.
    """
    result = np.arange(len(lengths))
    if len(lengths) < 2:
        return result
    key = _probe(begin, lengths, arrays, family)
    order = np.argsort(key, kind="stable")
    same = key[order[1:]] == key[order[:-1]]
    if not same.any():
        return result
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2):
        _settle(order[first : last + 1], begin, lengths, arrays, family, result)
    return result


def _probe(begin: np.ndarray, lengths: np.ndarray, arrays: tuple[np.ndarray, ...], family: np.ndarray) -> np.ndarray:
    key = (lengths.astype(np.uint64) * _MIX) ^ family.astype(np.uint64)
    last = np.maximum(lengths - 1, 0)
    with np.errstate(over="ignore"):
        for step in range(_PROBES):
            position = np.minimum(begin + last * step // (_PROBES - 1), max(len(arrays[0]) - 1, 0))
            for array in arrays if step == _PROBES // 2 else arrays[:2]:
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
