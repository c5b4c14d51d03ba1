"""Counts of a VCF, one pass, memory independent of its length."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pysam

from haplowave.errors import UserError

_PURINES = frozenset("AG")
MAX_INDEL = 50
MAX_DEPTH = 200


@dataclass
class SampleCounts:
    """Of one sample, over records that pass. `kinds`: alleles by kind; `indel_lengths`: negative for deletions."""

    kinds: Counter[str] = field(default_factory=Counter)
    heterozygous: int = 0
    homozygous: int = 0
    missing: int = 0
    transitions: int = 0
    transversions: int = 0
    indel_lengths: Counter[int] = field(default_factory=Counter)
    depths: Counter[int] = field(default_factory=Counter)
    qualities: Counter[int] = field(default_factory=Counter)


@dataclass
class CallCounts:
    """Of a VCF: `filters` counts FILTER values, PASS among them; `samples` by name in the order of the header.

    `settings`: the genotyper's options, as the header states them.
    """

    source: str
    contigs: int
    records: int = 0
    multiallelic: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    filters: Counter[str] = field(default_factory=Counter)
    samples: dict[str, SampleCounts] = field(default_factory=dict)


def ratio(numerator: int, denominator: int) -> float | None:
    """Quotient, None where there is none."""
    return numerator / denominator if denominator else None


def allele_kind(ref: str, alt: str) -> str:
    """snv, insertion, deletion, mnv (equal lengths) or other ('*' and symbolic alleles)."""
    if alt.startswith(("<", "*")) or "[" in alt or "]" in alt:
        return "other"
    if len(ref) == len(alt):
        return "snv" if len(ref) == 1 else "mnv"
    return "insertion" if len(alt) > len(ref) else "deletion"


def count_calls(path: str | Path) -> CallCounts:
    """Read all records of `path`. Raises UserError where it is no VCF."""
    try:
        with pysam.VariantFile(str(path)) as file:
            lines = {record.key: record.value for record in file.header.records if record.value}
            settings = dict(pair.split("=", 1) for pair in lines.get("haplowave_genotyping", "").split(";") if "=" in pair)
            samples = {name: SampleCounts() for name in file.header.samples}
            counts = CallCounts(lines.get("source", "unknown"), len(file.header.contigs), settings=settings, samples=samples)
            for record in file:
                _count_record(record, counts)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as VCF ({error}); make the calls again") from error
    return counts


def _count_record(record: pysam.VariantRecord, counts: CallCounts) -> None:
    filters = list(record.filter) or ["PASS"]
    counts.records += 1
    counts.filters.update(filters)
    if filters != ["PASS"]:
        return
    alleles = record.alleles or ()
    counts.multiallelic += len(alleles) > 2
    for name, sample in counts.samples.items():
        call = record.samples[name]
        genotype = [allele for allele in call["GT"] if allele is not None]
        if not genotype:
            sample.missing += 1
            continue
        _count_genotype(alleles, genotype, sample)
        if any(genotype):
            sample.depths[min(MAX_DEPTH, call.get("DP") or 0)] += 1
            sample.qualities[call.get("GQ") or 0] += 1


def _count_genotype(alleles: Sequence[str], genotype: Sequence[int], sample: SampleCounts) -> None:
    carried = set(genotype) - {0}
    if not carried:
        return
    if len(set(genotype)) > 1:
        sample.heterozygous += 1
    else:
        sample.homozygous += 1
    ref = alleles[0]
    for allele in sorted(carried):
        alt = alleles[allele]
        kind = allele_kind(ref, alt)
        sample.kinds[kind] += 1
        if kind == "snv":
            same_class = (ref in _PURINES) == (alt in _PURINES)
            sample.transitions += same_class
            sample.transversions += not same_class
        elif kind in ("insertion", "deletion"):
            sample.indel_lengths[max(-MAX_INDEL, min(MAX_INDEL, len(alt) - len(ref)))] += 1
