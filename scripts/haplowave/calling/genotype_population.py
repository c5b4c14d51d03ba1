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

_ITERATIONS = 20
_TOLERANCE = 1e-4
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


def _assignments(rates: np.ndarray, chromosomes: int) -> np.ndarray:
    """log10 P(one given set of k chromosomes, and no other, has a variant allele), k = 0..chromosomes; `rates`: not variant, variant."""
    rising = np.zeros((2, chromosomes + 1))
    np.cumsum(np.log10(rates[:, None] + np.arange(chromosomes)), axis=1, out=rising[:, 1:])
    return rising[0, ::-1] + rising[1] - np.log10(rates.sum() + np.arange(chromosomes)).sum()


def posteriors(likelihoods: Sequence[np.ndarray], ploidies: Sequence[int], rates: np.ndarray, variant: np.ndarray) -> list[np.ndarray]:
    """log10 P(genotype | reads of all samples) of each sample; each sums to 1.

    `likelihoods`: one (genotypes,) log10 array a sample; `rates`: Dirichlet parameters, 1 for the reference; `variant`: bool
    (alleles,), false for the reference and for `*`. How many copies of variant alleles a sample has is exact: what the other
    samples say is summed over all their genotypes. Which variant alleles those are is exact for one sample; for more, it
    follows the Dirichlet-multinomial given the expected allele counts of the others, repeated until the counts stand still.
    """
    alleles = len(rates)
    counts = [allele_counts(ploidy, alleles) for ploidy in ploidies]
    copies = [count[:, variant].sum(axis=1) for count in counts]
    expected = np.zeros((len(ploidies), alleles))
    result: list[np.ndarray] = [np.empty(0)] * len(ploidies)
    for _ in range(_ITERATIONS):
        before = expected.copy()
        split = []
        for likelihood, ploidy, own, number in zip(likelihoods, ploidies, expected, copies, strict=True):
            prior = dirichlet_multinomial(rates + np.maximum(before.sum(axis=0) - own, 0.0), ploidy)
            split.append(likelihood + prior - _by_copies(prior, number, ploidy)[number])
        totals = [_by_copies(joint, number, ploidy) for joint, number, ploidy in zip(split, copies, ploidies, strict=True)]
        shares = _copies_given_all(totals, np.array([rates[~variant].sum(), rates[variant].sum()]))
        for sample, (joint, number) in enumerate(zip(split, copies, strict=True)):
            conditional = joint - np.where(np.isfinite(totals[sample]), totals[sample], 0.0)[number]
            result[sample] = conditional + shares[sample][number]
            expected[sample] = (np.power(10.0, result[sample])[:, None] * counts[sample]).sum(axis=0)
        if len(ploidies) == 1 or alleles == 2 or np.abs(expected - before).max() < _TOLERANCE:
            break
    return result


def _by_copies(values: np.ndarray, copies: np.ndarray, ploidy: int) -> np.ndarray:
    """log10 sums of `values` (genotypes,) by the number of variant copies: shape (ploidy + 1,)."""
    chosen = copies == np.arange(ploidy + 1)[:, None]
    return log10_sum(np.where(chosen, values, -np.inf), axis=1)


def _copies_given_all(totals: Sequence[np.ndarray], rates: np.ndarray) -> list[np.ndarray]:
    """log10 P(variant copies of a sample | reads of all): one (ploidy + 1,) array a sample.

    `totals`: log10 P(reads | copies) of each; `rates`: Dirichlet parameters of non-variant and variant alleles. Sums over the
    samples before and those behind each sample meet at it, so that its own reads count once.
    """
    weighted = [total + _log10_binomials(len(total) - 1) for total in totals]
    chromosomes = sum(len(total) - 1 for total in totals)
    assignment = _assignments(rates, chromosomes)
    linear = [np.power(10.0, values - values.max()) for values in weighted]
    before, behind = _running(linear), _running(linear[::-1])[::-1]
    # Only ratios of neighbouring numbers of copies matter here, so the scaled sums may stay linear.
    prior = np.power(10.0, assignment - assignment.max())
    result = []
    for values, left, right in zip(weighted, before, behind, strict=True):
        others = _convolve(left, right)
        seen = np.array([(others * prior[copies : copies + len(others)]).sum() for copies in range(len(values))])
        joint = values + np.log10(np.maximum(seen, 1e-300))
        result.append(joint - log10_sum(joint))
    return result


def _running(items: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each item the convolution of those before it, scaled to a maximum of 1."""
    result = [np.ones(1)]
    for item in items[:-1]:
        following = _convolve(result[-1], item)
        result.append(following / following.max())
    return result


def _convolve(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Plain sums in a fixed order: np.convolve may go through BLAS."""
    if len(first) < len(second):
        first, second = second, first
    result = np.zeros(len(first) + len(second) - 1)
    for shift, factor in enumerate(second.tolist()):
        result[shift : shift + len(first)] += factor * first
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
    joint = log10_reads + _assignments(np.array([rates[~variant].sum(), rates[variant].sum()]), chromosomes)
    return float(max(0.0, 10 * (log10_sum(joint) - joint[0]))) + 0.0


@functools.lru_cache(maxsize=1024)
def _log10_binomials(number: int) -> np.ndarray:
    logs = [math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1) for k in range(number + 1)]
    return np.array(logs) / math.log(10)


def _by_variant_copies(likelihood: np.ndarray, ploidy: int, rates: np.ndarray, variant: np.ndarray) -> np.ndarray:
    """log10 P(reads | k variant copies), k = 0..ploidy: genotypes with the same k weighted by their prior."""
    prior = dirichlet_multinomial(rates, ploidy)
    copies = allele_counts(ploidy, len(rates))[:, variant].sum(axis=1)
    return _by_copies(likelihood + prior, copies, ploidy) - _by_copies(prior, copies, ploidy)


def phred_likelihoods(likelihood: np.ndarray) -> list[int]:
    """PL: Phred likelihoods, the best 0; whole numbers."""
    return [round(value) for value in np.minimum(-10 * (likelihood - likelihood.max()), 2**31 - 1)]


def genotype_quality(posterior: np.ndarray, called: int) -> int:
    """GQ: Phred probability that the called genotype is wrong, at most 99."""
    others = np.delete(posterior, called)
    return min(PHRED_MAX, max(0, math.floor(-10 * float(log10_sum(others)) + 1e-9))) if len(others) else PHRED_MAX
