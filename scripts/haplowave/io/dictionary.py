"""Names and lengths of contigs, from whichever file has them."""

from pathlib import Path

import pysam

from haplowave.errors import UserError


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
            header = f">{name}".encode()
            file.seek(max(0, int(offset) - 4096))
            before = file.read(min(4096, int(offset)))
            line_ended = before.endswith(b"\n")
            before = before.rstrip(b"\r\n").rsplit(b"\n", 1)[-1]
            if last >= size or not line_ended or before.split(maxsplit=1)[:1] != [header]:
                return f"{fai}: does not fit {fasta.name} at contig {name}; run 'samtools faidx {fasta}'"
    return None
