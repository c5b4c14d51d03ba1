"""The step that measures how far every read is from every haplotype of its region."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from haplowave.calling.columns import column_sequences
from haplowave.distance import batch
from haplowave.opencl import Device
from haplowave.tables import iterate_row_groups, table_writer

BATCH_PAIRS = 1 << 21  # of one launch: bounds the memory of the device, not what is written


def write_distances(haplotypes: str | Path, reads: str | Path, output: str | Path, device: Device) -> int:
    """Write table `distances`, one row a read and haplotype of the same region; returns the number of rows.

    One row group of `reads` is held at a time with the haplotypes of its regions; the output has the same row groups.
    """
    with table_writer(output, "distances") as writer:
        for haps, rows in _matched(haplotypes, reads):
            writer.append(_distances(haps, rows, device))
        return writer.rows


def _matched(haplotypes: str | Path, reads: str | Path) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Row groups of `reads`, each with the haplotypes from its first region to its last."""
    groups = iterate_row_groups(haplotypes, "haplotypes")
    held: pa.Table | None = next(groups, None)
    for rows in iterate_row_groups(reads, "reads"):
        if held is None:
            return
        first, last = rows.column("region_id")[0].as_py(), rows.column("region_id")[-1].as_py()
        while held.num_rows == 0 or held.column("region_id")[-1].as_py() <= last:
            more = next(groups, None)
            if more is None:
                break
            held = pa.concat_tables([held, more])
        regions = held.column("region_id")
        held = held.filter(pc.greater_equal(regions, first))
        yield held.filter(pc.less_equal(held.column("region_id"), last)), rows


def _distances(haplotypes: pa.Table, reads: pa.Table, device: Device) -> dict[str, np.ndarray]:
    pairs = region_pairs(reads.column("region_id").to_numpy(), haplotypes.column("region_id").to_numpy())
    queries, targets = column_sequences(reads.column("bases")), column_sequences(haplotypes.column("sequence"))
    parts = [
        batch(queries, targets, pairs[begin : begin + BATCH_PAIRS], mode="infix", device=device)
        for begin in range(0, len(pairs), BATCH_PAIRS)
    ]
    return {
        "region_id": reads.column("region_id").to_numpy()[pairs[:, 0]],
        "read_id": reads.column("read_id").to_numpy()[pairs[:, 0]],
        "hap_id": haplotypes.column("hap_id").to_numpy()[pairs[:, 1]],
        "edit_distance": np.concatenate(parts) if parts else np.zeros(0, np.int32),
    }


def region_pairs(read_regions: np.ndarray, haplotype_regions: np.ndarray) -> np.ndarray:
    """Row numbers (read, haplotype) of all pairs of the same region, int64, shape (n, 2), in order of read, then haplotype.

    Both inputs are sorted region ids, one a row.
    """
    first = np.searchsorted(haplotype_regions, read_regions, "left")
    count = np.searchsorted(haplotype_regions, read_regions, "right") - first
    read = np.repeat(np.arange(len(read_regions)), count)
    within = np.arange(len(read)) - np.repeat(np.cumsum(count) - count, count)
    return np.stack([read, np.repeat(first, count) + within], axis=1)
