"""Bit-parallel batches against the plain dynamic programming, and the table step on top."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import DEVICE
from haplowave.calling.distances import write_distances
from haplowave.distance import batch
from haplowave.distance.alphabet import SOURCE, kernel
from haplowave.distance.reference import edit_distance
from haplowave.distance.short import Layout
from haplowave.errors import UserError
from haplowave.opencl import select
from haplowave.sequences import Sequences
from haplowave.tables import read_table, table_writer


def mutate(rng: np.random.Generator, text: np.ndarray, rate: float, symbols: int) -> np.ndarray:
    """Substitutions, insertions and deletions in equal shares."""
    kind = rng.choice(4, len(text), p=[1 - rate, rate / 3, rate / 3, rate / 3])
    out = np.where(kind == 1, rng.integers(0, symbols, len(text)), text).astype(np.uint8)
    inserted = rng.integers(0, symbols, len(text)).astype(np.uint8)
    copies = np.choose(kind, [1, 1, 0, 2])
    first = np.cumsum(copies) - copies
    result = np.repeat(out, copies)
    result[first[kind == 3]] = inserted[kind == 3]
    return result


def expected(queries: Sequences, targets: Sequences, pairs: np.ndarray, mode: str) -> list[int]:
    return [edit_distance(queries[q], targets[t], mode) for q, t in pairs]


@pytest.mark.parametrize("mode", ["infix", "global"])
@pytest.mark.parametrize("symbols", [2, 4, 5, 256])
@pytest.mark.parametrize("longest", [200, 700])
def test_equal_to_the_oracle(mode, symbols, longest):
    rng = np.random.default_rng([longest, symbols])
    queries, targets = [], []
    for _ in range(16):
        target = rng.integers(0, symbols, rng.integers(0, longest)).astype(np.uint8)
        begin = rng.integers(0, len(target) + 1)
        queries.append(bytes(mutate(rng, target[begin : begin + rng.integers(0, longest)], rng.random() / 2, symbols)))
        targets.append(bytes(target))
    queries, targets = Sequences.from_list([*queries, b""]), Sequences.from_list([*targets, b""])
    pairs = np.array([(i, i) for i in range(17)] + [(16, 3), (3, 16)] + rng.integers(0, 17, (30, 2)).tolist())
    assert batch(queries, targets, pairs, mode=mode).tolist() == expected(queries, targets, pairs, mode)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("ACGTN", max_size=200), min_size=1, max_size=10),
    st.lists(st.text("ACGT", max_size=200), min_size=1, max_size=10),
    st.sampled_from(["infix", "global"]),
)
def test_any_text(queries, targets, mode):
    queries, targets = (Sequences.from_list(text.encode() for text in texts) for texts in (queries, targets))
    every = np.array([(q, t) for q in range(len(queries)) for t in range(len(targets))])
    assert batch(queries, targets, mode=mode).tolist() == expected(queries, targets, every, mode)


@pytest.mark.parametrize("length", [64, 255, 256, 257, 320, 511, 513, 1500, 10_000])
def test_word_and_strip_borders(length):
    rng = np.random.default_rng(length)
    target = rng.integers(65, 69, length + 50).astype(np.uint8)
    query = target[25 : 25 + length].copy()
    query[[0, length // 2, length - 1]] ^= 1
    texts = Sequences.from_list([bytes(query)]), Sequences.from_list([bytes(target)])
    assert batch(*texts).tolist() == [edit_distance(query, target, "infix")]
    assert batch(*texts, mode="global").tolist() == [edit_distance(query, target)]


def test_mixed_lengths_in_one_call_keep_their_order():
    rng = np.random.default_rng(5)
    texts = [bytes(rng.integers(65, 69, n).astype(np.uint8)) for n in (3000, 1, 150, 64, 700, 2000, 65, 0)]
    sequences = Sequences.from_list(texts)
    pairs = rng.integers(0, len(texts), (50, 2))
    assert batch(sequences, sequences, pairs).tolist() == expected(sequences, sequences, pairs, "infix")


def test_small_scratch_gives_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    sequences = Sequences.from_list([bytes(rng.integers(65, 69, 300 + 40 * n).astype(np.uint8)) for n in range(20)])
    whole = batch(sequences, sequences)
    monkeypatch.setattr("haplowave.distance.short.SCRATCH_WORDS", 300)
    assert (batch(sequences, sequences) == whole).all()


@pytest.mark.parametrize("kind", [Layout(1, 32, 64, True), Layout(4, 4, 1, False), Layout(1, 1, 1, False)])
def test_layouts_of_other_devices(kind, monkeypatch):
    """One pair a work-item as on a GPU, and shorter vectors."""
    monkeypatch.setattr("haplowave.distance.short.layout", lambda device: kind)
    rng = np.random.default_rng(7)
    texts = [bytes(rng.integers(65, 69, n).astype(np.uint8)) for n in (400, 1, 150, 64, 300, 333, 65, 0)]
    sequences = Sequences.from_list(texts)
    pairs = rng.integers(0, len(texts), (70, 2))
    for mode in ("infix", "global"):
        assert batch(sequences, sequences, pairs, mode=mode).tolist() == expected(sequences, sequences, pairs, mode)


def test_calls_from_several_threads_do_not_share_kernels():
    program = select(DEVICE).build(SOURCE)
    with ThreadPoolExecutor(1) as pool:
        first, second, other = kernel(program, "presence"), kernel(program, "presence"), pool.submit(kernel, program, "presence").result()
    assert first is second
    assert other is not first


def test_calls_from_several_threads():
    rng = np.random.default_rng(8)
    sets = [
        Sequences.from_list([bytes(rng.integers(65, 65 + n, rng.integers(1, 300)).astype(np.uint8)) for _ in range(12)])
        for n in range(2, 8)
    ]
    alone = [batch(texts, texts).tolist() for texts in sets]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(sets)) as pool:
            for _ in range(5):
                assert [result.tolist() for result in pool.map(lambda texts: batch(texts, texts), sets)] == alone
    finally:
        sys.setswitchinterval(interval)


def test_repeats_and_runs():
    texts = Sequences.from_list([b"A" * 500, b"A" * 499 + b"C", b"AC" * 250, b"ACG" * 200, b"C" * 500])
    every = np.array([(q, t) for q in range(5) for t in range(5)])
    for mode in ("infix", "global"):
        assert batch(texts, texts, mode=mode).tolist() == expected(texts, texts, every, mode)


def test_case_and_ambiguity_letters():
    queries, targets = Sequences.from_list([b"acgtn"]), Sequences.from_list([b"ACGTN"])
    assert batch(queries, targets).tolist() == [5]
    assert batch(queries, targets, ignore_case=True).tolist() == [0]
    assert batch(Sequences.from_list([b"ACNR"]), Sequences.from_list([b"ACGA"])).tolist() == [2]


def test_no_pairs_and_wrong_input():
    texts = Sequences.from_list([b"A"])
    assert batch(texts, texts, np.zeros((0, 2), int)).shape == (0,)
    with pytest.raises(UserError, match="indices"):
        batch(texts, texts, np.array([[0, 1]]))
    with pytest.raises(UserError, match="mode"):
        batch(texts, texts, mode="local")


def _tables(folder, regions, group):
    rng = np.random.default_rng(11)
    bases = lambda n: bytes(rng.integers(0, 4, n).astype(np.uint8)).translate(bytes.maketrans(bytes(range(4)), b"ACGT")).decode()  # noqa: E731
    haplotypes, reads = folder / "haplotypes.parquet", folder / "reads.parquet"
    hap_rows = [(region, hap, bases(rng.integers(60, 200))) for region in range(regions) for hap in range(1 + region % 3)]
    read_rows = [(region, read, bases(rng.integers(0, 90))) for region in range(regions) if region % 4 for read in range(region % 5)]
    with table_writer(haplotypes, "haplotypes") as writer:
        for begin in range(0, regions, 7):  # other groups than the reads have
            rows = [row for row in hap_rows if begin <= row[0] < begin + 7]
            region, hap, text = zip(*rows, strict=True)
            size = len(rows)
            writer.append(
                {
                    "region_id": region,
                    "hap_id": hap,
                    "start": [0] * size,
                    "end": [1] * size,
                    "sequence": text,
                    "is_reference": [h == 0 for h in hap],
                    "events": [[]] * size,
                }
            )
    with table_writer(reads, "reads") as writer:
        for begin in range(0, regions, group):
            rows = [row for row in read_rows if begin <= row[0] < begin + group]
            if not rows:
                continue
            region, read, text = zip(*rows, strict=True)
            columns = {name: [b""] * len(rows) for name in ("base_quals", "insertion_quals", "deletion_quals", "gap_quals")}
            columns |= {name: [0] * len(rows) for name in ("flag", "mapq", "start", "end", "offset", "read_length")}
            writer.append(
                {"region_id": region, "read_id": read, "sample": ["s"] * len(rows), "name": ["r"] * len(rows), "bases": text, **columns}
            )
    wanted = [
        (region, read, hap, edit_distance(text.encode(), target.encode(), "infix"))
        for region, read, text in read_rows
        for hap_region, hap, target in hap_rows
        if hap_region == region
    ]
    return haplotypes, reads, wanted


@pytest.mark.parametrize("group", [1, 5, 100])
def test_table_step(tmp_path, group, monkeypatch):
    haplotypes, reads, wanted = _tables(tmp_path, 23, group)
    monkeypatch.setattr("haplowave.calling.distances.BATCH_PAIRS", 17)
    output = tmp_path / "distances.parquet"
    assert write_distances(haplotypes, reads, output, select(DEVICE)) == len(wanted)
    table = read_table(output, "distances")
    assert list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)) == wanted


def test_table_step_without_reads(tmp_path):
    haplotypes, reads = tmp_path / "h.parquet", tmp_path / "r.parquet"
    for path, name in ((haplotypes, "haplotypes"), (reads, "reads")):
        with table_writer(path, name):
            pass
    assert write_distances(haplotypes, reads, tmp_path / "d.parquet", select(DEVICE)) == 0
