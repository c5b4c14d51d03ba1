"""Engine `rowwise`, in its local-memory variant, against the oracle and against `skewed`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairhmm_cases import QUICK, TOLERANCE, assert_right, case

from haplowave.pairhmm import rowwise, skewed


@QUICK
@given(
    seed=st.integers(0, 2**32 - 1),
    reads=st.integers(1, 12),
    haplotypes=st.integers(1, 6),
    rows=st.sampled_from([(1, 3), (1, 60)]),
    columns=st.sampled_from([(1, 5), (1, 32), (28, 100)]),
    base=st.sampled_from([(2, 94), (6, 42)]),
    gap=st.sampled_from([(10, 11), (1, 94)]),
    precision=st.sampled_from(["fp32", "fp64"]),
)
def test_agrees_with_the_oracle(device, shape, seed, reads, haplotypes, rows, columns, base, gap, precision):
    work = case(seed, reads, haplotypes, rows, columns, base=base, gap=gap)
    assert_right(rowwise.run(work, device, precision, shape), work, TOLERANCE[precision])


def test_haplotypes_of_many_strips(device, shape):
    work = case(1, 5, 4, (100, 400), (20, 700))
    outcome = rowwise.run(work, device, "fp64", shape)
    assert not outcome.unsafe.all()
    assert_right(outcome, work, TOLERANCE["fp64"])


def test_what_leaves_the_range_is_unsafe(device, shape):
    work = case(2, 5, 4, (150, 300), (20, 60))
    assert rowwise.run(work, device, "fp32", shape).unsafe.any()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_agrees_with_the_five_operation_form(device, shape, precision):
    work = case(3, 20, 5, (1, 150), (1, 120))
    one, other = rowwise.run(work, device, precision, shape), skewed.run(work, device, precision, shape)
    safe = ~(one.unsafe | other.unsafe)
    assert safe.sum() > 50
    assert np.abs(one.log10 - other.log10)[safe].max() < TOLERANCE[precision]


def test_other_letters_match_themselves(device, shape):
    work = case(4, 8, 4, (1, 60), (1, 32), letters=b"ACGTNRYacgt")
    assert_right(rowwise.run(work, device, "fp32", shape), work, TOLERANCE["fp32"])
