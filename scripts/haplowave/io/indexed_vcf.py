"""A VCF as every reader wants it: bgzipped, with a tabix index."""

from collections.abc import Iterable
from pathlib import Path

import pysam

from haplowave.files import atomic_path


def write_indexed_vcf(path: Path, lines: Iterable[str]) -> None:
    """Write `lines` (header and sorted records, line ends included) to `path` and its index to `path`.tbi."""
    with atomic_path(path) as temporary:
        with pysam.BGZFile(str(temporary), "wb") as output:
            for line in lines:
                output.write(line.encode())
        with atomic_path(path.with_name(path.name + ".tbi")) as index:
            pysam.tabix_index(str(temporary), preset="vcf", index=str(index), force=True)
