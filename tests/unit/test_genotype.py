from dataclasses import replace

import numpy as np
import pytest
from genotype_data import region, sample

from haplowave.calling.genotype_region import call_region
from haplowave.calling.genotype_sites import Event, build_site, combine
from haplowave.options import GenotypeOptions

A = Event(1050, "A", "T")
A_OTHER = Event(1050, "A", "G")
A_INSERTION = Event(1050, "A", "AGG")
B = Event(1100, "C", "G")
DELETION = Event(1095, "TCCCCCCCCC", "T")
OPTIONS = GenotypeOptions()
CANDIDATES = [(A,), (B,), (A, B)]


def calls(truth, candidates, samples=None, options=OPTIONS, **how):
    samples = samples or [sample(f"s{number}", len(haplotypes)) for number, haplotypes in enumerate(truth)]
    return call_region(region(truth, candidates, **how), samples, options)


def summary(found):
    return [(call.pos, call.alleles, [one.genotype for one in call.samples]) for call in found]


def test_heterozygous_and_homozygous():
    assert summary(calls([[(A,), ()]], CANDIDATES)) == [(1050, ("A", "T"), [(0, 1)])]
    assert summary(calls([[(A,), (A,)]], CANDIDATES)) == [(1050, ("A", "T"), [(1, 1)])]


def test_reference_genotypes_make_no_record():
    assert calls([[(), ()]], CANDIDATES) == []


def test_only_the_reference_haplotype():
    assert calls([[(), ()]], []) == []


def test_no_reads_at_all():
    assert calls([[(A,), ()]], CANDIDATES, depth=0) == []


def test_sample_without_reads_is_not_called():
    (call,) = calls([[(A,), ()], [(A,), ()]], CANDIDATES, depth=[30, 0])
    assert call.samples[0].genotype == (0, 1)
    missing = call.samples[1]
    assert (missing.genotype, missing.depth, missing.allele_depths, missing.quality) == (None, 0, [0, 0], None)
    assert call.info["AN"] == 2


def test_phase_of_both_kinds():
    together = calls([[(A, B), ()]], CANDIDATES)
    apart = calls([[(A,), (B,)]], CANDIDATES)
    assert [call.samples[0].genotype for call in together] == [(0, 1), (0, 1)]
    assert [call.samples[0].genotype for call in apart] == [(0, 1), (1, 0)]
    assert {call.samples[0].phase_set for call in together + apart} == {1050}


def test_sites_that_no_read_connects_are_not_phased():
    far = Event(1190, "C", "G")
    found = calls([[(A, far), ()]], [(A,), (far,), (A, far)], read_length=100)
    assert [call.samples[0].genotype for call in found] == [(0, 1), (0, 1)]
    assert [call.samples[0].phase_set for call in found] == [None, None]


def test_multi_allelic_site():
    assert summary(calls([[(A,), (A_OTHER,)]], [(A,), (A_OTHER,), (B,)])) == [(1050, ("A", "G", "T"), [(1, 2)])]


def test_alleles_that_no_sample_carries_are_left_out():
    (call,) = calls([[(A,), ()]], [(A,), (A_OTHER,), (A_INSERTION,)])
    assert call.alleles == ("A", "T")
    assert len(call.samples[0].likelihoods) == 3


def test_indel_and_snv_at_one_anchor():
    (call,) = calls([[(A_INSERTION,), (A,)]], [(A_INSERTION,), (A,), (A, A_INSERTION)])
    assert (call.alleles, call.samples[0].genotype) == (("A", "T", "AGG"), (1, 2))
    (call,) = calls([[(A, A_INSERTION), ()]], [(A_INSERTION,), (A,), (A, A_INSERTION)])
    assert (call.alleles, call.samples[0].genotype) == (("A", "TGG"), (0, 1))


def test_reference_allele_is_trimmed_when_the_longer_event_is_dropped():
    deletion = Event(1050, "ACC", "A")
    (call,) = calls([[(A,), ()]], [(A,), (deletion,)])
    assert call.alleles == ("A", "T")
    (call,) = calls([[(A,), (deletion,)]], [(A,), (deletion,)])
    assert call.alleles == ("ACC", "A", "TCC")


def test_snv_under_a_deletion_gets_a_spanning_allele():
    deletion, snv = calls([[(DELETION,), (B,)]], [(DELETION,), (B,), (A,)])
    assert (deletion.pos, deletion.alleles, deletion.samples[0].genotype) == (1095, ("TCCCCCCCCC", "T"), (0, 1))
    assert (snv.pos, snv.alleles) == (1100, ("C", "G", "*"))
    assert sorted(snv.samples[0].genotype) == [1, 2]
    assert snv.info["AC"] == [1, 1]


def test_deletion_that_is_not_called_spans_nothing():
    (call,) = calls([[(), (B,)]], [(DELETION,), (B,), (A,)])
    assert (call.alleles, call.samples[0].genotype) == (("C", "G"), (0, 1))


def test_spanning_deletion_is_no_evidence_for_a_variant():
    assert [call.pos for call in calls([[(DELETION,), (DELETION,)]], [(DELETION,), (B,)])] == [1095]


def test_clustered_events_are_all_called():
    cluster = tuple(Event(1060 + 3 * number, "A", "C") for number in range(6))
    found = calls([[cluster, ()]], [cluster, cluster[:1], cluster[3:]])
    assert [call.pos for call in found] == [event.pos for event in cluster]
    assert all(call.samples[0].genotype == (0, 1) and call.quality > 100 for call in found)


def test_two_writings_of_one_event_make_one_call():
    # The reads fit the insertion and, a little worse, the same insertion written as three substitutions.
    rewritten = tuple(Event(1052 + number, "A", "G") for number in range(3))
    evidence = region([[(A_INSERTION,), ()]], [(A_INSERTION,), rewritten])
    log10 = evidence.log10.copy()
    log10[:, 2] = log10[:, 1] - 0.3 * (log10[:, 1] > log10[:, 0])
    found = call_region(replace(evidence, log10=log10), [sample()], OPTIONS)
    assert summary(found) == [(1050, ("A", "AGG"), [(0, 1)])]


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4, 6])
def test_every_dosage_of_every_ploidy(ploidy):
    for copies in range(1, ploidy + 1):
        truth = [[(A,)] * copies + [()] * (ploidy - copies)]
        (call,) = calls(truth, CANDIDATES, depth=60 * ploidy, seed=copies)
        assert call.samples[0].genotype == (0,) * (ploidy - copies) + (1,) * copies
        assert len(call.samples[0].likelihoods) == ploidy + 1


def test_samples_of_different_ploidy():
    (call,) = calls([[(A,)], [(A,), ()], [(), (), (A,)]], CANDIDATES, depth=60)
    assert [one.genotype for one in call.samples] == [(1,), (0, 1), (0, 0, 1)]
    assert (call.info["AC"], call.info["AN"]) == ([3], 6)


def test_a_shared_allele_is_called_in_a_shallow_sample_sooner_than_a_private_one():
    samples = [sample("deep", 2), sample("deep2", 2), sample("shallow", 2)]

    def carried(others, seed):
        found = calls([*others, [(A,), ()]], CANDIDATES, samples, depth=[30, 30, 3], seed=seed)
        return bool(found) and found[0].pos == 1050 and 1 in (found[0].samples[2].genotype or ())

    shared = sum(carried([[(A,), (A,)], [(A,), ()]], seed) for seed in range(12))
    private = sum(carried([[(), ()], [(), ()]], seed) for seed in range(12))
    assert shared > private


def test_low_depth_is_called_and_passes():
    found = calls([[(A,), (A,)]], CANDIDATES, depth=5, seed=3)
    assert summary(found) == [(1050, ("A", "T"), [(1, 1)])]
    assert found[0].filters == ()
    assert found[0].info["DP"] <= 8


def test_mates_of_one_fragment_count_once():
    evidence = region([[(A,), ()]], CANDIDATES, depth=20)
    reads = evidence.reads
    both = replace(
        evidence,
        reads=type(reads)(**{name: np.concatenate([values, values]) for name, values in vars(reads).items()}),
        log10=np.concatenate([evidence.log10, np.full_like(evidence.log10, -0.1)]),
    )
    (single,), (paired,) = (call_region(one, [sample()], OPTIONS) for one in (evidence, both))
    assert paired.samples == single.samples
    assert paired.quality == pytest.approx(single.quality)


def test_reads_that_no_haplotype_explains_are_left_out():
    evidence = region([[(A,), ()]], CANDIDATES, depth=20)
    worse = replace(evidence, log10=evidence.log10 - 8.0)
    assert call_region(worse, [sample()], OPTIONS) == []
    assert len(call_region(worse, [sample(platform="hifi")], OPTIONS)) == 1


def test_pairs_that_were_never_computed_count_as_hopeless():
    evidence = region([[(A,), ()]], CANDIDATES)
    missing = np.where(evidence.log10 < -7.5, -np.inf, evidence.log10)
    (expected,), (found,) = (call_region(replace(evidence, log10=log10), [sample()], OPTIONS) for log10 in (evidence.log10, missing))
    assert found.samples == expected.samples


def test_events_outside_of_the_region_belong_to_a_neighbour():
    evidence = region([[(A, B), ()]], CANDIDATES)
    first, second = replace(evidence, end=1080), replace(evidence, start=1080)
    found = [call.pos for one in (first, second) for call in call_region(one, [sample()], OPTIONS)]
    assert found == [1050, 1100]


def test_bound_on_genotypes_keeps_the_true_haplotypes():
    noise = [(Event(1110 + number, "A", "C"),) for number in range(20)]
    options = replace(OPTIONS, max_genotypes=15)
    assert summary(calls([[(A,), (B,)]], [*noise, (A,), (B,)], options=options)) == [
        (1050, ("A", "T"), [(0, 1)]),
        (1100, ("C", "G"), [(1, 0)]),
    ]


def test_thresholds_are_options():
    assert calls([[(A,), ()]], CANDIDATES, options=replace(OPTIONS, emit_quality=1e6)) == []
    strict = replace(OPTIONS, low_quality=1e6, min_quality_by_depth=1e3, min_root_mapping_quality=61.0)
    (call,) = calls([[(A,), ()]], CANDIDATES, options=strict)
    assert call.filters == ("LowQual", "LowQD", "LowMQ")


def test_quality_by_depth_is_scaled_for_high_ploidies():
    def called(ploidy, limit):
        truth = [[(A,)] + [()] * (ploidy - 1)]
        (call,) = calls(truth, CANDIDATES, depth=60, options=replace(OPTIONS, min_quality_by_depth=limit))
        return call

    for ploidy in (1, 2, 8):
        scaled = called(ploidy, 0.0).info["QD"] * max(1.0, ploidy / 2)
        assert "LowQD" in called(ploidy, scaled * 1.01).filters
        assert "LowQD" not in called(ploidy, scaled * 0.99).filters


def test_strand_bias_is_marked():
    evidence = region([[(A,), ()]], CANDIDATES, depth=60)
    carries = evidence.log10[:, 1] > evidence.log10[:, 0]
    reads = replace(evidence.reads, reverse=carries)
    (call,) = call_region(replace(evidence, reads=reads), [sample()], OPTIONS)
    assert call.filters == ("Artefact", "StrandBias")


def test_combining_events_of_one_haplotype_at_one_position():
    assert combine([A, A_INSERTION]) == Event(1050, "A", "TGG")
    assert combine([A, Event(1050, "ACC", "A")]) == Event(1050, "ACC", "T")
    assert combine([Event(1050, "A", "AGG"), A]) == Event(1050, "A", "TGG")


def test_site_alleles_share_the_longest_reference():
    site = build_site(1050, [(A,), (Event(1050, "ACC", "A"),), (A_INSERTION,), ()], set())
    assert site.alleles == ("ACC", "A", "TCC", "AGGCC")
    assert site.of_haplotype.tolist() == [2, 1, 3, 0]
    assert site.keep([0, 2]).alleles == ("A", "T")
