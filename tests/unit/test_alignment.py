"""Alignments: as cheap as the distance, true symbol by symbol, whatever way they were found."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from long_pairs import expected_distances, mutate, string_pairs

from devices import DEVICE
from haplowave.distance import align, auto, cigar, distance, hirschberg
from haplowave.distance.alignment import any_device_runs
from haplowave.distance.anchors import cut
from haplowave.distance.crossings import spacing
from haplowave.distance.hirschberg import operations
from haplowave.distance.planes import command_queue, upload
from haplowave.distance.reference import edit_distance
from haplowave.distance.strategies import Problem
from haplowave.distance.tiles import Keeping, Shape, Sweep, has_sub_groups, task
from haplowave.distance.wavefront import Front
from haplowave.opencl import select

SLOW_START = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def replayed(text: str, a: np.ndarray, b: np.ndarray) -> int:
    """Edits of a CIGAR, walked symbol by symbol; fails where it is not true of a and b."""
    i = j = edits = 0
    for count, letter in re.findall(r"(\d+)([=XID])", text):
        for _ in range(int(count)):
            if letter in "=X":
                assert (a[i] == b[j]) == (letter == "=")
            i += letter != "D"
            j += letter != "I"
            edits += letter != "="
    assert (i, j) == (len(a), len(b))
    return edits


@SLOW_START
@given(pair=string_pairs(1500))
def test_alignment_is_true_and_optimal(pair):
    a, b = pair
    result = align(a, b, device=DEVICE)
    assert replayed(result.cigar, a, b) == result.distance == edit_distance(a, b)


@SLOW_START
@given(pair=string_pairs(1500))
def test_path_of_the_stored_waves(pair):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    device = select(DEVICE)
    front = Front(device, upload(device, command_queue(device), a, b), keep=True)
    assert front.advance(4000)
    edits, matches = front.path()
    runs = cigar.runs(
        np.stack([edits, np.zeros_like(edits)], axis=1).ravel()[1:], np.stack([np.ones_like(matches), matches], axis=1).ravel()[1:]
    )
    assert replayed(runs.cigar, a, b) == edit_distance(a, b)


@SLOW_START
@given(pair=string_pairs())
def test_path_by_halves_with_and_without_the_distance(pair):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    device = select(DEVICE)
    planes = upload(device, command_queue(device), a, b)
    pieces = cut(device, planes)
    expected = edit_distance(a, b)
    whole = np.array([[0, 0, len(a), len(b), max(len(a), len(b))]])
    for given_pieces, known in ((pieces, None), (pieces, expected), (whole, None)):
        assert replayed(cigar.runs(operations(device, planes, given_pieces, known)).cigar, a, b) == expected


@pytest.mark.parametrize("every", [1, 2, 4, 64])
@pytest.mark.parametrize("shape", [Shape(1, 1, 32), Shape(1, 4, 64), Shape(16, 2, 64)])
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(pair=string_pairs(1200))
def test_borders_kept_in_any_number(monkeypatch, pair, every, shape):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    device = select(DEVICE)
    if shape.lanes == 16 and not has_sub_groups(device):
        pytest.skip("no sub-groups of 16")
    monkeypatch.setattr(hirschberg, "spacing", lambda *_: every)
    monkeypatch.setattr(hirschberg, "shape_for", lambda *_: shape)
    monkeypatch.setattr(hirschberg, "LEAF", 1600)
    planes = upload(device, command_queue(device), a, b)
    whole = np.array([[0, 0, len(a), len(b), max(len(a), len(b))]])
    assert replayed(cigar.runs(operations(device, planes, whole)).cigar, a, b) == edit_distance(a, b)


def test_spacing_of_kept_borders_follows_the_memory(monkeypatch):
    device = select(DEVICE)
    tasks = np.array([task(0, 0, 100_000, 100_000, 1, 100_000, 20_000)] * 3)
    shape = Shape(1, 4, 512)
    monkeypatch.setattr(device, "max_allocation", 1 << 40)
    for memory in (1 << 40, 1 << 26, 1 << 20):
        monkeypatch.setattr(device, "global_memory", memory)
        every = spacing(device, tasks, shape)
        kept = Keeping.from_start(every, 3)
        sweep = Sweep(
            device, upload(device, command_queue(device), np.zeros(9, np.uint8), np.zeros(9, np.uint8)), tasks, shape, keeping=kept
        )
        assert sweep.kept_words.size + sweep.kept_scores.size <= memory // 8
        assert every == 1 or 2.5 * (sweep.kept_words.size + sweep.kept_scores.size) > memory // 8


@pytest.mark.parametrize("narrow", [False, True])
@SLOW_START
@given(pair=string_pairs(1500))
def test_paths_on_any_device(pair, narrow):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "bound_matters", lambda *_: not narrow)
        assert replayed(any_device_runs(Problem(a, b, select(DEVICE))).cigar, a, b) == edit_distance(a, b)


def test_many_rectangles_side_by_side():
    rng = np.random.default_rng(12)
    a = rng.integers(0, 4, 60_000).astype(np.uint8)
    b = mutate(rng, np.concatenate([a[:20_000], rng.integers(0, 4, 15_000).astype(np.uint8), a[22_000:]]), 0.1, 4).astype(np.uint8)
    device = select(DEVICE)
    planes = upload(device, command_queue(device), a, b)
    steps = operations(device, planes, np.array([[0, 0, len(a), len(b), max(len(a), len(b))]]))
    runs = cigar.runs(steps)
    assert cigar.replay(runs, a, b)
    assert runs.edits == distance(a, b, device=device).distance


def test_published_pairs(shared_data):
    for a, b, expected in expected_distances(shared_data / "edit_distance", 95_000):
        result = align(a, b, device=DEVICE)
        assert result.distance == expected
        assert cigar.replay(result.runs, a, b)


def test_replay_rejects_what_is_not_true():
    a, b = (np.frombuffer(text, np.uint8) for text in (b"ACGTACGT", b"ACGAACG"))

    def runs(operations, counts):
        return cigar.runs(np.array(operations, np.uint8), np.array(counts))

    assert cigar.replay(runs([0, 1, 0, 2], [3, 1, 3, 1]), a, b)
    assert not cigar.replay(runs([0, 2], [7, 1]), a, b)
    assert not cigar.replay(runs([0, 1, 0, 1], [3, 1, 3, 1]), a, b)
    assert not cigar.replay(runs([1, 0, 2], [4, 3, 1]), a, b)


def test_long_gaps_and_ends():
    rng = np.random.default_rng(9)
    a = rng.integers(0, 4, 40_000).astype(np.uint8)
    b = mutate(rng, np.concatenate([a[2000:12_000], a[20_000:]]), 0.01, 4).astype(np.uint8)
    result = align(a, b, device=DEVICE)
    assert result.distance == align(b, a, device=DEVICE).distance
    assert cigar.replay(result.runs, a, b)


def test_paf_line():
    runs = cigar.runs(np.array([0, 1, 0, 3], np.uint8), np.array([3, 1, 2, 5]))
    assert cigar.paf_line(runs, "q", "t", 6, 11).split("\t") == [
        "q", "6", "0", "6", "+", "t", "11", "0", "11", "5", "11", "255", "NM:i:6", "cg:Z:3=1X2=5D",
    ]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "text"), [(b"", b"", ""), (b"ACG", b"", "3I"), (b"", b"ACG", "3D"), (b"ACG", b"ACG", "3=")])
def test_empty_and_equal_strings(a, b, text):
    assert align(a, b, device=DEVICE).cigar == text
