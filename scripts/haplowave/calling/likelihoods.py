"""The step that computes PairHMM likelihoods from the tables of reads, haplotypes and edit distances."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from haplowave.ahead import ahead, overlapped
from haplowave.calling.batches import Batch, Inputs, Rows
from haplowave.calling.columns import choices, numbers, texts
from haplowave.calling.pruning import best_of_reads, candidates, first_of_reads, pairs_at, proven, worth_waiting
from haplowave.opencl import Device
from haplowave.options import PruningOptions
from haplowave.pairhmm import HOW, Regions, Result, log10_likelihoods
from haplowave.pairhmm.screening import SequenceError
from haplowave.pairhmm.totals import Totals
from haplowave.sequences import Reads, Sequences
from haplowave.tables import table_schema, table_writer

_HOW = texts([*HOW, "pruned"])
_PRUNED = len(HOW)
_WORKERS = 4  # batches in work with a GPU, which is quicker than a thread that prepares for it
_SCHEMA = table_schema("likelihoods")


@dataclass(frozen=True)
class EngineOptions:
    """How pairs are computed; see `haplowave.pairhmm.log10_likelihoods`."""

    device: Device
    others: tuple[Device, ...] = ()
    kernel: str = "auto"
    precision: str = "auto"
    convention: str = "gatk"
    share_duplicates: bool = True
    share_prefixes: bool = True

    def compute(self, reads: Reads, haplotypes: Sequences, pairs: Regions | np.ndarray) -> Result:
        return log10_likelihoods(reads, haplotypes, pairs, **vars(self))


def write_likelihoods(
    haplotypes: str | Path,
    reads: str | Path,
    distances: str | Path | None,
    output: str | Path,
    engine: EngineOptions,
    pruning: PruningOptions,
    batch_size: int = 1 << 19,
) -> Totals:
    """Write table `likelihoods`: a row for each row of `distances`, or for each pair of a region where that is None.

    Row groups of `reads` are joined until they have `batch_size` pairs and computed together; the row groups of the output do not depend
    on that. While one batch is on the device others are read and prepared, and what is done is written.
    """
    totals = Totals()
    inputs = Inputs(haplotypes, reads, distances)
    with table_writer(output, "likelihoods") as writer:
        batches = ahead(inputs.batches(batch_size), depth=2)
        workers = 2 if engine.device.kind == "cpu" else _WORKERS
        for batch, (table, counted) in overlapped(lambda batch: _batch(inputs, batch, engine, pruning), batches, workers):
            totals.add(counted)
            for begin, end in itertools.pairwise([0, *batch.group_ends]):
                writer.append(table.slice(begin, end - begin))
    return totals


def _batch(inputs: Inputs, batch: Batch, engine: EngineOptions, pruning: PruningOptions) -> tuple[pa.Table, Totals]:
    try:
        return _compute(inputs.read(batch), engine, pruning)
    except SequenceError as fault:
        raise inputs.named(batch, fault) from fault


def _compute(rows: Rows, engine: EngineOptions, pruning: PruningOptions) -> tuple[pa.Table, Totals]:
    """Rows of the table of likelihoods."""
    totals = Totals(pairs=len(rows.pairs))
    distances = rows.columns["edit_distance"]
    if pruning.prune and distances.max(initial=-1) >= 0:
        first = first_of_reads(rows.pairs)
        worse = candidates(rows.haplotypes, rows.pairs, distances, first, pruning.prune_margin)
        if len(worse):
            return _table(rows, *_pruned(rows, engine, pruning.prune_quality / 10, first, worse, totals)), totals
    result = engine.compute(rows.reads, rows.haplotypes, rows.pairs)
    totals.add(result)
    return _table(rows, result.log10, result.how), totals


def _pruned(
    rows: Rows, engine: EngineOptions, cap: float, first: np.ndarray, worse: np.ndarray, totals: Totals
) -> tuple[np.ndarray, np.ndarray]:
    """(log10, index into _HOW) of each pair; `worse` may be left out. first: the first pair of each read."""
    count = len(rows.pairs)

    def compute(pairs: Regions | np.ndarray) -> Result:
        result = engine.compute(rows.reads, rows.haplotypes, pairs)
        totals.add(result)
        return result

    waiting = worth_waiting(rows.pairs, worse, len(rows.haplotypes))
    if len(waiting):
        log10, how = np.full(count, -np.inf), np.zeros(count, np.uint8)
        others = np.delete(np.arange(count), waiting)
        result = compute(pairs_at(rows.pairs, others))
        log10[others], how[others] = result.log10, result.how
    else:
        result = compute(rows.pairs)
        log10, how = result.log10, result.how
    left_out = proven(rows.reads, rows.pairs, rows.columns["edit_distance"], worse, best_of_reads(log10, first, worse), cap)
    late = np.setdiff1d(waiting, left_out, assume_unique=True)
    if len(late):
        result = compute(pairs_at(rows.pairs, late))
        log10[late], how[late] = result.log10, result.how
    log10[left_out] = -np.inf
    log10[left_out] = best_of_reads(log10, first, left_out) - cap
    how[left_out] = _PRUNED
    totals.pruned = len(left_out)
    return log10, how


def _table(rows: Rows, log10: np.ndarray, how: np.ndarray) -> pa.Table:
    columns = {name: numbers(values) for name, values in (rows.columns | {"log10_likelihood": log10}).items()}
    columns["how"] = choices(how.astype(np.int32), _HOW)
    return pa.Table.from_arrays([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)
