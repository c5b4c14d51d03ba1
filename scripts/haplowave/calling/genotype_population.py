"""Joint calling of one site over all samples, with a population prior.

The alleles' frequencies have a Dirichlet prior with 1 for the reference and the population rate theta_a for each other
allele a. For one alternative allele this is the neutral spectrum: P(k copies among n chromosomes) is close to theta / k
(Ewens 1972; the same prior as in samtools' and GATK's allele-count models).
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

from haplowave.calling.genotype_model import allele_counts, log10_sum

_ITERATIONS = 50
_TOLERANCE = 1e-6
PHRED_MAX = 99


@functools.lru_cache(maxsize=256)
def _log10_orders(ploidy: int, alleles: int) -> np.ndarray:
    """log10 of the number of orders of each genotype's alleles."""
    counts = allele_counts(ploidy, alleles)
    total = math.lgamma(ploidy + 1)
    return np.array([(total - sum(math.lgamma(count + 1) for count in row)) / math.log(10) for row in counts])


def dirichlet_multinomial(alphas: np.ndarray, ploidy: int) -> np.ndarray:
    """log10 P(genotype) when alleles are drawn from Dirichlet(alphas): shape (genotypes,)."""
    counts = allele_counts(ploidy, len(alphas))
    rising = np.zeros((len(alphas), ploidy + 1))
    np.cumsum(np.log10(alphas[:, None] + np.arange(ploidy)), axis=1, out=rising[:, 1:])
    total = np.log10(alphas.sum() + np.arange(ploidy)).sum()
    return _log10_orders(ploidy, len(alphas)) + rising[np.arange(len(alphas)), counts].sum(axis=1) - total


def posteriors(likelihoods: Sequence[np.ndarray], ploidies: Sequence[int], rates: np.ndarray) -> list[np.ndarray]:
    """log10 P(genotype | all reads) of each sample; each sums to 1.

    `likelihoods`: one (genotypes,) log10 array a sample; `rates`: Dirichlet parameters, 1 for the reference. Exact for one
    sample; for more, each sample's prior is the Dirichlet-multinomial given the expected allele counts of the others
    (collapsed variational inference), repeated until the counts stand still.
    """
    alleles = len(rates)
    counts = [allele_counts(ploidy, alleles) for ploidy in ploidies]
    expected = np.zeros((len(ploidies), alleles))
    result: list[np.ndarray] = [np.empty(0)] * len(ploidies)
    for _ in range(_ITERATIONS):
        before = expected.copy()
        for sample, (likelihood, ploidy) in enumerate(zip(likelihoods, ploidies, strict=True)):
            others = expected.sum(axis=0) - expected[sample]
            joint = likelihood + dirichlet_multinomial(rates + np.maximum(others, 0.0), ploidy)
            result[sample] = joint - log10_sum(joint)
            expected[sample] = (np.power(10.0, result[sample])[:, None] * counts[sample]).sum(axis=0)
        if len(ploidies) == 1 or np.abs(expected - before).max() < _TOLERANCE:
            break
    return result


def site_quality(likelihoods: Sequence[np.ndarray], ploidies: Sequence[int], rates: np.ndarray, variant: np.ndarray) -> float:
    """QUAL: Phred probability that no sample carries a variant allele.

    `variant`: bool (alleles,), false for the reference and for `*`. Exact in the number of variant copies over all samples:
    P(reads | AC = k) is a convolution over the samples (Li 2011, doi 10.1093/bioinformatics/btr509, section 2.3.3), any ploidy.
    """
    log10_reads = np.zeros(1)
    for likelihood, ploidy in zip(likelihoods, ploidies, strict=True):
        collapsed = _by_variant_copies(likelihood, ploidy, rates, variant) + _log10_binomials(ploidy)
        longer = np.full(len(log10_reads) + ploidy, -np.inf)
        for copies, value in enumerate(collapsed):
            target = longer[copies : copies + len(log10_reads)]
            target[:] = log10_sum(np.stack([target, log10_reads + value]), axis=0)
        log10_reads = longer
    chromosomes = len(log10_reads) - 1
    spectrum = dirichlet_multinomial(np.array([rates[~variant].sum(), rates[variant].sum()]), chromosomes)
    joint = log10_reads - _log10_binomials(chromosomes) + spectrum
    return float(max(0.0, 10 * (log10_sum(joint) - joint[0]))) + 0.0


@functools.lru_cache(maxsize=1024)
def _log10_binomials(number: int) -> np.ndarray:
    logs = [math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1) for k in range(number + 1)]
    return np.array(logs) / math.log(10)


def _by_variant_copies(likelihood: np.ndarray, ploidy: int, rates: np.ndarray, variant: np.ndarray) -> np.ndarray:
    """log10 P(reads | k variant copies), k = 0..ploidy: genotypes with the same k weighted by their prior."""
    prior = dirichlet_multinomial(rates, ploidy)
    copies = allele_counts(ploidy, len(rates))[:, variant].sum(axis=1)
    result = np.empty(ploidy + 1)
    for k in range(ploidy + 1):
        chosen = copies == k
        result[k] = log10_sum((likelihood + prior)[chosen]) - log10_sum(prior[chosen])
    return result


def phred_likelihoods(likelihood: np.ndarray) -> list[int]:
    """PL: Phred likelihoods, the best 0; whole numbers."""
    return [round(value) for value in np.minimum(-10 * (likelihood - likelihood.max()), 2**31 - 1)]


def genotype_quality(posterior: np.ndarray, called: int) -> int:
    """GQ: Phred probability that the called genotype is wrong, at most 99."""
    others = np.delete(posterior, called)
    return min(PHRED_MAX, max(0, math.floor(-10 * float(log10_sum(others)) + 1e-9))) if len(others) else PHRED_MAX
