"""Thresholds of the comparison with a truth set."""

from dataclasses import dataclass

from haplowave.options import option


@dataclass(frozen=True)
class EvaluationOptions:
    """Which calls count, and how far haplotype matching goes."""

    min_quality: float = option(0.0, "calls with a lower QUAL do not count", minimum=0)
    all_filters: bool = option(False, "count calls whose FILTER is neither PASS nor '.' too")
    cluster_distance: int = option(30, "variants that no exact match explains are compared together up to this distance, bp", minimum=0)
    max_states: int = option(20_000, "partial haplotypes kept in a cluster before it is cut at its widest gap", minimum=16)
