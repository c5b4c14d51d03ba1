import math

import numpy as np
import pytest
from genotype_data import region, sample

from haplowave.calling.genotype_artefact import artefact_odds, artefact_quality
from haplowave.calling.genotype_region import call_region
from haplowave.calling.genotype_sites import Event
from haplowave.options import GenotypeOptions

REFERENCE, CARRIER = 0, 1
SNV_RATE, STRAND_RATE, LOCUS_RATE = math.log10(1e-3), 1e-5, 1e-6


def reads(reference_forward, reference_reverse, carrier_forward, carrier_reverse, difference=3.5):
    """Reads that fit one of two haplotypes `difference` better than the other, and their strands."""
    rows = [[0.0, -difference]] * (reference_forward + reference_reverse) + [[-difference, 0.0]] * (carrier_forward + carrier_reverse)
    reverse = [False] * reference_forward + [True] * reference_reverse + [False] * carrier_forward + [True] * carrier_reverse
    return np.array(rows), np.array(reverse)


def quality(*counts, called=(0, 1), without=(0, 0)):
    odds = artefact_odds(*reads(*counts), called, without, CARRIER)
    return artefact_quality([odds], SNV_RATE, STRAND_RATE, LOCUS_RATE)


def test_odds_against_a_fine_sum_over_the_share():
    log10, reverse = reads(3, 6, 5, 1)
    log10 = log10 - np.random.default_rng(1).random(log10.shape)
    shares = (np.arange(20000) + 0.5) / 20000
    likelihood = 10**log10
    called = likelihood.mean(axis=1).prod()
    expected = []
    for affected, most in ((~reverse, 1.0), (reverse, 1.0), (np.ones(len(reverse), bool), 0.5)):
        mixed = likelihood[affected, :1] * (1 - most * shares) + likelihood[affected, 1:] * most * shares
        integral = (3 * (1 - shares) ** 2 * mixed.prod(axis=0)).mean()
        expected.append(math.log10(integral * likelihood[~affected, 0].prod() / called))
    np.testing.assert_allclose(artefact_odds(log10, reverse, (0, 1), (0, 0), CARRIER), expected, atol=1e-4)


@pytest.mark.parametrize("counts", [(8, 7, 7, 8), (2, 2, 2, 2), (20, 20, 8, 10), (1, 1, 2, 0), (2, 3, 3, 0), (0, 0, 3, 0)])
def test_real_variants_are_credible_even_when_shallow(counts):
    heterozygous = counts[0] + counts[1] > 0
    assert quality(*counts, called=(0, 1) if heterozygous else (1, 1)) > 10


@pytest.mark.parametrize("counts", [(4, 11, 6, 0), (11, 4, 0, 6), (20, 20, 2, 3), (10, 20, 10, 0)])
def test_one_strand_and_small_shares_are_not_credible(counts):
    assert quality(*counts) < 3


def test_figures_of_the_documentation():
    assert [round(quality(*counts), 1) for counts in ((4, 11, 6, 0), (3, 3, 3, 0))] == [0.8, 15.2]


def test_a_second_sample_with_a_real_variant_makes_the_allele_credible():
    odds = [artefact_odds(*reads(*counts), (0, 1), (0, 0), CARRIER) for counts in ((4, 11, 6, 0), (8, 8, 8, 8))]
    assert artefact_quality(odds[:1], SNV_RATE, STRAND_RATE, LOCUS_RATE) < 3
    assert artefact_quality(odds, SNV_RATE, STRAND_RATE, LOCUS_RATE) > 30


def test_rates_of_zero_switch_it_off():
    odds = artefact_odds(*reads(4, 11, 6, 0), (0, 1), (0, 0), CARRIER)
    assert artefact_quality([odds], SNV_RATE, 0.0, 0.0) > 1000


def test_no_real_variant_of_a_region_is_marked():
    snv, other, deletion = Event(1050, "A", "T"), Event(1060, "C", "G"), Event(1095, "TCCCCCCCCC", "T")
    candidates = [(snv,), (other,), (snv, other), (deletion,), (snv, deletion)]
    truth = [[(snv, deletion), (other,)], [(snv,), (snv,)], [(), (other,)]]
    for seed in range(5):
        found = call_region(region(truth, candidates, seed=seed), [sample(name) for name in "abc"], GenotypeOptions())
        assert [call.pos for call in found] == [1050, 1060, 1095]
        assert all(call.filters == () and call.info["ARTQ"] > 20 for call in found)
