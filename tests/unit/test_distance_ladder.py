"""The ladder of wavefront designs: every rung is exact."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_pairs import expected_distances, string_pairs

from devices import DEVICE
from haplowave.distance import distance
from haplowave.distance.ladder import RUNGS
from haplowave.distance.reference import edit_distance
from haplowave.opencl import select


@pytest.mark.parametrize("name", RUNGS)
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(pair=string_pairs(700), slack=st.integers(-2, 2))
def test_rung_equals_dynamic_programming(name, pair, slack):
    a, b = pair
    expected = edit_distance(a, b)
    assert distance(a, b, strategy=name, device=select(DEVICE)).distance == expected
    maximum = max(0, expected + slack)
    assert distance(a, b, strategy=name, device=select(DEVICE), maximum=maximum).distance == min(expected, maximum + 1)


@pytest.mark.parametrize("name", ["fewer-reads", "tiled-registers", "diamond"])
def test_rung_on_a_published_pair(name, shared_data):
    for a, b, expected in expected_distances(shared_data / "edit_distance", 20_000):
        assert distance(a, b, strategy=name, device=select(DEVICE)).distance == expected


def test_the_dynamic_diamond_computes_fewer_cells():
    a, b = b"ACGTTGCA" * 60, b"TGCAACGT" * 60
    cells = {
        name: distance(a, b, strategy=name, device=select(DEVICE)).cells for name in ("tiled-workgroup", "diamond", "baseline", "dynamic")
    }
    assert cells["diamond"] <= cells["tiled-workgroup"]
    assert cells["dynamic"] == cells["baseline"]
