"""Properties of engine `lanes` and of the ladder of precisions, against the oracle."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devices import DEVICE
from haplowave.errors import UserError
from haplowave.opencl import Device, select
from haplowave.pairhmm import ENGINES, log10_likelihoods, renormalised
from haplowave.pairhmm.batching import in_batches
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import regular_reads, row_parameters
from haplowave.pairhmm.prefixes import plan, restarts
from haplowave.sequences import Reads, Sequences

BASES = np.frombuffer(b"ACGT", np.uint8)
SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def make_reads(bases: list[np.ndarray], quals: list[list[np.ndarray]]) -> Reads:
    return Reads(Sequences.from_list(read.tobytes() for read in bases), *(np.concatenate(column) for column in zip(*quals, strict=True)))


def random_case(seed: int, reads: int, haplotypes: int, longest: int, alike: bool, quality: tuple[int, int], n_rate: float = 0.01):
    """Reads and haplotypes with lengths 1..longest; `alike` reads are pieces of the haplotypes with errors."""
    rng = np.random.default_rng(seed)
    founder = BASES[rng.integers(0, 4, longest)]
    made = []
    for _ in range(haplotypes):
        haplotype = founder[: rng.integers(max(1, longest // 2), longest + 1)].copy()
        where = rng.random(len(haplotype)) < 0.01
        haplotype[where] = BASES[rng.integers(0, 4, where.sum())]
        made.append(haplotype if alike else BASES[rng.integers(0, 4, len(haplotype))])
    pieces, quals = [], []
    for _ in range(reads):
        source = made[rng.integers(haplotypes)]
        begin = rng.integers(len(source))
        size = rng.integers(1, longest + 1)
        piece = source[begin : begin + size].copy() if alike else BASES[rng.integers(0, 4, size)]
        where = rng.random(len(piece)) < 0.02
        piece[where] = BASES[rng.integers(0, 4, where.sum())]
        piece[rng.random(len(piece)) < n_rate] = ord("N")
        pieces.append(piece)
        quals.append([rng.integers(*quality, len(piece)).astype(np.uint8) for _ in range(4)])
    for haplotype in made:
        haplotype[rng.random(len(haplotype)) < n_rate] = ord("N")
    return make_reads(pieces, quals), Sequences.from_list(haplotype.tobytes() for haplotype in made)


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    finite = np.isfinite(expected)
    return bool((np.abs(found[finite] - expected[finite]) <= tolerance).all() and np.isneginf(found[~finite]).all())


@pytest.mark.parametrize("reads", [1, 2, 40])
def test_devices_of_one_model_share_a_call(reads):
    """Three contexts of one device stand for three devices: the same bits, the same pairs rescued, whatever the shares."""
    device = select(DEVICE)
    case = random_case(11, reads, 5, 260, True, (2, 60))
    alone = log10_likelihoods(*case, device=device)
    shared = log10_likelihoods(*case, device=device, others=(Device(device.device), Device(device.device)))
    assert shared.log10.tobytes() == alone.log10.tobytes()
    assert shared.how.tolist() == alone.how.tolist()
    assert (shared.rescued, shared.cells) == (alone.rescued, alone.cells)


@SETTINGS
@given(
    seed=st.integers(0, 2**32 - 1),
    reads=st.integers(1, 40),
    haplotypes=st.integers(1, 6),
    longest=st.sampled_from([1, 2, 7, 8, 9, 40, 151, 304]),
    alike=st.booleans(),
    quality=st.sampled_from([(0, 94), (0, 3), (0, 1), (1, 10), (2, 6), (6, 42), (90, 94), (10, 11), (93, 94)]),
    precision=st.sampled_from(["fp32", "auto", "fp64"]),
    convention=st.sampled_from(["gatk", "raw"]),
)
def test_lanes_agree_with_the_oracle(seed, reads, haplotypes, longest, alike, quality, precision, convention):
    case = random_case(seed, reads, haplotypes, longest, alike, quality)
    expected = log10_likelihoods(*case, kernel="reference", convention=convention).log10
    result = log10_likelihoods(*case, device=DEVICE, kernel="lanes", precision=precision, convention=convention)
    assert close(result.log10, expected, 5e-4)
    assert close(result.log10[result.how == 1], expected[result.how == 1], 1e-8)


@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    alike=st.booleans(),
    quality=st.sampled_from([(0, 94), (6, 42), (20, 94)]),
    precision=st.sampled_from(["fp32", "auto", "fp64"]),
)
def test_long_pairs_agree_with_the_oracle(seed, alike, quality, precision):
    case = random_case(seed, 2, 2, 2000, alike, quality)
    expected = log10_likelihoods(*case, kernel="reference").log10
    result = log10_likelihoods(*case, device=DEVICE, kernel="lanes", precision=precision)
    assert close(result.log10, expected, 5e-4)


@pytest.mark.parametrize(
    "quals",
    [(0, 45, 45, 10), (30, 0, 0, 10), (30, 3, 3, 0), (30, 45, 45, 0), (30, 45, 45, 93), (0, 0, 0, 0), (2, 1, 7, 1), (127, 127, 127, 127)],
)
@pytest.mark.parametrize("length", [1, 2, 90])
def test_extreme_qualities(quals, length):
    rng = np.random.default_rng(length)
    same = BASES[rng.integers(0, 4, length)]
    other = BASES[rng.integers(0, 4, length)]
    reads = make_reads([same, other], [[np.full(length, q, np.uint8) for q in quals]] * 2)
    haplotypes = Sequences.from_list([same.tobytes(), b"A", other.tobytes() + b"ACGT"])
    expected = log10_likelihoods(reads, haplotypes, kernel="reference").log10
    for precision in ("fp32", "auto", "fp64"):
        assert close(log10_likelihoods(reads, haplotypes, device=DEVICE, kernel="lanes", precision=precision).log10, expected, 5e-4)


def test_quality_bytes_have_seven_bits():
    bases = np.frombuffer(b"ACGTACGTAC", np.uint8)
    low = make_reads([bases], [[np.full(10, q, np.uint8) for q in (30, 45, 45, 10)]])
    high = make_reads([bases], [[np.full(10, q + 128, np.uint8) for q in (30, 45, 45, 10)]])
    haplotypes = Sequences.from_list([b"ACGTTCGTAC"])
    for kernel in ("reference", "lanes"):
        first, second = (log10_likelihoods(reads, haplotypes, device=DEVICE, kernel=kernel).log10 for reads in (low, high))
        assert first == second


def test_letters_match_by_equality_and_n_matches_all():
    quals = [np.full(6, q, np.uint8) for q in (30, 45, 45, 10)]
    reads = make_reads([np.frombuffer(text, np.uint8) for text in (b"ACRTAC", b"ACNTAC", b"acgtac", b"ACZTAC")], [quals] * 4)
    haplotypes = Sequences.from_list([b"TACRTACC", b"TACGTACC", b"TACNTACC", b"tacgtacc", b"NNNNNNNN"])
    expected = log10_likelihoods(reads, haplotypes, kernel="reference").log10
    assert close(log10_likelihoods(reads, haplotypes, device=DEVICE, kernel="lanes", precision="fp64").log10, expected, 1e-9)
    table = expected.reshape(4, 5)
    assert table[0, 0] > table[0, 1] + 2  # R meets R, not G
    assert table[1, 1] == pytest.approx(table[1, 2], abs=1e-4)  # N meets anything, from either side
    assert table[2, 1] < table[2, 3] - 10  # lower case is not upper case


def test_bits_do_not_depend_on_company():
    """The same pair alone, in a full group, in a mixed group, with and without sharing: the same bits."""
    reads, haplotypes = random_case(5, 50, 5, 151, True, (6, 42))
    pairs = np.indices((50, 5)).reshape(2, -1).T
    for precision in ("fp32", "fp64", "auto"):
        whole = log10_likelihoods(reads, haplotypes, pairs, device=DEVICE, kernel="lanes", precision=precision).log10
        for share in ({"share_prefixes": False}, {"share_duplicates": False}):
            assert (
                log10_likelihoods(reads, haplotypes, pairs, device=DEVICE, kernel="lanes", precision=precision, **share).log10 == whole
            ).all()
        rng = np.random.default_rng(0)
        for size in (1, 7, 33, 120):
            chosen = rng.choice(len(pairs), size, replace=False)
            part = log10_likelihoods(reads, haplotypes, pairs[chosen], device=DEVICE, kernel="lanes", precision=precision).log10
            assert (part == whole[chosen]).all()


def test_repeated_pairs_reads_and_haplotypes():
    reads, haplotypes = random_case(6, 8, 3, 60, True, (6, 42))
    twice = Reads(
        Sequences(np.tile(reads.bases.data, 2), np.concatenate([reads.bases.offsets, reads.bases.offsets[1:] + reads.bases.offsets[-1]])),
        *(np.tile(quals, 2) for quals in (reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals)),
    )
    alone = log10_likelihoods(reads, haplotypes, device=DEVICE)
    shared = log10_likelihoods(twice, haplotypes, device=DEVICE)
    separate = log10_likelihoods(twice, haplotypes, device=DEVICE, share_duplicates=False)
    assert (shared.log10 == np.tile(alone.log10, 2)).all()
    assert (separate.log10 == shared.log10).all()
    assert shared.cells == 2 * alone.cells
    if select(DEVICE).kind == "cpu":  # a GPU computes so few cells faster than the host finds what is equal
        assert shared.cells_computed == alone.cells_computed < separate.cells_computed
    again = log10_likelihoods(reads, haplotypes, [[0, 0], [1, 2], [0, 0]], device=DEVICE, share_duplicates=True)
    assert again.log10[0] == again.log10[2] == alone.log10[0]


def test_rescue_follows_gatk_and_is_counted():
    length = 100
    bases = [np.full(length, ord("A"), np.uint8), np.full(length, ord("C"), np.uint8)]
    reads = make_reads(bases, [[np.full(length, q, np.uint8) for q in (40, 45, 45, 10)]] * 2)
    haplotypes = Sequences.from_list([b"A" * 120])
    expected = log10_likelihoods(reads, haplotypes, kernel="reference").log10
    result = log10_likelihoods(reads, haplotypes, device=DEVICE, kernel="lanes")
    assert expected[1] < -64.2 < expected[0]
    assert result.how.tolist() == [0, 1]
    assert result.rescued == 1
    assert close(result.log10, expected, 5e-4)
    assert log10_likelihoods(reads, haplotypes, device=DEVICE, precision="fp64").rescued == 0


def test_hopeless_long_read_is_right():
    """100 kb that match nothing: far below the range of FP64."""
    length = 100_000
    quals = [np.full(length, q, np.uint8) for q in (93, 93, 93, 93)]
    reads = make_reads([np.full(length, ord("C"), np.uint8)], [quals])
    haplotypes = Sequences.from_list([b"A" * 20])
    expected = log10_likelihoods(reads, haplotypes, kernel="reference").log10[0]
    assert expected < -900_000
    found = log10_likelihoods(reads, haplotypes, device=DEVICE, kernel="lanes").log10[0]
    assert found == pytest.approx(expected, rel=1e-9)


def test_hundred_kb_pair():
    """A noisy read of 100 kb against 60 bases of its haplotype, and its first 150 bases against all 100 kb."""
    rng = np.random.default_rng(3)
    haplotype = BASES[rng.integers(0, 4, 100_000)]
    read = haplotype.copy()
    where = rng.random(len(read)) < 0.05
    read[where] = BASES[rng.integers(0, 4, where.sum())]
    reads = make_reads([read, read[:150]], [[np.full(len(piece), q, np.uint8) for q in (20, 35, 35, 10)] for piece in (read, read[:150])])
    haplotypes = Sequences.from_list([haplotype[:60].tobytes(), haplotype.tobytes()])
    pairs = [[0, 0], [1, 1]]
    expected = log10_likelihoods(reads, haplotypes, pairs, kernel="reference").log10
    for precision in ("auto", "fp64"):
        found = log10_likelihoods(reads, haplotypes, pairs, device=DEVICE, kernel="lanes", precision=precision).log10
        assert np.abs(found - expected).max() < 5e-4


def test_empty_inputs():
    reads, haplotypes = random_case(1, 2, 2, 30, True, (6, 42))
    none = Reads(Sequences.from_list([]), *(np.zeros(0, np.uint8) for _ in range(4)))
    assert len(log10_likelihoods(none, haplotypes, device=DEVICE).log10) == 0
    assert len(log10_likelihoods(reads, Sequences.from_list([]), device=DEVICE).log10) == 0
    assert len(log10_likelihoods(reads, haplotypes, np.zeros((0, 2), int), device=DEVICE).log10) == 0
    with pytest.raises(UserError, match=r"haplotype 1 .*empty"):
        log10_likelihoods(reads, Sequences.from_list([b"A", b""]), device=DEVICE)
    with pytest.raises(UserError, match=r"haplotype 1 .*byte 45"):
        log10_likelihoods(reads, Sequences.from_list([b"A", b"A-C"]), device=DEVICE)
    with pytest.raises(ValueError, match="outside"):
        log10_likelihoods(reads, haplotypes, [[0, 2]], device=DEVICE)
    with pytest.raises(ValueError, match="unknown"):
        log10_likelihoods(reads, haplotypes, kernel="fastest", device=DEVICE)


def test_cheap_test_of_regular_reads_is_no_looser():
    reads, _ = random_case(9, 400, 1, 30, True, (0, 94))
    tame, _ = random_case(10, 400, 1, 30, True, (5, 60))
    for case in (reads, tame):
        assert (regular_reads(case) <= row_parameters(case).regular).all()
        assert (regular_reads(case) == row_parameters(case).regular).all()


def test_engines_have_the_documented_names():
    assert set(ENGINES) == {"reference", "lanes", "skewed", "trees", "rowwise"}


def test_bits_do_not_depend_on_the_width_of_vectors(monkeypatch):
    case = random_case(11, 37, 4, 151, True, (6, 42))
    wide, narrow = (
        [log10_likelihoods(*case, device=DEVICE, kernel="lanes", precision=precision).log10 for precision in ("fp32", "fp64")]
        for _ in _widths(monkeypatch)
    )
    for left, right in zip(wide, narrow, strict=True):
        assert (left == right).all()


def _widths(monkeypatch):
    for width in (16, 8):
        monkeypatch.setattr(Device, "vector_width", width)
        yield width


def test_batches_that_do_not_fit_are_halved():
    case = random_case(12, 30, 4, 60, True, (6, 42))
    work = Work(*case, np.indices((30, 4)).reshape(2, -1).T)
    sizes = []

    def compute(part: Work) -> Outcome:
        sizes.append(len(part.pairs))
        if len(part.pairs) > 20:
            raise MemoryError
        return ENGINES["lanes"](part, select(DEVICE), "fp64")

    whole = ENGINES["lanes"](work, select(DEVICE), "fp64")
    halved = in_batches(work, select(DEVICE), compute)
    assert (halved.log10 == whole.log10).all()
    assert sizes[0] == 120
    assert max(size for size in sizes if size <= 20) >= 15
    small = in_batches(work, select(DEVICE), lambda part: ENGINES["lanes"](part, select(DEVICE), "fp64"), bytes_a_pair=1 << 26)
    assert (small.log10 == whole.log10).all()
    with pytest.raises(MemoryError):
        in_batches(work, select(DEVICE), _never_fits)


def _never_fits(_: Work) -> Outcome:
    raise MemoryError


@SETTINGS
@given(
    first=st.lists(st.binary(min_size=0, max_size=40).map(lambda text: bytes(65 + byte % 2 for byte in text)), min_size=1, max_size=9),
    strip=st.sampled_from([1, 4, 8]),
    most=st.sampled_from([1, 2, 16]),
)
def test_prefix_plan_restarts_from_what_was_kept(first, strip, most):
    """Play the plan: every border is kept by the haplotype before with the same columns, and still there."""
    content = sorted(text + b"A" for text in first)
    strips = restarts(Sequences.from_list(content), np.arange(len(content)), strip)
    sweep = plan((0, *strips[1:].tolist()), most)
    kept: dict[int, bytes] = {}
    for text, start, border, saves in zip(content, sweep.first_strip, sweep.border, sweep.saves, strict=True):
        assert (start == 0) == (border == 0)
        if start:
            assert kept[border] == text[: start * strip]
        for at, number in saves:
            assert 1 <= number <= most
            assert at >= start
            kept[number] = text[: (at + 1) * strip]
            assert len(kept[number]) == (at + 1) * strip


def test_long_read_spread_over_lanes_and_bands(monkeypatch):
    """Bands of 8 or 16 lanes x 64 rows, one pair a task, and V pairs a task: the same bits, and the oracle's value."""
    rng = np.random.default_rng(21)
    haplotype = BASES[rng.integers(0, 4, 1500)]
    read = np.resize(haplotype, 4500)
    where = rng.random(len(read)) < 0.05
    read[where] = BASES[rng.integers(0, 4, where.sum())]
    pieces = [read, read[:4200]]
    reads = make_reads(pieces, [[np.full(len(piece), q, np.uint8) for q in (20, 35, 35, 10)] for piece in pieces])
    haplotypes = Sequences.from_list([haplotype.tobytes(), haplotype[:1400].tobytes()])
    pairs = np.array([[0, 0], [1, 1]])
    spread = log10_likelihoods(reads, haplotypes, pairs, device=DEVICE, kernel="lanes").log10
    monkeypatch.setattr(renormalised, "_MOST_ROWS", 64)
    banded = log10_likelihoods(reads, haplotypes, pairs, device=DEVICE, kernel="lanes").log10
    together = renormalised.run(Work(reads, haplotypes, np.repeat(pairs, 8, axis=0)), select(DEVICE)).log10
    expected = log10_likelihoods(reads, haplotypes, pairs, kernel="reference").log10
    assert (spread == banded).all()
    assert (np.unique(together) == np.unique(spread)).all()
    assert np.abs(spread - expected).max() < 1e-8
