"""The genotyping step: tables of one chunk in, a VCF of the chunk out. Holds one region at a time."""

from collections.abc import Sequence
from pathlib import Path

from haplowave.calling.genotype_evidence import iterate_evidence
from haplowave.calling.genotype_region import call_region
from haplowave.calling.vcf import header_text, record_text, vcf_writer
from haplowave.errors import UserError
from haplowave.io.reference import Reference
from haplowave.io.samples import Sample
from haplowave.options import GenotypeOptions


def genotype(
    reference: Reference,
    samples: Sequence[Sample],
    regions: str | Path,
    haplotypes: str | Path,
    reads: str | Path,
    likelihoods: str | Path,
    output: str | Path,
    options: GenotypeOptions,
) -> int:
    """Write the chunk's records to `output` (bgzipped VCF); returns their number.

    Raises UserError where the tables do not belong together or name a contig that the reference lacks.
    """
    header = header_text(reference.contigs, [sample.name for sample in samples], options)
    ploidies = [sample.ploidy for sample in samples]
    written = 0
    with vcf_writer(output, header) as file:
        for evidence in iterate_evidence(regions, haplotypes, reads, likelihoods, samples):
            if evidence.contig not in reference.contigs:
                raise UserError(f"{regions}: contig {evidence.contig} is not in {reference.path}; give the reference of the earlier steps")
            for call in call_region(evidence, samples, options):
                file.write(record_text(call, ploidies).encode())
                written += 1
    return written
