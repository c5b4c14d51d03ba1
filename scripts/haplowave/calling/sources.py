"""The alignment files of a sample sheet, opened together and closed together."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from haplowave.calling.regions import SampleSource
from haplowave.io.alignments import open_alignments
from haplowave.io.samples import read_samples


@contextlib.contextmanager
def open_samples(sheet: str | Path, reference: str | Path) -> Iterator[list[SampleSource]]:
    """Yield the samples of `sheet` with open files; raises UserError for a file that is missing or not indexed."""
    with contextlib.ExitStack() as stack:
        sources = []
        for sample in read_samples(sheet):
            files = [(str(path), stack.enter_context(open_alignments(path, reference))) for path in sample.reads]
            sources.append(SampleSource(sample.name, sample.ploidy, sample.platform, files))
        yield sources
