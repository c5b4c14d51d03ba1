import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.calling import genotype_model as model
from haplowave.calling import genotype_population as population
from haplowave.calling.genotype_annotations import fisher_strand, informative_alleles, rank_sum, strand_odds_ratio


def test_genotype_order_is_that_of_the_vcf_specification():
    assert model.genotypes(2, 3).tolist() == [[0, 0], [0, 1], [1, 1], [0, 2], [1, 2], [2, 2]]
    assert model.genotypes(3, 2).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(("ploidy", "alleles"), [(1, 4), (2, 5), (3, 3), (6, 4), (16, 2)])
def test_index_finds_each_genotype_whatever_the_order_of_its_alleles(ploidy, alleles):
    rows = model.genotypes(ploidy, alleles)
    assert len(rows) == math.comb(alleles + ploidy - 1, ploidy)
    assert model.genotype_indices(rows[:, ::-1], alleles).tolist() == list(range(len(rows)))


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4, 6, 16])
def test_haplotype_bound_is_the_largest_that_fits(ploidy):
    count = model.most_haplotypes(ploidy, 2000)
    assert math.comb(count + ploidy - 1, ploidy) <= 2000 < math.comb(count + ploidy, ploidy)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 12), st.integers(0, 2**31))
def test_genotype_likelihood_against_plain_sums(ploidy, haplotypes, reads, seed):
    log10 = -10 * np.random.default_rng(seed).random((reads, haplotypes))
    rows = model.genotypes(ploidy, haplotypes)
    expected = [sum(math.log10(sum(10 ** read[h] for h in row) / ploidy) for read in log10) for row in rows]
    np.testing.assert_allclose(model.genotype_log10(log10, rows), expected, rtol=1e-12, atol=1e-12)


def test_genotype_likelihood_does_not_depend_on_how_many_reads_fit_at_once(monkeypatch):
    log10 = -5 * np.random.default_rng(3).random((100, 5))
    rows = model.genotypes(2, 5)
    whole = model.genotype_log10(log10, rows)
    monkeypatch.setattr(model, "_CELLS", 40)
    np.testing.assert_allclose(model.genotype_log10(log10, rows), whole, rtol=1e-12)


def test_cap_raises_all_but_the_best_and_missing_pairs():
    capped = model.cap_mismapping(np.array([[-1.0, -3.0, -20.0, -np.inf]]), 45)
    assert capped.tolist() == [[-1.0, -3.0, -5.5, -5.5]]


@pytest.mark.parametrize(
    ("length", "best", "kept"), [(50, -4.0, True), (50, -4.1, False), (51, -8.0, True), (150, -8.1, False), (1, -4.1, False)]
)
def test_expected_error_filter_is_gatks_for_short_reads(length, best, kept):
    assert model.explained_reads(np.array([best]), np.array([length]), 0.02, 2).tolist() == [kept]


def test_expected_error_filter_grows_with_the_length_of_long_reads():
    assert model.explained_reads(np.array([-79.0, -81.0]), np.array([1000, 1000]), 0.02, None).tolist() == [True, False]


def test_ranking_keeps_the_reference_and_the_supported_haplotypes():
    one = np.full((10, 6), -6.0)
    one[:, 4] = 0
    other = np.full((10, 6), -6.0)
    other[:, 2] = 0
    assert model.rank_haplotypes([one, np.empty((0, 6)), other], 3).tolist() == [0, 2, 4]


def test_prior_charges_new_events_once_and_linked_events_less():
    # Haplotypes: A+B, A, B, reference.
    carries = np.array([[True, True], [True, False], [False, True], [False, False]])
    rows = np.array([[3, 3], [1, 3], [1, 1], [0, 3], [1, 2], [0, 0], [0, 1]])
    prior = model.haplotype_prior(rows, carries, np.array([-3.0, -4.0]), 0.1)
    np.testing.assert_allclose(prior, [0, -3, -3, -4, -7, -4, -5])


def test_marginal_of_a_group_is_the_prior_weighted_mean():
    log10 = np.log10([0.2, 0.6, 0.5])
    result = model.marginalise(log10, np.log10([0.1, 0.3, 0.6]), np.array([0, 0, 2]), 3)
    np.testing.assert_allclose(result[[0, 2]], np.log10([0.5, 0.5]))
    assert result[1] == -np.inf


def _brute_force(likelihoods, ploidies, alphas):
    """Joint posterior over ordered chromosomes of all samples, by enumeration."""
    alleles, total = len(alphas), sum(ploidies)
    weights: list[dict[int, float]] = [{} for _ in ploidies]
    nothing = evidence = 0.0
    for assignment in itertools.product(range(alleles), repeat=total):
        prior, seen = 1.0, np.array(alphas, float)
        for allele in assignment:
            prior *= seen[allele] / seen.sum()
            seen[allele] += 1
        value, at, own = prior, 0, []
        for likelihood, ploidy in zip(likelihoods, ploidies, strict=True):
            index = int(model.genotype_indices(np.array([assignment[at : at + ploidy]]), alleles)[0])
            value *= 10 ** likelihood[index]
            own.append(index)
            at += ploidy
        evidence += value
        nothing += value if not any(assignment) else 0.0
        for weight, index in zip(weights, own, strict=True):
            weight[index] = weight.get(index, 0.0) + value
    return nothing / evidence, [{index: value / evidence for index, value in weight.items()} for weight in weights]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 2**31))
def test_quality_of_a_biallelic_site_is_exact(ploidies, seed):
    random = np.random.default_rng(seed)
    likelihoods = [-6 * random.random(ploidy + 1) for ploidy in ploidies]
    alphas = np.array([1.0, 1e-3])
    nothing, _ = _brute_force(likelihoods, ploidies, alphas)
    quality = population.site_quality(likelihoods, ploidies, alphas, np.array([False, True]))
    assert quality == pytest.approx(-10 * math.log10(nothing), abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 2**31))
def test_posteriors_of_all_samples_at_a_biallelic_site_are_exact(ploidies, seed):
    random = np.random.default_rng(seed)
    likelihoods = [-6 * random.random(ploidy + 1) for ploidy in ploidies]
    alphas = np.array([1.0, 1e-3])
    _, expected = _brute_force(likelihoods, ploidies, alphas)
    found = population.posteriors(likelihoods, ploidies, alphas, np.array([False, True]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(10**one, [other[index] for index in range(len(one))], rtol=1e-8, atol=1e-12)


def test_posteriors_at_a_multi_allelic_site_are_close_to_exact():
    random, alphas, variant = np.random.default_rng(2), np.array([1.0, 1e-3, 1e-3]), np.array([False, True, True])
    differences = []
    for _ in range(40):
        shares = random.dirichlet([2, 0.5, 0.5])
        likelihoods = [_few_reads(random, random.choice(3, 2, p=shares)) for _ in range(3)]
        _, expected = _brute_force(likelihoods, [2, 2, 2], alphas)
        for one, other in zip(population.posteriors(likelihoods, [2, 2, 2], alphas, variant), expected, strict=True):
            differences.append(np.abs(10**one - np.array([other[index] for index in range(6)])).max())
    assert np.mean(differences) < 0.02
    assert np.mean(np.array(differences) < 0.05) > 0.95


def _few_reads(random, alleles):
    """Likelihoods of a diploid sample at three alleles with about five reads."""
    reads = random.choice(alleles, 1 + random.poisson(4))
    log10 = np.full((len(reads), 3), -3.0)
    log10[np.arange(len(reads)), reads] = 0
    return model.genotype_log10(log10, model.genotypes(2, 3))


@pytest.mark.parametrize(("ploidy", "alleles"), [(1, 3), (2, 3), (3, 2), (4, 2)])
def test_posterior_of_one_sample_is_exact(ploidy, alleles):
    likelihood = -4 * np.random.default_rng(ploidy).random(len(model.genotypes(ploidy, alleles)))
    alphas = np.array([1.0, 1e-3, 1e-4])[:alleles]
    nothing, (expected,) = _brute_force([likelihood], [ploidy], alphas)
    variant = np.arange(alleles) > 0
    found = 10 ** population.posteriors([likelihood], [ploidy], alphas, variant)[0]
    np.testing.assert_allclose(found, [expected[index] for index in range(len(found))], rtol=1e-9)
    quality = population.site_quality([likelihood], [ploidy], alphas, variant)
    assert quality == pytest.approx(-10 * math.log10(nothing), abs=1e-6)


def test_an_allele_common_in_other_samples_needs_less_evidence():
    alphas = np.array([1.0, 1e-3])
    weak = np.array([-2.5, 0.0, -3.0])
    carrier = np.array([-30.0, -10.0, 0.0])
    without = np.array([0.0, -10.0, -30.0])
    variant = np.array([False, True])
    alone = population.posteriors([weak, without, without], [2, 2, 2], alphas, variant)[0]
    among_carriers = population.posteriors([weak, carrier, carrier], [2, 2, 2], alphas, variant)[0]
    assert alone.argmax() == 0
    assert among_carriers.argmax() == 1


def test_quality_grows_without_bound_and_never_falls_below_zero():
    alphas, variant = np.array([1.0, 1e-3]), np.array([False, True])
    assert population.site_quality([np.array([-500.0, 0.0, -50.0])], [2], alphas, variant) == pytest.approx(4970, abs=1)
    assert population.site_quality([np.array([0.0, -500.0, -900.0])], [2], alphas, variant) == 0


def test_genotype_quality_is_the_phred_of_all_other_genotypes():
    assert population.genotype_quality(np.log10([0.001, 0.99, 0.009]), 1) == 20
    assert population.genotype_quality(np.array([-50.0, 0.0, -60.0]), 1) == 99
    assert population.phred_likelihoods(np.array([-3.26, -1.0, -np.inf])) == [23, 0, 2**31 - 1]


def test_informative_reads_beat_the_next_allele_by_the_margin():
    rows = np.array([[0.0, -0.19], [0.0, -0.21], [-3.0, -1.0], [-1.0, -1.0]])
    assert informative_alleles(rows, 0.2).tolist() == [-1, 0, 1, -1]


def test_fisher_strand_against_plain_enumeration():
    def by_hand(a, b, c, d):
        def chance(x):
            return math.comb(a + b, x) * math.comb(c + d, a + c - x)

        values = [chance(x) for x in range(max(0, a - d), min(a + b, a + c) + 1)]
        return -10 * math.log10(sum(value for value in values if value <= chance(a)) / sum(values))

    for table in [(10, 10, 10, 10), (20, 1, 3, 15), (5, 0, 0, 5), (3, 7, 8, 2), (1, 0, 0, 1), (40, 60, 30, 70)]:
        assert fisher_strand(table) == pytest.approx(by_hand(*table), abs=1e-6)
    assert fisher_strand((0, 0, 5, 9)) == 0
    assert fisher_strand((5000, 5000, 5000, 5000)) == 0


def test_strand_odds_ratio_is_symmetric_and_grows_with_bias():
    assert strand_odds_ratio((20, 20, 20, 20)) == pytest.approx(math.log(2))
    assert strand_odds_ratio((20, 20, 20, 0)) > 3 > strand_odds_ratio((20, 20, 12, 8))


def test_rank_sum_sign_ties_and_missing_groups():
    assert rank_sum(np.array([1, 2, 3]), np.array([4, 5, 6])) == pytest.approx(-1.746, abs=1e-3)
    assert rank_sum(np.array([4, 5, 6]), np.array([1, 2, 3])) == pytest.approx(1.746, abs=1e-3)
    assert rank_sum(np.array([60, 60]), np.array([60])) == 0
    assert rank_sum(np.array([]), np.array([60])) is None
