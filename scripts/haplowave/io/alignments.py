"""Opening BAM and CRAM, and the filters that decide which reads count."""

import os
from collections.abc import Iterator
from pathlib import Path

import pysam

from haplowave.errors import UserError

# htslib would otherwise look up CRAM references by checksum on the network.
os.environ.setdefault("REF_PATH", "/nonexistent/%s")


def open_alignments(path: str | Path, reference: str | Path) -> pysam.AlignmentFile:
    """Open an indexed BAM or CRAM. Raises UserError that says what is missing."""
    try:
        file = pysam.AlignmentFile(str(path), "r", reference_filename=str(reference), require_index=True)
    except FileNotFoundError as error:
        what = "has no index" if Path(path).is_file() else "no such file"
        raise UserError(f"{path}: {what}; give a sorted file with its index ('samtools index {path}')") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be opened ({error}); give an intact BAM or CRAM with its index") from error
    return file


def fetch_reads(file: pysam.AlignmentFile, contig: str, start: int, end: int) -> Iterator[pysam.AlignedSegment]:
    """Records that overlap [start, end), in order of position. Raises UserError where the file is damaged or unsorted."""
    if file.get_tid(contig) < 0:
        return
    previous = 0
    try:
        for read in file.fetch(contig, start, end):
            if read.reference_start < previous:
                raise UserError(f"{_name(file)}: record {read.query_name} is out of order; sort the file and index it")
            previous = read.reference_start
            yield read
    except (OSError, ValueError) as error:
        also = ", or the reference is not the one that the CRAM was written with" if file.is_cram else ""
        raise UserError(
            f"{_name(file)}: cannot be read at {contig}:{start + 1}-{end} ({error}); the file or its index is damaged, copy it again or "
            f"run 'samtools index'{also}"
        ) from error


def _name(file: pysam.AlignmentFile) -> str:
    return file.filename.decode()


_UNMAPPED, _SECONDARY, _QC_FAIL, _DUPLICATE = 0x4, 0x100, 0x200, 0x400
REASONS = ("unmapped", "secondary", "qc_fail", "duplicate", "low_mapping_quality", "malformed", "passed")
_ALIGNED = (0, 7, 8)  # CIGAR operations M, = and X


def why_dropped(read: pysam.AlignedSegment, min_mapping_quality: int) -> str:
    """The first reason to leave `read` out, or 'passed': GATK HaplotypeCaller's read filters."""
    flag = read.flag
    if flag & _UNMAPPED:
        return "unmapped"
    if flag & _SECONDARY:
        return "secondary"
    if flag & _QC_FAIL:
        return "qc_fail"
    if flag & _DUPLICATE:
        return "duplicate"
    # 255 means "not available" (SAM specification 1.4): GATK drops such reads as well.
    if read.mapping_quality < min_mapping_quality or read.mapping_quality == 255:
        return "low_mapping_quality"
    return "passed" if _is_well_formed(read) else "malformed"


def _is_well_formed(read: pysam.AlignedSegment) -> bool:
    """Whether a record has bases, aligns some of them and ends on its contig (among what GATK's WellformedReadFilter asks)."""
    if not read.query_length or not read.reference_length:
        return False
    if not any(operation in _ALIGNED for operation, _ in read.cigartuples):
        return False
    return read.reference_end <= read.header.get_reference_length(read.reference_name)


def passing_reads(file: pysam.AlignmentFile, contig: str, start: int, end: int, min_mapping_quality: int) -> Iterator[pysam.AlignedSegment]:
    """`fetch_reads` less the filtered ones."""
    return (read for read in fetch_reads(file, contig, start, end) if why_dropped(read, min_mapping_quality) == "passed")
