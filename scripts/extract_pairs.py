#!/usr/bin/env python3
"""Build the haplotypes of each active region and collect the reads that are compared with them."""

from argparse import Namespace
from pathlib import Path

from haplowave import cli
from haplowave.calling.extract import ExtractOptions, extract_pairs
from haplowave.options import HaplotypeOptions, ReadOptions, RegionOptions


def main(arguments: Namespace) -> None:
    options = ExtractOptions(*(cli.options_from(arguments, section) for section in (RegionOptions, HaplotypeOptions, ReadOptions)))
    haplotypes, reads = extract_pairs(
        arguments.reference,
        arguments.index_dir,
        arguments.samples,
        arguments.regions,
        arguments.haplotypes,
        arguments.reads,
        options,
    )
    print(f"{arguments.haplotypes}: {haplotypes} haplotypes; {arguments.reads}: {reads} reads")


def parser():
    target = cli.parser("Build candidate haplotypes from the reads of each active region and write them and the reads as tables.")
    cli.add_inputs(target)
    target.add_argument("--regions", required=True, type=Path, metavar="PARQUET", help="table of regions, from find_regions.py")
    target.add_argument("--haplotypes", required=True, type=Path, metavar="PARQUET", help="output: table of haplotypes")
    target.add_argument("--reads", required=True, type=Path, metavar="PARQUET", help="output: table of reads")
    for section in (RegionOptions, HaplotypeOptions, ReadOptions):
        cli.add_options(target, section)
    return target


if __name__ == "__main__":
    cli.run(main, parser())
