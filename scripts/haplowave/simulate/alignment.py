"""Simulated reads to alignment records, by minimap2 through mappy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam

from haplowave.errors import UserError
from haplowave.simulate import bases as b

_SOFT_CLIP, _HARD_CLIP = 4, 5
_LARGEST_PROPER = 1000


@dataclass(frozen=True)
class Hit:
    """One alignment of a read: `left`, `right` bases clipped in the reference's direction; `cigar` (operation, length) without clips."""

    contig: str
    start: int
    end: int
    reverse: bool
    mapping_quality: int
    mismatches: int
    cigar: tuple[tuple[int, int], ...]
    left: int
    right: int

    def clipped(self, operation: int) -> list[tuple[int, int]]:
        clips = [[(operation, length)] if length else [] for length in (self.left, self.right)]
        return [*clips[0], *self.cigar, *clips[1]]


class Mapper:
    """minimap2 with one preset over one reference file. Raises UserError without mappy or with an unreadable reference."""

    def __init__(self, reference: Path, preset: str):
        try:
            import mappy
        except ImportError as error:
            raise UserError("mappy: not installed, and simulated reads need an aligner; run 'pip install mappy'") from error
        self._aligner = mappy.Aligner(str(reference), preset=preset)
        if not self._aligner:
            raise UserError(f"{reference}: minimap2 cannot index it; give a FASTA file")

    def map(self, *mates: str) -> list[list[Hit]]:
        """For each mate its primary alignment and then its supplementary ones; empty where it does not map."""
        hits: list[list[Hit]] = [[] for _ in mates]
        for hit in self._aligner.map(*mates):
            if hit.is_primary:
                mate = hit.read_num - 1
                hits[mate].append(_hit(hit, len(mates[mate]), flipped=mate == 1))
        return hits


def _hit(hit: Any, length: int, flipped: bool) -> Hit:
    """mappy gives the query interval of a second mate on its reverse complement: `flipped` says so."""
    reverse = hit.strand < 0
    left, right = hit.q_st, length - hit.q_en
    if reverse != flipped:
        left, right = right, left
    cigar = tuple((operation, count) for count, operation in hit.cigar)
    return Hit(hit.ctg, hit.r_st, hit.r_en, reverse, hit.mapq, hit.NM, cigar, left, right)


def record(
    header: pysam.AlignmentHeader, name: str, bases: np.ndarray, quals: np.ndarray, hit: Hit | None, *, hard: bool = False
) -> pysam.AlignedSegment:
    """A record in the reference's direction; `hard` leaves the clipped bases out. `bases`, `quals` in the read's own direction."""
    segment = pysam.AlignedSegment(header)
    segment.query_name = name
    segment.is_unmapped = hit is None
    if hit and hit.reverse:
        bases, quals = b.reverse_complement(bases), quals[::-1]
    if hit and hard:
        bases, quals = (array[hit.left : len(array) - hit.right] for array in (bases, quals))
    segment.query_sequence = b.decode(bases)
    segment.query_qualities = pysam.qualitystring_to_array((quals + 33).tobytes().decode())
    if hit:
        segment.is_reverse = hit.reverse
        segment.reference_id = header.get_tid(hit.contig)
        segment.reference_start = hit.start
        segment.mapping_quality = hit.mapping_quality
        segment.cigartuples = hit.clipped(_HARD_CLIP if hard else _SOFT_CLIP)
        segment.set_tag("NM", hit.mismatches)
    return segment


def map_long(
    mapper: Mapper, header: pysam.AlignmentHeader, name: str, bases: np.ndarray, quals: np.ndarray
) -> Iterator[pysam.AlignedSegment]:
    """The records of one long read: primary soft-clipped, supplementary hard-clipped, with SA tags that point at each other."""
    (hits,) = mapper.map(b.decode(bases))
    for index, hit in enumerate(hits or [None]):
        segment = record(header, name, bases, quals, hit, hard=index > 0)
        segment.is_supplementary = index > 0
        if len(hits) > 1:
            segment.set_tag("SA", "".join(_sa_entry(other) for place, other in enumerate(hits) if place != index))
        yield segment


def _sa_entry(hit: Hit) -> str:
    """SAM optional fields specification, tag SA."""
    cigar = "".join(f"{length}{'MIDNSHP=X'[operation]}" for operation, length in hit.clipped(_SOFT_CLIP))
    return f"{hit.contig},{hit.start + 1},{'-' if hit.reverse else '+'},{cigar},{hit.mapping_quality},{hit.mismatches};"


def map_pair(mapper: Mapper, header: pysam.AlignmentHeader, name: str, bases: np.ndarray, quals: np.ndarray) -> list[pysam.AlignedSegment]:
    """Two records with each other's position, MC and MQ; `bases`, `quals` uint8 (2, length)."""
    hits = [found[0] if found else None for found in mapper.map(b.decode(bases[0]), b.decode(bases[1]))]
    segments = [record(header, name, bases[mate], quals[mate], hits[mate]) for mate in (0, 1)]
    proper = is_proper(*hits)
    for mate, (segment, other) in enumerate(zip(segments, segments[::-1], strict=True)):
        segment.is_paired = True
        segment.is_read1, segment.is_read2 = mate == 0, mate == 1
        segment.is_proper_pair = proper
        segment.mate_is_unmapped, segment.mate_is_reverse = hits[1 - mate] is None, other.is_reverse
    for segment, other, hit in zip(segments, segments[::-1], hits, strict=True):
        if hit is None and other.reference_id >= 0:  # an unmapped mate is placed where its mate is
            segment.reference_id, segment.reference_start = other.reference_id, other.reference_start
    for mate, (segment, other) in enumerate(zip(segments, segments[::-1], strict=True)):
        segment.next_reference_id, segment.next_reference_start = other.reference_id, other.reference_start
        if hits[1 - mate]:
            segment.set_tag("MC", other.cigarstring)
            segment.set_tag("MQ", other.mapping_quality)
    _set_template_length(segments, hits)
    return segments


def is_proper(first: Hit | None, second: Hit | None) -> bool:
    """Both mapped to one contig, facing each other, at most 1,000 bp outside to outside."""
    if not first or not second or first.contig != second.contig or first.reverse == second.reverse:
        return False
    forward, backward = (second, first) if first.reverse else (first, second)
    return forward.start <= backward.end and 0 < backward.end - forward.start <= _LARGEST_PROPER


def _set_template_length(segments: list[pysam.AlignedSegment], hits: list[Hit | None]) -> None:
    """SAM 1.6, TLEN: signed distance of the leftmost to the rightmost mapped base, positive for the leftmost segment."""
    if None in hits or hits[0].contig != hits[1].contig:
        return
    size = max(hit.end for hit in hits) - min(hit.start for hit in hits)
    leftmost = 0 if (hits[0].start, hits[0].reverse) <= (hits[1].start, hits[1].reverse) else 1
    segments[leftmost].template_length, segments[1 - leftmost].template_length = size, -size
