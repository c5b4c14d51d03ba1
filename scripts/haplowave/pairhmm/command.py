"""Likelihoods of a text file: what scripts/pairhmm.py does with --text."""

import contextlib
import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from haplowave.ahead import ahead
from haplowave.errors import UserError
from haplowave.files import atomic_path
from haplowave.pairhmm.api import log10_likelihoods
from haplowave.pairhmm.text import TextBatch, read_text
from haplowave.pairhmm.totals import Totals
from haplowave.progress import Progress


def write_text_likelihoods(source: str, output: str, engine: dict, batch_pairs: int = 1 << 18) -> Totals:
    """Compute every pair of `source` (a file, .gz too, or '-' for standard input) and write `output` ('-': standard output).

    engine: keyword arguments of `log10_likelihoods`. The forms are those of `haplowave.pairhmm.text`.
    Raises UserError that names the line, where a line is wrong; a file `output` is then not written.
    """
    totals = Totals()
    with _opened(source) as (lines, size), _written(output) as target, Progress() as progress:
        counted = _Counted(lines)
        for batch in ahead(read_text(counted, "standard input" if source == "-" else source, batch_pairs)):
            _compute(batch, target, engine, totals)
            progress.update(counted.bytes / size if size else None, f"{totals.pairs:,} pairs")
    return totals


def _compute(batch: TextBatch, target: TextIO, engine: dict, totals: Totals) -> None:
    result = log10_likelihoods(batch.reads, batch.haplotypes, batch.pairs, **engine)
    target.write(batch.format(result.log10))
    totals.pairs += len(batch.pairs)
    totals.add(result)


class _Counted:
    """Lines of a stream and the bytes that they had."""

    def __init__(self, lines: Iterable[bytes]):
        self._lines = lines
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.bytes += len(line)
            yield line


@contextlib.contextmanager
def _opened(source: str) -> Iterator[tuple[BinaryIO, int]]:
    """The stream, and its size in bytes where that is known."""
    if source == "-":
        yield sys.stdin.buffer, 0
        return
    try:
        with gzip.open(source) if source.endswith(".gz") else open(source, "rb") as stream:
            yield stream, 0 if source.endswith(".gz") else os.path.getsize(source)
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{source}: is no gzip file or is cut off ({error}); give the whole file") from error
    except OSError as error:
        if error.filename != source:
            raise
        raise UserError(f"{source}: cannot be read ({error.strerror}); check the name") from error


@contextlib.contextmanager
def _written(output: str) -> Iterator[TextIO]:
    if output == "-":
        yield sys.stdout
        return
    with atomic_path(Path(output)) as temporary, open(temporary, "w", encoding="latin-1") as stream:
        yield stream
