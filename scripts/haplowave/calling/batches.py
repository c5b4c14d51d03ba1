"""Which rows of the tables of reads, haplotypes and distances are computed together, and reading them, several batches at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from haplowave.calling.columns import column_sequences, repeated_bytes
from haplowave.errors import UserError
from haplowave.pairhmm import Regions
from haplowave.sequences import Reads, Sequences
from haplowave.tables import RowsInStep, TableRows

_QUALS = ("base_quals", "insertion_quals", "deletion_quals", "gap_quals")


@dataclass
class Batch:
    """Row groups of reads with what belongs to their regions; rows are numbers within the tables."""

    reads: slice
    haplotypes: slice
    distances: slice
    read_regions: np.ndarray
    """int64: region of each read."""
    haplotype_regions: np.ndarray
    group_ends: list[int]
    """Pairs up to the end of each row group."""

    @property
    def pairs(self) -> int:
        return self.group_ends[-1]


@dataclass
class Rows:
    """The content of a batch."""

    reads: Reads
    haplotypes: Sequences
    pairs: Regions | np.ndarray
    """Rows within the batch; an array, (n, 2), where the table of distances does not hold every pair."""
    columns: dict[str, np.ndarray]
    """region_id, read_id, hap_id and edit_distance of each pair."""


class Inputs:
    """The tables of a step. `distances` may be None: every read of a region with every haplotype."""

    def __init__(self, haplotypes: str | Path, reads: str | Path, distances: str | Path | None):
        self.paths = (haplotypes, reads, distances)
        self._haplotypes = TableRows(haplotypes, "haplotypes", ("hap_id", "sequence"))
        self._reads = TableRows(reads, "reads", ("region_id", "read_id", "bases", *_QUALS), few=_QUALS)
        self._distances = TableRows(distances, "distances", ("region_id", "read_id", "hap_id", "edit_distance")) if distances else None

    def batches(self, size: int) -> Iterator[Batch]:
        """Row groups of reads joined until they have `size` pairs. Only the columns of regions are read."""
        haplotypes, _, distances = self.paths
        haplotype_rows = RowsInStep(haplotypes, "haplotypes", ("region_id",))
        distance_rows = RowsInStep(distances, "distances", ("region_id",)) if distances else None
        batch, at = _Growing(), [0, 0, 0]
        for regions in self._reads.groups("region_id"):
            last = int(regions[-1])
            own = haplotype_rows.until(last).column("region_id").to_numpy()
            if distance_rows is None:
                known, pairs = 0, int((np.searchsorted(own, regions, "right") - np.searchsorted(own, regions, "left")).sum())
            else:
                known = pairs = distance_rows.until(last).num_rows
            batch.add(regions, own, known, pairs)
            if batch.ends[-1] >= size:
                yield batch.made(at)
                batch = _Growing()
        if batch.ends:
            yield batch.made(at)

    def read(self, batch: Batch) -> Rows:
        """The content of `batch`; may be called by several threads at a time."""
        table = self._reads.read(batch.reads)
        read_ids = table.column("read_id").to_numpy()
        haplotypes = self._haplotypes.read(batch.haplotypes)
        hap_ids, sequences = haplotypes.column("hap_id").to_numpy(), column_sequences(haplotypes.column("sequence"))
        regions = region_pairs(batch.read_regions, batch.haplotype_regions)
        read, haplotype = regions.indices()
        columns = {"region_id": batch.read_regions[read], "read_id": read_ids[read], "hap_id": hap_ids[haplotype]}
        pairs: Regions | np.ndarray = regions
        if self._distances is None:
            columns["edit_distance"] = np.full(len(regions), -1, np.int32)
        else:
            rows = self._distances.read(batch.distances)
            known = {name: rows.column(name).to_numpy() for name in ("region_id", "read_id", "hap_id")}
            if not all(np.array_equal(known[name], columns[name]) for name in columns):
                pairs = self._listed(known, batch, read_ids, hap_ids)
            columns = known | {"edit_distance": rows.column("edit_distance").to_numpy()}
        return Rows(_reads(table), sequences, pairs, columns)

    def _listed(self, known: dict[str, np.ndarray], batch: Batch, read_ids: np.ndarray, hap_ids: np.ndarray) -> np.ndarray:
        haplotypes, reads, distances = self.paths
        read = _row_of(batch.read_regions, read_ids, known["region_id"], known["read_id"], distances, reads)
        haplotype = _row_of(batch.haplotype_regions, hap_ids, known["region_id"], known["hap_id"], distances, haplotypes)
        return np.stack([read, haplotype], axis=1)


class _Growing:
    """Row groups that wait for their batch to be large enough."""

    def __init__(self) -> None:
        self.reads: list[np.ndarray] = []
        self.haplotypes: list[np.ndarray] = []
        self.distances = 0
        self.ends: list[int] = []

    def add(self, reads: np.ndarray, haplotypes: np.ndarray, distances: int, pairs: int) -> None:
        self.reads.append(reads)
        self.haplotypes.append(haplotypes)
        self.distances += distances
        self.ends.append(pairs + (self.ends[-1] if self.ends else 0))

    def made(self, at: list[int]) -> Batch:
        """The batch, whose rows begin at `at` in each table; moves `at` behind it."""
        reads, haplotypes = np.concatenate(self.reads), np.concatenate(self.haplotypes)
        slices = []
        for table, count in enumerate((len(reads), len(haplotypes), self.distances)):
            slices.append(slice(at[table], at[table] + count))
            at[table] += count
        return Batch(*slices, reads, haplotypes, self.ends)


def region_pairs(read_regions: np.ndarray, haplotype_regions: np.ndarray) -> Regions:
    """All pairs of the same region. Both inputs are sorted region ids, one a row of the table of reads and of haplotypes."""
    begin = np.flatnonzero(np.concatenate([[True], read_regions[1:] != read_regions[:-1]])) if len(read_regions) else np.zeros(0, np.int64)
    first, last = (np.searchsorted(haplotype_regions, read_regions[begin], side) for side in ("left", "right"))
    spans = np.stack([begin, np.diff(np.append(begin, len(read_regions))), first, last - first], axis=1).astype(np.int64)
    return Regions(spans[last > first])


def _row_of(
    regions: np.ndarray, numbers: np.ndarray, wanted_region: np.ndarray, wanted: np.ndarray, asked: str | Path, path: str | Path
) -> np.ndarray:
    """Rows of a table sorted by (region, number) that hold each (wanted_region, wanted). Raises UserError where one is missing."""
    row = np.searchsorted(regions, wanted_region) + wanted  # numbers count from 0 in every region
    inside = np.minimum(row, max(len(regions) - 1, 0))
    if len(row) and (not len(regions) or (regions[inside] != wanted_region).any() or (numbers[inside] != wanted).any()):
        raise UserError(f"{asked}: names a read or haplotype that {path} lacks; give tables of one run")
    return row


def _reads(rows: pa.Table) -> Reads:
    bases = column_sequences(rows.column("bases"))
    quals = []
    for column in _QUALS:
        lengths, values = repeated_bytes(rows.column(column))
        if not np.array_equal(lengths, bases.lengths):
            row = int(np.flatnonzero(lengths != bases.lengths)[0])
            region, read = rows.column("region_id")[row].as_py(), rows.column("read_id")[row].as_py()
            raise UserError(f"reads table: region {region}, read {read}: {column} are not as long as the bases; make the table again")
        quals.append(values)
    return Reads(bases, *quals)
