"""How often reads gain or lose bases in homopolymers: the measurement behind the tables of `platforms`."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

from haplowave.calling.aligned_read import AlignedRead, BaseRules, parse
from haplowave.calling.sources import open_samples
from haplowave.errors import UserError
from haplowave.io.alignments import passing_reads
from haplowave.io.intervals import parse_bed
from haplowave.io.reference import Reference, open_reference

_QUALITY_STEP, _MAX_QUALITY, _MAX_RUN = 5, 50, 20
_MIN_MAPPING_QUALITY = 20
_RULES = BaseRules(min_base_quality=0, default_base_quality=0, trim_quality=0)
# Around a known variant, a difference is no error.
_VARIANT_MARGIN = 30


@dataclass(frozen=True)
class Rate:
    """Homopolymers of the reference with `run_length` bases whose lowest base quality in the read is in a bin of five."""

    run_length: int
    lowest_quality: int
    runs: int
    inserted: int
    deleted: int

    @property
    def phred(self) -> float:
        """-10 log10 of the share that gained or lost bases; half an event where none was seen."""
        return float(-10 * np.log10(max(self.inserted + self.deleted, 0.5) / self.runs))


def measure(reference_path: Path, samples_path: Path, intervals_path: Path, truth_path: Path) -> list[Rate]:
    """Rates over the intervals of a BED, away from the variants of a VCF; all samples of the sheet together."""
    reference = open_reference(reference_path)
    intervals, errors, _ = parse_bed(intervals_path, reference.contigs)
    if errors:
        raise UserError("; ".join(errors))
    runs: Counter[tuple[int, int]] = Counter()
    changes: dict[str, Counter[tuple[int, int]]] = {"inserted": Counter(), "deleted": Counter()}
    with open_samples(samples_path, reference_path) as samples:
        for interval in intervals:
            tract = _Tract(reference, interval.contig, interval.start, interval.end, truth_path)
            bases = functools.partial(reference.array, interval.contig)
            for sample in samples:
                for path, file in sample.files:
                    for record in passing_reads(file, interval.contig, interval.start, interval.end, _MIN_MAPPING_QUALITY):
                        read = parse(record, path, bases, _RULES)
                        for key, change in tract.runs_of(read):
                            runs[key] += 1
                            if change:
                                changes[change][key] += 1
    return [Rate(*key, runs[key], changes["inserted"][key], changes["deleted"][key]) for key in sorted(runs)]


class _Tract:
    """The homopolymers of one interval. Arrays count from the interval's start."""

    def __init__(self, reference: Reference, contig: str, start: int, end: int, truth_path: Path):
        bases = reference.array(contig, start, end)
        self._start = start
        begins = np.concatenate([[0], np.flatnonzero(np.diff(bases.astype(np.int16))) + 1])
        lengths = np.diff(np.concatenate([begins, [len(bases)]]))
        self._run_of = np.repeat(np.arange(len(begins)), lengths)
        self._lengths = np.minimum(lengths, _MAX_RUN)
        self._begins = begins
        near = np.zeros(len(bases) + 1, bool)
        with pysam.VariantFile(str(truth_path)) as truth:
            for variant in truth.fetch(contig, start, end) if contig in truth.header.contigs else ():
                near[max(0, variant.start - _VARIANT_MARGIN - start) : max(0, variant.stop + _VARIANT_MARGIN - start)] = True
        unknown = near[:-1] | (bases == ord("N"))
        self._usable = np.bincount(self._run_of, weights=unknown, minlength=len(begins)) == 0

    def runs_of(self, read: AlignedRead) -> Iterator[tuple[tuple[int, int], str | None]]:
        """((run length, lowest quality), 'inserted', 'deleted' or None) of each run that the read spans."""
        positions = read.reference_positions()
        inside = np.flatnonzero((positions >= self._start) & (positions < self._start + len(self._run_of)))
        if not len(inside):
            return
        run = self._run_of[positions[inside] - self._start]
        first = np.concatenate([[0], np.flatnonzero(np.diff(run)) + 1])
        lowest = np.minimum.reduceat(read.quals[inside], first) // _QUALITY_STEP * _QUALITY_STEP
        # An indel is left-aligned: it changes the run behind its anchor.
        edited = {
            pos + 1 - self._start: "inserted" if len(alt) > len(ref) else "deleted" for pos, ref, alt in read.events if len(ref) != len(alt)
        }
        for index, quality in zip(run[first].tolist()[1:-1], np.minimum(lowest, _MAX_QUALITY).tolist()[1:-1], strict=True):
            if self._usable[index]:
                yield (int(self._lengths[index]), quality), edited.get(int(self._begins[index]))
