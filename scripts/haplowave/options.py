"""Every threshold of the pipeline, once: the configuration, the command flags and the documentation come from here.

A section of the configuration file is one dataclass; a key is one field.
"""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, help: str, **metadata: Any) -> Any:
    """A dataclass field with its documentation; metadata: minimum, maximum (inclusive), choices, pattern."""
    return field(default=default, metadata={"help": help, **metadata})


@dataclass(frozen=True)
class RegionOptions:
    """Where the alignments show enough difference from the reference to look closer (configuration: active_regions)."""

    min_mapping_quality: int = option(20, "reads mapped with less are left out (GATK HaplotypeCaller: 20)", minimum=0, maximum=254)
    min_base_quality: int = option(10, "bases called with less do not speak for an event (GATK: 10)", minimum=0, maximum=93)
    min_alternative_count: int = option(2, "reads of one sample that must carry an event", minimum=1)
    min_alternative_fraction: float = option(
        0.12, "share of a diploid sample's reads that must carry a substitution; scaled by 2 / ploidy", minimum=0.0, maximum=1.0
    )
    min_indel_fraction: float = option(
        0.12, "share of a diploid sample's reads that must carry an insertion or deletion; scaled by 2 / ploidy", minimum=0.0, maximum=1.0
    )
    min_clip_length: int = option(8, "soft-clipped bases, of good quality, that count as a sign of a larger event", minimum=1)
    merge_distance: int = option(35, "events closer than this (bp) share a region", minimum=1)
    padding: int = option(
        60, "reference bases on each side of a region that reads and haplotypes keep; less where a neighbour is nearer", minimum=15
    )
    max_region_length: int = option(300, "longer regions are split at their widest gaps (bp)", minimum=20)


@dataclass(frozen=True)
class HaplotypeOptions:
    """How candidate haplotypes are built in a region (configuration: haplotypes)."""

    overhang: int = option(20, "reference bases that a haplotype reaches beyond the reads on each side", minimum=1)
    max_events: int = option(24, "candidate events of a region, those with most evidence first", minimum=1)
    max_haplotypes: int = option(24, "haplotypes of a region, the reference included", minimum=2)
    assembly: bool = option(True, "assemble short reads locally, to find what their alignments do not show")
    assembly_kmers: str = option(
        "25,35,45,65", "k-mer lengths tried in turn until the reference has no repeated k-mer", pattern=r"^[1-9][0-9]+(,[1-9][0-9]+)*$"
    )
    min_kmer_count: int = option(2, "an assembly edge seen in fewer reads is pruned (GATK: 2)", minimum=1)


@dataclass(frozen=True)
class ReadOptions:
    """Which pieces of reads enter PairHMM, and with what qualities (configuration: reads)."""

    default_base_quality: int = option(
        0, "stands in for the qualities of reads that have none; 0: such a read is an error", minimum=0, maximum=93
    )
    trim_quality: int = option(10, "bases below this are taken off the ends of a read (GATK: 10)", minimum=0, maximum=93)
    min_read_length: int = option(10, "shorter pieces are left out", minimum=1)
    max_reads_per_region: int = option(500, "reads of one sample in one region; a fixed pseudo-random choice is kept", minimum=1)
    base_quality_threshold: int = option(
        -1, "base qualities below this become 6; -1: by platform (illumina, 10x: 18 as GATK; others: 6)", minimum=-1, maximum=93
    )
    max_base_quality: int = option(60, "base qualities are capped here and at the mapping quality", minimum=6, maximum=93)
    gap_open_quality: int = option(
        -1, "Phred gap-open penalty outside of repeats; -1: by platform (illumina, 10x: 45)", minimum=-1, maximum=93
    )
    gap_continuation_quality: int = option(10, "Phred gap-continuation penalty (GATK: 10)", minimum=1, maximum=93)
    pcr_indel_model: str = option(
        "conservative",
        "how much repeats lower the gap-open penalty of short reads (GATK)",
        choices=("none", "hostile", "aggressive", "conservative"),
    )
    overlap_quality: int = option(
        20, "where mates overlap and agree, each base quality is capped here (GATK: 20); they count 0 where they differ", minimum=0
    )


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
        45.0,
        "Phred probability that a read is mapped to the wrong place: no haplotype is worse than the read's best by more",
        minimum=0.0,
        maximum=500.0,
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
    min_quality_by_depth: float = option(2.0, "QD under which a record is marked LowQD; scaled by 2 / ploidy above 2", minimum=0.0)
    strand_artefact_rate: float = option(
        1e-5, "places a base at which an unknown share of one strand's reads repeats an error", minimum=0.0, maximum=1.0
    )
    artefact_rate: float = option(
        1e-6, "places a base at which a minority of the reads of both strands repeats an error", minimum=0.0, maximum=1.0
    )
    min_artefact_quality: float = option(
        3.0, "ARTQ under which a record is marked Artefact: more likely such an error than a variant", minimum=0.0
    )
    max_strand_bias_snv: float = option(60.0, "FS of an SNV above which a record is marked StrandBias", minimum=0.0)
    max_strand_bias_indel: float = option(200.0, "FS of any other record above which it is marked StrandBias", minimum=0.0)
    min_root_mapping_quality: float = option(40.0, "MQ under which a record is marked LowMQ", minimum=0.0)
    min_mapping_quality_rank_sum: float = option(-12.5, "MQRankSum under which a record is marked MQRankSum")
    min_position_rank_sum_snv: float = option(-8.0, "ReadPosRankSum of an SNV under which a record is marked ReadPosRankSum")
    min_position_rank_sum_indel: float = option(-20.0, "ReadPosRankSum of any other record under which it is marked ReadPosRankSum")


@dataclass(frozen=True)
class PruningOptions:
    """Pairs that PairHMM need not compute, because their likelihood is proven to lie under the mismapping cap (docs/pairhmm.md)."""

    prune: bool = option(True, "leave out pairs that the cap would raise anyway; calls are the same either way")
    prune_margin: int = option(
        8, "edits by which a pair must exceed its read's best haplotype before the proof is tried: less only costs time", minimum=1
    )
    prune_quality: float = option(
        45.0, "Phred distance from the read's best at which the cap lies: at least genotyping's mismapping_quality", minimum=0.0
    )
