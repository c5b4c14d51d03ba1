#!/usr/bin/env python3
"""Edit distance of every read to every haplotype of its region."""

from argparse import Namespace
from pathlib import Path

from haplowave import cli
from haplowave.calling.distances import write_distances
from haplowave.opencl import select


def main(arguments: Namespace) -> None:
    device = select(arguments.device, arguments.threads)
    rows = write_distances(arguments.haplotypes, arguments.reads, arguments.output, device)
    print(f"{arguments.output}: {rows} distances on {device.name}")


def parser():
    target = cli.parser("Compute the edit distance of each read within each haplotype of its region (whole read, haplotype ends free).")
    target.add_argument("--haplotypes", required=True, type=Path, metavar="PARQUET", help="table of haplotypes, from extract_pairs.py")
    target.add_argument("--reads", required=True, type=Path, metavar="PARQUET", help="table of reads, from extract_pairs.py")
    target.add_argument("--output", required=True, type=Path, metavar="PARQUET", help="output: table of distances")
    target.add_argument("--device", default="auto", help="auto, cpu, gpu, an index or part of a name of devices.py (default: auto)")
    target.add_argument("--threads", type=int, metavar="N", help="threads of a CPU device (default: the cores this process may use)")
    return target


if __name__ == "__main__":
    cli.run(main, parser())
