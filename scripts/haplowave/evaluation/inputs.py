"""The truth of a sample before any call is made: what is wrong with its files, from headers and the BED alone."""

import sys
from collections.abc import Mapping
from pathlib import Path

from haplowave.errors import UserError
from haplowave.evaluation import alleles
from haplowave.io.checks import Findings
from haplowave.io.intervals import Interval, merge, parse_bed


def check_truth(sample: str, truth: Path, confident: Path | None, contigs: Mapping[str, int], reference: Path) -> Findings:
    """Errors that `evaluate` would end with, as far as they show without the truth's records; and what it assumes."""
    findings = Findings()
    try:
        column = alleles.sample_of(truth, sample, or_only=True)
        if column != sample:
            findings.warnings.append(f"{truth}: has only sample {column}, which is taken as the truth of {sample}")
        with alleles.open_vcf(truth) as file:
            if file.header.contigs:  # contig lines may be missing
                alleles.require_shared_contig(truth, file, contigs)
        if confident is not None:
            read_confident(confident, truth, contigs, reference)
    except UserError as error:
        findings.errors.append(str(error))
    return findings


def read_confident(path: Path, truth: Path, contigs: Mapping[str, int], reference: Path) -> list[Interval]:
    """The confident regions on `contigs` (those of `reference`); the BED may name others that the truth set knows.

    Raises UserError for a bad line, and where no contig of the BED is in the reference.
    """
    with alleles.open_vcf(truth) as file:
        known = {name: contig.length or sys.maxsize for name, contig in file.header.contigs.items()}
    intervals, errors, _ = parse_bed(path, {**known, **contigs})
    if errors:
        raise UserError(errors[0])
    inside = [interval for interval in intervals if interval.contig in contigs]
    if intervals and not inside:
        raise UserError(f"{path}: names contig {intervals[0].contig}, which is not in {reference}; use the same build and names")
    return merge(inside, contigs)
