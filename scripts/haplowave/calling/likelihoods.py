"""The step that computes PairHMM likelihoods from the tables of reads, haplotypes and edit distances."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from haplowave.ahead import ahead, overlapped
from haplowave.calling.columns import column_sequences
from haplowave.calling.distances import region_pairs
from haplowave.calling.pruning import best_of_reads, candidates, proven, worth_waiting
from haplowave.errors import UserError
from haplowave.opencl import Device
from haplowave.options import PruningOptions
from haplowave.pairhmm import HOW, Result, log10_likelihoods
from haplowave.pairhmm.totals import Totals
from haplowave.sequences import Reads, Sequences
from haplowave.tables import RowsInStep, iterate_row_groups, table_writer

_QUALS = ("base_quals", "insertion_quals", "deletion_quals", "gap_quals")
_READ_COLUMNS = ("region_id", "read_id", "bases", *_QUALS)
_HAPLOTYPE_COLUMNS = ("region_id", "hap_id", "sequence")
_HOW = pa.array([*HOW, "pruned"])
_PRUNED = len(HOW)


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

    def compute(self, reads: Reads, haplotypes: Sequences, pairs: np.ndarray) -> Result:
        return log10_likelihoods(reads, haplotypes, pairs, **vars(self))


@dataclass
class _Answer:
    log10: np.ndarray
    how: np.ndarray
    """Index into _HOW."""
    totals: Totals


@dataclass
class _Group:
    """One row group of reads with what belongs to its regions."""

    reads: pa.Table
    haplotypes: pa.Table
    pairs: np.ndarray
    """int64 (n, 2): row of `reads`, row of `haplotypes`."""
    distances: np.ndarray
    """int32 (n,), -1 where unknown."""


@dataclass
class _Batch:
    groups: list[_Group] = field(default_factory=list)
    pairs: int = 0

    def add(self, group: _Group) -> None:
        self.groups.append(group)
        self.pairs += len(group.pairs)


def write_likelihoods(
    haplotypes: str | Path,
    reads: str | Path,
    distances: str | Path | None,
    output: str | Path,
    engine: EngineOptions,
    pruning: PruningOptions,
    batch_size: int = 1 << 18,
) -> Totals:
    """Write table `likelihoods`: a row for each row of `distances`, or for each pair of a region where that is None.

    Row groups of `reads` are joined until they have `batch_size` pairs and computed together; the output has the row groups of `reads`
    whatever the batch. While one batch is on the device the next is prepared and another is read.
    """
    totals = Totals()
    with table_writer(output, "likelihoods") as writer:
        batches = ahead(_batches(_groups(haplotypes, reads, distances), batch_size))
        workers = 2 if engine.device.kind == "cpu" else 6  # a GPU is quicker than one thread that prepares for it
        for batch, answer in overlapped(lambda batch: _compute(batch, engine, pruning), batches, workers):
            totals.add(answer.totals)
            at = 0
            for group in batch.groups:
                rows = slice(at, at + len(group.pairs))
                writer.append(_rows_of(group, answer.log10[rows], answer.how[rows]))
                at = rows.stop
    return totals


def _batches(groups: Iterator[_Group], batch_size: int) -> Iterator[_Batch]:
    batch = _Batch()
    for group in groups:
        batch.add(group)
        if batch.pairs >= batch_size:
            yield batch
            batch = _Batch()
    if batch.groups:
        yield batch


def _groups(haplotypes: str | Path, reads: str | Path, distances: str | Path | None) -> Iterator[_Group]:
    haplotype_rows = RowsInStep(haplotypes, "haplotypes", _HAPLOTYPE_COLUMNS)
    distance_rows = RowsInStep(distances, "distances", ("region_id", "read_id", "hap_id", "edit_distance")) if distances else None
    for group_reads in iterate_row_groups(reads, "reads", _READ_COLUMNS):
        last = group_reads.column("region_id")[-1].as_py()
        group_haplotypes = haplotype_rows.until(last)
        regions = [table.column("region_id").to_numpy() for table in (group_reads, group_haplotypes)]
        if distance_rows is None:
            pairs = region_pairs(*regions)
            yield _Group(group_reads, group_haplotypes, pairs, np.full(len(pairs), -1, np.int32))
            continue
        known = distance_rows.until(last)
        region = known.column("region_id").to_numpy()
        read = _row_of(regions[0], group_reads.column("read_id").to_numpy(), region, known.column("read_id").to_numpy(), distances, reads)
        haplotype = _row_of(
            regions[1], group_haplotypes.column("hap_id").to_numpy(), region, known.column("hap_id").to_numpy(), distances, haplotypes
        )
        yield _Group(group_reads, group_haplotypes, np.stack([read, haplotype], axis=1), known.column("edit_distance").to_numpy())


def _row_of(
    regions: np.ndarray, numbers: np.ndarray, wanted_region: np.ndarray, wanted: np.ndarray, asked: str | Path, path: str | Path
) -> np.ndarray:
    """Rows of a table sorted by (region, number) that hold each (wanted_region, wanted). Raises UserError where one is missing."""
    row = np.searchsorted(regions, wanted_region) + wanted  # numbers count from 0 in every region
    inside = np.minimum(row, max(len(regions) - 1, 0))
    if len(row) and (not len(regions) or (regions[inside] != wanted_region).any() or (numbers[inside] != wanted).any()):
        raise UserError(f"{asked}: names a read or haplotype that {path} lacks; give tables of one run")
    return row


def _compute(batch: _Batch, engine: EngineOptions, pruning: PruningOptions) -> _Answer:
    reads = _reads(pa.concat_tables([group.reads for group in batch.groups]))
    haplotypes = column_sequences(pa.concat_tables([group.haplotypes for group in batch.groups]).column("sequence"))
    starts = np.cumsum([[0, 0], *([group.reads.num_rows, group.haplotypes.num_rows] for group in batch.groups)], axis=0)
    pairs = np.concatenate([group.pairs + start for group, start in zip(batch.groups, starts[:-1], strict=True)])
    distances = np.concatenate([group.distances for group in batch.groups])
    answer = _Answer(np.full(len(pairs), -np.inf), np.zeros(len(pairs), np.uint8), Totals(pairs=len(pairs)))

    def fill(which: np.ndarray) -> None:
        result = engine.compute(reads, haplotypes, pairs[which])
        answer.log10[which], answer.how[which] = result.log10, result.how
        answer.totals.add(result)

    worse = candidates(haplotypes, pairs, distances, pruning.prune_margin) if pruning.prune else np.zeros(len(pairs), bool)
    waiting = worse & worth_waiting(pairs, worse, len(haplotypes))
    fill(np.flatnonzero(~waiting))
    if worse.any():
        cap = pruning.prune_quality / 10
        left_out = proven(reads, pairs, distances, worse, best_of_reads(pairs, answer.log10), cap)
        fill(np.flatnonzero(waiting & ~left_out))
        answer.log10[left_out] = -np.inf
        answer.log10[left_out] = best_of_reads(pairs, answer.log10)[left_out] - cap
        answer.how[left_out] = _PRUNED
        answer.totals.pruned = int(left_out.sum())
    return answer


def _reads(rows: pa.Table) -> Reads:
    bases = column_sequences(rows.column("bases"))
    quals = [column_sequences(rows.column(column)) for column in _QUALS]
    for column, values in zip(_QUALS, quals, strict=True):
        if not np.array_equal(values.offsets, bases.offsets):
            row = int(np.flatnonzero(values.lengths != bases.lengths)[0])
            region, read = rows.column("region_id")[row].as_py(), rows.column("read_id")[row].as_py()
            raise UserError(f"reads table: region {region}, read {read}: {column} are not as long as the bases; make the table again")
    return Reads(bases, *(values.data for values in quals))


def _rows_of(group: _Group, log10: np.ndarray, how: np.ndarray) -> pa.Table:
    read, haplotype = group.pairs.T
    columns = {
        "region_id": group.reads.column("region_id").to_numpy()[read],
        "read_id": group.reads.column("read_id").to_numpy()[read],
        "hap_id": group.haplotypes.column("hap_id").to_numpy()[haplotype],
        "edit_distance": group.distances,
        "log10_likelihood": log10,
        "how": pa.DictionaryArray.from_arrays(how.astype(np.int32), _HOW),
    }
    return pa.table(columns)
