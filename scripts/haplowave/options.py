"""Every threshold of the pipeline, once: the configuration, the command flags and the documentation come from here.

A section of the configuration file is one dataclass; a key is one field.
"""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, help: str, **metadata: Any) -> Any:
    """A dataclass field with its documentation; metadata: minimum, maximum (inclusive), choices."""
    return field(default=default, metadata={"help": help, **metadata})


@dataclass(frozen=True)
class GenotypeOptions:
    """Genotyping: from likelihoods of reads given haplotypes to a VCF."""

    heterozygosity: float = option(1e-3, "prior rate of SNVs a base between two chromosomes of the population", minimum=0.0, maximum=0.5)
    indel_heterozygosity: float = option(
        1.25e-4, "prior rate of indels and complex events a base between two chromosomes", minimum=0.0, maximum=0.5
    )
    linked_event_probability: float = option(
        0.1, "prior probability of each further event on a haplotype that already has one in the region", minimum=0.0, maximum=1.0
    )
    mismapping_quality: float = option(
        45.0, "Phred probability that a read is mapped to the wrong place: no haplotype is worse than the read's best by more", minimum=0.0
    )
    expected_error_rate: float = option(
        0.02, "errors a base of a short read beyond which no haplotype explains it and it is left out", minimum=0.0, maximum=1.0
    )
    max_expected_errors: int = option(2, "most errors that a short read may have under its best haplotype, whatever its length", minimum=0)
    long_read_error_rate: float = option(
        0.05, "the same as expected_error_rate for hifi and ont, where no most number applies", minimum=0.0, maximum=1.0
    )
    max_genotypes: int = option(
        2000, "most combinations of haplotypes tried in a sample: the least supported haplotypes are left out above it", minimum=3
    )
    informative_margin: float = option(
        0.2, "log10 by which a read's best allele must beat the next one to count in AD and the annotations", minimum=0.0
    )
    emit_quality: float = option(10.0, "least QUAL of a record", minimum=0.0)
    low_quality: float = option(20.0, "QUAL under which a record is marked LowQual", minimum=0.0)
    phase_quality: float = option(20.0, "Phred confidence at which neighbouring heterozygous sites of a region are phased", minimum=0.0)
    min_quality_by_depth: float = option(2.0, "QD under which a record is marked LowQD", minimum=0.0)
    max_strand_bias_snv: float = option(60.0, "FS of an SNV above which a record is marked StrandBias", minimum=0.0)
    max_strand_bias_indel: float = option(200.0, "FS of any other record above which it is marked StrandBias", minimum=0.0)
    min_root_mapping_quality: float = option(40.0, "MQ under which a record is marked LowMQ", minimum=0.0)
    min_mapping_quality_rank_sum: float = option(-12.5, "MQRankSum under which a record is marked MQRankSum")
    min_position_rank_sum_snv: float = option(-8.0, "ReadPosRankSum of an SNV under which a record is marked ReadPosRankSum")
    min_position_rank_sum_indel: float = option(-20.0, "ReadPosRankSum of any other record under which it is marked ReadPosRankSum")
