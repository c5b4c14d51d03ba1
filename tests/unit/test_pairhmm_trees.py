"""Engine `trees`: haplotypes that begin alike, and that nothing about them changes a bit of a result."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairhmm_cases import BASES, QUICK, TOLERANCE, assert_right, make_reads, mutated

from haplowave.pairhmm import trees
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.model import regular_reads, take
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.trie_order import in_order
from haplowave.pairhmm.trie_pack import pack
from haplowave.pairhmm.trie_plan import WHOLE, plan
from haplowave.sequences import Sequences

WARP = 8


def varied(rng: np.random.Generator, haplotype: np.ndarray) -> np.ndarray:
    """The same, one with substitutions and gaps, a beginning of it, or it and more; at most 32 bases."""
    kind = rng.integers(4)
    if kind == 1:
        return mutated(rng, haplotype, 0.1, b"ACGTN")[:32]
    if kind == 2:
        return haplotype[: rng.integers(1, len(haplotype) + 1)]
    return haplotype if kind == 0 else np.concatenate([haplotype, rng.choice(BASES, 32 - len(haplotype))])


def related(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Haplotypes of one region, 1 to 32 bases."""
    made = [rng.choice(BASES, rng.integers(1, 33))]
    while len(made) < count:
        made.append(varied(rng, made[rng.integers(len(made))]))
    return made


def regions(seed: int, count: int) -> Work:
    """Regions of related haplotypes, 1 to 9 in each, with reads from them."""
    rng = np.random.default_rng(seed)
    haplotypes, bases, sizes = [], [], []
    for _ in range(count):
        family = related(rng, int(rng.integers(1, 10)))
        reads = [mutated(rng, family[rng.integers(len(family))], 0.1, b"ACGTN") for _ in range(rng.integers(1, 9))]
        haplotypes += family
        bases += reads
        sizes.append((len(reads), len(family)))
    reads = make_reads(bases, rng)
    assert regular_reads(reads).all()
    return Work(reads, Sequences.from_list(item.tobytes() for item in haplotypes), Regions.from_counts(*np.array(sizes).T))


@QUICK
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 6),
    precision=st.sampled_from(["fp32", "fp64"]),
    widest=st.sampled_from([0, 17, 32]),
)
def test_sharing_changes_no_bit_and_the_values_are_right(device, shape, seed, count, precision, widest):
    work, shape = regions(seed, count), dataclasses.replace(shape, widest_tree=widest)  # wider haplotypes are chains beside the trees
    shared = trees.run(work, device, precision, shape)
    assert_right(shared, work, TOLERANCE[precision])
    assert not shared.unsafe.any()
    alone = trees.run(dataclasses.replace(work, share_prefixes=False), device, precision, shape)
    assert alone.log10.tobytes() == shared.log10.tobytes()
    assert alone.cells_computed == work.cells >= shared.cells_computed


def test_haplotypes_share_what_they_begin_with(device, shape):
    rng = np.random.default_rng(5)
    founder = rng.choice(BASES, 20)
    family = [founder.copy() for _ in range(4)]
    for number, haplotype in enumerate(family):
        haplotype[-1] = BASES[number]
    reads = make_reads([founder[4:16] for _ in range(3)], rng)
    work = Work(reads, Sequences.from_list(item.tobytes() for item in family), Regions.from_counts([3], [4]))
    assert trees.run(work, device, "fp32", shape).cells_computed == 3 * 12 * (20 + 3 * 4)
    assert trees.run(dataclasses.replace(work, share_prefixes=False), device, "fp32", shape).cells_computed == 3 * 12 * 4 * 20


def test_columns_a_lane_change_no_bit(device, shape):
    work = regions(1, 12)
    expected = trees.run(work, device, "fp32", shape).log10.tobytes()
    for rates in ({5: 1.0}, {4: 1.0, 7: 0.9}, {4: 1.0, 8: 2.0}):
        assert trees.run(work, device, "fp32", dataclasses.replace(shape, rates=shape.rates | {"fp32": rates})).log10.tobytes() == expected


@pytest.mark.parametrize("widest", [17, 32])
def test_any_part_of_the_pairs_in_any_order_has_the_same_bits(device, shape, widest):
    work, shape = regions(2, 10), dataclasses.replace(shape, widest_tree=widest)
    whole = trees.run(work, device, "fp32", shape).log10
    rng = np.random.default_rng(3)
    for size in (1, len(work) // 2, len(work)):
        order = rng.permutation(len(work))[:size]
        some = trees.run(work.of(work.pairs[order]), device, "fp32", shape)
        assert some.log10.tobytes() == whole[order].tobytes()
    sorted_half = np.sort(rng.permutation(len(work))[: len(work) // 2])  # regions with combinations missing
    assert trees.run(work.of(work.pairs[sorted_half]), device, "fp32", shape).log10.tobytes() == whole[sorted_half].tobytes()


def test_a_read_that_leaves_the_range_does_not_touch_the_next(device, shape):
    rng = np.random.default_rng(4)
    founder = rng.choice(BASES, 32)
    family = [founder, *(mutated(rng, founder, 0.05)[:32] for _ in range(4))]
    reads = make_reads([founder[begin : begin + 20] for begin in range(12)], rng, base=(30, 41))
    for start in reads.bases.offsets[:-1][::3]:  # an insertion quality that jumps makes J as large as it can be
        reads.insertion_quals[start + 4 : start + 6] = (6, 127)
    assert regular_reads(reads).all()
    work = Work(reads, Sequences.from_list(item.tobytes() for item in family), Regions.from_counts([12], [5]))
    together = trees.run(work, device, "fp32", shape)
    others = np.flatnonzero(work.pairs[:, 0] % 3 > 0)
    assert together.unsafe.any()
    assert not together.unsafe[others].any()
    plain = dataclasses.replace(work, reads=take(reads, np.flatnonzero(np.arange(12) % 3)), given=Regions.from_counts([8], [5]))
    assert trees.run(plain, device, "fp32", shape).log10.tobytes() == together.log10[others].tobytes()


@QUICK
@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(4, 9), share=st.booleans())
def test_every_lane_continues_its_haplotype(seed, columns, share):
    work = regions(seed, 5)
    rows = work.reads.bases.lengths
    (trees,) = plan(work.regions.spans, work.haplotypes, np.ones(len(work.haplotypes), bool), rows, {columns: 1.0}, WARP, 4, share)
    text, parents, ends = {}, {}, {}
    for number, depth, first, parent, *_ in trees.branches.tolist():
        bases = work.haplotypes[number].tobytes()
        for step, begin in enumerate(range(depth * columns, len(bases), columns)):
            lane = first + step
            assert lane not in text
            text[lane] = bases[begin : begin + columns]
            parents[lane] = lane - 1 if step else (first // WARP * WARP + parent if depth else None)
        ends[number] = lane
    assert len(ends) == len(work.haplotypes) == len(set(ends.values()))
    for number, lane in ends.items():
        path = b""
        while lane is not None:
            assert parents[lane] is None or (parents[lane] < lane and parents[lane] // WARP == lane // WARP)
            path, lane = text[lane] + path, parents[lane]
        assert path == work.haplotypes[number].tobytes()
    shares = np.zeros(trees.warps)
    np.add.at(shares, trees.tasks[:, 0], trees.tasks[:, 2] - trees.tasks[:, 1].astype(np.int64))
    assert (shares == WHOLE).all()
    assert trees.bundles[[0, -1]].tolist() == [0, len(trees.tasks)]


@QUICK
@given(seed=st.integers(0, 2**32 - 1))
def test_haplotypes_that_begin_alike_stand_together(seed):
    work = regions(seed, 5)
    region = np.repeat(np.arange(5), work.regions.spans[:, 3])
    order, alike = in_order(region, work.haplotypes.offsets[:-1], work.haplotypes.lengths, work.haplotypes.data)
    assert sorted(order.tolist()) == list(range(len(region)))
    assert (region[order] == region).all()
    names = [work.haplotypes[index].tobytes() for index in order]
    for place in range(len(order)):
        same = int(alike[place])
        if place == 0 or region[place] != region[place - 1]:
            assert same == 0
        else:
            assert names[place][:same] == names[place - 1][:same]


@QUICK
@given(sizes=st.lists(st.tuples(st.integers(1, WARP), st.integers(1, 500)), min_size=1, max_size=60))
def test_packed_trees_do_not_overlap(sizes):
    lanes, length = np.array(sizes).T
    warp, first, warps = pack(lanes, length, WARP)
    taken = [(w, lane) for w, begin, count in zip(warp, first, lanes, strict=True) for lane in range(begin, begin + count)]
    assert len(set(taken)) == len(taken)
    assert max(lane for _, lane in taken) < WARP
    assert sorted({w for w, _ in taken}) == list(range(warps))


def test_equal_trees_fill_warps():
    assert pack(np.full(40, 2), np.full(40, 7), WARP)[2] == 10
    assert pack(np.array([6, 2] * 9), np.full(18, 7), WARP)[2] == 9
