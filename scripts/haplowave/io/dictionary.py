"""Names and lengths of contigs, from whichever file has them."""

import bisect
import gzip
import struct
import zlib
from pathlib import Path

import pysam

from haplowave.errors import UserError

_NAME_LINE = 4096  # longest line of a contig's name that is looked for
_UNPACKED = 50


def read_contigs(path: str | Path) -> dict[str, int]:
    """name -> length in the order of the file: a .fai (faidx format) or the header of a BAM or CRAM.

    Raises UserError where it is neither.
    """
    path = Path(path)
    return _read_fai(path) if path.suffix == ".fai" else _read_header(path)


def _read_fai(path: Path) -> dict[str, int]:
    contigs: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        columns = line.split("\t")
        if len(columns) < 5 or not columns[1].isdecimal():
            raise UserError(f"{path} line {number}: is not a line of a FASTA index; run 'samtools faidx {path.with_suffix('')}'")
        contigs[columns[0]] = int(columns[1])
    if not contigs:
        raise UserError(f"{path}: lists no contig; run 'samtools faidx {path.with_suffix('')}'")
    return contigs


def _read_header(path: Path) -> dict[str, int]:
    verbosity = pysam.set_verbosity(0)
    try:
        with pysam.AlignmentFile(str(path), "r", check_sq=False, ignore_truncation=True) as file:
            return dict(zip(file.references, file.lengths, strict=True))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be opened ({error}); give a BAM or CRAM") from error
    finally:
        pysam.set_verbosity(verbosity)


def check_fasta_index(fasta: Path, fai: Path) -> str | None:
    """What shows that `fai` does not belong to the uncompressed `fasta`: one line, or None. Looks at each contig's name line only."""
    size = fasta.stat().st_size
    with open(fasta, "rb") as file:
        for line in fai.read_text(encoding="utf-8").splitlines():
            name, length, offset, bases, width = line.split("\t")[:5]
            bases_, width_ = int(bases) or 1, int(width) or 1
            last = int(offset) + max(0, int(length) - 1) // bases_ * width_ + max(0, int(length) - 1) % bases_
            file.seek(max(0, int(offset) - _NAME_LINE))
            if last >= size or not _ends_with_name(file.read(min(_NAME_LINE, int(offset))), name):
                return f"{fai}: does not fit {fasta.name} at contig {name}; run 'samtools faidx {fasta}'"
    return None


def check_bgzipped_index(fasta: Path, fai: Path, gzi: Path) -> str | None:
    """The same for a bgzipped `fasta`, for its first contigs: a block has to be unpacked for each. `gzi`: samtools faidx's, bgzip(1)."""
    again = f"run 'samtools faidx {fasta}'"
    try:
        numbers = struct.unpack(f"<{gzi.stat().st_size // 8}Q", gzi.read_bytes())
        packed, plain = (0, *numbers[1::2]), (0, *numbers[2::2])
        if len(packed) != numbers[0] + 1 or len(plain) != len(packed):
            return f"{gzi}: is no index of bgzipped blocks; {again}"
        with open(fasta, "rb") as file:
            for line in fai.read_text(encoding="utf-8").splitlines()[:_UNPACKED]:
                name, _, offset = line.split("\t")[:3]
                begin = max(0, int(offset) - _NAME_LINE)
                block = bisect.bisect_right(plain, begin) - 1
                file.seek(packed[block])
                text = gzip.GzipFile(fileobj=file).read(int(offset) - plain[block])[begin - plain[block] :]
                if not _ends_with_name(text, name):
                    return f"{fai}: does not fit {fasta.name} at contig {name}; {again}"
    except (OSError, EOFError, IndexError, ValueError, struct.error, zlib.error):
        return f"{fasta}: cannot be unpacked with its index {gzi.name}; {again}"
    return None


def _ends_with_name(before: bytes, name: str) -> bool:
    """Whether `before`, what precedes a contig's first base, ends with the line of its name."""
    line = before.rstrip(b"\r\n").rsplit(b"\n", 1)[-1]
    return before.endswith(b"\n") and line.split(maxsplit=1)[:1] == [f">{name}".encode()]
