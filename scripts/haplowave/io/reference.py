"""Random access to a FASTA, plain or bgzipped, through an index that may live in another folder."""

import contextlib
import os
import re
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pysam

from haplowave.errors import UserError

_BLOCK = 1 << 18
_KEPT_BLOCKS = 8
# VCF 4.3 section 1.6.1 allows A, C, G, T, N in REF: other IUPAC letters are as unknown as N to a caller.
_CANONICAL = np.full(256, ord("N"), np.uint8)
for _letter in "ACGT":
    _CANONICAL[ord(_letter)] = _CANONICAL[ord(_letter.lower())] = ord(_letter)


class Reference:
    """An open FASTA. `contigs`: name -> length, in the order of the index."""

    def __init__(self, path: Path, file: pysam.FastaFile):
        self.path = path
        self._file = file
        self.contigs: dict[str, int] = dict(zip(file.references, file.lengths, strict=True))
        self.contig_index: dict[str, int] = {name: index for index, name in enumerate(self.contigs)}
        self._blocks: OrderedDict[tuple[str, int], np.ndarray] = OrderedDict()

    def array(self, contig: str, start: int, end: int) -> np.ndarray:
        """uint8 bases of [start, end) in upper case, every letter but ACGT as N; clipped to the contig."""
        start, end = max(0, start), min(end, self.contigs[contig])
        if end <= start:
            return np.empty(0, np.uint8)
        first, last = start // _BLOCK, (end - 1) // _BLOCK
        if first == last:
            return self._block(contig, first)[start - first * _BLOCK : end - first * _BLOCK]
        parts = np.concatenate([self._block(contig, number) for number in range(first, last + 1)])
        return parts[start - first * _BLOCK : end - first * _BLOCK]

    def fetch(self, contig: str, start: int, end: int) -> str:
        """The same as a string."""
        return self.array(contig, start, end).tobytes().decode("ascii")

    def _block(self, contig: str, number: int) -> np.ndarray:
        key = (contig, number)
        block = self._blocks.get(key)
        if block is None:
            text = self._file.fetch(contig, number * _BLOCK, (number + 1) * _BLOCK)
            block = _CANONICAL[np.frombuffer(text.encode("ascii"), np.uint8)]
            self._blocks[key] = block
            if len(self._blocks) > _KEPT_BLOCKS:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(key)
        return block


def index_paths(path: Path, index_dir: Path | None = None) -> tuple[Path, Path]:
    """Where the .fai and the .gzi of `path` are: beside it, or in `index_dir`."""
    folder = path.parent if index_dir is None else index_dir
    return folder / f"{path.name}.fai", folder / f"{path.name}.gzi"


def is_bgzipped(path: Path) -> bool:
    """Whether the file begins with the gzip magic number."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def index_reference(path: str | Path, index_dir: str | Path) -> Path:
    """Write .fai (and .gzi) of `path` into `index_dir`; returns the .fai. Raises UserError for what is no FASTA."""
    path, index_dir = Path(path), Path(index_dir)
    fai, gzi = index_paths(path, index_dir)
    index_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as messages:
        try:
            with _standard_error_to(messages):
                pysam.faidx(str(path), "--fai-idx", str(fai), "--gzi-idx", str(gzi))
        except pysam.SamtoolsError as error:
            fai.unlink(missing_ok=True)
            messages.seek(0)
            told = re.findall(r"^\[E::\w+\] (.*)", messages.read().decode(errors="replace"), re.MULTILINE)
            reason = "; ".join(told) or "not a FASTA"
            raise UserError(f"{path}: cannot be indexed ({reason}); give a FASTA, plain or compressed with bgzip") from error
    return fai


@contextlib.contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """htslib says why it fails only on the process's standard error."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def open_reference(path: str | Path, index_dir: str | Path | None = None) -> Reference:
    """Open `path`; its index is looked for beside it, then in `index_dir`.

    Nothing is ever written beside the FASTA, whose folder may be read-only. Raises UserError where file or index is
    missing or does not belong to it.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such reference FASTA")
    bgzipped = is_bgzipped(path)
    places = [index_paths(path)] + ([index_paths(path, Path(index_dir))] if index_dir is not None else [])
    for fai, gzi in places:
        if fai.is_file() and (gzi.is_file() or not bgzipped):
            break
    else:
        raise UserError(f"{path}: has no index {path.name}.fai{' and .gzi' if bgzipped else ''}; run 'samtools faidx {path}'")
    try:
        file = pysam.FastaFile(str(path), filepath_index=str(fai), filepath_index_compressed=str(gzi) if bgzipped else None)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be opened with index {fai} ({error}); run 'samtools faidx' again") from error
    return Reference(path, file)
