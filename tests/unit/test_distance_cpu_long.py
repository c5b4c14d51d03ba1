"""CPU strategies for long pairs: exact against the plain dynamic programming, the published distances and each other."""

import gzip

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.distance.cpu_guide import guide_path
from haplowave.distance.cpu_long import auto, bitparallel, shape_for, wfa
from haplowave.distance.cpu_tiles import NO_LIMIT, Band, Shape, Sweep, Texts, mask_bytes, ukkonen_band
from haplowave.distance.cpu_wavefront import Wavefronts
from haplowave.distance.reference import edit_distance
from haplowave.distance.strategies import Problem, find
from haplowave.errors import UserError
from haplowave.opencl import Device, select
from haplowave.opencl.device import KERNELS

STRATEGIES = [wfa, bitparallel, auto]
SHAPES = [Shape(1, 64), Shape(2, 128), Shape(4, 512)]


@pytest.fixture(scope="module")
def cpu() -> Device:
    try:
        return select("cpu")
    except UserError as error:
        pytest.skip(str(error))


def mutate(rng: np.random.Generator, text: np.ndarray, rate: float, symbols: int) -> np.ndarray:
    kind = rng.choice(4, len(text), p=[1 - rate, rate / 3, rate / 3, rate / 3])
    out = np.where(kind == 1, rng.integers(0, symbols, len(text)), text).astype(np.uint8)
    copies = np.choose(kind, [1, 1, 0, 2])
    result = np.repeat(out, copies)
    first = np.cumsum(copies) - copies
    result[first[kind == 3]] = rng.integers(0, symbols, int((kind == 3).sum()))
    return result


def pair(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray]:
    symbols = int(rng.choice([2, 4, 5, 256]))
    a = rng.integers(0, symbols, int(rng.integers(0, 3000))).astype(np.uint8)
    if kind == "unrelated":
        return a, rng.integers(0, symbols, int(rng.integers(0, 3000))).astype(np.uint8)
    b = mutate(rng, a, float(rng.random() ** 2 * 0.6), symbols)
    if kind == "shuffled":  # pieces deleted, repeated and put elsewhere: paths far apart have like scores
        pieces = np.array_split(b, 6)
        b = np.concatenate([pieces[index] for index in rng.integers(0, 6, int(rng.integers(1, 8)))])
    if kind == "tandem":
        a, b = np.tile(a[:60], 40), np.concatenate([np.tile(a[:60], 17), b[:90], np.tile(a[:60], 19)])
    return a, b


def swept(texts: Texts, shape: Shape, band: Band, limit: int) -> int | None:
    sweep = Sweep(texts, shape, band, limit)
    sweep.run()
    return sweep.score()


@pytest.mark.parametrize("kind", ["mutated", "unrelated", "shuffled", "tandem"])
@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_oracle_with_and_without_a_maximum(cpu, kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    a, b = pair(rng, kind)
    wanted = edit_distance(a, b)
    maximum = int(rng.integers(0, 2 * wanted + 2))
    for strategy in STRATEGIES:
        problem = Problem(a, b, cpu)
        assert strategy(problem) == wanted, strategy.__name__
        assert problem.cells > 0 or not len(a) or not len(b)
        assert strategy(Problem(a, b, cpu, maximum=maximum)) == min(wanted, maximum + 1), strategy.__name__


@settings(max_examples=40, deadline=None)
@given(st.text("ACGTN", max_size=300), st.text("ACG", max_size=300))
def test_any_text(cpu, a, b):
    a, b = (np.frombuffer(text.encode(), np.uint8) for text in (a, b))
    wanted = edit_distance(a, b)
    assert [strategy(Problem(a, b, cpu)) for strategy in STRATEGIES] == [wanted] * 3


@pytest.mark.parametrize("kind", ["mutated", "shuffled", "tandem"])
@pytest.mark.parametrize("seed", range(6))
def test_limits_are_exact_for_every_shape_of_tiles(cpu, kind, seed):
    rng = np.random.default_rng([seed, 77, len(kind)])
    a, b = pair(rng, kind)
    if not len(a) or not len(b):
        return
    wanted = edit_distance(a, b)
    texts = Texts(cpu, a, b)
    for shape in SHAPES:
        for limit in {wanted, wanted + 1, wanted + 40, 2 * wanted + 5, wanted - 1, wanted // 2}:
            if limit < abs(len(a) - len(b)):
                continue
            score = swept(texts, shape, ukkonen_band(texts, shape, limit), limit)
            if limit >= wanted:
                assert score == wanted
            else:
                assert score is None or score >= wanted


@pytest.mark.parametrize(("threads", "patience"), [(1, 9), (2, 1), (2, 9), (7, 1), (7, 100_000)])
def test_any_number_of_work_items_shares_a_sweep(cpu, monkeypatch, threads, patience):
    """7: more than run at a time; those of little patience give their tiles back."""
    monkeypatch.setattr(cpu, "threads", threads)
    built = cpu.build
    monkeypatch.setattr(cpu, "build", lambda name, defines=None: built(name, (defines or {}) | {"PATIENCE": patience}))
    rng = np.random.default_rng(threads)
    a, b = (rng.integers(0, 4, length).astype(np.uint8) for length in (9000, 8000))
    texts = Texts(cpu, a, b)
    for limit in (9000, edit_distance(a, b)):
        sweep = Sweep(texts, SHAPES[0], ukkonen_band(texts, SHAPES[0], limit), limit)
        sweep.run(11)
        sweep.run()
        assert sweep.score() == edit_distance(a, b)


def test_more_tiles_than_32_bits_count(cpu):
    """As if that many had been before the first anti-diagonal."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 4, length).astype(np.uint8) for length in (9000, 8000))
    texts = Texts(cpu, a, b)
    sweep = Sweep(texts, SHAPES[0], ukkonen_band(texts, SHAPES[0], 9000), 9000)
    begin = np.empty(sweep.launches + 1, np.int64)
    cl.enqueue_copy(cpu.queue, begin, sweep._order[1])
    cl.enqueue_copy(cpu.queue, sweep._order[1], begin + (1 << 31) - 20)
    sweep.run()
    assert sweep.score() == edit_distance(a, b)


def test_vectors_of_four_words(cpu, monkeypatch):
    """What a CPU without AVX-512 gets."""
    monkeypatch.setattr(Device, "vector_width", 8)
    rng = np.random.default_rng(21)
    for kind in ("mutated", "unrelated", "shuffled"):
        a, b = pair(rng, kind)
        assert bitparallel(Problem(a, b, cpu)) == edit_distance(a, b)


def test_little_local_memory(cpu, monkeypatch):
    monkeypatch.setattr(cpu, "local_memory", 16_384)
    rng = np.random.default_rng(22)
    a = rng.integers(0, 7, 2500).astype(np.uint8)
    b = mutate(rng, a, 0.3, 7)
    texts = Texts(cpu, a, b)
    shape = shape_for(texts, 30_000)
    assert mask_bytes(texts, shape) <= 16_384 < mask_bytes(texts, Shape(4, 2048))
    assert bitparallel(Problem(a, b, cpu)) == edit_distance(a, b)


_PROBE = """
__kernel void probe(__global ulong* plus, __global ulong* minus, const int words, const long excess, const int top_first) {
    lower_border(plus, minus, words, excess, top_first);
}
"""


@pytest.mark.parametrize("top_first", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_borders_that_disagree_at_their_corner_are_lowered(cpu, seed, top_first):
    """Tiles on both sides of a hole in the band may give one cell two values: the higher one becomes min(itself, lower start + steps)."""
    rng = np.random.default_rng(seed)
    words, excess = 4, int(rng.choice([1, 2, 3, 10, 100]))
    steps = rng.choice([-1, 0, 1], 64 * words, p=[0.2, 0.3, 0.5])
    order = "big" if top_first else "little"
    pack = lambda bits: np.packbits(bits.reshape(-1, 64), axis=1, bitorder=order)  # noqa: E731
    swap = (lambda array: array[:, ::-1]) if top_first else (lambda array: array)  # the first column's bit is the top one of its word
    plus, minus = (np.ascontiguousarray(swap(pack(steps == value))).view(np.uint64).ravel() for value in (1, -1))
    defines = ["-DPLANES=2", "-DLANES=8", "-DVECTORS=1", "-DWIDTH=64"]
    program = cl.Program(cpu.context, (KERNELS / "distance_cpu_tiles.cl").read_text() + _PROBE).build(defines)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(cpu.context, flags, hostbuf=array) for array in (plus, minus)]
    program.probe(cpu.queue, (1,), (1,), *buffers, np.int32(words), np.int64(excess), np.int32(top_first))
    for array, buffer in zip((plus, minus), buffers, strict=True):
        cl.enqueue_copy(cpu.queue, array, buffer)
    up, down = (np.unpackbits(swap(array.view(np.uint8).reshape(-1, 8)), axis=1, bitorder=order).ravel() for array in (plus, minus))
    assert not (up & down).any()
    old = excess + np.cumsum(steps)
    assert (np.cumsum(up.astype(int) - down) == np.minimum(old, np.arange(1, 64 * words + 1))).all()


def test_a_narrow_band_gives_an_upper_bound(cpu):
    rng = np.random.default_rng(4)
    a, b = pair(rng, "mutated")
    texts, shape = Texts(cpu, a, b), Shape(1, 64)
    chunks = -(-len(b) // 64)
    straight = np.arange(chunks) * 64 * len(a) // len(b) // (64 * texts.lanes)
    strips = (len(a) - 1) // (64 * texts.lanes)
    high = np.minimum(straight + 1, strips)
    high[-1] = strips
    score = swept(texts, shape, Band(straight, high), NO_LIMIT)
    assert edit_distance(a, b) <= score <= max(len(a), len(b)) * 2


def test_runs_longer_than_a_vector(cpu):
    a = np.frombuffer(b"A" * 5000 + b"C" + b"A" * 5000, np.uint8)
    b = np.frombuffer(b"A" * 4990 + b"G" + b"A" * 5100, np.uint8)
    assert {strategy(Problem(a, b, cpu)) for strategy in STRATEGIES} == {edit_distance(a, b)}


def test_wavefronts_go_back_to_a_kept_front(cpu):
    rng = np.random.default_rng(9)
    a = rng.integers(0, 4, 3000).astype(np.uint8)
    fronts = Wavefronts(cpu, a, rng.integers(0, 4, 2900).astype(np.uint8))
    fronts.advance(100, 80)
    kept = fronts.front(0), fronts.front(1)
    fronts.advance(700, 650)
    first = fronts.front(0).rows
    for end in (0, 1):
        fronts.put(end, kept[end])
    fronts.advance(333, 80)
    fronts.advance(700, 650)
    assert (fronts.front(0).rows == first).all()


def test_the_guide_follows_a_large_insertion(cpu):
    rng = np.random.default_rng(10)
    a = rng.integers(0, 4, 60_000).astype(np.uint8)
    b = np.concatenate([mutate(rng, a[:30_000], 0.05, 4), rng.integers(0, 4, 9_000).astype(np.uint8), mutate(rng, a[30_000:], 0.05, 4)])
    rows, columns = guide_path(Texts(cpu, a, b))
    assert (np.diff(rows) >= 0).all()
    assert (np.diff(columns) >= 0).all()
    shift = columns - rows
    assert abs(shift[rows < 29_000]).max() < 400
    assert abs(shift[(rows > 31_000) & (rows < 59_000)] - 9_000).max() < 800
    assert len(rows) > 100
    problem = Problem(a, b, cpu)
    assert bitparallel(problem) == wfa(Problem(a, b, cpu))
    assert problem.notes["bound"] <= 1.02 * bitparallel(Problem(a, b, cpu))


def test_auto_chooses_by_similarity(cpu):
    rng = np.random.default_rng(11)
    a = rng.integers(0, 4, 300_000).astype(np.uint8)
    chosen = {}
    for rate in (0.001, 0.2):
        problem = Problem(a, mutate(rng, a, rate, 4), cpu)
        auto(problem)
        chosen[rate] = problem.notes["strategy"]
    assert chosen == {0.001: "wfa", 0.2: "bitparallel"}


def test_a_killed_sweep_goes_on_from_its_checkpoint(cpu, tmp_path, monkeypatch):
    rng = np.random.default_rng(13)
    a = rng.integers(0, 4, 40_000).astype(np.uint8)
    b = mutate(rng, a, 0.1, 4)
    whole = Problem(a, b, cpu)
    wanted = bitparallel(whole)
    path = tmp_path / "state"
    monkeypatch.setattr("haplowave.distance.bitparallel_tiles.AT_ONCE", 20)
    monkeypatch.setattr("haplowave.distance.checkpoint.SECONDS", 0.0)

    def kill(done: float, bound: int | None) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bitparallel(Problem(a, b, cpu, checkpoint=path, progress=kill))
    assert path.exists()
    seen = []
    again = Problem(a, b, cpu, checkpoint=path, progress=lambda done, bound: seen.append(done))
    assert bitparallel(again) == wanted
    assert seen[1] > 0.4
    assert not path.exists()
    assert again.notes["bound"] == whole.notes["bound"]


def test_a_checkpoint_of_other_tiles_is_refused(cpu, tmp_path, monkeypatch):
    """A killed job may go on where vectors are shorter; with the state of other tiles its work-items would wait for ever."""
    rng = np.random.default_rng(14)
    a, b = (rng.integers(0, 4, length).astype(np.uint8) for length in (9000, 8000))
    monkeypatch.setattr("haplowave.distance.bitparallel_tiles.AT_ONCE", 2)
    monkeypatch.setattr("haplowave.distance.checkpoint.SECONDS", 0.0)
    path = tmp_path / "state"

    def kill(done: float, bound: int | None) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bitparallel(Problem(a, b, cpu, checkpoint=path, progress=kill))
    monkeypatch.setattr(Device, "vector_width", 24 - cpu.vector_width)  # 8 or 16: the other
    for strategy in (bitparallel, find("bitparallel", cpu, cpu.max_allocation)):
        with pytest.raises(UserError, match="state: belongs to another kind of device"):
            strategy(Problem(a, b, cpu, checkpoint=path))


def test_registered_for_the_cpu(cpu):
    assert [find(name, cpu) for name in ("wfa", "bitparallel", "auto")] == STRATEGIES
    with pytest.raises(UserError, match="choose one of"):
        find("fastest", cpu)


def test_progress_rises(cpu):
    rng = np.random.default_rng(12)
    a = rng.integers(0, 4, 30_000).astype(np.uint8)
    seen = []
    problem = Problem(a, mutate(rng, a, 0.2, 4), cpu, progress=lambda done, bound: seen.append(done))
    wfa(problem)
    assert len(seen) > 3
    assert all(0 <= done <= 1 for done in seen)


def read(folder, name: str) -> np.ndarray:
    text = gzip.decompress((folder / "edit_distance" / f"{name}.fa.gz").read_bytes()).split(b"\n", 1)[1]
    return np.frombuffer(text.replace(b"\n", b""), np.uint8)


def test_published_distances(cpu, shared_data):
    for line in (shared_data / "edit_distance" / "expected.tsv").read_text().splitlines()[1:]:
        first, second, *_, wanted, _ = line.split("\t")
        a, b = read(shared_data, first), read(shared_data, second)
        strategies = STRATEGIES if int(wanted) < 10_000 else [bitparallel, auto] if len(a) < 2_000_000 else [auto]
        for strategy in strategies:
            assert strategy(Problem(a, b, cpu)) == int(wanted), (first, second, strategy.__name__)
