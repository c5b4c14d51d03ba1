"""Where an alignment file has reads at all, from its index: what need not be cut into chunks.

Formats: BAI, SAM specification 5.2; CRAI, CRAM specification 12.
"""

import gzip
import struct
from pathlib import Path

import pysam

from haplowave.errors import UserError
from haplowave.io.checks import find_index

_WINDOW = 1 << 14  # of BAI's linear index
_MARGIN = 1000  # a region may begin before the first read, at the place of a clip
# A larger index belongs to a whole genome, whose chunks all have reads: walking through it would only cost time.
_LARGEST_BAI = 2 << 20


def covered_spans(path: Path) -> dict[str, tuple[int, int]] | None:
    """contig -> [start, end) that holds all reads, for contigs with reads; wider where the index does not say.

    None where the index cannot be read or there is none. Raises UserError where the index leads to no reads.
    """
    index = find_index(path)
    if index is None:
        return None
    verbosity = pysam.set_verbosity(0)
    try:
        # closing a damaged file raises as well
        with pysam.AlignmentFile(str(path), "r", index_filename=str(index), require_index=True, check_sq=False) as file:
            lengths = dict(zip(file.references, file.lengths, strict=True))
            spans = _spans(file, index, lengths)
    except (OSError, ValueError, StopIteration, struct.error) as error:
        raise UserError(
            f"{path}: its index {index.name} leads to no intact reads; the index belongs to another file, or the file is damaged: "
            f"run 'samtools index {path}' or copy it again"
        ) from error
    finally:
        pysam.set_verbosity(verbosity)
    if spans is None:
        return None
    return {contig: (max(0, start - _MARGIN), min(lengths[contig], end + _MARGIN)) for contig, (start, end) in spans.items()}


def _spans(file: pysam.AlignmentFile, index: Path, lengths: dict[str, int]) -> dict[str, tuple[int, int]] | None:
    if file.is_cram:
        return _crai_spans(index, file.references)
    spans = {entry.contig: (0, lengths[entry.contig]) for entry in file.get_index_statistics() if entry.mapped}
    if index.suffix == ".bai" and index.stat().st_size <= _LARGEST_BAI:
        return _bai_spans(file, index, set(spans))
    return spans


def _bai_spans(file: pysam.AlignmentFile, index: Path, contigs: set[str]) -> dict[str, tuple[int, int]]:
    spans = {}
    for number, windows in enumerate(_bai_windows(index.read_bytes())):
        contig = file.get_reference_name(number)
        if contig in contigs:
            first = next(file.fetch(contig)).reference_start
            spans[contig] = (first, windows * _WINDOW)
    return spans


def _bai_windows(data: bytes) -> list[int]:
    """For each contig the number of windows of the linear index: the last one holds the end of the last read."""
    (contigs,) = struct.unpack_from("<i", data, 4)
    at, windows = 8, []
    for _ in range(contigs):
        (bins,) = struct.unpack_from("<i", data, at)
        at += 4
        for _ in range(bins):
            (chunks,) = struct.unpack_from("<i", data, at + 4)
            at += 8 + 16 * chunks
        (number,) = struct.unpack_from("<i", data, at)
        at += 4 + 8 * number
        windows.append(number)
    return windows


def _crai_spans(index: Path, contigs: tuple[str, ...]) -> dict[str, tuple[int, int]] | None:
    spans: dict[str, tuple[int, int]] = {}
    try:
        with gzip.open(index, "rt") as lines:
            for line in lines:
                number, start, span = map(int, line.split("\t")[:3])
                if 0 <= number < len(contigs):
                    old = spans.get(contigs[number], (start, 0))
                    # CRAI counts from 1
                    spans[contigs[number]] = (min(old[0], start - 1), max(old[1], start - 1 + span))
    except (OSError, EOFError, ValueError):
        return None
    return spans
