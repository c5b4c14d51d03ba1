#!/usr/bin/env python3
"""Exact edit distance, and on request the alignment, of FASTA records of any length."""

import argparse
import sys
from pathlib import Path

from haplowave import cli
from haplowave.distance.compare import Comparison, compare
from haplowave.opencl import alike, select


def main(arguments: argparse.Namespace) -> None:
    device = select(arguments.device, arguments.threads)
    how = Comparison(
        device=device,
        strategy=arguments.strategy,
        maximum=arguments.maximum,
        ignore_case=arguments.ignore_case,
        checkpoint=arguments.checkpoint,
        others=alike(device) if arguments.share_devices else (),
        alignment=arguments.alignment,
        show_progress=sys.stderr.isatty() if arguments.progress is None else arguments.progress,
    )
    compare(arguments.queries, arguments.targets, arguments.output, arguments.all_vs_all, how)


def parser() -> argparse.ArgumentParser:
    target = cli.parser("Compute the exact edit distance (unit costs, global) of pairs of FASTA records of any length and alphabet.")
    target.add_argument("queries", type=Path, metavar="A.fa", help="FASTA, plain, gzip or bgzip; its records are the queries")
    target.add_argument("targets", type=Path, metavar="B.fa", help="FASTA of the targets; record i goes with record i of A.fa")
    target.add_argument("--all-vs-all", action="store_true", help="every record of A.fa with every one of B.fa")
    target.add_argument("--output", type=Path, metavar="TSV", help="where the table goes (default: standard output)")
    target.add_argument("--alignment", type=Path, metavar="PAF", help="also write optimal alignments: PAF with cg:Z: of =, X, I, D")
    target.add_argument(
        "--strategy", default="auto", metavar="NAME", help="auto, bitparallel, wfa, or a rung of the ladder (default: auto)"
    )
    target.add_argument("--maximum", type=int, metavar="N", help="give up above N edits, and report N + 1")
    target.add_argument("--ignore-case", action="store_true", help="a-z count as A-Z; other letters, N included, stay themselves")
    target.add_argument("--checkpoint", type=Path, metavar="FILE", help="save the state of a long pair there, and resume from it")
    target.add_argument(
        "--share-devices", action="store_true", help="split each pair over all devices of --device's model (very long pairs)"
    )
    target.add_argument("--progress", action=argparse.BooleanOptionalAction, help="progress on standard error (default: on a terminal)")
    target.add_argument("--device", default="auto", help="auto, cpu, gpu, an index or part of a name of devices.py (default: auto)")
    target.add_argument("--threads", type=int, metavar="N", help="threads of a CPU device (default: the cores this process may use)")
    return target


if __name__ == "__main__":
    cli.run(main, parser())
