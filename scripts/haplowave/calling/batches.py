"""Which rows of the tables of reads, haplotypes and distances are computed together, and reading them, several batches at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from haplowave.calling.columns import column_sequences, repeated_bytes
from haplowave.errors import UserError
from haplowave.pairhmm import Regions
from haplowave.pairhmm.screening import SequenceError
from haplowave.sequences import Reads, Sequences
from haplowave.tables import TableRows, flat_values

_DOUBLINGS = 3  # of the size of a batch
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
    pairs: Regions
    """All pairs of the same region, by rows within the batch."""
    group_ends: list[int]
    """Rows of the output up to the end of each row group."""


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
        """Row groups of reads joined until they have `size` pairs; the first batches are smaller, so that the device begins early.

        Only the columns of regions are read.
        """
        haplotypes = _RegionIds(self._haplotypes)
        distances = _RegionIds(self._distances) if self._distances else None
        batch, least = _Growing(0, 0, 0), max(1, size >> _DOUBLINGS)
        for regions in self._reads.groups("region_id"):
            last = int(regions[-1])
            batch.add(regions, haplotypes.until(last), distances.until(last) if distances else None)
            if batch.ends[-1] >= least:
                yield batch.made()
                batch, least = batch.next(), min(2 * least, size)
        if batch.ends:
            yield batch.made()

    def read(self, batch: Batch) -> Rows:
        """The content of `batch`; may be called by several threads at a time."""
        table = self._reads.read(batch.reads)
        read_ids = flat_values(table.column("read_id"))
        haplotypes = self._haplotypes.read(batch.haplotypes)
        hap_ids, sequences = flat_values(haplotypes.column("hap_id")), column_sequences(haplotypes.column("sequence"))
        columns = _names(batch, read_ids, hap_ids)
        if self._distances is None:
            return Rows(_reads(table), sequences, batch.pairs, columns | {"edit_distance": np.full(len(batch.pairs), -1, np.int32)})
        rows = self._distances.read(batch.distances)
        known = {name: flat_values(rows.column(name)) for name in columns}
        whole = all(np.array_equal(known[name], columns[name]) for name in columns)
        pairs = batch.pairs if whole else self._listed(known, batch, read_ids, hap_ids)
        return Rows(_reads(table), sequences, pairs, known | {"edit_distance": flat_values(rows.column("edit_distance"))})

    def named(self, batch: Batch, fault: SequenceError) -> UserError:
        """The same by file, region and number within it."""
        of_reads = fault.what == "read"
        table, rows = (self._reads, batch.reads) if of_reads else (self._haplotypes, batch.haplotypes)
        region = (batch.read_regions if of_reads else batch.haplotype_regions)[fault.index]
        number = flat_values(table.read(rows).column("read_id" if of_reads else "hap_id"))[fault.index]
        return UserError(f"{self.paths[of_reads]}: region {region}, {fault.what} {number}: {fault.reason}; make the table again")

    def _listed(self, known: dict[str, np.ndarray], batch: Batch, read_ids: np.ndarray, hap_ids: np.ndarray) -> np.ndarray:
        haplotypes, reads, distances = self.paths
        read = _row_of(batch.read_regions, read_ids, known["region_id"], known["read_id"], distances, reads)
        haplotype = _row_of(batch.haplotype_regions, hap_ids, known["region_id"], known["hap_id"], distances, haplotypes)
        return np.stack([read, haplotype], axis=1)


def _names(batch: Batch, read_ids: np.ndarray, hap_ids: np.ndarray) -> dict[str, np.ndarray]:
    """region_id, read_id and hap_id of each pair of the batch."""
    pairs = batch.pairs
    region, read = pairs.rows
    each = pairs.spans[region, 3]
    first = (pairs.spans[region, 2] - (np.cumsum(each) - each)).astype(np.int32)
    haplotype = np.arange(len(pairs), dtype=np.int32) + np.repeat(first, each)
    regions = batch.read_regions[pairs.spans[:, 0]]
    return {
        "region_id": np.repeat(regions, np.diff(pairs.offsets)),
        "read_id": np.repeat(read_ids[read], each),
        "hap_id": hap_ids[haplotype],
    }


class _RegionIds:
    """The region ids of a table, taken in step with another's."""

    def __init__(self, table: TableRows):
        self._groups = table.groups("region_id")
        self._held = next(self._groups, np.zeros(0, np.int64))

    def until(self, region: int) -> np.ndarray:
        """Those not taken yet, up to `region`: one a row, int64."""
        while not len(self._held) or self._held[-1] <= region:
            more = next(self._groups, None)
            if more is None:
                break
            self._held = np.concatenate([self._held, more])
        count = int(np.searchsorted(self._held, region, side="right"))
        taken, self._held = self._held[:count], self._held[count:]
        return taken


class _Growing:
    """Row groups that wait for their batch to be large enough; it begins at these rows of reads, haplotypes and distances."""

    def __init__(self, reads: int, haplotypes: int, distances: int):
        self._first = reads, haplotypes, distances
        self._reads: list[np.ndarray] = []
        self._haplotypes: list[np.ndarray] = []
        self._spans: list[np.ndarray] = []
        self._sizes = [0, 0, 0]
        self.ends: list[int] = []

    def add(self, reads: np.ndarray, haplotypes: np.ndarray, distances: np.ndarray | None) -> None:
        """Region ids of the rows of one row group of reads, and of what belongs to its regions."""
        pairs = region_pairs(reads, haplotypes)
        self._spans.append(pairs.spans + np.array([self._sizes[0], 0, self._sizes[1], 0]))
        self._reads.append(reads)
        self._haplotypes.append(haplotypes)
        known = 0 if distances is None else len(distances)
        self._sizes = [size + more for size, more in zip(self._sizes, (len(reads), len(haplotypes), known), strict=True)]
        self.ends.append((self.ends[-1] if self.ends else 0) + (len(pairs) if distances is None else known))

    def made(self) -> Batch:
        """The batch."""
        slices = (slice(first, first + size) for first, size in zip(self._first, self._sizes, strict=True))
        pairs = Regions(np.concatenate(self._spans))
        return Batch(*slices, np.concatenate(self._reads), np.concatenate(self._haplotypes), pairs, self.ends)

    def next(self) -> "_Growing":
        """An empty one that begins where this ends."""
        return _Growing(*(first + size for first, size in zip(self._first, self._sizes, strict=True)))


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
