"""One alignment, parsed once: its bases, its ungapped blocks and its differences from the reference."""

import bisect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pysam

from haplowave.errors import UserError

Event = tuple[int, str, str]
"""(pos, ref, alt): 0-based position of the first base of `ref`; indels carry one anchor base, as in VCF."""

_MATCH, _INSERTION, _DELETION, _SKIP, _SOFT_CLIP, _EQUAL, _DIFFERENT = 0, 1, 2, 3, 4, 7, 8
_ALIGNED = (_MATCH, _EQUAL, _DIFFERENT)
_N = ord("N")


@dataclass(frozen=True)
class BaseRules:
    """Which bases of a read can speak for an event."""

    min_base_quality: int
    default_base_quality: int
    trim_quality: int


@dataclass(frozen=True, slots=True)
class Gap:
    """An insertion or deletion of the CIGAR before reference position `ref` and query position `query`."""

    ref: int
    query: int
    inserted: int
    deleted: int


@dataclass(slots=True)
class AlignedRead:
    """Coordinates are 0-based half-open. `query_*` count from the first base of the record, soft clips included.

    `bases`, `quals`: uint8, shape (length,). `block_*`: int64, shape (blocks,): the runs of aligned bases.
    `usable_start`, `usable_end`: query window left after adapter and low-quality ends are taken off.
    """

    name: str
    flag: int
    mapq: int
    start: int
    end: int
    bases: np.ndarray
    quals: np.ndarray
    block_ref: np.ndarray
    block_query: np.ndarray
    block_length: np.ndarray
    usable_start: int
    usable_end: int
    clip_left: int
    clip_right: int
    events: list[Event]

    @property
    def length(self) -> int:
        return len(self.bases)

    def reference_positions(self) -> np.ndarray:
        """int64, shape (length,): the reference position of each base, -1 where it is inserted or clipped."""
        positions = np.full(self.length, -1, np.int64)
        for ref, query, length in zip(self.block_ref, self.block_query, self.block_length, strict=True):
            positions[query : query + length] = np.arange(ref, ref + length)
        return positions

    def query_at(self, position: int, after: bool) -> int:
        """The first query base at or after reference `position`; with `after`, the query base behind the last before it.

        Both fall on the same base unless `position` touches an insertion or deletion; beyond the aligned part the
        query runs on through the soft clips as if they were aligned.
        """
        index = int(np.searchsorted(self.block_ref, position, side="left" if after else "right")) - 1
        if index < 0:
            return max(0, int(self.block_query[0]) - max(0, int(self.block_ref[0]) - position))
        into = position - int(self.block_ref[index])
        length = int(self.block_length[index])
        if into < length or (after and into == length):
            return int(self.block_query[index]) + into
        if index + 1 < len(self.block_ref):
            return int(self.block_query[index]) + length if after else int(self.block_query[index + 1])
        return min(self.length, int(self.block_query[index]) + into)


def parse(read: pysam.AlignedSegment, source: str, reference: Callable[[int, int], np.ndarray], rules: BaseRules) -> AlignedRead:
    """Parse `read` of file `source`. `reference(start, end)` gives uint8 reference bases.

    Raises UserError for a record without base qualities unless `rules.default_base_quality` stands in for them.
    """
    bases = np.frombuffer(read.query_sequence.upper().encode("ascii"), np.uint8)
    quals = _qualities(read, source, len(bases), rules)
    blocks, gaps, clip_left, clip_right = _walk_cigar(read)
    block_ref, block_query, block_length = (np.array(column, np.int64) for column in zip(*blocks, strict=True))
    usable_start, usable_end = _usable_window(read, quals, block_ref, block_query, block_length, rules)
    result = AlignedRead(
        name=read.query_name,
        flag=read.flag,
        mapq=read.mapping_quality,
        start=read.reference_start,
        end=read.reference_end,
        bases=bases,
        quals=quals,
        block_ref=block_ref,
        block_query=block_query,
        block_length=block_length,
        usable_start=usable_start,
        usable_end=usable_end,
        clip_left=clip_left,
        clip_right=clip_right,
        events=[],
    )
    result.events = _find_events(result, gaps, reference, rules.min_base_quality)
    return result


def _qualities(read: pysam.AlignedSegment, source: str, length: int, rules: BaseRules) -> np.ndarray:
    quals = read.query_qualities
    if quals is not None:
        return np.frombuffer(quals, np.uint8)
    if rules.default_base_quality <= 0:
        raise UserError(
            f"{source}: record {read.query_name} has no base qualities; give reads with qualities or set default_base_quality "
            "in the configuration (reads)"
        )
    return np.full(length, rules.default_base_quality, np.uint8)


def _walk_cigar(read: pysam.AlignedSegment) -> tuple[list[tuple[int, int, int]], list[Gap], int, int]:
    """Ungapped blocks (ref, query, length), gaps, soft clips at both ends."""
    ref, query = read.reference_start, 0
    blocks: list[tuple[int, int, int]] = []
    gaps: list[Gap] = []
    clips = [0, 0]
    for operation, length in read.cigartuples:
        if operation in _ALIGNED:
            if blocks and blocks[-1][0] + blocks[-1][2] == ref and blocks[-1][1] + blocks[-1][2] == query:
                blocks[-1] = (blocks[-1][0], blocks[-1][1], blocks[-1][2] + length)
            else:
                blocks.append((ref, query, length))
            ref += length
            query += length
        elif operation == _INSERTION:
            gaps.append(Gap(ref, query, length, 0))
            query += length
        elif operation == _DELETION:
            gaps.append(Gap(ref, query, 0, length))
            ref += length
        elif operation == _SKIP:
            ref += length
        elif operation == _SOFT_CLIP:
            clips[1 if blocks else 0] += length
            query += length
    return blocks, gaps, clips[0], clips[1]


def _usable_window(
    read: pysam.AlignedSegment,
    quals: np.ndarray,
    block_ref: np.ndarray,
    block_query: np.ndarray,
    block_length: np.ndarray,
    rules: BaseRules,
) -> tuple[int, int]:
    """Take off low-quality ends (as GATK's hardClipLowQualEnds) and what reaches past the mate's start (adapter)."""
    good = np.flatnonzero(quals >= rules.trim_quality)
    if not len(good):
        return 0, 0
    start, end = int(good[0]), int(good[-1]) + 1
    boundary = _adapter_boundary(read)
    if boundary is not None:
        if read.is_reverse:
            start = max(start, _query_of(boundary, block_ref, block_query, block_length))
        else:
            end = min(end, _query_of(boundary, block_ref, block_query, block_length))
    return start, max(start, end)


def _adapter_boundary(read: pysam.AlignedSegment) -> int | None:
    """Reference position where the fragment ends, for a read of a proper inward pair that is shorter than the read."""
    if not (read.is_paired and read.is_proper_pair) or read.is_reverse == read.mate_is_reverse or not read.template_length:
        return None
    size = abs(read.template_length)
    if size >= read.query_length or size < 2:
        return None
    return read.next_reference_start if read.is_reverse else read.reference_start + size


def _query_of(position: int, block_ref: np.ndarray, block_query: np.ndarray, block_length: np.ndarray) -> int:
    index = max(0, int(np.searchsorted(block_ref, position, side="right")) - 1)
    return max(0, int(block_query[index] + min(position - block_ref[index], block_length[index])))


def _find_events(read: AlignedRead, gaps: list[Gap], reference: Callable[[int, int], np.ndarray], floor: int) -> list[Event]:
    window = reference(read.start, read.end)
    mismatches = _mismatches(read, window)
    events: list[Event] = []
    for ref, query in mismatches:
        base, original = int(read.bases[query]), int(window[ref - read.start])
        usable = read.usable_start <= query < read.usable_end and read.quals[query] >= floor
        if usable and base != _N and original != _N:
            events.append((ref, chr(original), chr(base)))
    positions = [ref for ref, _ in mismatches]
    previous_end = read.start
    for gap in gaps:
        # An indel moves left only over bases that this read matches, so that its events together still spell the read.
        before = bisect.bisect_left(positions, gap.ref)
        limit = max(previous_end, positions[before - 1] if before else 0) + 1
        event = _indel(read, gap, window, limit, floor)
        if event is not None:
            events.append(event)
        previous_end = gap.ref + gap.deleted
    events.sort()
    return events


def _mismatches(read: AlignedRead, window: np.ndarray) -> list[tuple[int, int]]:
    """(reference position, query position) of each differing base, aligned blocks only."""
    result: list[tuple[int, int]] = []
    for ref, query, length in zip(read.block_ref.tolist(), read.block_query.tolist(), read.block_length.tolist(), strict=True):
        different = np.flatnonzero(read.bases[query : query + length] != window[ref - read.start : ref - read.start + length])
        result.extend((ref + offset, query + offset) for offset in different.tolist())
    return result


def _indel(read: AlignedRead, gap: Gap, window: np.ndarray, limit: int, floor: int) -> Event | None:
    """The gap as an event, moved left to `limit` at most, or None where the read cannot vouch for it (ends, quality, N)."""
    if gap.query < max(1, read.usable_start) or gap.query + gap.inserted >= read.usable_end:
        return None
    at = gap.ref - read.start
    limit -= read.start
    if gap.inserted:
        inserted = slice(gap.query, gap.query + gap.inserted)
        if read.quals[inserted].mean() < floor:
            return None
        text = read.bases[inserted].tobytes()
        while at > limit and window[at - 1] == text[-1]:
            text = text[-1:] + text[:-1]
            at -= 1
        original = window[at - 1 : at].tobytes()
        alternative = original + text
    else:
        while at > limit and window[at - 1] == window[at + gap.deleted - 1]:
            at -= 1
        original = window[at - 1 : at + gap.deleted].tobytes()
        alternative = original[:1]
    if b"N" in original or b"N" in alternative:
        return None
    return read.start + at - 1, original.decode("ascii"), alternative.decode("ascii")
