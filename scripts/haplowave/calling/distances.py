"""The step that measures how far every read is from every haplotype of its region."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from haplowave.calling.batches import region_pairs
from haplowave.calling.columns import column_sequences
from haplowave.distance import batch
from haplowave.opencl import Device
from haplowave.tables import RowsInStep, flat_values, iterate_row_groups, table_writer

BATCH_PAIRS = 1 << 21  # of one launch: bounds the memory of the device, not what is written


def write_distances(haplotypes: str | Path, reads: str | Path, output: str | Path, device: Device) -> int:
    """Write table `distances`, one row a read and haplotype of the same region; returns the number of rows.

    One row group of `reads` is held at a time with the haplotypes of its regions; the output has the same row groups.
    """
    with table_writer(output, "distances") as writer:
        haplotype_rows = RowsInStep(haplotypes, "haplotypes", ("region_id", "hap_id", "sequence"))
        for rows in iterate_row_groups(reads, "reads", ("region_id", "read_id", "bases")):
            haps = haplotype_rows.until(rows.column("region_id")[-1].as_py())
            writer.append(_distances(haps, rows, device))
        return writer.rows


def _distances(haplotypes: pa.Table, reads: pa.Table, device: Device) -> dict[str, np.ndarray]:
    regions = flat_values(reads.column("region_id"))
    pairs = region_pairs(regions, flat_values(haplotypes.column("region_id"))).pairs()
    queries, targets = column_sequences(reads.column("bases")), column_sequences(haplotypes.column("sequence"))
    parts = [
        batch(queries, targets, pairs[begin : begin + BATCH_PAIRS], mode="infix", device=device)
        for begin in range(0, len(pairs), BATCH_PAIRS)
    ]
    return {
        "region_id": regions[pairs[:, 0]],
        "read_id": flat_values(reads.column("read_id"))[pairs[:, 0]],
        "hap_id": flat_values(haplotypes.column("hap_id"))[pairs[:, 1]],
        "edit_distance": np.concatenate(parts) if parts else np.zeros(0, np.int32),
    }
