"""What a user waits for: a whole call, from arrays to likelihoods, and the step reads -> likelihoods, from tables to table."""

import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from haplowave.benchmark.pairhmm_sets import Set, regions
from haplowave.benchmark.records import Record
from haplowave.opencl import Device
from haplowave.sequences import Sequences

_READS, _HAPLOTYPES = 64, 8
_REGIONS_A_ROW_GROUP = 64


def measure_call(device: Device, made: Set, rounds: int) -> Record:
    """A record of `log10_likelihoods` on `made`; `seconds` is the best wall time. Equal reads are not shared: copies of a set are."""
    from haplowave.pairhmm import log10_likelihoods

    work, seconds = made.work, float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        result = log10_likelihoods(work.reads, work.haplotypes, work.given, device=device, share_duplicates=False)
        seconds = min(seconds, time.perf_counter() - began)
    return {
        "experiment": f"call: {made.experiment}",
        "device": device.name,
        "kernel": "auto",
        "precision": "auto",
        "read_length": made.rows,
        "haplotype_length": made.columns,
        "pairs": len(work),
        "seconds": seconds,
        "gcups": result.cells / seconds / 1e9,
        "kernel_seconds": result.kernel_seconds,
    }


def measure_command(device: Device, rows: int, columns: int, pairs: int, batch_size: int, rounds: int) -> Iterator[Record]:
    """Records of the step on about `pairs` pairs, without and with the table of distances, as step distances writes it, to prune by;
    `seconds` is the best wall time from opening the tables to the finished output."""
    from haplowave.calling.distances import write_distances

    with tempfile.TemporaryDirectory() as folder:
        haplotypes, reads, distances, output = (
            Path(folder) / f"{name}.parquet" for name in ("haplotypes", "reads", "distances", "likelihoods")
        )
        _write_tables(haplotypes, reads, rows, columns, pairs)
        write_distances(haplotypes, reads, distances, device)
        for known in (None, distances):
            record = _measure_step(device, (haplotypes, reads, known, output), batch_size, rounds)
            yield record | {"read_length": rows, "haplotype_length": columns}


def _measure_step(device: Device, tables: tuple[Path, Path, Path | None, Path], batch_size: int, rounds: int) -> Record:
    from haplowave.calling.likelihoods import EngineOptions, write_likelihoods
    from haplowave.options import PruningOptions

    seconds = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        totals = write_likelihoods(*tables, EngineOptions(device), PruningOptions(), batch_size)
        seconds = min(seconds, time.perf_counter() - began)
    return {
        "experiment": "reads -> likelihoods" if tables[2] is None else "reads, distances -> likelihoods",
        "device": device.name,
        "kernel": "auto",
        "precision": "auto",
        "pairs": totals.pairs,
        "pruned": totals.pruned,
        "batch_size": batch_size,
        "seconds": seconds,
        "gcups": totals.cells / seconds / 1e9,
        "kernel_seconds": totals.kernel_seconds,
    }


def _write_tables(haplotypes: Path, reads: Path, rows: int, columns: int, pairs: int) -> None:
    from haplowave.tables import table_writer

    work = regions(rows, columns, pairs, _READS, _HAPLOTYPES).work
    count = len(work.haplotypes) // _HAPLOTYPES
    with table_writer(haplotypes, "haplotypes") as hap_writer, table_writer(reads, "reads") as read_writer:
        for first in range(0, count, _REGIONS_A_ROW_GROUP):
            region = np.arange(first, min(first + _REGIONS_A_ROW_GROUP, count))
            hap_writer.append(_haplotype_rows(work.haplotypes, region, columns))
            read_writer.append(_read_rows(work.reads, region, rows))


def _places(region: np.ndarray, each: int, name: str) -> dict[str, np.ndarray]:
    start = np.repeat(region * 1000, each)
    return {"region_id": start, name: np.tile(np.arange(each, dtype=np.int32), len(region)), "start": start}


def _texts(sequences: Sequences, begin: int, end: int) -> list[bytes]:
    offsets = sequences.offsets[begin : end + 1] - sequences.offsets[begin]
    data = sequences.data[sequences.offsets[begin] : sequences.offsets[end]].tobytes()
    return [data[first:last] for first, last in itertools.pairwise(offsets.tolist())]


def _haplotype_rows(haplotypes: Sequences, region: np.ndarray, columns: int) -> dict:
    rows = _places(region, _HAPLOTYPES, "hap_id")
    sequences = _texts(haplotypes, int(region[0]) * _HAPLOTYPES, (int(region[-1]) + 1) * _HAPLOTYPES)
    count = len(sequences)
    return rows | {
        "end": rows["start"] + columns,
        "sequence": [sequence.decode() for sequence in sequences],
        "is_reference": rows["hap_id"] == 0,
        "events": [[]] * count,
    }


def _read_rows(reads, region: np.ndarray, length: int) -> dict:
    rows = _places(region, _READS, "read_id")
    begin, end = int(region[0]) * _READS, (int(region[-1]) + 1) * _READS
    count = end - begin
    quals = {
        name: _texts(Sequences(getattr(reads, name), reads.bases.offsets), begin, end)
        for name in ("base_quals", "insertion_quals", "deletion_quals", "gap_quals")
    }
    return (
        rows
        | quals
        | {
            "sample": ["sample"] * count,
            "name": [f"read{index}" for index in range(begin, end)],
            "flag": np.zeros(count, np.int32),
            "mapq": np.full(count, 60, np.int32),
            "bases": [sequence.decode() for sequence in _texts(reads.bases, begin, end)],
            "end": rows["start"] + length,
            "offset": np.zeros(count, np.int32),
            "read_length": np.full(count, length, np.int32),
        }
    )
