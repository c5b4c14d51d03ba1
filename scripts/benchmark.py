#!/usr/bin/env python3
"""Measure the engines on a device: `benchmark.py pairhmm`, `benchmark.py distance`."""

import argparse
import sys

from haplowave import benchmark, cli
from haplowave.benchmark.records import write_json


def main(arguments: argparse.Namespace) -> None:
    records = benchmark.suite(arguments.suite).run(arguments)
    if arguments.json:
        write_json(arguments.json, records)


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    commands = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    for name, summary in benchmark.SUITES.items():
        command = commands.add_parser(name, help=summary, description=summary)
        benchmark.add_shared_arguments(command)
        if name in sys.argv[1:]:  # a suite may need packages that a machine with a GPU lacks
            benchmark.suite(name).add_arguments(command)
    cli.run(main, parser)
