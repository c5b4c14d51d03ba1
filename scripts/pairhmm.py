#!/usr/bin/env python3
"""PairHMM on its own: likelihoods of reads given haplotypes, from tables or from the text forms of published benchmarks."""

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from haplowave import cli
from haplowave.errors import UserError
from haplowave.pairhmm.arguments import add_arguments, engine_arguments, summary
from haplowave.pairhmm.command import write_text_likelihoods
from haplowave.pairhmm.model import CONVENTIONS


def main(arguments: Namespace) -> None:
    if (arguments.text is None) == (arguments.reads is None or arguments.haplotypes is None):
        raise UserError("give either --text, or --reads and --haplotypes; see --help")
    if arguments.text is None and arguments.output == "-":
        raise UserError("--output: a table cannot go to standard output; name a file")
    began = time.perf_counter()
    engine = engine_arguments(arguments) | {"convention": arguments.convention}
    if arguments.text is not None:
        totals = write_text_likelihoods(arguments.text, arguments.output, engine, arguments.batch_size)
    else:
        from haplowave.calling.likelihoods import EngineOptions, write_likelihoods  # --text works without pyarrow
        from haplowave.options import PruningOptions

        tables = (arguments.haplotypes, arguments.reads, arguments.distances, arguments.output)
        totals = write_likelihoods(*tables, EngineOptions(**engine), PruningOptions(prune=False), arguments.batch_size)
    print(summary(totals, time.perf_counter() - began, engine["device"]), file=sys.stderr)


def parser() -> ArgumentParser:
    target = cli.parser(__doc__)
    target.add_argument("--text", metavar="FILE", help="testcases 'reads haplotypes', or a pair a line; .gz, or - for standard input")
    target.add_argument("--haplotypes", type=Path, metavar="PARQUET", help="table of haplotypes, instead of --text")
    target.add_argument("--reads", type=Path, metavar="PARQUET", help="table of reads, instead of --text")
    target.add_argument("--distances", type=Path, metavar="PARQUET", help="table of distances: the pairs to compute (default: all)")
    target.add_argument("--output", default="-", metavar="FILE", help="text (default: standard output), or a table of likelihoods")
    target.add_argument("--convention", default="gatk", choices=CONVENTIONS, help="a mismatch has e/3 (gatk, default) or e (raw)")
    target.add_argument(
        "--batch-size", type=cli.positive, default=1 << 19, metavar="PAIRS", help="pairs computed together (default: %(default)s)"
    )
    add_arguments(target)
    return target


if __name__ == "__main__":
    cli.run(main, parser())
