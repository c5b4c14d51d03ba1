"""Regions in, haplotypes and reads out: the two tables that edit distance and PairHMM take."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.calling import assembly
from haplowave.calling.aligned_read import AlignedRead, BaseRules, Event
from haplowave.calling.haplotypes import Haplotype, combine, observe, spell
from haplowave.calling.pieces import cut, hmm_columns, lower_overlaps, sample_reads
from haplowave.calling.platforms import PLATFORMS
from haplowave.calling.regions import Region, SampleSource, event_extent, is_frequent
from haplowave.calling.sources import open_samples
from haplowave.calling.sweep import ReadSweep
from haplowave.io.reference import Reference, open_reference
from haplowave.options import HaplotypeOptions, ReadOptions, RegionOptions
from haplowave.tables import TableWriter, iterate_row_groups, table_writer

_ROWS_PER_GROUP = 20_000


@dataclass(frozen=True)
class ExtractOptions:
    """The three sections of the configuration that this step obeys."""

    regions: RegionOptions
    haplotypes: HaplotypeOptions
    reads: ReadOptions


def extract_pairs(
    reference_path: Path,
    index_dir: Path | None,
    samples_path: Path,
    regions_path: Path,
    haplotypes_path: Path,
    reads_path: Path,
    options: ExtractOptions,
) -> tuple[int, int]:
    """Write the haplotypes and reads tables of all regions of a regions table; returns their numbers of rows."""
    reference = open_reference(reference_path, index_dir)
    rules = BaseRules(options.regions.min_base_quality, options.reads.default_base_quality, options.reads.trim_quality)
    with (
        open_samples(samples_path, reference_path) as samples,
        table_writer(haplotypes_path, "haplotypes") as haplotypes,
        table_writer(reads_path, "reads") as reads,
    ):
        sweeps: list[ReadSweep] = []
        contig = None
        batch = _Batch()
        for region_id, region in _regions(regions_path):
            if region.contig != contig:
                contig = region.contig
                sweeps = [ReadSweep(sample, reference, contig, options.regions.min_mapping_quality, rules) for sample in samples]
            _extract_region(batch, region_id, region, samples, sweeps, reference, options)
            if len(batch.reads["region_id"]) + len(batch.haplotypes["region_id"]) >= _ROWS_PER_GROUP:
                batch.write(haplotypes, reads)
        batch.write(haplotypes, reads)
        return haplotypes.rows, reads.rows


class _Batch:
    """Rows of both tables that wait for their row group."""

    def __init__(self) -> None:
        self.haplotypes: dict[str, list] = defaultdict(list)
        self.reads: dict[str, list] = defaultdict(list)

    def add_haplotypes(self, region_id: int, haplotypes: Sequence[Haplotype]) -> None:
        for hap_id, haplotype in enumerate(haplotypes):
            row = {
                "region_id": region_id,
                "hap_id": hap_id,
                "start": haplotype.start,
                "end": haplotype.end,
                "sequence": haplotype.sequence,
                "is_reference": hap_id == 0,
                "events": [{"pos": pos, "ref": ref, "alt": alt} for pos, ref, alt in haplotype.events],
            }
            for name, value in row.items():
                self.haplotypes[name].append(value)

    def add_reads(self, region_id: int, first: int, sample: str, columns: dict[str, list]) -> None:
        number = len(columns["name"])
        numbered = {"region_id": [region_id] * number, "read_id": range(first, first + number), "sample": [sample] * number}
        for name, values in (numbered | columns).items():
            self.reads[name].extend(values)

    def write(self, haplotypes: TableWriter, reads: TableWriter) -> None:
        """Append what waits to both tables; begin anew."""
        if self.haplotypes:
            haplotypes.append(self.haplotypes)
        if self.reads:
            reads.append(self.reads)
        self.haplotypes.clear()
        self.reads.clear()


def _regions(path: Path) -> Iterator[tuple[int, Region]]:
    for group in iterate_row_groups(path, "regions"):
        for row in group.to_pylist():
            region = Region(row["contig"], row["start"], row["end"], row["padded_start"], row["padded_end"], row["why"])
            yield row["region_id"], region


def _extract_region(
    batch: _Batch,
    region_id: int,
    region: Region,
    samples: Sequence[SampleSource],
    sweeps: Sequence[ReadSweep],
    reference: Reference,
    options: ExtractOptions,
) -> None:
    reads = [sweep.overlapping(region.start, region.end) for sweep in sweeps]
    haplotypes = build_haplotypes(region, samples, reads, reference, options)
    batch.add_haplotypes(region_id, haplotypes)
    if len(haplotypes) == 1:
        return
    first = 0
    for sample, own in zip(samples, reads, strict=True):
        platform = PLATFORMS[sample.platform]
        kept = sample_reads(own, options.reads.max_reads_per_region)
        cuts = [cut(read, region.padded_start, region.padded_end, platform.keeps_clips) for read in kept]
        pieces = [piece for piece in cuts if piece is not None and piece.high - piece.low >= options.reads.min_read_length]
        lower_overlaps(pieces, options.reads.overlap_quality)
        if pieces:
            batch.add_reads(region_id, first, sample.name, hmm_columns(pieces, platform, options.reads))
            first += len(pieces)


def build_haplotypes(
    region: Region,
    samples: Sequence[SampleSource],
    reads: Sequence[Sequence[AlignedRead]],
    reference: Reference,
    options: ExtractOptions,
) -> list[Haplotype]:
    """The reference first, then the combinations of candidate events with most evidence, without repeats."""
    start = max(0, region.padded_start - options.haplotypes.overhang)
    end = min(reference.contigs[region.contig], region.padded_end + options.haplotypes.overhang)
    text = reference.fetch(region.contig, start, end)
    context = reference.array(region.contig, start, end + 1000)
    events = candidate_events(region, samples, reads, options)
    extents = [event_extent(event, context, start)[:2] for event in events]
    everyone = [read for own in reads for read in own]
    found = [(), *combine(events, observe(everyone, events, extents), options.haplotypes)]
    if options.haplotypes.assembly:
        short = [read for sample, own in zip(samples, reads, strict=True) if PLATFORMS[sample.platform].assembles for read in own]
        found += assembly.assemble(region, text, start, short, options.haplotypes)
    by_sequence: dict[str, Haplotype] = {}
    for combination in found:
        sequence = spell(text, start, combination)
        by_sequence.setdefault(sequence, Haplotype(start, end, sequence, tuple(combination)))
    return list(by_sequence.values())[: options.haplotypes.max_haplotypes * 2]


def candidate_events(
    region: Region, samples: Sequence[SampleSource], reads: Sequence[Sequence[AlignedRead]], options: ExtractOptions
) -> list[Event]:
    """Events inside the region that enough reads of one sample carry, in order of position; the most frequent if too many."""
    best: dict[Event, float] = {}
    for sample, own in zip(samples, reads, strict=True):
        counts: Counter[Event] = Counter()
        for read in own:
            counts.update(event for event in read.events if event[0] >= region.start and event[0] + len(event[1]) <= region.end)
        starts = np.sort(np.array([read.start for read in own], np.int64))
        ends = np.sort(np.array([read.end for read in own], np.int64))
        for event, count in counts.items():
            depth = int(np.searchsorted(starts, event[0], side="right") - np.searchsorted(ends, event[0], side="right"))
            if is_frequent(event, count, depth, sample.ploidy, options.regions):
                best[event] = max(best.get(event, 0.0), count / max(1, depth))
    ranked = sorted(best, key=lambda event: (-best[event], event))
    return sorted(ranked[: options.haplotypes.max_events])
