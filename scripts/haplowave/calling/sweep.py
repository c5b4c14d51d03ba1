"""Reads in order of position, each parsed once, held only while a region may still need them."""

from collections.abc import Iterator

import numpy as np
import pysam

from haplowave.calling.aligned_read import AlignedRead, BaseRules, parse
from haplowave.calling.regions import SampleSource
from haplowave.io.alignments import passing_reads
from haplowave.io.reference import Reference

# Beyond this, seeking again is cheaper than reading on.
_FAR = 20_000


class ReadSweep:
    """Answers `overlapping(start, end)` for windows of one contig in ascending order, for one sample."""

    def __init__(self, sample: SampleSource, reference: Reference, contig: str, min_mapping_quality: int, rules: BaseRules):
        self._sample = sample
        self._reference = reference
        self._contig = contig
        self._min_mapping_quality = min_mapping_quality
        self._rules = rules
        self._held: list[AlignedRead] = []
        self._streams: list[tuple[str, Iterator[pysam.AlignedSegment]]] = []
        self._ahead: list[pysam.AlignedSegment | None] = []
        self._reach = -_FAR

    def overlapping(self, start: int, end: int) -> list[AlignedRead]:
        """Passing reads that overlap [start, end), in order of (start, name, flag)."""
        if start - self._reach >= _FAR:
            self._seek(start)
        self._held = [read for read in self._held if read.end > start]
        for index in range(len(self._streams)):
            self._pull(index, start, end)
        self._reach = max(self._reach, end)
        return sorted((read for read in self._held if read.start < end), key=lambda read: (read.start, read.name, read.flag))

    def _seek(self, start: int) -> None:
        length = self._reference.contigs[self._contig]
        self._held = []
        self._streams = [
            (path, passing_reads(file, self._contig, start, length, self._min_mapping_quality)) for path, file in self._sample.files
        ]
        self._ahead = [next(stream, None) for _, stream in self._streams]

    def _pull(self, index: int, start: int, end: int) -> None:
        path, stream = self._streams[index]
        record = self._ahead[index]
        while record is not None and record.reference_start < end:
            if record.reference_end > start:
                self._held.append(parse(record, path, self._bases, self._rules))
            record = next(stream, None)
        self._ahead[index] = record

    def _bases(self, start: int, end: int) -> np.ndarray:
        return self._reference.array(self._contig, start, end)
