#!/usr/bin/env python3
"""PairHMM likelihood of every read under every haplotype of its region."""

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from haplowave import cli
from haplowave.calling.likelihoods import EngineOptions, write_likelihoods
from haplowave.options import PruningOptions
from haplowave.pairhmm.arguments import add_arguments, engine_arguments, summary


def main(arguments: Namespace) -> None:
    began = time.perf_counter()
    engine = EngineOptions(**engine_arguments(arguments))
    pruning = cli.options_from(arguments, PruningOptions)
    tables = (arguments.haplotypes, arguments.reads, arguments.distances, arguments.output)
    totals = write_likelihoods(*tables, engine, pruning, arguments.batch_size)
    line = summary(totals, time.perf_counter() - began, engine.device)
    print(f"{arguments.output}: {line}, {totals.pruned} pairs pruned")


def parser() -> ArgumentParser:
    target = cli.parser("Compute log10 P(read | haplotype) by PairHMM for every read and haplotype of a region.")
    target.add_argument("--haplotypes", required=True, type=Path, metavar="PARQUET", help="table of haplotypes, from extract_pairs.py")
    target.add_argument("--reads", required=True, type=Path, metavar="PARQUET", help="table of reads, from extract_pairs.py")
    target.add_argument("--distances", type=Path, metavar="PARQUET", help="table of distances, from edit_distances.py; needed to prune")
    target.add_argument("--output", required=True, type=Path, metavar="PARQUET", help="output: table of likelihoods")
    add_arguments(target)
    target.add_argument(
        "--batch-size", type=cli.positive, default=1 << 19, metavar="PAIRS", help="pairs computed together (default: %(default)s)"
    )
    cli.add_options(target, PruningOptions)
    return target


if __name__ == "__main__":
    cli.run(main, parser())
