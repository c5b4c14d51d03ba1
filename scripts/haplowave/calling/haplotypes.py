"""Candidate haplotypes of a region: the combinations of candidate events that reads carry together.

Events come from the alignments of all samples. A beam search walks along the events and extends each partial
haplotype by "carries it" and "does not", scored by the reads that cover the event and agree with the partial
haplotype at the events just before it. The number of haplotypes is bounded by that evidence.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haplowave.calling.aligned_read import AlignedRead, Event
from haplowave.options import HaplotypeOptions

_LINKED_EVENTS = 4
_BEAM = 4
_SPARSE_LINKS = 5
_MIN_LINK_SHARE = 0.03


@dataclass(frozen=True)
class Haplotype:
    """`sequence` replaces the reference in [start, end); `events` in order, none in conflict with another."""

    start: int
    end: int
    sequence: str
    events: tuple[Event, ...]


def conflict(first: Event, second: Event) -> bool:
    """Whether two events cannot lie on one haplotype: they rewrite the same reference bases or the same gap."""
    low, high = sorted((first, second), key=_footprint)
    low_start, low_end = _footprint(low)
    high_start, high_end = _footprint(high)
    if low_start == low_end and high_start == high_end:
        return low_start == high_start
    return (
        high_start < low_end
        or (low_start == high_start and _is_insertion(low) and _is_deletion(high))
        or (_is_insertion(high) and _is_deletion(low) and high_start == low_end)
    )


def _is_insertion(event: Event) -> bool:
    return len(event[2]) > len(event[1])


def _is_deletion(event: Event) -> bool:
    return len(event[2]) < len(event[1])


def _footprint(event: Event) -> tuple[int, int]:
    """The reference bases that the event rewrites; empty, at its gap, for an insertion."""
    pos, ref, alt = event
    if len(ref) == len(alt):
        return pos, pos + len(ref)
    return pos + 1, pos + len(ref)


def spell(reference: str, start: int, events: Sequence[Event]) -> str:
    """Apply `events` (in order, without conflicts) to `reference`, which begins at position `start`."""
    parts: list[str] = []
    at = start
    for event in sorted(events, key=lambda event: (_footprint(event), event)):
        low, high = _footprint(event)
        parts.append(reference[at - start : low - start])
        parts.append(event[2] if len(event[1]) == len(event[2]) else event[2][1:])
        at = high
    parts.append(reference[at - start :])
    return "".join(parts)


def observe(reads: Sequence[AlignedRead], events: Sequence[Event], extents: Sequence[tuple[int, int]]) -> np.ndarray:
    """int8, shape (reads, events): 1 the read carries the event, 0 it covers the whole extent without it, -1 unknown."""
    starts = np.array([read.start for read in reads], np.int64)[:, None]
    ends = np.array([read.end for read in reads], np.int64)[:, None]
    lows = np.array([low for low, _ in extents], np.int64)[None, :]
    highs = np.array([high for _, high in extents], np.int64)[None, :]
    seen = np.where((starts <= lows) & (ends >= highs), 0, -1).astype(np.int8)
    column = {event: index for index, event in enumerate(events)}
    for row, read in enumerate(reads):
        for event in read.events:
            index = column.get(event)
            if index is not None:
                seen[row, index] = 1
    return seen


def combine(events: Sequence[Event], seen: np.ndarray, options: HaplotypeOptions) -> list[tuple[Event, ...]]:
    """Event sets of the haplotypes, best supported first, the empty one (the reference) left out.

    `events` in order of position; `seen` as from `observe`. Every event lies on at least one haplotype.
    """
    if not events:
        return []
    vectors, weights = _distinct(seen)
    states = _search(events, vectors, weights, options.max_haplotypes * _BEAM)
    chosen = [bits for bits, _ in states if any(bits)]
    carried = set()
    result: list[tuple[int, ...]] = []
    for bits in chosen[: options.max_haplotypes - 1]:
        result.append(bits)
        carried.update(index for index, bit in enumerate(bits) if bit)
    for index in range(len(events)):
        if index not in carried:
            bits = next((bits for bits in chosen if bits[index]), None)
            result.append(bits or tuple(int(other == index) for other in range(len(events))))
            carried.update(other for other, bit in enumerate(result[-1]) if bit)
    return [tuple(event for event, bit in zip(events, bits, strict=True) if bit) for bits in dict.fromkeys(result)]


def _distinct(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    counts = Counter(row.tobytes() for row in seen)
    keys = sorted(counts)
    vectors = np.frombuffer(b"".join(keys), np.int8).reshape(len(keys), seen.shape[1])
    return vectors, np.array([counts[key] for key in keys], np.float64)


def _search(events: Sequence[Event], vectors: np.ndarray, weights: np.ndarray, width: int) -> list[tuple[tuple[int, ...], float]]:
    clashes = [[other for other in range(index) if conflict(events[other], events[index])] for index in range(len(events))]
    states: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for index in range(len(events)):
        extended = []
        for bits, score in states:
            support = _support(vectors, weights, bits, index)
            total = support.sum()
            for bit in (0, 1):
                if bit and any(bits[other] for other in clashes[index]):
                    continue
                if total >= _SPARSE_LINKS and support[bit] < max(1.0, _MIN_LINK_SHARE * total):
                    continue
                extended.append(((*bits, bit), score + float(np.log((support[bit] + 0.1) / (total + 0.2)))))
        extended.sort(key=lambda state: (-state[1], state[0]))
        states = extended[:width]
    return states


def _support(vectors: np.ndarray, weights: np.ndarray, bits: tuple[int, ...], index: int) -> np.ndarray:
    """Reads without and with event `index` that cover an event just before it and agree with `bits` there.

    Where no read reaches back, all reads that cover the event count: the two are independent as far as the data go.
    """
    here = vectors[:, index]
    covered = here >= 0
    first = max(0, index - _LINKED_EVENTS)
    if index > first:
        before = vectors[:, first:index]
        known = before >= 0
        agrees = ((before == np.array(bits[first:index], np.int8)) | ~known).all(axis=1)
        linked = covered & known.any(axis=1)
        if weights[linked].sum() >= 1:
            covered = linked & agrees
    return np.array([weights[covered & (here == 0)].sum(), weights[covered & (here == 1)].sum()])
