"""Small BAM files written from lists of (start, cigar, sequence): what the tests of the reading stages share."""

import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pysam


def random_sequence(length: int, seed: int) -> str:
    """A, C, G, T at random."""
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def write_reference(path: Path, contigs: dict[str, str]) -> Path:
    """FASTA with its .fai."""
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in contigs.items()))
    pysam.faidx(str(path))
    return path


def write_bam(path: Path, contigs: dict[str, int], reads: Iterable[dict], sample: str = "s") -> Path:
    """Sorted, indexed BAM. A read: contig, start, cigar, sequence; optional name, quals, flag, mapq."""
    header = {
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": name, "LN": length} for name, length in contigs.items()],
        "RG": [{"ID": "1", "SM": sample}],
    }
    order = list(contigs)
    rows = sorted(reads, key=lambda read: (order.index(read["contig"]), read["start"]))
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for number, row in enumerate(rows):
            read = pysam.AlignedSegment(file.header)
            read.query_name = row.get("name", f"r{number}")
            read.reference_id = order.index(row["contig"])
            read.reference_start = row["start"]
            read.mapping_quality = row.get("mapq", 60)
            read.flag = row.get("flag", 0)
            read.cigarstring = row["cigar"]
            read.query_sequence = row["sequence"]
            read.query_qualities = array.array("B", row.get("quals") or [35] * len(row["sequence"]))
            read.set_tag("RG", "1")
            file.write(read)
    pysam.index(str(path))
    return path


def tile(contig: str, haplotype: str, edits: list[tuple[int, int, int]], length: int, step: int) -> list[dict]:
    """Reads of `length` every `step` bases of `haplotype`; `edits`: (haplotype position, inserted, deleted) of its indels."""
    reads = []
    for begin in range(0, len(haplotype) - length + 1, step):
        shift = sum(deleted - inserted for at, inserted, deleted in edits if at < begin)
        inside = [(at, inserted, deleted) for at, inserted, deleted in edits if begin < at and at + inserted < begin + length]
        if any(begin - inserted < at <= begin or begin + length - inserted <= at < begin + length for at, inserted, _ in edits):
            continue
        cigar, done = "", begin
        for at, inserted, deleted in inside:
            cigar += f"{at - done}M" + (f"{inserted}I" if inserted else "") + (f"{deleted}D" if deleted else "")
            done = at + inserted
        cigar += f"{begin + length - done}M"
        reads.append({"contig": contig, "start": begin + shift, "cigar": cigar, "sequence": haplotype[begin : begin + length]})
    return reads
