"""What one record of the VCF says, before it is text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from haplowave.calling import genotype_annotations as annotations
from haplowave.calling.genotype_sites import SPANNING, Site
from haplowave.options import GenotypeOptions


@dataclass
class SampleCall:
    """One sample at one site. `genotype` is None without reads; `phase_set`: 0-based position of the first site of its phase block."""

    depth: int
    allele_depths: list[int]
    genotype: tuple[int, ...] | None = None
    quality: int | None = None
    likelihoods: list[int] | None = None
    phase_set: int | None = None


@dataclass
class Call:
    """One site; `pos` 0-based, `alleles[0]` the reference, `info` in the order of the header."""

    contig: str
    pos: int
    alleles: tuple[str, ...]
    quality: float
    samples: list[SampleCall]
    info: dict[str, object] = field(default_factory=dict)
    filters: tuple[str, ...] = ()


@dataclass(frozen=True)
class SiteReads:
    """Reads that overlap a site. `alleles`: informative allele of each (-1 none); `distance`: bases to the nearest end of the read."""

    alleles: np.ndarray
    reverse: np.ndarray
    mapq: np.ndarray
    distance: np.ndarray


def site_info(site: Site, quality: float, artefact: float, samples: Sequence[SampleCall], reads: SiteReads) -> dict[str, object]:
    """INFO fields; those that cannot be computed are left out."""
    called = [allele for sample in samples if sample.genotype is not None for allele in sample.genotype]
    counts = [called.count(allele) for allele in range(1, len(site.alleles))]
    carriers = sum(sample.depth for sample in samples if sample.genotype is not None and any(sample.genotype))
    table = annotations.strand_table(reads.alleles, reads.reverse)
    variant, reference = reads.alleles > 0, reads.alleles == 0
    info: dict[str, object] = {
        "AC": counts,
        "AF": [count / len(called) for count in counts],
        "AN": len(called),
        "ARTQ": artefact,
        "DP": sum(sample.depth for sample in samples),
        "FS": annotations.fisher_strand(table),
        "MQ": annotations.root_mean_square(reads.mapq),
        "MQRankSum": annotations.rank_sum(reads.mapq[variant], reads.mapq[reference]),
        "QD": quality / carriers if carriers else None,
        "ReadPosRankSum": annotations.rank_sum(reads.distance[variant], reads.distance[reference]),
        "SB": list(table),
        "SOR": annotations.strand_odds_ratio(table),
    }
    return {key: value for key, value in info.items() if value is not None}


def failed_filters(
    alleles: Sequence[str], quality: float, info: dict[str, object], samples: Sequence[SampleCall], options: GenotypeOptions
) -> tuple[str, ...]:
    """Names of the filters that a record fails; a missing annotation fails none."""
    # One copy of many is carried by fewer of the reads, so QUAL grows more slowly with depth.
    ploidy = max((len(sample.genotype) for sample in samples if sample.genotype is not None and any(sample.genotype)), default=2)
    snv = len(alleles[0]) == 1 and all(len(allele) == 1 for allele in alleles if allele != SPANNING)
    strand_limit = options.max_strand_bias_snv if snv else options.max_strand_bias_indel
    position_limit = options.min_position_rank_sum_snv if snv else options.min_position_rank_sum_indel
    checks = (
        ("LowQual", quality < options.low_quality),
        ("LowQD", _number(info, "QD", np.inf) < options.min_quality_by_depth * min(1.0, 2 / ploidy)),
        ("Artefact", _number(info, "ARTQ", np.inf) < options.min_artefact_quality),
        ("StrandBias", _number(info, "FS", 0.0) > strand_limit),
        ("LowMQ", _number(info, "MQ", np.inf) < options.min_root_mapping_quality),
        ("MQRankSum", _number(info, "MQRankSum", 0.0) < options.min_mapping_quality_rank_sum),
        ("ReadPosRankSum", _number(info, "ReadPosRankSum", 0.0) < position_limit),
    )
    return tuple(name for name, failed in checks if failed)


def _number(info: dict[str, object], key: str, missing: float) -> float:
    value = info.get(key, missing)
    assert isinstance(value, float)
    return value
