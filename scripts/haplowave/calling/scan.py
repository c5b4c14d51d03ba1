"""The step that finds active regions: interval list in, table of regions and counts of filtered reads out."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from haplowave.calling.aligned_read import BaseRules
from haplowave.calling.regions import Region, Scanner, find_regions
from haplowave.calling.sources import open_samples
from haplowave.errors import UserError
from haplowave.files import atomic_path
from haplowave.io.alignments import REASONS
from haplowave.io.intervals import parse_bed
from haplowave.io.reference import Reference, open_reference
from haplowave.options import ReadOptions, RegionOptions
from haplowave.tables import table_writer

_ROWS_PER_GROUP = 10_000


def region_id(reference: Reference, contig: str, start: int) -> int:
    """contig index << 32 | start: unique, and in the order of the genome, however it was cut."""
    return reference.contig_index[contig] << 32 | start


def scan(
    reference_path: Path,
    index_dir: Path | None,
    samples_path: Path,
    intervals_path: Path,
    regions_path: Path,
    counts_path: Path,
    region_options: RegionOptions,
    read_options: ReadOptions,
) -> int:
    """Write the regions table and the TSV of read counts (sample, reason, records); returns the number of regions."""
    reference = open_reference(reference_path, index_dir)
    intervals, errors, _ = parse_bed(intervals_path, reference.contigs)
    if errors:
        raise UserError("; ".join(errors))
    intervals.sort(key=lambda interval: (reference.contig_index[interval.contig], interval.start))
    rules = BaseRules(region_options.min_base_quality, read_options.default_base_quality, read_options.trim_quality)
    with open_samples(samples_path, reference_path) as samples, table_writer(regions_path, "regions") as writer:
        scanner = Scanner(samples, reference, region_options, rules)
        waiting: list[Region] = []
        for interval in intervals:
            for region in find_regions(scanner, interval.contig, interval.start, interval.end):
                waiting.append(region)
                if len(waiting) >= _ROWS_PER_GROUP:
                    writer.append(_columns(waiting, reference))
                    waiting = []
        writer.append(_columns(waiting, reference))
        rows = writer.rows
    _write_counts(counts_path, {sample.name: scanner.counts[sample.name] for sample in samples})
    return rows


def _columns(regions: Sequence[Region], reference: Reference) -> dict[str, list]:
    return {
        "region_id": [region_id(reference, region.contig, region.start) for region in regions],
        "contig": [region.contig for region in regions],
        "start": [region.start for region in regions],
        "end": [region.end for region in regions],
        "padded_start": [region.padded_start for region in regions],
        "padded_end": [region.padded_end for region in regions],
        "why": [region.why for region in regions],
    }


def _write_counts(path: Path, counts: dict[str, Counter[str]]) -> None:
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        print("sample", "reason", "records", sep="\t", file=file)
        for name, counter in counts.items():
            for reason in REASONS:
                print(name, reason, counter[reason], sep="\t", file=file)
