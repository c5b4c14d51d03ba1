"""The suite `distance` of the benchmarks: simulated pairs are what they claim, every part yields its records and plots."""

import argparse

import numpy as np
import pytest

from devices import DEVICE
from haplowave.benchmark import distance as suite
from haplowave.benchmark import distance_parts as parts
from haplowave.benchmark.distance_literature import PAIRS, LiteraturePair
from haplowave.benchmark.distance_pairs import simulate_pair
from haplowave.benchmark.distance_plots import draw
from haplowave.distance import distance
from haplowave.distance.ladder import RUNGS
from haplowave.errors import UserError
from haplowave.opencl import select


@pytest.mark.parametrize(
    ("m", "n", "wanted"),
    [(30_000, 30_000, 0), (30_000, 30_400, 900), (40_000, 37_000, 4000), (20_000, 21_000, 9000), (3000, 30_000, 28_000)],
)
def test_simulated_pairs_have_their_lengths_and_nearly_their_distance(m, n, wanted):
    a, b = simulate_pair(m, n, wanted)
    again = simulate_pair(m, n, wanted)
    assert (len(a), len(b)) == (m, n)
    assert all(np.array_equal(*both) for both in zip((a, b), again, strict=True))
    assert set(np.unique(a)) <= set(b"ACGT")
    assert 0.78 * wanted <= distance(a, b, device=DEVICE).distance <= 1.02 * wanted


def test_published_pairs_are_possible():
    for pair in PAIRS:
        assert abs(pair.m - pair.n) <= pair.distance <= max(pair.m, pair.n)


def test_parts_yield_records_and_plots(tmp_path, monkeypatch):
    small = (
        LiteraturePair("Table 3, 2", "x", "y", 900, 950, 400, 1.0),
        LiteraturePair("Table 3, 3", "x", "y", 9_000_000, 9, 9_000_000, 1.0),
    )
    monkeypatch.setattr(parts, "PAIRS", small)
    setting = parts.Setting(select(DEVICE), 1, tmp_path, 1000, False)
    records = parts.literature(setting, ["auto", "wfa"])
    assert [(record["experiment"], record["strings"]) for record in records] == [("Table 3, 2", "simulated")] * 2
    assert {record["distance"] for record in records} == {distance(*simulate_pair(900, 950, 400), device=DEVICE).distance}
    records += parts.ladder(setting, "2")
    assert [record["strategy"].split(":")[0] for record in records[2:]] == [*RUNGS, "wfa", "bitparallel", "auto"]
    draw(records, tmp_path)
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("distance_ladder.png", "distance_similarity.png"))


def test_unknown_parts_are_named():
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    with pytest.raises(UserError, match="--parts speed: unknown; choose of literature"):
        suite.run(parser.parse_args(["--parts", "ladder,speed"]))
