"""The search for haplotypes that two sets of alleles share, against brute force and random spellings."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.evaluation.alleles import Allele, Atom, trim
from haplowave.evaluation.haplotypes import Choice, TooComplexError, agreement, outcomes
from haplowave.evaluation.matching import Side, match
from haplowave.evaluation.options import EvaluationOptions


def cheapest_path(reference: str, haplotype: str, chooser: random.Random) -> list[tuple[int, int, str]]:
    """Edits that turn `reference` into `haplotype` along one of their optimal alignments, adjacent ones joined."""
    rows, columns = len(reference) + 1, len(haplotype) + 1
    cost = [[max(i, j) if not i or not j else 0 for j in range(columns)] for i in range(rows)]
    for i, j in itertools.product(range(1, rows), range(1, columns)):
        changed = reference[i - 1] != haplotype[j - 1]
        cost[i][j] = min(cost[i - 1][j - 1] + changed, cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    edits: list[tuple[int, int, str]] = []
    i, j = rows - 1, columns - 1
    while i or j:
        moves = [(i - 1, j - 1)] * (i > 0 and j > 0 and cost[i - 1][j - 1] + (reference[i - 1] != haplotype[j - 1]) == cost[i][j])
        moves += [(i - 1, j)] * (i > 0 and cost[i - 1][j] + 1 == cost[i][j]) + [(i, j - 1)] * (j > 0 and cost[i][j - 1] + 1 == cost[i][j])
        before_i, before_j = chooser.choice(moves)
        if reference[before_i:i] != haplotype[before_j:j]:
            bases = haplotype[before_j:j]
            if edits and edits[-1][0] == i:
                edits[-1] = (before_i, edits[-1][1], bases + edits[-1][2])
            else:
                edits.append((before_i, i, bases))
        i, j = before_i, before_j
    return edits[::-1]


def as_alleles(reference: str, haplotype: str, copies: int, chooser: random.Random) -> list[Allele]:
    """One of the cheapest spellings of `haplotype`; none of its edits undoes another."""
    spans = [trim(start, reference[start:end], alt) for start, end, alt in cheapest_path(reference, haplotype, chooser)]
    return [Allele(start, end, alt, copies, 2, ".", (Atom(start, reference[start:end], alt),)) for start, end, alt in spans]


@given(st.text("ACT", min_size=6, max_size=16), st.text("ACT", min_size=4, max_size=16), st.integers(1, 2), st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_two_spellings_of_one_genotype_agree(reference, haplotype, copies, seed):
    chooser = random.Random(seed)
    truth, calls = (Side(as_alleles(reference, haplotype, copies, chooser)) for _ in range(2))
    options = EvaluationOptions(cluster_distance=40, max_states=10**6)
    matches = match(truth, calls, lambda start, end: reference[max(0, start) : end], options)
    for found in (matches.genotype, matches.allele):
        assert found == ({*truth.copies}, {*calls.copies})


CHOICES = st.lists(
    st.builds(
        lambda start, size, alt, copies, required: Choice(start, start + size, alt, copies, required, int(not required)),
        st.integers(0, 5),
        st.integers(0, 3),
        st.text("AC", max_size=2),
        st.integers(1, 2),
        st.booleans(),
    ).filter(lambda choice: choice.end <= 7 and (choice.end > choice.start or choice.alt)),
    max_size=4,
    unique_by=lambda choice: (choice.start, choice.end, choice.alt),
)


def apply_all(window: str, alleles: list[Choice]) -> str | None:
    bases, used, inserted = "", 0, False
    for choice in sorted(alleles, key=lambda item: (item.start, item.end, item.alt)):
        if choice.start < used or (choice.start == choice.end == used and inserted):
            return None
        bases, used, inserted = bases + window[used : choice.start] + choice.alt, choice.end, choice.start == choice.end
    return bases + window[used:]


@given(st.text("AC", min_size=7, max_size=7), CHOICES)
@settings(max_examples=300, deadline=None)
def test_outcomes_equal_brute_force(window, choices):
    expected: dict[tuple[str, ...], int] = {}
    ways = [([()] if not choice.required else []) + list(itertools.combinations((0, 1), choice.copies)) for choice in choices]
    for placement in itertools.product(*ways):
        pair = [apply_all(window, [c for c, places in zip(choices, placement, strict=True) if side in places]) for side in (0, 1)]
        if None not in pair:
            gain = sum(choice.gain for choice, places in zip(choices, placement, strict=True) if places)
            key = tuple(sorted(pair))
            expected[key] = max(expected.get(key, 0), gain)
    assert {key: gain for key, (gain, _) in outcomes(window, choices, 2, 10**6).items()} == expected


def test_agreement_is_bounded():
    choices = [Choice(index, index + 1, "T", 1, False, 1) for index in range(12)]
    with pytest.raises(TooComplexError):
        agreement("A" * 14, choices, choices, 2, 50)
    first, second = agreement("A" * 14, choices[:3], choices[:3], 2, 500)
    assert sorted(first) == sorted(second) == [0, 1, 2]
