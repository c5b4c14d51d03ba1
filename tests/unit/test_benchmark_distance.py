"""The suite `distance` of the benchmarks: simulated pairs are what they claim, every part yields its records and plots."""

import argparse
import gzip

import numpy as np
import pytest

from devices import DEVICE
from haplowave.benchmark import distance as suite
from haplowave.benchmark import distance_batches as batches
from haplowave.benchmark import distance_choices as choices
from haplowave.benchmark import distance_parts as parts
from haplowave.benchmark.distance_literature import PAIRS, LiteraturePair
from haplowave.benchmark.distance_pairs import simulate_pair
from haplowave.benchmark.distance_plots import draw
from haplowave.distance import distance
from haplowave.distance.ladder import RUNGS
from haplowave.errors import UserError
from haplowave.opencl import Device, select


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


def test_choices_and_alignments_are_measured_on_real_and_simulated_pairs(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    a = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 6000)]
    b = np.concatenate([a[:3000], a[3001:]])
    for name, text in (("x", a), ("y", b)):
        (tmp_path / f"{name}.fa.gz").write_bytes(gzip.compress(b">s\n" + text.tobytes() + b"\n"))
    (tmp_path / "expected.tsv").write_text("a\tb\tlen_a\tlen_b\tedit_distance\tedlib\nx\ty\t6000\t5999\t1\t0.0\n")
    setting = parts.Setting(select("cpu"), 1, tmp_path, 30_000, True)
    records = choices.choices(setting)
    assert [record["distance"] for record in records][:2] == [1, distance(*simulate_pair(20_000, 20_200, 200), device="cpu").distance]
    for record in records:
        better = min(record[name] for name in ("wfa", "bitparallel") if record[name] != "too slow")
        assert record["ratio"] == record["auto"] / better
    records = choices.alignments(setting)
    assert records[0]["experiment"] == "y"
    assert all(record["ratio"] == record["seconds"] / record["distance_seconds"] for record in records)
    (tmp_path / "expected.tsv").write_text("a\tb\tlen_a\tlen_b\tedit_distance\tedlib\nx\ty\t6000\t5999\t2\t0.0\n")
    with pytest.raises(RuntimeError, match=r"y: distances \[1\], expected about 2"):
        choices.alignments(setting)


def test_wfa_is_stopped_where_it_is_hopeless(monkeypatch):
    monkeypatch.setattr(choices, "_HOPELESS", 0)
    monkeypatch.setattr(choices, "_SIMULATED", ((60_000, 30_000),))
    monkeypatch.setattr(choices, "GRACE", 0.0)
    (record,) = choices.choices(parts.Setting(select("cpu"), 1, None, 60_000, False))
    assert record["wfa"] == "too slow"
    assert record["ratio"] == record["auto"] / record["bitparallel"]


def test_devices_are_measured_one_by_one_and_together(monkeypatch):
    monkeypatch.setattr(choices, "PAIRS", (LiteraturePair("Table 3, chr21", "x", "y", 4000, 4100, 900, 1.0),))
    device = select("cpu")
    records = choices.shared(parts.Setting(device, 1, None, 5000, True), (Device(device.device), Device(device.device)))
    assert [(record["experiment"], record["devices"]) for record in records] == [
        (name, devices) for name in ("random 20,000", "Table 3, chr21, simulated") for devices in (1, 2, 3)
    ]
    assert all(record["times_faster"] == records[0]["seconds"] / record["seconds"] for record in records[:3])


def test_batches_are_measured():
    (record,) = batches.short(select("cpu"), 1, 2000, False)
    assert (record["pairs"], record["gcups"]) == (2000, 2000 * 150 * 400 / record["seconds"] / 1e9)
    records = batches.affine(select("cpu"), 1, 40)
    assert [record["pairs"] for record in records] == [40, 40, 4, 4, 4, 4]


def test_unknown_parts_are_named():
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    with pytest.raises(UserError, match="--parts speed: unknown; choose of literature"):
        suite.run(parser.parse_args(["--parts", "ladder,speed"]))
