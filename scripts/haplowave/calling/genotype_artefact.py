"""Systematic errors: reads that show an allele because the technology or the mapping repeats a mistake at this place.

The genotype likelihoods take errors of different reads as independent. The alternative here is a genotype without the allele, and
an unknown share f of the reads that show it all the same. Either they are of one strand, then f is anything; or of both, then f
is below one half, because a place where most reads are wrong looks like a variant to anyone. Small shares are likelier:
f, or 2 f, has the prior Beta(1, 3).

    P(reads | artefact) = integral of p(f) prod_r ( (1 - f) P(r | G') + f P(r | haplotype with the allele) ) df
"""

from collections.abc import Sequence

import numpy as np

from haplowave.calling.genotype_model import log10_sum

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_SHARES = (_NODES + 1) / 2
_LOG10_WEIGHTS = np.log10(_WEIGHTS / 2 * 3 * (1 - _SHARES) ** 2)


def artefact_odds(log10: np.ndarray, reverse: np.ndarray, called: Sequence[int], without: Sequence[int], carrier: int) -> np.ndarray:
    """log10 P(reads | artefact) - log10 P(reads | called) for an artefact of the forward, the reverse and both strands: shape (3,).

    `log10`: (reads, haplotypes) of one sample's reads over the site; `reverse`: bool (reads,); `called`: its haplotypes, `without`:
    the same with others in place of those that have the allele, `carrier`: one of those.
    """
    likelihood = np.power(10.0, log10 - log10.max(axis=1, keepdims=True))
    base = likelihood[:, list(without)].mean(axis=1)
    alone = np.log10(base)
    result = [
        _integral(base[affected], likelihood[affected, carrier], most) + alone[~affected].sum()
        for affected, most in ((~reverse, 1.0), (reverse, 1.0), (np.ones(len(reverse), bool), 0.5))
    ]
    return np.array(result) - np.log10(likelihood[:, list(called)].mean(axis=1)).sum()


def _integral(base: np.ndarray, carrier: np.ndarray, most: float) -> float:
    shares = _SHARES * most
    return float(log10_sum(_LOG10_WEIGHTS + np.log10(base[:, None] * (1 - shares) + carrier[:, None] * shares).sum(axis=0)))


def artefact_quality(odds: Sequence[np.ndarray], log10_rate: float, strand_rate: float, locus_rate: float) -> float:
    """Phred probability that an allele is an artefact, from the odds of each sample that carries it (its reads are apart).

    `log10_rate`: of true variants of its kind; `strand_rate`: of places with such an error on one given strand, `locus_rate`: on both.
    """
    prior = np.log10(np.maximum([strand_rate, strand_rate, locus_rate], 1e-300)) - log10_rate
    total = float(log10_sum(prior + np.sum(odds, axis=0)))
    # P = odds / (1 + odds), without overflow.
    return 10 * (float(log10_sum(np.array([0.0, total]))) - total) + 0.0
