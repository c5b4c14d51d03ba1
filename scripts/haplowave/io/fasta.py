"""FASTA files as arrays of bytes: plain, gzip or bgzip."""

from pathlib import Path

import numpy as np
import pysam

from haplowave.errors import UserError


def read_fasta(path: str | Path) -> list[tuple[str, np.ndarray]]:
    """(name, uint8 symbols as written) of every record, in order. Raises UserError where the file is missing, empty or not FASTA."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such file; give a FASTA file, plain or compressed with gzip or bgzip")
    verbosity = pysam.set_verbosity(0)  # the error below says it
    try:
        with pysam.FastxFile(str(path), persist=True) as handle:
            records = [(record.name, np.frombuffer((record.sequence or "").encode("latin-1"), np.uint8)) for record in handle]
    except (OSError, ValueError, UnicodeError) as error:
        raise UserError(f"{path}: cannot be read as FASTA ({error}); check that it is complete and not of another format") from error
    finally:
        pysam.set_verbosity(verbosity)
    if not records:
        raise UserError(f"{path}: holds no FASTA record; each begins with a line '>name'")
    return records
