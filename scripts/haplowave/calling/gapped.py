"""Events of a haplotype from its sequence: a global alignment with affine gaps.

Scores are those that GATK aligns haplotypes to the reference with (SmithWatermanAlignmentConstants.NEW_SW_PARAMETERS).
"""

import numpy as np

from haplowave.calling.aligned_read import Event

_MATCH, _MISMATCH, _OPEN, _EXTEND = 200, -150, -260, -11


def align_events(reference: str, haplotype: str, start: int) -> tuple[Event, ...]:
    """Left-aligned differences of `haplotype` from `reference`, whose first base is at position `start`.

    Both must begin with the same base. What they share at their ends is set aside first: most of the time the rest is
    one event.
    """
    # One shared base is kept at the front where there is one: an indel needs its anchor.
    shortest = min(len(reference), len(haplotype)) - (reference[:1] == haplotype[:1])
    tail = 0
    while tail < shortest and reference[-1 - tail] == haplotype[-1 - tail]:
        tail += 1
    head = 0
    longest = min(len(reference), len(haplotype)) - tail
    while head < longest and reference[head] == haplotype[head]:
        head += 1
    middle_ref, middle_hap = reference[head : len(reference) - tail], haplotype[head : len(haplotype) - tail]
    if not middle_ref and not middle_hap:
        return ()
    pieces = _align(middle_ref, middle_hap) if middle_ref and middle_hap else [(0, 0, len(middle_ref), len(middle_hap))]
    events: list[Event] = []
    for ref, hap, deleted, inserted in pieces:
        at_ref, at_hap = head + ref, head + hap
        if deleted == inserted:
            events.append((start + at_ref, reference[at_ref], haplotype[at_hap]))
            continue
        floor = events[-1][0] - start + len(events[-1][1]) if events else 0
        while at_ref - 1 > floor and at_hap > 1 and _same_shift(reference, haplotype, at_ref, at_hap, deleted, inserted):
            at_ref, at_hap = at_ref - 1, at_hap - 1
        anchor = reference[at_ref - 1]
        events.append((start + at_ref - 1, anchor + reference[at_ref : at_ref + deleted], anchor + haplotype[at_hap : at_hap + inserted]))
    return tuple(sorted(events))


def _same_shift(reference: str, haplotype: str, ref: int, hap: int, deleted: int, inserted: int) -> bool:
    """Whether a gap may begin one base earlier without changing what is spelled."""
    before = reference[ref - 1]
    return before == haplotype[hap - 1] and before == (reference[ref + deleted - 1] if deleted else haplotype[hap + inserted - 1])


def _align(reference: str, haplotype: str) -> list[tuple[int, int, int, int]]:
    """Differences as (ref index, haplotype index, deleted, inserted) in order; substitutions one base each."""
    ref = np.frombuffer(reference.encode("ascii"), np.uint8)
    hap = np.frombuffer(haplotype.encode("ascii"), np.uint8)
    rows, columns = len(ref), len(hap)
    best = np.full((rows + 1, columns + 1), np.iinfo(np.int32).min // 2, np.int64)
    down = best.copy()
    across = best.copy()
    best[0, 0] = 0
    across[0, 1:] = best[0, 1:] = _OPEN + _EXTEND * np.arange(columns)
    steps = _EXTEND * np.arange(columns + 1)
    for row in range(1, rows + 1):
        down[row] = np.maximum(best[row - 1] + _OPEN, down[row - 1] + _EXTEND)
        score = np.where(hap == ref[row - 1], _MATCH, _MISMATCH)
        closed = down[row].copy()
        closed[1:] = np.maximum(closed[1:], best[row - 1, :-1] + score)
        # across[j] = max over i < j of closed[i] + open + extend * (j - i - 1), as a running maximum.
        across[row, 1:] = np.maximum.accumulate(closed - steps)[:-1] + steps[:-1] + _OPEN
        best[row] = np.maximum(closed, across[row])
    return _trace(ref, hap, best, down, across)


def _trace(ref: np.ndarray, hap: np.ndarray, best: np.ndarray, down: np.ndarray, across: np.ndarray) -> list[tuple[int, int, int, int]]:
    row, column = len(ref), len(hap)
    found: list[tuple[int, int, int, int]] = []
    while row or column:
        if row and best[row, column] == down[row, column]:
            deleted = 1
            while down[row - deleted + 1, column] != best[row - deleted, column] + _OPEN:
                deleted += 1
            row -= deleted
            found.append((row, column, deleted, 0))
        elif column and best[row, column] == across[row, column]:
            inserted = 1
            while across[row, column - inserted + 1] != best[row, column - inserted] + _OPEN and column - inserted > 0:
                inserted += 1
            column -= inserted
            found.append((row, column, 0, inserted))
        else:
            row, column = row - 1, column - 1
            if ref[row] != hap[column]:
                found.append((row, column, 1, 1))
    return found[::-1]
