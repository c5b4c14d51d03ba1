"""Engine `skewed`, in its local-memory variant: short pairs, strips, reads of any length, and what the host does around it."""

import dataclasses

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairhmm_cases import BASES, QUICK, TOLERANCE, assert_right, case, make_reads, mutated, reference

from haplowave.pairhmm import log10_likelihoods, skewed, tuning, tuning_measure
from haplowave.pairhmm.chunk import Chunk, Queues
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.skewed_device import Runner
from haplowave.pairhmm.skewed_plan import filling_columns, long_jobs, shapes, short_units
from haplowave.sequences import Sequences


@QUICK
@given(
    seed=st.integers(0, 2**32 - 1),
    reads=st.integers(1, 12),
    haplotypes=st.integers(1, 6),
    rows=st.sampled_from([(1, 3), (1, 64), (60, 70)]),
    columns=st.sampled_from([(1, 5), (1, 32), (28, 100)]),
    base=st.sampled_from([(2, 94), (6, 42), (93, 94)]),
    indel=st.sampled_from([(6, 94), (45, 46)]),
    gap=st.sampled_from([(10, 11), (5, 13)]),
    precision=st.sampled_from(["fp32", "fp64"]),
)
def test_agrees_with_the_oracle(device, shape, seed, reads, haplotypes, rows, columns, base, indel, gap, precision):
    work = case(seed, reads, haplotypes, rows, columns, base=base, indel=indel, gap=gap)
    assert_right(skewed.run(work, device, precision, shape), work, TOLERANCE[precision])


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_reads_and_haplotypes_of_many_strips(device, shape, precision):
    work = case(1, 6, 4, (200, 1500), (20, 1500), gap=(10, 13))
    outcome = skewed.run(work, device, precision, shape)
    assert not outcome.unsafe.any()
    assert reference(work).min() < -600  # far below what FP32, and nearly FP64, can hold
    assert_right(outcome, work, TOLERANCE[precision])


@pytest.mark.parametrize(("precision", "block"), [("fp32", 4), ("fp64", 2)])
def test_a_long_deletion_survives_where_another_path_leads_for_long(device, shape, precision, block):
    shape = dataclasses.replace(shape, block=block)
    rng = np.random.default_rng(2)
    left, middle, right = (rng.choice(BASES, size) for size in (300, 150, 900))
    reads = make_reads([np.concatenate([left, right])], rng, base=(30, 41), indel=(45, 46))
    haplotype = np.concatenate([left, middle, right])
    work = Work(reads, Sequences.from_list([haplotype.tobytes()]), np.zeros((1, 2), np.int64))
    assert -175 < reference(work)[0] < -150  # the gap's cost: 150 bases of GCP 10 and its opening
    assert_right(skewed.run(work, device, precision, shape), work, TOLERANCE[precision])


@pytest.mark.parametrize("indel", [(45, 46), (30, 60)])
@pytest.mark.parametrize("gap", [(10, 11), (12, 13), (10, 13)])
def test_wide_lanes_keep_what_wins_late(device, shape, indel, gap):
    """Lanes as wide as they get: long gaps of either kind and tandem repeats, also where none fits the other, so that the best path stands
    still or runs along a row for hundreds of bases and lies far below others in between."""
    rates = {"fp32": {32: 1.0}, "fp64": {16: 1.0}}
    rng = np.random.default_rng(12)
    founder, reads, haplotypes = rng.choice(BASES, 900), [], []
    for size in (5, 29, 33, 150):
        cut = int(rng.integers(200, 400))
        repeat = np.tile(rng.choice(BASES, 5), 36)
        haplotypes += [founder, np.concatenate([founder[:300], repeat, founder[300:700]])]
        reads += [np.concatenate([founder[:cut], founder[cut + size :]]), np.concatenate([founder[:cut], repeat[:size], founder[cut:800]])]
        reads.append(np.concatenate([founder[:300], repeat[size:], founder[300:700]]))
    pairs = np.argwhere(np.ones((len(reads), len(haplotypes))))[rng.permutation(96)[:24]]
    made = make_reads(reads, rng, base=(10, 41), indel=indel, gap=gap)
    work = Work(made, Sequences.from_list([haplotype.tobytes() for haplotype in haplotypes]), pairs)
    outcome = skewed.run(work, device, "fp32", dataclasses.replace(shape, rates=rates, long_rates=rates))
    assert_right(outcome, work, TOLERANCE["fp32"])
    assert np.count_nonzero(outcome.unsafe) <= len(pairs) // 8


def test_long_reads_and_short_ones_share_warps(device, shape):
    """Reads of one row block and of hundreds in one launch: lanes of a warp are on several jobs at a time."""
    rng = np.random.default_rng(13)
    founder = rng.choice(BASES, 700)
    sizes = [1, 2, 3, 650, 9, 5, 400, 1, 17, 90, 2, 65]
    reads = make_reads([mutated(rng, founder[:size], 0.03) for size in sizes], rng, indel=(30, 50))
    haplotypes = Sequences.from_list([founder[:size].tobytes() for size in (650, 40, 70, 300, 12)])
    work = Work(reads, haplotypes, np.argwhere(np.ones((len(reads), len(haplotypes)))))
    for precision in ("fp32", "fp64"):
        outcome = skewed.run(work, device, precision, shape)
        assert not outcome.unsafe.any()
        assert_right(outcome, work, TOLERANCE[precision])


@pytest.mark.parametrize("columns", [3, 7, 10, 16, 30], ids=lambda columns: f"{-(-columns // 4)} lanes")
@pytest.mark.parametrize("haplotypes", [1, 3])
def test_sub_warps_of_a_warp_have_reads_of_other_lengths(device, shape, columns, haplotypes):
    """Some wait for others, the last have nothing to do, and a read has fewer row blocks than its haplotype lanes."""
    sizes = [1, 60, 2, 33, 1, 17, 64, 5, 1, 1, 48, 3, 29]
    rng = np.random.default_rng(14)
    founder = rng.choice(BASES, 70)
    reads = make_reads([mutated(rng, founder[:size], 0.02) for size in sizes], rng, base=(6, 12), indel=(20, 40))
    texts = [mutated(rng, founder[:columns], 0.05)[:columns].tobytes() for _ in range(haplotypes * len(sizes))]
    regions = Regions.from_counts([1] * len(sizes), [haplotypes] * len(sizes))
    for precision in ("fp32", "fp64"):
        work = Work(reads, Sequences.from_list(texts), regions)
        together = skewed.run(work, device, precision, shape)
        assert not together.unsafe.any()
        assert_right(together, work, TOLERANCE[precision])
        alone = [skewed.run(work.of(work.pairs_at([pair])), device, precision, shape).log10 for pair in range(0, len(work), 5)]
        assert np.concatenate(alone).tobytes() == together.log10[::5].tobytes()


def test_a_read_that_starts_again_elsewhere_is_not_lost(device, shape):
    """The best path for most rows runs off the haplotype's end; the one that wins in the end is far below it, hundreds of columns away."""
    rng = np.random.default_rng(3)
    head, tail = rng.choice(BASES, 400), rng.choice(BASES, 600)
    reads = make_reads([np.concatenate([head, tail])], rng, base=(30, 41), indel=(45, 46))
    haplotype = np.concatenate([tail, rng.choice(BASES, 200), head])
    work = Work(reads, Sequences.from_list([haplotype.tobytes()]), np.zeros((1, 2), np.int64))
    for precision in ("fp32", "fp64"):
        assert_right(skewed.run(work, device, precision, shape), work, TOLERANCE[precision])


def test_gaps_that_continue_at_high_quality_are_left_to_fp64(device, shape):
    work = case(4, 4, 3, (50, 300), (50, 200), gap=(10, 60))
    outcome = skewed.run(work, device, "fp32", shape)
    assert outcome.unsafe.any()
    assert_right(outcome, work, TOLERANCE["fp32"])
    outcome = skewed.run(work, device, "fp64", shape)
    assert not outcome.unsafe.any()
    assert_right(outcome, work, TOLERANCE["fp64"])


def test_a_short_pair_below_the_range_is_unsafe_and_the_ladder_answers(device, tmp_path, monkeypatch, shape):
    monkeypatch.setenv("HAPLOWAVE_TUNING", str(tmp_path / "tuning.json"))
    tuning.store(device, shape)
    assert tuning.settings(device) == shape
    rng = np.random.default_rng(5)
    reads = make_reads([rng.choice(BASES, 60) for _ in range(6)], rng, base=(35, 41), indel=(45, 46), gap=(30, 31))
    work = Work(reads, Sequences.from_list([rng.choice(BASES, 30).tobytes() for _ in range(3)]), np.argwhere(np.ones((6, 3))))
    assert skewed.run(work, device, "fp32").unsafe.any()
    result = log10_likelihoods(reads, work.haplotypes, device=device, kernel="skewed")
    assert result.rescued
    assert np.abs(result.log10 - reference(work)).max() < 5e-4


def test_other_letters_match_themselves_and_n_matches_all(device, shape):
    work = case(6, 8, 4, (1, 60), (1, 32), letters=b"ACGTNRYacgt")
    assert_right(skewed.run(work, device, "fp32", shape), work, TOLERANCE["fp32"])


def test_results_are_the_same_bytes_in_any_batch(device, shape):
    work = case(7, 40, 6, (1, 100), (1, 80))
    whole = skewed.run(work, device, "fp32", shape)
    chunked = skewed.run(work, device, "fp32", dataclasses.replace(shape, chunk_bytes=2000))
    assert whole.log10.tobytes() == chunked.log10.tobytes()
    order = np.random.default_rng(8).permutation(len(work.pairs))[:50]
    some = skewed.run(Work(work.reads, work.haplotypes, work.pairs[order]), device, "fp32", shape)
    assert some.log10.tobytes() == whole.log10[order].tobytes()


def test_pairs_of_one_strip_are_the_same_bytes_beside_those_whose_columns_a_lane_fill_the_device(device, shape):
    """Those of several are right with any columns a lane, but may be rounded otherwise."""
    rates = {4: 1.0, 3: 0.98}
    shape = dataclasses.replace(shape, long_rates={"fp32": rates, "fp64": rates})
    work = case(7, 12, 8, (60, 200), (5, 120), indel=(40, 50))
    narrow = work.haplotypes.lengths[work.pairs[:, 1]] <= shape.warp * max(rates)
    assert 0 < narrow.sum() < len(narrow)
    whole = skewed.run(work, device, "fp32", shape)
    for count in (1, 5, 20):
        some = skewed.run(Work(work.reads, work.haplotypes, work.pairs[:count]), device, "fp32", shape)
        assert (some.log10 == whole.log10[:count])[narrow[:count]].all()
        assert np.abs(some.log10 - whole.log10[:count]).max() < 1e-6
    alone = skewed.run(Work(work.reads, work.haplotypes, work.pairs[narrow]), device, "fp32", shape)
    assert alone.log10.tobytes() == whole.log10[narrow].tobytes()


def test_a_chunk_that_does_not_fit_is_halved(device, shape, monkeypatch):
    work = case(9, 20, 4, (1, 60), (1, 32))
    expected = skewed.run(work, device, "fp32", shape).log10
    launch, sizes = Runner.launch, []

    def stingy(self, packed):
        sizes.append(packed.pairs)
        if packed.pairs > 30:
            packed.chunk.abandon()
            raise cl.MemoryError("test", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return launch(self, packed)

    monkeypatch.setattr(Runner, "launch", stingy)
    assert skewed.run(work, device, "fp32", shape).log10.tobytes() == expected.tobytes()
    assert max(sizes) > 30 >= min(sizes)


@pytest.mark.parametrize("chunk_bytes", [2000, 1 << 20], ids=["many chunks", "one chunk"])
def test_a_chunk_that_fails_while_it_is_computed_is_halved(device, shape, monkeypatch, chunk_bytes):
    """As with drivers that take memory when a kernel runs."""
    work = case(9, 20, 4, (1, 60), (1, 32))
    expected = skewed.run(work, device, "fp32", shape)
    read, sizes = Chunk.read, []

    def stingy(self, *wanted):
        sizes.append(len(wanted[-1][1]))
        if sizes[-1] > 7:
            raise cl.MemoryError("test", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return read(self, *wanted)

    monkeypatch.setattr(Chunk, "read", stingy)
    outcome = skewed.run(work, device, "fp32", dataclasses.replace(shape, chunk_bytes=chunk_bytes))
    assert outcome.log10.tobytes() == expected.log10.tobytes()
    assert outcome.cells_computed == expected.cells_computed
    assert max(sizes) > 7 >= min(sizes)


def test_a_pair_is_not_touched_by_the_one_before(device, shape):
    """Insertion qualities that jump make J as large as it can be; whatever that does, the next pair starts afresh."""
    work = case(11, 30, 8, (1, 63), (1, 32), indel=(6, 94))
    together = skewed.run(work, device, "fp32", shape)
    assert_right(together, work, TOLERANCE["fp32"])
    one_by_one = [
        skewed.run(Work(work.reads, work.haplotypes, work.pairs[[index]]), device, "fp32", shape) for index in range(0, len(work.pairs), 9)
    ]
    assert [outcome.log10.tobytes() for outcome in one_by_one] == [value.tobytes() for value in together.log10[::9]]
    assert not skewed.run(work, device, "fp64", shape).unsafe.any()


def test_tuning_measures_what_it_stores(device, shape, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning_measure, "_COLUMNS", (4,))
    monkeypatch.setattr(tuning_measure, "_BLOCKS", (2,))
    monkeypatch.setattr(tuning, "built_in", lambda device: shape)
    monkeypatch.setenv("HAPLOWAVE_TUNING", str(tmp_path / "folder" / "tuning.json"))
    lines = []
    measured = tuning_measure.measure(device, 1e4, lines.append)
    tuning.store(device, measured)
    assert tuning.settings(device) == measured
    assert len(lines) == 4
    assert all(rate > 0 for rates in (measured.rates, measured.long_rates) for kept in rates.values() for rate in kept.values())
    later = dataclasses.replace(shape, warps=shape.warps + 1, chunk_bytes=12345)
    monkeypatch.setattr(tuning, "built_in", lambda device: later)
    assert tuning.settings(device) == dataclasses.replace(measured, warps=later.warps, chunk_bytes=later.chunk_bytes)
    monkeypatch.setattr(tuning, "built_in", lambda device: shape)
    (tmp_path / "folder" / "tuning.json").write_text("[")
    tuning._content.cache_clear()
    assert tuning.settings(device) == shape


def test_a_job_follows_the_strip_to_its_left(shape):
    columns, blocks = np.array([10, 70, 33, 200, 32]), np.array([3, 9, 5, 7, 2])
    pairs = np.stack([np.arange(5), np.arange(5)], axis=1).astype(np.int32)
    jobs = long_jobs(pairs, 4 * blocks, columns, 4, 8, 4)
    read, strip, left = jobs.jobs[:, 0], jobs.jobs[:, 2], jobs.jobs[:, 3]
    assert len(jobs.jobs) == (-(-columns // 32)).sum()
    assert ((left < np.arange(len(left))) & ((strip == 0) == (left < 0))).all()
    assert (read[left[left >= 0]] == read[left >= 0]).all()
    assert (strip[left[left >= 0]] == strip[left >= 0] - 1).all()
    assert sorted(read[jobs.results]) == list(range(5))
    assert (read[jobs.results] == jobs.order).all()


@pytest.mark.parametrize(("count", "dtype"), [(5000, np.int32), (77, np.float64)])
def test_a_buffer_of_ones_has_every_bit_set(device, count, dtype):
    chunk = Chunk(Queues(device), slice(0, 1))
    chunk.begin()
    read = np.zeros(count, dtype)
    chunk.read((chunk.ones(count, dtype), read))
    assert (read.view(np.int32) == -1).all()
    chunk.close()


RATES = {32: 4.0, 24: 3.8, 16: 3.4}


@pytest.mark.parametrize(
    ("pairs", "length", "columns"),
    [
        (9536, 2048, 32),  # many rounds: the fastest
        (8, 100_000, 24),  # 784 strips of 32 columns a lane would leave every other scheduler with one warp instead of two
        (1, 100_000, 16),  # as many strips as possible
    ],
)
def test_few_long_pairs_take_the_columns_that_fill_the_device(pairs, length, columns):
    lengths = np.full(pairs, length)
    default = np.full(pairs, 32, np.uint8)
    assert (filling_columns(lengths // 2, lengths, default, RATES, 32, 2112) == columns).all()


def test_columns_stay_as_they_are_where_others_gain_little():
    lengths = np.array([2000, 3000, 70_000] * 2000)
    default = np.array([32, 24, 32] * 2000, np.uint8)
    assert (filling_columns(lengths // 2, lengths, default, RATES, 32, 2112) == default).all()


def test_shapes_cover_every_length(shape):
    region = Regions.from_counts([1], [1])
    for length in range(1, 200):
        chosen = shapes(np.array([10]), np.array([length]), tuning.Settings(), "fp32")
        (launch,) = short_units(region, None, chosen).launches
        assert launch.groups[0, 0] * launch.columns >= length > (launch.groups[0, 0] - 1) * launch.columns
    assert not shapes(np.array([10]), np.array([5000]), shape, "fp32").short[0]
    chosen = shapes(np.array([65]), np.array([5]), shape, "fp32")
    assert chosen.long_reads[0]
    assert not short_units(region, None, chosen).launches


def test_borders_are_told_apart_where_strips_are_many_and_rows_are_few(device, shape):
    """Reads of less than a look, of less than a warp's lanes and of more than a strip waits for, against one to twenty strips of 32
    columns: buffers of borders that the same launch, and launches before it, have left full of other numbers."""
    rng = np.random.default_rng(14)
    founder = rng.choice(BASES, 640)
    sizes = [66, 1, 7, 15, 16, 17, 33, 90, 3, 230]
    reads = make_reads([mutated(rng, founder[size : 2 * size], 0.05) for size in sizes], rng, indel=(30, 50))
    haplotypes = Sequences.from_list([founder[:size].tobytes() for size in (640, 96, 33, 65, 320, 577)])
    work = Work(reads, haplotypes, np.argwhere(np.ones((len(reads), len(haplotypes)))))
    reverse = Work(reads, haplotypes, work.pairs[::-1].copy())
    for precision in ("fp32", "fp64"):
        for _ in range(3):
            for some in (work, reverse):
                outcome = skewed.run(some, device, precision, dataclasses.replace(shape, long_rows=0))
                assert not outcome.unsafe.any()
                assert_right(outcome, some, TOLERANCE[precision])


def test_a_pair_of_several_kilobases(device, shape):
    rng = np.random.default_rng(10)
    haplotype = rng.choice(BASES, 4000)
    reads = make_reads([mutated(rng, haplotype, 0.05)], rng, base=(10, 30))
    work = Work(reads, Sequences.from_list([haplotype.tobytes()]), np.zeros((1, 2), np.int64))
    assert_right(skewed.run(work, device, "fp32", tuning.built_in(device)), work, TOLERANCE["fp32"])
