"""Joining the chunks' VCFs into one, in order of the genome, with its index."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pysam

from haplowave.calling.vcf import vcf_writer
from haplowave.errors import UserError
from haplowave.files import atomic_path

_LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def gather(chunks: Sequence[str | Path], output: str | Path) -> int:
    """Join `chunks` (any order; none of their records may interleave) into `output` and write `output`.tbi; returns the records.

    Raises UserError where headers differ, a chunk is unsorted, or two chunks overlap.
    """
    if not chunks:
        raise UserError(f"{output}: no chunks to join; give at least one VCF")
    headers = [_header(path) for path in chunks]
    for path, header in zip(chunks, headers, strict=True):
        if header != headers[0]:
            difference = _difference(headers[0], header)
            raise UserError(f"{path}: its header differs from that of {chunks[0]} ({difference}); join chunks of one run")
    contigs = _contig_order(headers[0])
    places = [(_first_place(path, contigs), str(path)) for path in chunks]
    ordered = [path for place, path in sorted((place, path) for place, path in places if place is not None)]
    written = 0
    with vcf_writer(output, "".join(headers[0])) as file:
        previous = (-1, -1)
        for path in ordered:
            for line in _records(path):
                place = _place(line, contigs, path)
                if place < previous:
                    where = ":".join(line.split("\t", 2)[:2])
                    raise UserError(f"{path}: record at {where} lies before one already written; chunks must not overlap")
                previous = place
                file.write(line.encode())
                written += 1
    _index(output)
    return written


def _index(path: str | Path) -> None:
    with atomic_path(f"{path}.tbi") as temporary:
        pysam.tabix_index(str(path), preset="vcf", index=str(temporary), force=True)


def _lines(path: str | Path) -> Iterator[str]:
    # gzip, not pysam.BGZFile: that one crashes on a file that is not compressed.
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from file
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as bgzipped VCF ({error}); make the chunk again") from error


def _check_complete(path: str | Path) -> None:
    """A file that was cut between two blocks reads without an error: only the empty last block tells (SAM specification 4.1.2)."""
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, 2) - len(_LAST_BLOCK)))
        if file.read() != _LAST_BLOCK:
            raise UserError(f"{path}: lacks the last block of a bgzipped file, so it was cut short; make the chunk again")


def _header(path: str | Path) -> list[str]:
    header = []
    for line in _lines(path):
        if not line.startswith("#"):
            break
        header.append(line)
    if not header or not header[-1].startswith("#CHROM"):
        raise UserError(f"{path}: has no VCF header; make the chunk again")
    _check_complete(path)
    return header


def _records(path: str | Path) -> Iterator[str]:
    return (line for line in _lines(path) if not line.startswith("#"))


def _difference(expected: list[str], found: list[str]) -> str:
    for one, other in zip(expected, found, strict=False):
        if one != other:
            return f"'{other.strip()[:80]}' instead of '{one.strip()[:80]}'"
    return f"{len(found)} lines instead of {len(expected)}"


def _contig_order(header: list[str]) -> dict[str, int]:
    names = [line.removeprefix("##contig=<ID=").rsplit(",length=", 1)[0] for line in header if line.startswith("##contig=<ID=")]
    return {name: index for index, name in enumerate(names)}


def _place(line: str, contigs: dict[str, int], path: str | Path) -> tuple[int, int]:
    contig, pos, _ = line.split("\t", 2)
    if contig not in contigs:
        raise UserError(f"{path}: contig {contig} is not in the header; make the chunk again")
    return contigs[contig], int(pos)


def _first_place(path: str | Path, contigs: dict[str, int]) -> tuple[int, int] | None:
    first = next(_records(path), None)
    return None if first is None else _place(first, contigs, path)
