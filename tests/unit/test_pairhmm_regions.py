"""Pairs as regions: the same pairs in the same order, whatever is done with them; and the calls that take them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairhmm_cases import QUICK, case, repeated, small_shape

from haplowave.errors import UserError
from haplowave.pairhmm import Regions, log10_likelihoods, skewed, tuning
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.skewed_pack import halves, pieces
from haplowave.sequences import Reads, Sequences

COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=8)


def made(counts: list[tuple[int, int]]) -> tuple[Regions, np.ndarray]:
    """Regions and their pairs, the latter made in the plainest way."""
    pairs, first = [], np.zeros(2, int)
    for reads, haplotypes in counts:
        pairs += [(first[0] + read, first[1] + haplotype) for read in range(reads) for haplotype in range(haplotypes)]
        first += (reads, haplotypes)
    return Regions.from_counts([reads for reads, _ in counts], [haplotypes for _, haplotypes in counts]), np.array(pairs, int).reshape(
        -1, 2
    )


@QUICK
@given(counts=COUNTS, cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_pairs_of_regions(counts, cuts):
    regions, pairs = made(counts)
    assert len(regions) == len(pairs)
    assert (regions.pairs() == pairs).all()
    begin, end = sorted(int(cut * len(pairs)) for cut in cuts)
    assert (regions.part(begin, end).pairs() == pairs[begin:end]).all()
    assert (regions.pairs(np.arange(begin, end)) == pairs[begin:end]).all()


@QUICK
@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_any_list_of_pairs_is_regions(pairs):
    pairs = np.array(pairs, int).reshape(-1, 2)
    assert (Regions.from_pairs(pairs).pairs() == pairs).all()


def test_a_list_of_region_after_region_is_as_few_regions():
    regions, pairs = made([(3, 2), (1, 4), (5, 3)])
    assert (Regions.from_pairs(pairs).spans == regions.spans).all()


@QUICK
@given(counts=COUNTS.filter(lambda counts: any(reads * haplotypes for reads, haplotypes in counts)), size=st.integers(1, 4000))
def test_pieces_are_all_of_the_pairs_once(counts, size):
    regions, _ = made(counts)
    reads, haplotypes = (Sequences.from_list([b"ACGTACGT"] * int(regions.spans[:, at : at + 2].sum(axis=1).max())) for at in (0, 2))
    cut = pieces(Work(Reads(reads, *[reads.data] * 4), haplotypes, regions), tuning.Settings(chunk_bytes=size))
    assert [piece.start for piece in cut] == [0, *(piece.stop for piece in cut[:-1])]
    assert cut[-1].stop == len(regions)
    assert all(piece.stop > piece.start for piece in cut)
    first, second = halves(slice(3, 8))
    assert (first.start, first.stop, second.stop) == (3, second.start, 8)


@pytest.fixture
def small(device, tmp_path, monkeypatch):
    monkeypatch.setenv("HAPLOWAVE_TUNING", str(tmp_path / "tuning.json"))
    tuning.store(device, small_shape(device))


@pytest.mark.parametrize("kernel", ["skewed", "trees", "lanes", "rowwise", "reference"])
def test_regions_and_the_list_of_their_pairs_give_the_same_bits(device, small, kernel):
    if kernel == "lanes" and device.kind != "cpu":
        pytest.skip("an engine for CPUs")
    work = case(1, 12, 9, (5, 70), (5, 40))
    regions = Regions.from_counts([4, 3, 5], [2, 6, 1])
    results = [log10_likelihoods(work.reads, work.haplotypes, pairs, device=device, kernel=kernel) for pairs in (regions, regions.pairs())]
    assert results[0].log10.tobytes() == results[1].log10.tobytes()
    assert results[0].how.tobytes() == results[1].how.tobytes()
    assert results[0].cells == results[1].cells


def test_regions_outside_are_refused():
    work = case(1, 3, 3, (5, 9), (5, 9))
    for counts in (([4], [2]), ([3], [4])):
        with pytest.raises(ValueError, match="outside of 3 reads and 3 haplotypes"):
            log10_likelihoods(work.reads, work.haplotypes, Regions.from_counts(*counts))


@pytest.mark.parametrize("regions", [1, 40])
def test_equal_reads_of_a_region_are_computed_once(device, regions):
    work = case(2, 2 * regions, 3, (20, 90), (20, 90))  # some reads and haplotypes are long in this shape
    reads = repeated(work, 2)
    chosen = Regions(np.array([[4 * region, 4, 0, 3] for region in range(regions)]))
    shape = small_shape(device)
    alone = skewed.run(Work(reads, work.haplotypes, chosen), device, "fp32", shape)
    shared = skewed.run(Work(reads, work.haplotypes, chosen, share_duplicates=True), device, "fp32", shape)
    assert shared.log10.tobytes() == alone.log10.tobytes()
    assert shared.unsafe.tobytes() == alone.unsafe.tobytes()
    assert 2 * shared.cells_computed == alone.cells_computed


def test_reads_that_differ_in_one_quality_are_not_equal(device):
    work = case(3, 1, 3, (60, 60), (60, 60), letters=b"ACGT")
    reads = repeated(work, 3)
    length = len(work.reads.bases.data)
    for index, name in enumerate(("base_quals", "insertion_quals")):
        getattr(reads, name)[(index + 1) * length + 7] += 1  # at no place where reads are compared first
    outcome = skewed.run(
        Work(reads, work.haplotypes, Regions.from_counts([3], [3]), share_duplicates=True), device, "fp32", small_shape(device)
    )
    assert len(np.unique(outcome.log10)) == 9
    assert outcome.cells_computed == 3 * length * len(work.haplotypes.data)


def test_a_read_is_not_shared_with_one_that_is_in_another_region_only(device):
    work = case(4, 2, 4, (30, 40), (30, 40))
    reads = repeated(work, 2)  # 0 = 1, 2 = 3
    regions = Regions(np.array([[0, 2, 0, 2], [1, 3, 2, 2], [3, 1, 0, 4]]))
    shape = small_shape(device)
    expected = skewed.run(Work(reads, work.haplotypes, regions), device, "fp32", shape)
    shared = skewed.run(Work(reads, work.haplotypes, regions, share_duplicates=True), device, "fp32", shape)
    assert shared.log10.tobytes() == expected.log10.tobytes()
    assert 0 < shared.cells_computed < expected.cells_computed


def test_irregular_reads_and_wrong_bytes_are_found_by_the_device(device, small):
    work = case(5, 6, 2, (20, 30), (20, 30))
    quals = work.reads.base_quals.copy()
    quals[work.reads.bases.offsets[2]] = 0
    reads = Reads(work.reads.bases, quals, work.reads.insertion_quals, work.reads.deletion_quals, work.reads.gap_quals)
    results = [log10_likelihoods(reads, work.haplotypes, device=device, kernel=kernel) for kernel in ("skewed", "reference")]
    assert np.abs(results[0].log10 - results[1].log10).max() < 5e-4
    assert results[0].rescued == 2
    assert results[0].how.tolist() == [int(read == 2) for read in range(6) for _ in range(2)]
    for at, what in ((1, "read 0"), (int(work.reads.bases.offsets[4]), "read 4")):
        data = work.reads.bases.data.copy()
        data[at] = ord("-")
        wrong = Reads(Sequences(data, work.reads.bases.offsets), quals, quals, quals, work.reads.gap_quals)
        with pytest.raises(UserError, match=rf"{what} .*: byte 45 is no letter"):
            log10_likelihoods(wrong, work.haplotypes, device=device, kernel="skewed")
    data = work.haplotypes.data.copy()
    data[-1] = ord("*")
    with pytest.raises(UserError, match=r"haplotype 1 .*: byte 42 is no letter"):
        log10_likelihoods(work.reads, Sequences(data, work.haplotypes.offsets), device=device, kernel="skewed")


@pytest.mark.parametrize("others", [b"R", bytes(range(65, 91))], ids=["one letter more", "more letters than the kernel takes"])
def test_a_wrong_byte_beside_unusual_letters_is_no_letter_either(device, small, others):
    bases = Sequences.from_list([b"ACGT" + others + b"1ACG"])
    quals = [np.full(len(bases.data), quality, np.uint8) for quality in (30, 40, 40, 10)]
    with pytest.raises(UserError, match=r"read 0 .*: byte 49 is no letter"):
        log10_likelihoods(Reads(bases, *quals), Sequences.from_list([b"ACGTACGT"]), device=device, kernel="skewed")


@pytest.mark.parametrize("change", [lambda quals: quals[:-1], lambda quals: quals.astype(np.int64)], ids=["one too few", "wide"])
def test_qualities_that_do_not_fit_the_bases(device, change):
    work = case(2, 3, 1, (20, 30), (20, 30))
    reads = Reads(
        work.reads.bases, work.reads.base_quals, work.reads.insertion_quals, work.reads.deletion_quals, change(work.reads.gap_quals)
    )
    with pytest.raises(ValueError, match="have to be uint8"):
        log10_likelihoods(reads, work.haplotypes, device=device)


def test_devices_share_a_call(device, small):
    work = case(6, 12, 9, (5, 70), (5, 40))
    regions = Regions.from_counts([4, 3, 5], [2, 6, 1])
    one = log10_likelihoods(work.reads, work.haplotypes, regions, device=device, kernel="skewed")
    three = log10_likelihoods(work.reads, work.haplotypes, regions, device=device, others=(device, device), kernel="skewed")
    assert three.log10.tobytes() == one.log10.tobytes()
    assert (three.rescued, three.cells, three.cells_computed) == (one.rescued, one.cells, one.cells_computed)
