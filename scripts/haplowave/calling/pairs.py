"""How many pairs a run asks of PairHMM and how long they are: Table 1 of Graça & Ilic 2026 for one's own data."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow.compute as pc

from haplowave.files import atomic_path
from haplowave.io.samples import Sample
from haplowave.tables import iterate_regions, join_regions

COLUMNS = (
    "sample",
    "technology",
    "pairs",
    "min_read_length",
    "median_read_length",
    "max_read_length",
    "min_haplotype_length",
    "median_haplotype_length",
    "max_haplotype_length",
    "cells",
)


class PairCounts:
    """Histograms of the lengths over pairs, a sample: memory goes with the number of different lengths, not of pairs."""

    def __init__(self) -> None:
        self.reads: dict[str, Counter[int]] = {}
        self.haplotypes: dict[str, Counter[int]] = {}
        self.cells: Counter[str] = Counter()

    def add(self, haplotypes: str | Path, reads: str | Path) -> None:
        """Count the pairs of one chunk's tables: within a region, every read with every haplotype."""
        for _, (haps, rows) in join_regions(iterate_regions(haplotypes, "haplotypes"), iterate_regions(reads, "reads")):
            if haps is None or rows is None:
                continue
            hap_lengths = Counter(pc.utf8_length(haps.column("sequence")).to_pylist())
            hap_number, hap_total = hap_lengths.total(), sum(length * number for length, number in hap_lengths.items())
            lengths = pc.utf8_length(rows.column("bases")).to_pylist()
            names = rows.column("sample").to_pylist()
            for (name, length), number in Counter(zip(names, lengths, strict=True)).items():
                self.reads.setdefault(name, Counter())[length] += number * hap_number
                per_sample = self.haplotypes.setdefault(name, Counter())
                for hap_length, hap_count in hap_lengths.items():
                    per_sample[hap_length] += number * hap_count
                self.cells[name] += number * length * hap_total

    def row(self, sample: Sample) -> list[str]:
        """One line of the summary, in the order of COLUMNS."""
        reads, haplotypes = self.reads.get(sample.name, Counter()), self.haplotypes.get(sample.name, Counter())
        spans = [str(value) for counts in (reads, haplotypes) for value in spread(counts)]
        return [sample.name, sample.platform, str(reads.total()), *spans, str(self.cells[sample.name])]


def spread(counts: Counter[int]) -> tuple[int, int, int]:
    """(minimum, lower median, maximum) of a histogram; zeros where it is empty."""
    if not counts:
        return 0, 0, 0
    middle, seen, median = (counts.total() + 1) // 2, 0, 0
    for length in sorted(counts):
        seen += counts[length]
        if seen >= middle:
            median = length
            break
    return min(counts), median, max(counts)


def write_pairs(counts: PairCounts, samples: Iterable[Sample], output: str | Path) -> None:
    """Write the summary, one line a sample of the sheet."""
    lines = ["\t".join(COLUMNS), *("\t".join(counts.row(sample)) for sample in samples)]
    with atomic_path(output) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
