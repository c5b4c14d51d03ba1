"""Which events exclude each other, what they spell, and which combinations reads support."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.calling.gapped import align_events
from haplowave.calling.haplotypes import combine, conflict, spell
from haplowave.options import HaplotypeOptions

OPTIONS = HaplotypeOptions()


def test_conflicts():
    substitution, insertion, deletion = (10, "A", "C"), (10, "A", "ATT"), (10, "ACG", "A")
    assert conflict(substitution, (10, "A", "G"))
    assert not conflict(substitution, insertion)
    assert not conflict(substitution, deletion)
    assert conflict(insertion, deletion)
    assert conflict(deletion, (11, "C", "T"))
    assert conflict(deletion, (12, "G", "T"))
    assert not conflict(deletion, (13, "G", "T"))
    assert conflict(deletion, (12, "G", "GA"))
    assert not conflict(insertion, (11, "A", "T"))
    assert conflict(insertion, (10, "A", "AT"))


def test_spell():
    reference = "ACGTACGT"
    assert spell(reference, 100, [(101, "C", "T"), (103, "T", "TGG"), (104, "ACG", "A")]) == "ATGTGGAT"
    assert spell(reference, 100, []) == reference


def test_combinations_follow_the_reads():
    events = [(10, "A", "C"), (20, "G", "T"), (30, "T", "TA")]
    seen = np.array([[1, 1, 0]] * 10 + [[0, 0, 1]] * 10 + [[-1, 1, 0]] * 3 + [[1, 0, 0]], np.int8)
    found = combine(events, seen, OPTIONS)
    assert found[:2] == [(events[0], events[1]), (events[2],)] or found[:2] == [(events[2],), (events[0], events[1])]
    assert (events[0], events[1], events[2]) not in found


def test_every_event_lies_on_some_haplotype_and_the_number_is_bounded():
    rng = np.random.default_rng(1)
    events = [(position, "A", "C") for position in range(0, 240, 10)]
    seen = (rng.random((60, len(events))) < 0.3).astype(np.int8)
    options = HaplotypeOptions(max_haplotypes=8)
    found = combine(events, seen, options)
    assert {event for haplotype in found for event in haplotype} == set(events)
    assert len(found) <= 7 + len(events)
    assert len(set(found)) == len(found)


def test_conflicting_events_never_share_a_haplotype():
    events = [(10, "A", "C"), (10, "A", "G"), (10, "ACG", "A"), (11, "C", "T")]
    seen = np.array([[1, 0, 0, 0]] * 5 + [[0, 1, 0, 1]] * 5 + [[0, 0, 1, 0]] * 5, np.int8)
    for haplotype in combine(events, seen, OPTIONS):
        assert not any(conflict(first, second) for first in haplotype for second in haplotype if first != second)


def test_unlinked_events_are_combined_freely():
    events = [(10, "A", "C"), (900, "G", "T")]
    seen = np.array([[1, -1]] * 5 + [[0, -1]] * 5 + [[-1, 1]] * 5 + [[-1, 0]] * 5, np.int8)
    assert set(combine(events, seen, OPTIONS)) == {(events[0],), (events[1],), tuple(events)}


def test_alignment_of_a_simple_indel_in_a_repeat_is_left_aligned():
    assert align_events("GGCATATATATCC", "GGCATATATATATCC", 100) == ((102, "C", "CAT"),)
    assert align_events("GGCATATATATCC", "GGCATATATCC", 100) == ((102, "CAT", "C"),)
    assert align_events("ACGT", "ACGT", 0) == ()


@settings(max_examples=300, deadline=None)
@given(st.text("ACGT", min_size=1, max_size=40), st.text("ACGT", min_size=1, max_size=40))
def test_events_of_an_alignment_spell_the_haplotype(reference, haplotype):
    reference, haplotype = "AC" + reference + "GT", "AC" + haplotype + "GT"
    events = align_events(reference, haplotype, 50)
    assert spell(reference, 50, events) == haplotype
    assert list(events) == sorted(events)
