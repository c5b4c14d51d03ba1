"""Counts of matches inside the confident regions, and the files that show them."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from haplowave import __version__
from haplowave.evaluation.alleles import Atom
from haplowave.evaluation.matching import CALLS, TRUTH, Matches, Side
from haplowave.files import atomic_path
from haplowave.io.indexed_vcf import write_indexed_vcf
from haplowave.io.intervals import Interval

TYPES = ("SNV", "indel", "all")
MATCHINGS = ("genotype", "allele")
COLUMNS = ("sample", "type", "matching", "truth", "TP", "FN", "calls", "TP_calls", "FP", "recall", "precision", "F1")


class Confident:
    """Sorted, disjoint intervals; without any BED everything is inside."""

    def __init__(self, intervals: Iterable[Interval] | None):
        self._everything = intervals is None
        self._edges: dict[str, list[int]] = {}
        for interval in intervals or ():
            self._edges.setdefault(interval.contig, []).extend((interval.start, interval.end))

    def holds(self, contig: str, position: int) -> bool:
        return self._everything or bisect_right(self._edges.get(contig, []), position) % 2 == 1


@dataclass
class Count:
    """Truth and calls of one type under one matching."""

    truth: int = 0
    found: int = 0
    calls: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.truth if self.truth else math.nan

    @property
    def precision(self) -> float:
        return self.right / self.calls if self.calls else math.nan

    @property
    def f1(self) -> float:
        """Harmonic mean; 0 where nothing is right though there is something, nan where there is nothing at all."""
        if not self.truth and not self.calls:
            return math.nan
        both = self.found and self.right
        return 2 * self.recall * self.precision / (self.recall + self.precision) if both else 0.0


@dataclass
class Tally:
    """Counts over all contigs, and the lines of the error lists, which appear in the order of the reference."""

    sample: str
    confident: Confident
    counts: dict[tuple[str, str], Count] = field(default_factory=lambda: {(kind, how): Count() for kind in TYPES for how in MATCHINGS})
    false_negatives: list[str] = field(default_factory=list)
    false_positives: list[str] = field(default_factory=list)

    def add(self, contig: str, truth: Side, calls: Side, matches: Matches) -> None:
        for side, own, errors in ((TRUTH, truth, self.false_negatives), (CALLS, calls, self.false_positives)):
            for atom in sorted(own.copies):
                if not self.confident.holds(contig, atom.start):
                    continue
                agrees = {"genotype": atom in matches.genotype[side], "allele": atom in matches.allele[side]}
                self._count(side, atom, agrees)
                if not agrees["genotype"]:
                    errors.append(_line(contig, atom, own, "genotype" if agrees["allele"] else "allele"))

    def _count(self, side: int, atom: Atom, agrees: Mapping[str, bool]) -> None:
        for kind in ("SNV" if atom.is_snv else "indel", "all"):
            for how in MATCHINGS:
                count = self.counts[kind, how]
                if side == TRUTH:
                    count.truth += 1
                    count.found += agrees[how]
                else:
                    count.calls += 1
                    count.right += agrees[how]

    def rows(self) -> Iterator[dict[str, object]]:
        """One row a type and matching; rates with six decimals."""
        for (kind, how), count in self.counts.items():
            numbers = (count.truth, count.found, count.truth - count.found, count.calls, count.right, count.calls - count.right)
            rates = (f"{rate:.6f}" for rate in (count.recall, count.precision, count.f1))
            yield dict(zip(COLUMNS, (self.sample, kind, how, *numbers, *rates), strict=True))


def write(folder: Path, tally: Tally, contigs: Mapping[str, int]) -> None:
    """summary.tsv, fp.vcf.gz and fn.vcf.gz with their indexes."""
    lines = ["\t".join(COLUMNS), *("\t".join(map(str, row.values())) for row in tally.rows())]
    with atomic_path(folder / "summary.tsv") as temporary:
        temporary.write_text("\n".join(lines) + "\n")
    for name, errors in (("fp", tally.false_positives), ("fn", tally.false_negatives)):
        write_indexed_vcf(folder / f"{name}.vcf.gz", [*_header(tally.sample, contigs), *errors])


def _header(sample: str, contigs: Mapping[str, int]) -> Iterator[str]:
    yield "##fileformat=VCFv4.3\n"
    yield f"##source=haplowave evaluate {__version__}\n"
    yield '##FILTER=<ID=PASS,Description="All filters passed">\n'
    yield from (f"##contig=<ID={name},length={length}>\n" for name, length in contigs.items())
    description = "genotype: the allele is right and its genotype is not; allele: the other side has no such allele"
    yield f'##INFO=<ID=REASON,Number=1,Type=String,Description="{description}">\n'
    yield '##FORMAT=<ID=GT,Number=1,Type=String,Description="Copies of the allele, unphased">\n'
    yield "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", sample]) + "\n"


def _line(contig: str, atom: Atom, side: Side, reason: str) -> str:
    copies, ploidy = side.copies[atom]
    genotype = "/".join(["0"] * (ploidy - copies) + ["1"] * copies)
    fields = (contig, atom.start + 1, ".", atom.ref, atom.alt, side.quality[atom], ".", f"REASON={reason}", "GT", genotype)
    return "\t".join(map(str, fields)) + "\n"
