#!/usr/bin/env python3
"""Measure how often reads gain or lose bases in homopolymers."""

from argparse import Namespace
from pathlib import Path

from haplowave import cli
from haplowave.calling.gap_rates import measure


def main(arguments: Namespace) -> None:
    print("run_length", "lowest_quality", "runs", "inserted", "deleted", "phred", sep="\t")
    for rate in measure(arguments.reference, arguments.samples, arguments.intervals, arguments.truth):
        print(rate.run_length, rate.lowest_quality, rate.runs, rate.inserted, rate.deleted, f"{rate.phred:.1f}", sep="\t")


def parser():
    target = cli.parser("Print the rate of indels in homopolymers, by run length and by the lowest base quality of the run, as TSV.")
    target.add_argument("--reference", required=True, type=Path, metavar="FASTA", help="reference, plain or bgzipped")
    target.add_argument("--samples", required=True, type=Path, metavar="TSV", help="sample sheet; give one platform at a time")
    target.add_argument("--intervals", required=True, type=Path, metavar="BED", help="where to look: regions with a trusted truth")
    target.add_argument("--truth", required=True, type=Path, metavar="VCF", help="known variants, left out")
    return target


if __name__ == "__main__":
    cli.run(main, parser())
