"""Paths on a CPU: through kept tiles and through kept wavefronts, replayed, and of the distance's cost."""

import numpy as np
import pytest
from test_distance_cpu_long import SHAPES, cpu, mutate, pair  # noqa: F401  (cpu is a fixture)

from haplowave.distance import cigar, cpu_align
from haplowave.distance.alignment import align
from haplowave.distance.cpu_align import cpu_runs
from haplowave.distance.cpu_long import Meeting
from haplowave.distance.cpu_tiles import NO_LIMIT, Sweep, Texts, ukkonen_band
from haplowave.distance.reference import edit_distance
from haplowave.distance.strategies import Problem

KINDS = ["mutated", "unrelated", "shuffled", "tandem"]


def strings(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    for extra in range(100):
        a, b = pair(np.random.default_rng([seed, extra, len(kind)]), kind)
        if len(a) and len(b):
            return a, b
    raise AssertionError("only empty strings")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_paths_through_tiles(cpu, kind, seed):  # noqa: F811
    a, b = strings(seed, kind)
    wanted = edit_distance(a, b)
    texts = Texts(cpu, a, b)
    shape = SHAPES[seed % len(SHAPES)]
    for limit in (wanted, wanted + 30, NO_LIMIT):
        sweep = Sweep(texts, shape, ukkonen_band(texts, shape, min(limit, max(len(a), len(b)))), limit, keep=True)
        sweep.run()
        path = cigar.runs(sweep.path())
        assert sweep.score() == path.edits == wanted
        assert cigar.replay(path, a, b)


@pytest.mark.parametrize("leaf", [1500, 60])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_paths_through_wavefronts(cpu, kind, seed, leaf, monkeypatch):  # noqa: F811
    monkeypatch.setattr(cpu_align, "LEAF", leaf)
    monkeypatch.setattr(cpu_align, "MEMORY", 1 << 20)
    monkeypatch.setattr(cpu_align, "tiles_are_faster", lambda *_: False)
    a, b = strings(seed + 50, kind)
    problem = Problem(a, b, cpu)
    path = cpu_runs(problem)
    assert problem.notes["strategy"] == "wfa"
    assert path.edits == edit_distance(a, b) == Meeting(Problem(a, b, cpu)).run()
    assert cigar.replay(path, a, b)


def test_rows_of_64_bits(cpu, monkeypatch):  # noqa: F811
    """What strings of a billion symbols take."""
    monkeypatch.setattr("haplowave.distance.cpu_wavefront.WIDE", 0)
    monkeypatch.setattr(cpu_align, "LEAF", 100)
    monkeypatch.setattr(cpu_align, "tiles_are_faster", lambda *_: False)
    a, b = strings(7, "mutated")
    path = cpu_runs(Problem(a, b, cpu))
    assert path.edits == edit_distance(a, b) == Meeting(Problem(a, b, cpu)).run()
    assert cigar.replay(path, a, b)


def test_longer_strings_take_both_ways(cpu):  # noqa: F811
    rng = np.random.default_rng(5)
    a = rng.integers(65, 69, 60_000).astype(np.uint8)
    ways = set()
    for rate in (0.001, 0.05, 0.3):
        b = np.concatenate([mutate(rng, a[:40_000], rate, 70), a[40_100:]])
        result = align(a, b, device=cpu)
        ways.add(result.strategy)
        assert result.distance == result.runs.edits <= 100 + rate * 60_000
    assert ways == {"wfa", "bitparallel"}


def test_too_little_memory_leaves_it_to_others(cpu, monkeypatch):  # noqa: F811
    rng = np.random.default_rng(6)
    a, b = (rng.integers(65, 69, 6_000).astype(np.uint8) for _ in range(2))
    monkeypatch.setattr(cpu_align, "BORDERS", 1000)
    assert cpu_runs(Problem(a, b, cpu)) is None
    assert align(a, b, device=cpu).distance == edit_distance(a, b)
