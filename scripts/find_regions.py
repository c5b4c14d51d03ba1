#!/usr/bin/env python3
"""Find the active regions of an interval list."""

from argparse import Namespace
from pathlib import Path

from haplowave import cli
from haplowave.calling.scan import scan
from haplowave.options import ReadOptions, RegionOptions


def main(arguments: Namespace) -> None:
    regions = scan(
        arguments.reference,
        arguments.index_dir,
        arguments.samples,
        arguments.intervals,
        arguments.output,
        arguments.counts,
        cli.options_from(arguments, RegionOptions),
        cli.options_from(arguments, ReadOptions),
    )
    print(f"{arguments.output}: {regions} regions")


def parser():
    target = cli.parser("Stream the alignments of all samples and write the regions where they differ from the reference.")
    cli.add_inputs(target)
    target.add_argument(
        "--intervals", required=True, type=Path, metavar="BED", help="where to look; a region belongs to the interval it starts in"
    )
    target.add_argument("--output", required=True, type=Path, metavar="PARQUET", help="table of regions")
    target.add_argument("--counts", required=True, type=Path, metavar="TSV", help="reads by sample and by the reason they were left out")
    cli.add_options(target, RegionOptions)
    cli.add_options(target, ReadOptions)
    return target


if __name__ == "__main__":
    cli.run(main, parser())
