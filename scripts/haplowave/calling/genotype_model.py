"""Likelihoods of genotypes that are multisets of haplotypes, for any ploidy.

All likelihoods are log10. A genotype is a row of allele (or haplotype) numbers in ascending order, and genotypes stand
in the order of VCF 4.3 section 1.6.2 (field GL): F(k_1/.../k_P) = sum over m of C(k_m + m - 1, m).
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

# Cells (reads x genotypes) that one step of the sum holds: the bound of memory at very deep sites.
_CELLS = 1 << 21


@functools.lru_cache(maxsize=256)
def genotypes(ploidy: int, alleles: int) -> np.ndarray:
    """All multisets of `ploidy` out of `alleles`: int, shape (C(alleles + ploidy - 1, ploidy), ploidy), VCF order."""
    rows = sorted(itertools.combinations_with_replacement(range(alleles), ploidy), key=lambda row: row[::-1])
    result = np.array(rows, np.int64).reshape(len(rows), ploidy)
    result.flags.writeable = False
    return result


@functools.lru_cache(maxsize=256)
def allele_counts(ploidy: int, alleles: int) -> np.ndarray:
    """How often each genotype holds each allele: int, shape (genotypes, alleles)."""
    rows = genotypes(ploidy, alleles)
    result = np.stack([(rows == allele).sum(axis=1) for allele in range(alleles)], axis=1)
    result.flags.writeable = False
    return result


@functools.lru_cache(maxsize=32)
def _index_terms(ploidy: int, alleles: int) -> np.ndarray:
    return np.array([[math.comb(allele + place, place + 1) for allele in range(alleles)] for place in range(ploidy)], np.int64)


def genotype_indices(rows: np.ndarray, alleles: int) -> np.ndarray:
    """Place of each row (any order within a row) among `genotypes(ploidy, alleles)`: int64, shape (n,)."""
    ploidy = rows.shape[1]
    terms = _index_terms(ploidy, alleles)
    ordered = np.sort(rows, axis=1)
    return sum((terms[place, ordered[:, place]] for place in range(ploidy)), np.zeros(len(rows), np.int64))


def most_haplotypes(ploidy: int, max_genotypes: int) -> int:
    """The largest number of haplotypes whose genotypes do not exceed `max_genotypes`; at least 2."""
    count = 2
    while math.comb(count + ploidy, ploidy) <= max_genotypes:
        count += 1
    return count


def log10_sum(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """log10 of the sum of 10^values along `axis`; -inf where all are."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log10(np.power(10.0, values - top).sum(axis=axis)) + np.squeeze(top, axis)


def cap_mismapping(log10: np.ndarray, mismapping_quality: float) -> np.ndarray:
    """Raise each read's worse haplotypes to its best less the mismapping rate: GATK's global mismapping cap.

    `log10`: shape (reads, haplotypes). A read may be misplaced, so no haplotype can be less likely than that.
    """
    return np.maximum(log10, log10.max(axis=1, keepdims=True) - mismapping_quality / 10)


def explained_reads(best: np.ndarray, lengths: np.ndarray, error_rate: float, max_errors: int | None) -> np.ndarray:
    """Which reads some haplotype explains: bool, shape (reads,).

    GATK's filter: at most ceil(length x error_rate) errors of Q40, and at most `max_errors` where that is given. The
    limit on their number is made for reads of about one hundred bases, so long reads go without it.
    """
    errors = np.ceil(lengths * error_rate)
    if max_errors is not None:
        errors = np.minimum(errors, max_errors)
    return best >= -4.0 * errors


def combine_fragments(log10: np.ndarray, fragments: np.ndarray, count: int) -> np.ndarray:
    """Sum the rows of one fragment: both mates come from one molecule, hence from one haplotype. Shape (count, columns)."""
    result = np.zeros((count, log10.shape[1]))
    np.add.at(result, fragments, log10)
    return result


def rank_haplotypes(fragments: Sequence[np.ndarray], keep: int, iterations: int = 20) -> np.ndarray:
    """The `keep` haplotypes that most fragments come from, haplotype 0 always among them; ascending.

    `fragments`: one (fragments, haplotypes) matrix a sample. Each sample is a mixture of haplotypes whose shares are
    found by expectation-maximisation; a haplotype counts by the sample that supports it most.
    """
    haplotypes = fragments[0].shape[1]
    if haplotypes <= keep:
        return np.arange(haplotypes)
    support = np.zeros(haplotypes)
    for matrix in fragments:
        if not len(matrix):
            continue
        likelihood = np.power(10.0, matrix - matrix.max(axis=1, keepdims=True))
        share = np.full(haplotypes, 1 / haplotypes)
        for _ in range(iterations):
            weighted = likelihood * share
            weighted /= weighted.sum(axis=1, keepdims=True)
            share = weighted.mean(axis=0)
        support = np.maximum(support, share * len(matrix))
    support[0] = np.inf
    return np.sort(np.argsort(-support, kind="stable")[:keep])


def genotype_log10(fragments: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """log10 P(fragments | genotype) = sum over fragments of log10(1/P x sum over its haplotypes of 10^log10).

    `fragments`: (fragments, haplotypes); `rows`: (genotypes, P) haplotype numbers. Returns shape (genotypes,).
    """
    ploidy = rows.shape[1]
    result = np.zeros(len(rows))
    step = max(1, _CELLS // len(rows))
    for begin in range(0, len(fragments), step):
        part = fragments[begin : begin + step]
        top = part.max(axis=1, keepdims=True)
        likelihood = np.power(10.0, part - top)
        # Sums of gathered columns, not a matrix product: BLAS would add in an order that depends on its threads.
        mixture = likelihood[:, rows[:, 0]]
        for place in range(1, ploidy):
            mixture = mixture + likelihood[:, rows[:, place]]
        result += (np.log10(mixture / ploidy) + top).sum(axis=0)
    return result


def haplotype_prior(rows: np.ndarray, carries: np.ndarray, log10_rates: np.ndarray, linked: float) -> np.ndarray:
    """log10 prior, up to a constant, of genotypes of haplotypes: shape (genotypes,).

    `rows`: (genotypes, P) ascending haplotype numbers; `carries`: bool (haplotypes, events), haplotypes with more events
    first; `log10_rates`: (events,) log10 of the events' population rates. A haplotype that is new in a genotype pays the
    rate of its most common new event and `linked` for each further one; one that only combines events of the others
    pays `linked` once, as a recombination.
    """
    log10_linked = math.log10(max(linked, 1e-300))
    result = np.zeros(len(rows))
    seen = np.zeros((len(rows), carries.shape[1]), bool)
    for place in range(rows.shape[1]):
        column = rows[:, place]
        new = carries[column] & ~seen
        number = new.sum(axis=1)
        rarest = np.where(new, log10_rates, -np.inf).max(axis=1, initial=-np.inf)
        first = np.ones(len(rows), bool) if place == 0 else column != rows[:, place - 1]
        recombined = first & (number == 0) & carries[column].any(axis=1)
        result += np.where(number > 0, np.where(number > 0, rarest, 0.0) + (number - 1) * log10_linked, 0.0)
        result += np.where(recombined, log10_linked, 0.0)
        seen |= new
    return result


def marginalise(log10: np.ndarray, log10_prior: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """log10 P(fragments | group) = log10 of sum_G P(fragments | G) P(G) / sum_G P(G), G over the genotypes of a group.

    `groups`: (genotypes,) the site genotype that each haplotype genotype means. Shape (count,); -inf for an empty group.
    """
    return _grouped_sum(log10 + log10_prior, groups, count) - np.nan_to_num(_grouped_sum(log10_prior, groups, count), neginf=0.0)


def _grouped_sum(values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    top = np.full(count, -np.inf)
    np.maximum.at(top, groups, values)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log10(np.bincount(groups, np.power(10.0, values - safe[groups]), count)) + safe
