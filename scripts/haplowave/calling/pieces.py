"""The pieces of reads that enter PairHMM: cut to the padded region, with the qualities that the model takes."""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from haplowave.calling.aligned_read import AlignedRead
from haplowave.calling.platforms import Platform, gap_open_quals, hmm_base_quals
from haplowave.options import ReadOptions
from haplowave.sequences import Sequences


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


def hmm_columns(pieces: Sequence[Piece], platform: Platform, options: ReadOptions) -> dict[str, list]:
    """The columns of the reads table that depend on the pieces alone; at least one piece, all of one platform."""
    bases = Sequences.from_list([piece.bases.tobytes() for piece in pieces])
    original = np.concatenate([piece.read.quals[piece.low : piece.high] for piece in pieces])
    lowered = np.concatenate([piece.quals for piece in pieces])
    mapq = np.repeat(np.array([piece.read.mapq for piece in pieces], np.uint8), bases.lengths)
    base_quals = hmm_base_quals(lowered, mapq, platform, options).tobytes()
    insertion, deletion = (quality.tobytes() for quality in gap_open_quals(bases, original, platform, options))
    gap = bytes([options.gap_continuation_quality])
    slices = [slice(low, high) for low, high in pairwise(bases.offsets.tolist())]
    return {
        "name": [piece.read.name for piece in pieces],
        "flag": [piece.read.flag for piece in pieces],
        "mapq": [piece.read.mapq for piece in pieces],
        "bases": [piece.bases.tobytes().decode("ascii") for piece in pieces],
        "base_quals": [base_quals[part] for part in slices],
        "insertion_quals": [insertion[part] for part in slices],
        "deletion_quals": [deletion[part] for part in slices],
        "gap_quals": [gap * (part.stop - part.start) for part in slices],
        "start": [piece.start for piece in pieces],
        "end": [piece.end for piece in pieces],
        "offset": [piece.low for piece in pieces],
        "read_length": [piece.read.length for piece in pieces],
    }
