"""Distances of long strings: every device's own strategies against plain dynamic programming and published values."""

import gzip

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_pairs import expected_distances, mutate, string_pairs

from devices import DEVICE
from haplowave.distance import align, anchors, auto, bitparallel_tiles, checkpoint, cigar, distance, shared_sweep, wavefront
from haplowave.distance.hirschberg import operations
from haplowave.distance.planes import command_queue, upload
from haplowave.distance.reference import edit_distance
from haplowave.distance.strategies import Problem
from haplowave.distance.tiles import UNKNOWN, Shape, Sweep, task
from haplowave.errors import UserError
from haplowave.opencl import Device, select

SLOW_START = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
# the implementations for any device, also where a CPU has one of its own under the same name
ANY_DEVICE = {"wfa": wavefront.wfa, "bitparallel": bitparallel_tiles.bitparallel, "auto": auto.auto}


@pytest.mark.parametrize("name", ANY_DEVICE)
@SLOW_START
@given(pair=string_pairs())
def test_any_pair_equals_dynamic_programming(name, pair):
    a, b = pair
    if len(a) and len(b):
        assert ANY_DEVICE[name](Problem(a, b, select(DEVICE))) == edit_distance(a, b)


@SLOW_START
@given(pair=string_pairs(1500), slack=st.integers(-3, 3))
def test_maximum_gives_the_distance_or_one_more(pair, slack):
    a, b = pair
    expected = edit_distance(a, b)
    maximum = max(0, expected + slack)
    for function in ANY_DEVICE.values() if len(a) and len(b) else ():
        assert function(Problem(a, b, select(DEVICE), maximum)) == min(expected, maximum + 1)


@SLOW_START
@given(pair=string_pairs(2000))
def test_strategies_that_do_without_a_bound(pair):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchors, "bound_matters", lambda *_: False)
        patch.setattr(auto, "bound_matters", lambda *_: False)
        for function in (bitparallel_tiles.bitparallel, auto.auto):
            assert function(Problem(a, b, select(DEVICE))) == edit_distance(a, b)


def test_a_front_foresees_the_distance_of_evenly_mutated_strings(device):
    rng = np.random.default_rng(31)
    a = rng.integers(0, 4, 30_000).astype(np.uint8)
    for rate in (0.02, 0.1):
        b = mutate(rng, np.concatenate([a[:500], rng.integers(0, 4, 40).astype(np.uint8), a[500:]]), rate, 4).astype(np.uint8)
        front = wavefront.Front(device, upload(device, command_queue(device), a, b))
        front.advance(200)
        front.advance(400)
        foreseen = front.expected
        assert front.advance(30_000)
        assert 0.7 * front.distance < foreseen < 1.4 * front.distance


@SLOW_START
@given(pair=string_pairs(2500), bound=st.integers(-40, 400), shape=st.sampled_from([Shape(1, 1, 32), Shape(1, 4, 512)]))
def test_sweeps_find_what_costs_at_most_the_bound_from_either_end(pair, bound, shape):
    a, b = pair
    m, n = len(a), len(b)
    if m == 0 or n < 2:
        return
    expected = edit_distance(a, b)
    bound = max(abs(m - n), expected + bound)
    planes = upload(select(DEVICE), command_queue(select(DEVICE)), a, b)
    whole = Sweep(select(DEVICE), planes, [task(0, 0, m, n, 1, n, bound), task(m - 1, n - 1, m, n, -1, n, bound)], shape)
    whole.run()
    assert whole.corners().tolist() == [expected if expected <= bound else UNKNOWN] * 2
    halves = Sweep(select(DEVICE), planes, [task(0, 0, m, n // 2, 1, n, bound), task(m - 1, n - 1, m, n - n // 2, -1, n, bound)], shape)
    halves.run()
    total, row, forward = halves.meetings()[0].tolist()
    assert total == expected if expected <= bound else total > bound
    if expected <= bound:
        assert forward == edit_distance(a[:row], b[: n // 2])


@SLOW_START
@given(pair=string_pairs())
def test_pieces_cover_both_strings_and_bound_the_distance(pair):
    a, b = pair
    if len(a) == 0 or len(b) == 0:
        return
    device = select(DEVICE)
    pieces = anchors.cut(device, upload(device, command_queue(device), a, b))
    assert pieces[0, :2].tolist() == [0, 0]
    assert (pieces[1:, :2] == pieces[:-1, :2] + pieces[:-1, 2:4]).all()
    assert (pieces[-1, :2] + pieces[-1, 2:4]).tolist() == [len(a), len(b)]
    for top, left, height, width, cost in pieces.tolist():
        assert cost == edit_distance(a[top : top + height], b[left : left + width])
    assert pieces[:, 4].sum() >= edit_distance(a, b)


def test_anchors_of_a_mutated_string_make_a_close_bound(device):
    rng = np.random.default_rng(4)
    a = rng.integers(0, 4, 120_000).astype(np.uint8)
    b = mutate(rng, np.concatenate([a[:30_000], a[33_000:]]), 0.03, 4).astype(np.uint8)
    problem = Problem(a, b, device)
    found = bitparallel_tiles.bitparallel(problem)
    assert found == wavefront.wfa(Problem(a, b, device))
    assert found <= problem.notes["bound"] <= 1.05 * found


def test_a_bound_from_outside_narrows_the_front_and_not_the_result(device):
    rng = np.random.default_rng(21)
    a = rng.integers(0, 4, 20_000).astype(np.uint8)
    b = mutate(rng, a, 0.06, 4).astype(np.uint8)
    cells, expected = [], 0
    for slack in (None, 30, 0):
        front = wavefront.Front(device, upload(device, command_queue(device), a, b))
        if slack is not None:
            front.advance(100)
            front.tighten(expected + slack)
        assert front.advance(20_000)
        expected = front.distance if slack is None else expected
        assert front.distance == expected
        cells.append(front.cells)
    assert cells[2] < cells[1] < 0.8 * cells[0]


def test_published_distances(shared_data, device):
    for a, b, expected in expected_distances(shared_data / "edit_distance", 100_000):
        names = ANY_DEVICE if len(a) < 20_000 else ["bitparallel"]
        assert {name: ANY_DEVICE[name](Problem(a, b, device)) for name in names} == dict.fromkeys(names, expected)


def test_vectors_of_another_program(shared_data, device):
    folder = shared_data / "edit_distance" / "wfa2_utest"
    with gzip.open(folder / "wfa.utest.seq.gz", "rt") as handle:
        strings = [np.frombuffer(line.strip()[1:].encode(), np.uint8) for line in handle]
    with gzip.open(folder / "test.edit.alg.gz", "rt") as handle:
        expected = [abs(int(line.split()[0])) for line in handle]
    pairs = list(zip(strings[::2], strings[1::2], expected, strict=True))
    assert len(pairs) == 305
    for a, b, distance_there in pairs[::3]:
        assert {name: function(Problem(a, b, device)) for name, function in ANY_DEVICE.items()} == dict.fromkeys(ANY_DEVICE, distance_there)


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(b"", b"", 0), (b"", b"ACGT", 4), (b"ACGT", b"", 4), (b"N", b"A", 1), (b"N", b"N", 0), (b"acgt", b"ACGT", 4)]
)
def test_tiny_strings_and_letters_as_themselves(a, b, expected, device):
    assert distance(a, b, device=device).distance == expected


def test_case_can_be_ignored(device):
    assert distance(b"acgtnNxyz{", b"ACGTNnXYZ[", device=device, ignore_case=True).distance == 1  # { is 32 above [, and no letter


def test_all_byte_values_are_symbols(device):
    rng = np.random.default_rng(8)
    a, b = (rng.integers(0, 256, length).astype(np.uint8) for length in (700, 900))
    for function in ANY_DEVICE.values():
        assert function(Problem(a, b, device)) == edit_distance(a, b)


def test_result_describes_the_run(device):
    result = distance(b"ACGT" * 300, b"ACGA" * 300, device=device, strategy="wfa")
    assert (result.distance, result.query_length, result.target_length) == (300, 1200, 1200)
    assert result.similarity == 0.75
    assert result.cells > 0
    assert result.gcups > 0


def test_unknown_strategy_is_named_with_the_choices(device):
    with pytest.raises(UserError, match=r"strategy 'fast': unknown .*bitparallel"):
        distance(b"A", b"C", strategy="fast", device=device)


@pytest.mark.parametrize("devices", [2, 3, 5])
def test_devices_that_share_a_pair_agree(device, devices):
    rng = np.random.default_rng(devices)
    a = rng.integers(0, 4, 9000).astype(np.uint8)
    for b in (mutate(rng, a, 0.2, 4).astype(np.uint8), rng.integers(0, 4, 7000).astype(np.uint8)):
        others = [Device(device.device) for _ in range(devices - 1)]
        sweep = shared_sweep.SharedSweep([device, *others], upload(device, command_queue(device), a, b), a, b, 9000, lag=3)
        for half in sweep.halves:
            assert half.groups == 1 if len(half.sweeps) == 1 else half.groups > len(half.sweeps)
        done: list[float] = []
        sweep.run(done.append)
        assert done == sorted(done)
        assert done[-1] == 1
        assert sweep.distance() == edit_distance(a, b)
        assert distance(a, b, device=device, others=others).distance == edit_distance(a, b)


def test_pairs_that_one_device_does_as_fast_are_not_shared(device, monkeypatch):
    rng = np.random.default_rng(6)
    a, b = (rng.integers(0, 4, 12_000).astype(np.uint8) for _ in range(2))
    near = mutate(rng, a, 0.02, 4).astype(np.uint8)
    monkeypatch.setattr(device, "compute_units", 2)
    monkeypatch.setattr(shared_sweep, "shape_for", lambda *_: Shape(1, 4, 512))
    monkeypatch.setattr(bitparallel_tiles, "SharedSweep", None)
    assert distance(a, near, device=device, others=[Device(device.device)]).distance == edit_distance(a, near)
    with pytest.raises(TypeError):
        distance(a, b, device=device, others=[Device(device.device)])


@pytest.mark.parametrize(("letters", "count"), [(4, 4), (200, 8)])
def test_strings_longer_than_a_buffer(monkeypatch, letters, count):
    """Planes lie in several buffers, slices are staged again, kept borders and steps of a path come in parts."""
    rng = np.random.default_rng(letters)
    a = rng.integers(0, letters, 100_000).astype(np.uint8)
    b = mutate(rng, np.concatenate([a[:60_000], a[63_000:]]), 0.03, letters).astype(np.uint8)
    alone = Device(select(DEVICE).device)
    expected = distance(a, b, device=alone).distance
    device = Device(alone.device)
    device.max_allocation = 20_000 if letters == 4 else 54_000
    device.global_memory = 200_000
    monkeypatch.setattr(anchors, "MOST_SAMPLES", 600)
    made, allowed = cl.Buffer, device.max_allocation

    def limited(context, flags, size=0, hostbuf=None):
        assert (size or hostbuf.nbytes) <= allowed
        return made(context, flags, size, hostbuf=hostbuf) if hostbuf is not None else made(context, flags, size)

    monkeypatch.setattr(cl, "Buffer", limited)
    planes = upload(device, command_queue(device), a, b)
    assert len(planes.a) == len(planes.b) == count
    allowed += 25_100 if device.kind == "gpu" else 0  # rows of two sweeps side by side
    assert bitparallel_tiles.bitparallel(Problem(a, b, device)) == expected
    monkeypatch.setattr(cl, "Buffer", made)  # 32 leaves of a path take 2 MB, whatever the strings
    runs = cigar.runs(operations(device, planes, anchors.whole(planes)))
    assert cigar.replay(runs, a, b)
    assert runs.edits == expected
    assert {name: function(Problem(a, b, device)) for name, function in ANY_DEVICE.items()} == dict.fromkeys(ANY_DEVICE, expected)
    assert align(a, b, device=device).distance == expected


def test_strings_that_no_number_of_buffers_holds():
    device = Device(select(DEVICE).device)
    device.max_allocation = 9_000
    a = np.arange(40_000, dtype=np.int64).astype(np.uint8)
    with pytest.raises(UserError, match=r"strings of up to 40000 symbols: too long for .*, whose largest buffer has 9000 bytes"):
        distance(a, a[:30_000], device=device)


class KilledError(Exception):
    pass


def test_a_killed_run_resumes_from_its_checkpoint(device, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(bitparallel_tiles, "AT_ONCE", 5)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 4, 6000).astype(np.uint8) for _ in range(2))
    path = tmp_path / "pair.npz"
    before: list[float] = []

    def kill_at_half(done, bound):
        before.append(done)
        if done > 0.5:
            raise KilledError

    with pytest.raises(KilledError):
        bitparallel_tiles.bitparallel(Problem(a, b, device, checkpoint=path, progress=kill_at_half))
    assert path.exists()
    after: list[float] = []
    problem = Problem(a, b, device, checkpoint=path, progress=lambda done, bound: after.append(done))
    assert bitparallel_tiles.bitparallel(problem) == edit_distance(a, b)
    assert after[1] > before[-2]  # it went on, and did not begin again
    assert not path.exists()


def test_a_checkpoint_of_other_strings_or_a_damaged_one_is_refused(device, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(bitparallel_tiles, "AT_ONCE", 1)
    path = tmp_path / "pair.npz"
    a, b, other = (np.frombuffer(text * 500, np.uint8) for text in (b"ACGT", b"AGGT", b"ACGA"))

    def kill(done, bound):
        if path.exists():
            raise KilledError

    with pytest.raises(KilledError):
        bitparallel_tiles.bitparallel(Problem(a, b, device, checkpoint=path, progress=kill))
    with pytest.raises(UserError, match="belongs to other strings"):
        bitparallel_tiles.bitparallel(Problem(other, b, device, checkpoint=path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match="is no complete checkpoint"):
        bitparallel_tiles.bitparallel(Problem(a, b, device, checkpoint=path))
    with pytest.raises(UserError, match="keeps no checkpoint"):
        distance(a, b, device=device, checkpoint=tmp_path / "other.npz", strategy="wfa")


@pytest.mark.parametrize("raised", ["left", "above"])
@pytest.mark.parametrize("gap", [1, 7, 500])
def test_borders_that_disagree_about_their_corner_are_lowered(device, raised, gap):
    rng = np.random.default_rng(gap)
    a, b = (rng.integers(0, 2, length).astype(np.uint8) for length in (128, 64))
    table = np.zeros((129, 65), np.int64)
    table[:, 0], table[0] = np.arange(129), np.arange(65)

    def fill(rows, columns):
        for i in rows:
            for j in columns:
                table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))

    fill(range(1, 129), range(1, 65))
    sweep = Sweep(device, upload(device, command_queue(device), a, b), [task(0, 0, 128, 64, 1, 64, 1000)], Shape(1, 1, 32))
    sweep.run(until=2)  # all but the tile of rows 65..128 and columns 33..64
    corner = table[64, 32]
    if raised == "left":  # to gap above the corner, and falling by 1 a row where it cannot be lowered any more
        left = np.minimum(corner + gap + np.arange(65), corner + gap + 20 - np.abs(np.arange(65) - 20))
        _write(sweep, "pv", 1, np.packbits(np.diff(left) > 0, bitorder="little").view(np.uint64))
        _write(sweep, "mv", 1, np.packbits(np.diff(left) < 0, bitorder="little").view(np.uint64))
        _write(sweep, "strip_score", 1, left[-1:])
        table[64:, 32] = np.minimum(left, corner + np.arange(65))
    else:
        above = np.minimum(corner + gap + np.arange(33), corner + gap + 10 - np.abs(np.arange(33) - 10))
        _write(sweep, "border_ph", 1, np.packbits(np.diff(above) > 0).view(">u4").astype(np.uint32))
        _write(sweep, "border_mh", 1, np.packbits(np.diff(above) < 0).view(">u4").astype(np.uint32))
        _write(sweep, "chunk_before", 1, above[:1])
        table[64, 32:] = np.minimum(above, corner + np.arange(33))
    fill(range(65, 129), range(33, 65))
    sweep.run()
    assert sweep.corners().tolist() == [table[128, 64]]


def _write(sweep, name, index, values):
    cl.enqueue_copy(sweep.queue, sweep.state[name], np.ascontiguousarray(values), dst_offset=index * values.nbytes)
