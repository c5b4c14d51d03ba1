"""Phase of neighbouring heterozygous sites of a region, from the haplotype genotypes."""

from collections.abc import Sequence

import numpy as np

from haplowave.calling.genotype_model import log10_sum


def same_phase(log10: np.ndarray, first: np.ndarray, second: np.ndarray, genotypes: tuple[Sequence[int], Sequence[int]]) -> float:
    """Phred confidence, signed, that the lower alleles of two heterozygous sites lie on one haplotype.

    `log10`: (haplotype genotypes,) likelihoods of a diploid sample; `first`, `second`: (haplotype genotypes, 2) alleles of its
    two haplotypes at either site; `genotypes`: the called alleles at either site, ascending. Only the likelihoods decide: a
    prior for haplotypes with fewer differences would phase sites that no read connects. 0 where nothing supports either.
    """
    (a, b), (c, d) = genotypes
    together = _matches(first, second, (a, c), (b, d))
    apart = _matches(first, second, (a, d), (b, c))
    values = [float(log10_sum(log10[chosen])) if chosen.any() else -np.inf for chosen in (together, apart)]
    if values == [-np.inf, -np.inf]:
        return 0.0
    return 10 * (values[0] - values[1])


def _matches(first: np.ndarray, second: np.ndarray, one: tuple[int, int], other: tuple[int, int]) -> np.ndarray:
    def haplotype(place: int, alleles: tuple[int, int]) -> np.ndarray:
        return (first[:, place] == alleles[0]) & (second[:, place] == alleles[1])

    return (haplotype(0, one) & haplotype(1, other)) | (haplotype(1, one) & haplotype(0, other))
