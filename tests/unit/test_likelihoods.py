"""The likelihoods step: rows, sharing of batches, pruning that changes nothing a genotyper sees."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import DEVICE
from haplowave.ahead import ahead
from haplowave.calling.batches import Inputs, region_pairs
from haplowave.calling.columns import repeated_bytes
from haplowave.calling.distances import write_distances
from haplowave.calling.likelihoods import EngineOptions, write_likelihoods
from haplowave.calling.pruning import THETA, upper_bounds
from haplowave.distance import batch as edit_distances
from haplowave.errors import UserError
from haplowave.opencl import select
from haplowave.options import PruningOptions
from haplowave.pairhmm import engines, log10_likelihoods
from haplowave.sequences import Reads, Sequences
from haplowave.tables import TableRows, read_table, table_writer

BASES = np.frombuffer(b"ACGT", np.uint8)
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "likelihoods.py"


def write_tables(folder: Path, seed: int = 1, regions: int = 12, long_deletion: bool = True) -> tuple[Path, Path]:
    """Tables of `regions` regions in row groups of 1 to 3 regions; every third haplotype lacks or has 30 bases; some regions have one."""
    rng = np.random.default_rng(seed)
    haplotypes, reads = folder / "haplotypes.parquet", folder / "reads.parquet"
    with table_writer(haplotypes, "haplotypes") as hap_writer, table_writer(reads, "reads") as read_writer:
        region = 0
        while region < regions:
            hap_rows, read_rows = [], []
            for _ in range(rng.integers(1, 4)):
                made = _region(rng, 1000 + 500 * region, alone=region % 4 == 0, long_deletion=long_deletion)
                hap_rows += made[0]
                read_rows += made[1]
                region += 1
            for writer, rows in ((hap_writer, hap_rows), (read_writer, read_rows)):
                writer.append({name: [row[name] for row in rows] for name in writer.schema.names})
    return haplotypes, reads


def _region(rng: np.random.Generator, start: int, alone: bool, long_deletion: bool) -> tuple[list[dict], list[dict]]:
    reference = BASES[rng.integers(0, 4, 240)]
    sequences = [reference]
    for index in range(0 if alone else rng.integers(1, 6)):
        haplotype = reference.copy()
        where = rng.integers(0, len(haplotype), 3)
        haplotype[where] = BASES[rng.integers(0, 4, 3)]
        sequences.append(np.delete(haplotype, slice(100, 130)) if index % 2 == 1 and long_deletion else haplotype)
    hap_rows = [
        {"region_id": start, "hap_id": hap_id, "start": start, "end": start + 240, "sequence": sequence.tobytes().decode(),
         "is_reference": hap_id == 0, "events": []}
        for hap_id, sequence in enumerate(sequences)
    ]  # fmt: skip
    read_rows = []
    for read_id in range(rng.integers(1, 40)):
        source = sequences[rng.integers(len(sequences))]
        begin = rng.integers(0, len(source) - 60)
        piece = source[begin : begin + rng.integers(10, 150)].copy()
        where = rng.random(len(piece)) < 0.01
        piece[where] = BASES[rng.integers(0, 4, where.sum())]
        quals = {
            "base_quals": rng.integers(6, 42, len(piece)), "insertion_quals": np.full(len(piece), 45),
            "deletion_quals": np.full(len(piece), 40), "gap_quals": np.full(len(piece), 10),
        }  # fmt: skip
        read_rows.append(
            {"region_id": start, "read_id": read_id, "sample": "s", "name": f"r{read_id}", "flag": 0, "mapq": 60,
             "bases": piece.tobytes().decode(), "start": start, "end": start + 100, "offset": 0, "read_length": len(piece)}
            | {name: values.astype(np.uint8).tobytes() for name, values in quals.items()}
        )  # fmt: skip
    return hap_rows, read_rows


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("likelihoods")
    haplotypes, reads = write_tables(folder)
    write_distances(haplotypes, reads, folder / "distances.parquet", select(DEVICE))
    return haplotypes, reads, folder / "distances.parquet"


def run(tables, output: Path, batch_size: int = 1 << 20, pruning: PruningOptions | None = None, **engine) -> pa.Table:
    write_likelihoods(*tables, output, EngineOptions(select(DEVICE), **engine), pruning or PruningOptions(), batch_size)
    return read_table(output, "likelihoods")


def test_rows_and_values(tables, tmp_path):
    result = run(tables, tmp_path / "out.parquet", precision="fp64", pruning=PruningOptions(prune=False)).to_pandas()
    haplotypes, reads, distances = (
        read_table(path, name).to_pandas() for path, name in zip(tables, ("haplotypes", "reads", "distances"), strict=True)
    )
    assert (result[["region_id", "read_id", "hap_id", "edit_distance"]] == distances).all().all()
    assert set(result.region_id) == set(reads.region_id)
    merged = result.merge(reads, on=["region_id", "read_id"]).merge(haplotypes, on=["region_id", "hap_id"])
    alone = merged.sample(40, random_state=1)
    for row in alone.itertuples():
        quals = (np.frombuffer(values, np.uint8) for values in (row.base_quals, row.insertion_quals, row.deletion_quals, row.gap_quals))
        read = Reads(Sequences.from_list([row.bases.encode()]), *quals)
        expected = log10_likelihoods(read, Sequences.from_list([row.sequence.encode()]), kernel="reference").log10[0]
        assert row.log10_likelihood == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("size", "expected"), [(1, [1] * 10), (4, [1, 2, 4, 3]), (1 << 20, [10]), (32, [4, 6])])
def test_the_first_batches_are_smaller(tmp_path, size, expected):
    """Ten regions of one read and one haplotype, each in a row group of its own."""
    rng = np.random.default_rng(3)
    paths = tmp_path / "haplotypes.parquet", tmp_path / "reads.parquet"
    with table_writer(paths[0], "haplotypes") as haplotypes, table_writer(paths[1], "reads") as reads:
        for region in range(10):
            for writer, rows in zip((haplotypes, reads), _region(rng, 1000 + 500 * region, alone=True, long_deletion=False), strict=True):
                writer.append({name: [rows[0][name]] for name in writer.schema.names})
    assert [len(batch.pairs) for batch in Inputs(*paths, None).batches(size)] == expected


def test_bytes_do_not_depend_on_batch_size_or_sharing(tables, tmp_path):
    whole = tmp_path / "whole.parquet"
    run(tables, whole)
    chosen = {"kernel": engines.choose(select(DEVICE))}
    for index, change in enumerate(
        ({"batch_size": 1}, {"batch_size": 300}, {"share_duplicates": False}, {"share_prefixes": False}, chosen)
    ):
        part = tmp_path / f"{index}.parquet"
        run(tables, part, **change)
        assert part.read_bytes() == whole.read_bytes(), change


def test_only_likelihoods_are_streams_of_bytes(tables, tmp_path):
    """Parquet 2.9 has them for floating-point numbers alone."""
    run(tables, tmp_path / "out.parquet")
    for path in (*tables, tmp_path / "out.parquet"):
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = [group.column(index) for index in range(group.num_columns)]
        streams = [column.path_in_schema for column in columns if "BYTE_STREAM_SPLIT" in column.encodings]
        assert streams == ["log10_likelihood"] * (path.name == "out.parquet")


def test_pruning_is_harmless(tables, tmp_path):
    exact = run(tables, tmp_path / "exact.parquet", pruning=PruningOptions(prune=False)).to_pandas()
    for margin in (1, 8, 25):
        pruned = run(tables, tmp_path / "pruned.parquet", pruning=PruningOptions(prune_margin=margin)).to_pandas()
        assert (pruned.how == "pruned").sum() >= 20
        capped = []
        for frame in (exact, pruned):
            best = frame.groupby(["region_id", "read_id"]).log10_likelihood.transform("max")
            capped.append(np.maximum(frame.log10_likelihood, best - 4.5))
        assert (capped[0] == capped[1]).all()
        kept = pruned.how != "pruned"
        assert (pruned.log10_likelihood[kept] == exact.log10_likelihood[kept]).all()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    quality=st.sampled_from([(0, 10), (6, 42), (30, 60)]),
    gaps=st.sampled_from([(0, 94), (10, 50), (40, 46)]),
    gap_quality=st.sampled_from([10, 11, 20, 60]),
)
def test_bound_holds(seed, quality, gaps, gap_quality):
    rng = np.random.default_rng(seed)
    length = int(rng.integers(5, 90))
    haplotype = BASES[rng.integers(0, 4, rng.integers(5, 200))]
    bases = haplotype[: length // 2].tolist() + BASES[rng.integers(0, 4, length)].tolist()
    bases = np.array(bases[:length], np.uint8)
    quals = [rng.integers(*span, length).astype(np.uint8) for span in (quality, gaps, gaps)]
    reads = Reads(Sequences.from_list([bases.tobytes()]), *quals, np.full(length, gap_quality, np.uint8))
    haplotypes = Sequences.from_list([haplotype.tobytes()])
    distance = edit_distances(reads.bases, haplotypes, np.zeros((1, 2), int), mode="infix", device=DEVICE)[0]
    likelihood = log10_likelihoods(reads, haplotypes, kernel="reference").log10[0]
    assert likelihood <= upper_bounds(reads, np.array([0]))[0] - distance * np.log10(THETA) + 1e-9


def test_reads_with_n_or_cheap_gaps_have_no_bound():
    quals = [np.full(4, q, np.uint8) for q in (30, 45, 45, 10)]
    assert np.isinf(upper_bounds(Reads(Sequences.from_list([b"ACNT"]), *quals), np.array([0]))[0])
    quals[3] = np.full(4, 9, np.uint8)
    assert np.isinf(upper_bounds(Reads(Sequences.from_list([b"ACGT"]), *quals), np.array([0]))[0])


def test_without_distances(tables, tmp_path):
    result = run((*tables[:2], None), tmp_path / "out.parquet").to_pandas()
    full = run(tables, tmp_path / "full.parquet", pruning=PruningOptions(prune=False)).to_pandas()
    assert (result.edit_distance == -1).all()
    assert (result.log10_likelihood == full.log10_likelihood).all()


def test_tables_of_different_runs_are_told(tables, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    haplotypes, reads = write_tables(other, seed=2, regions=3)
    with pytest.raises(UserError, match="give tables of one run"):
        run((haplotypes, reads, tables[2]), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("which", "column", "record"),
    [(0, "sequence", "region 3500, haplotype 1: byte 45 is no letter"), (1, "bases", "region 3500, read 0: byte 45 is no letter")],
)
@pytest.mark.parametrize("batch_size", [1, 1 << 20])
def test_a_byte_that_is_no_letter_is_told_by_file_and_record(tables, tmp_path, which, column, record, batch_size):
    kind, number = (("haplotypes", "hap_id"), ("reads", "read_id"))[which]
    rows = read_table(tables[which], kind).to_pydict()
    at = list(zip(rows["region_id"], rows[number], strict=True)).index((3500, 1 - which))
    rows[column][at] = rows[column][at][:5] + "-" + rows[column][at][6:]
    wrong = tmp_path / "wrong.parquet"
    with table_writer(wrong, kind) as writer:
        writer.append(rows)
    paths = [wrong if index == which else path for index, path in enumerate((*tables[:2], None))]
    with pytest.raises(UserError, match=rf"wrong\.parquet: {record}; make the table again"):
        run(paths, tmp_path / "out.parquet", batch_size=batch_size)
    assert not (tmp_path / "out.parquet").exists()


def test_region_pairs():
    pairs = region_pairs(np.array([1, 1, 3, 5]), np.array([0, 1, 1, 2, 5])).pairs()
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 1], [1, 2], [3, 4]]
    assert not len(region_pairs(np.zeros(0, int), np.zeros(0, int)))


def test_a_part_of_the_distances_is_a_part_of_the_likelihoods(tables, tmp_path):
    whole = run(tables, tmp_path / "whole.parquet", pruning=PruningOptions(prune=False)).to_pandas()
    distances = read_table(tables[2], "distances")
    kept = np.random.default_rng(3).random(distances.num_rows) < 0.7
    with table_writer(tmp_path / "some.parquet", "distances") as writer:
        writer.append(distances.filter(kept))
    some = run((*tables[:2], tmp_path / "some.parquet"), tmp_path / "out.parquet", pruning=PruningOptions(prune=False)).to_pandas()
    pandas.testing.assert_frame_equal(some, whole[kept].reset_index(drop=True))


@pytest.mark.parametrize("damaged", [0, 1, 2], ids=["haplotypes", "reads", "distances"])
def test_a_damaged_table_is_one_line(tables, tmp_path, damaged):
    """Its metadata are whole, so that it is found when rows are read, by whichever thread."""
    content = bytearray(tables[damaged].read_bytes())
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:end] = bytes(end - 4)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(content)
    paths = [broken if index == damaged else path for index, path in enumerate(tables)]
    with pytest.raises(UserError, match=r"broken\.parquet: cannot be read as Parquet \(.*\); make the table again"):
        run(paths, tmp_path / "out.parquet", batch_size=100)
    with pytest.raises(UserError, match=r"broken\.parquet: cannot be read"):
        read_table(broken, ("haplotypes", "reads", "distances")[damaged])
    assert not (tmp_path / "out.parquet").exists()


def test_empty_tables(tmp_path):
    for name in ("haplotypes", "reads", "distances"):
        with table_writer(tmp_path / f"{name}.parquet", name):
            pass
    paths = [tmp_path / f"{name}.parquet" for name in ("haplotypes", "reads", "distances")]
    assert run(paths, tmp_path / "out.parquet").num_rows == 0


def test_command_gives_the_same_bytes_with_any_threads_and_batch(tables, tmp_path):
    written = []
    for threads, batch_size in ((1, 100), (2, 100_000)):
        output = tmp_path / f"{threads}.parquet"
        command = [sys.executable, str(SCRIPT), "--device", DEVICE, "--threads", str(threads), "--batch-size", str(batch_size)]
        command += ["--output", str(output)]
        for name, path in zip(("haplotypes", "reads", "distances"), tables, strict=True):
            command += [f"--{name}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "pairs pruned" in done.stdout
        assert "GCUPS" in done.stdout
        written.append(output.read_bytes())
    assert written[0] == written[1]
    assert read_table(output, "likelihoods").num_rows == read_table(tables[2], "distances").num_rows


def test_ahead_keeps_order_and_raises():
    assert list(ahead(range(100))) == list(range(100))

    def failing():
        yield 1
        raise UserError("broken")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(UserError, match="broken"):
        next(items)
    endless = ahead(iter(int, 1))
    assert next(endless) == 0
    endless.close()


def test_qualities_of_one_value_are_not_copied():
    rows = [b"\x2d" * 3, b"\x2d" * 5, b"\x2d" * 3]
    column = pa.chunked_array([pa.array(rows[:2]).dictionary_encode(), pa.array(rows[2:]).dictionary_encode()])
    lengths, values = repeated_bytes(column)
    assert lengths.tolist() == [3, 5, 3]
    assert values.tolist() == [45] * 11
    assert values.strides == (0,)
    column = pa.chunked_array([*column.chunks, pa.array([b"\x2e\x2d"]).dictionary_encode()])
    lengths, values = repeated_bytes(column)
    assert lengths.tolist() == [3, 5, 3, 2]
    assert values.tolist() == [45] * 11 + [46, 45]


def test_rows_by_number(tables):
    whole = read_table(tables[1], "reads")
    rows = TableRows(tables[1], "reads", ("region_id", "read_id", "gap_quals"), few=("gap_quals",))
    assert np.concatenate(list(rows.groups("region_id"))).tolist() == whole.column("region_id").to_pylist()
    for begin, end in ((0, whole.num_rows), (3, 4), (5, 90), (7, 7), (whole.num_rows, whole.num_rows)):
        part = rows.read(slice(begin, end))
        for name in part.column_names:
            assert part.column(name).to_pylist() == whole.column(name)[begin:end].to_pylist()
