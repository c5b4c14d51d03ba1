"""The alignment files of a sample sheet, opened together and closed together."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pysam

from haplowave.calling.regions import SampleSource
from haplowave.io.alignments import open_alignments
from haplowave.io.samples import read_samples


@contextlib.contextmanager
def open_samples(sheet: str | Path, reference: str | Path) -> Iterator[list[SampleSource]]:
    """Yield the samples of `sheet` with open files; raises UserError for a file that is missing or not indexed."""
    with contextlib.ExitStack() as stack:
        sources = []
        for sample in read_samples(sheet):
            files = []
            for path in sample.reads:
                file = open_alignments(path, reference)
                stack.callback(_close, file)
                files.append((str(path), file))
            sources.append(SampleSource(sample.name, sample.ploidy, sample.platform, files))
        yield sources


def _close(file: pysam.AlignmentFile) -> None:
    # closing a damaged file fails as well, which would hide the message of the read that met the damage
    with contextlib.suppress(OSError):
        file.close()
