"""The pieces of reads that enter PairHMM: cut to the padded region, with the qualities that the model takes."""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haplowave.calling.aligned_read import AlignedRead
from haplowave.calling.platforms import Platform, gap_open_quals, hmm_base_quals
from haplowave.options import ReadOptions


@dataclass(slots=True)
class Piece:
    """A slice of `read`: query window [low, high); `quals` uint8 are its own copy, which overlapping mates may lower."""

    read: AlignedRead
    low: int
    high: int
    start: int
    end: int
    quals: np.ndarray

    @property
    def bases(self) -> np.ndarray:
        return self.read.bases[self.low : self.high]


def cut(read: AlignedRead, start: int, end: int, keeps_clips: bool) -> Piece | None:
    """The piece of `read` inside [start, end), or None where nothing usable lies there.

    With `keeps_clips`, soft-clipped bases count as if they were aligned: they may be what a larger event looks like.
    """
    low, high = read.query_at(start, after=False), read.query_at(end, after=True)
    first, last = read.usable_start, read.usable_end
    if not keeps_clips:
        first, last = max(first, read.clip_left), min(last, read.length - read.clip_right)
    low, high = max(low, first), min(high, last)
    if high <= low:
        return None
    return Piece(read, low, high, max(start, read.start), min(end, read.end), read.quals[low:high].copy())


def sample_reads(reads: Sequence[AlignedRead], most: int) -> list[AlignedRead]:
    """At most `most` reads, chosen by a checksum of the name: both mates of a fragment stay or go, whatever the order."""
    if len(reads) <= most:
        return list(reads)
    ranked = sorted(reads, key=lambda read: (zlib.crc32(read.name.encode()), read.name, read.flag))[:most]
    kept = {id(read) for read in ranked}
    return [read for read in reads if id(read) in kept]


def lower_overlaps(pieces: Sequence[Piece], agree_quality: int) -> None:
    """Where both mates of a fragment cover a position, cap their qualities if they agree and zero them if they do not.

    The two reads are not independent there (GATK FragmentUtils.adjustQualsOfOverlappingPairedFragments).
    """
    fragments: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.read.flag & 0x1:
            fragments[piece.read.name].append(piece)
    for mates in fragments.values():
        first = [piece for piece in mates if piece.read.flag & 0x40]
        second = [piece for piece in mates if piece.read.flag & 0x80]
        if len(first) == 1 and len(second) == 1 and first[0].start < second[0].end and second[0].start < first[0].end:
            _lower_pair(first[0], second[0], agree_quality)


def _lower_pair(first: Piece, second: Piece, agree_quality: int) -> None:
    positions = [piece.read.reference_positions()[piece.low : piece.high] for piece in (first, second)]
    _, in_first, in_second = np.intersect1d(*positions, return_indices=True)
    aligned = positions[0][in_first] >= 0
    in_first, in_second = in_first[aligned], in_second[aligned]
    agree = first.bases[in_first] == second.bases[in_second]
    for piece, index in ((first, in_first), (second, in_second)):
        piece.quals[index] = np.where(agree, np.minimum(piece.quals[index], agree_quality), 0)


def hmm_columns(piece: Piece, platform: Platform, options: ReadOptions) -> dict[str, object]:
    """The columns of the reads table that depend on the piece alone."""
    gap_open = gap_open_quals(piece.bases, piece.read.quals[piece.low : piece.high], platform, options)
    gap_open_bytes = gap_open.tobytes()
    return {
        "name": piece.read.name,
        "flag": piece.read.flag,
        "mapq": piece.read.mapq,
        "bases": piece.bases.tobytes().decode("ascii"),
        "base_quals": hmm_base_quals(piece.quals, piece.read.mapq, platform, options).tobytes(),
        "insertion_quals": gap_open_bytes,
        "deletion_quals": gap_open_bytes,
        "gap_quals": bytes([options.gap_continuation_quality]) * len(gap_open),
        "start": piece.start,
        "end": piece.end,
        "offset": piece.low,
        "read_length": piece.read.length,
    }
