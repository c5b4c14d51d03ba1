"""Print a table as tab-separated text: lists as comma-separated values, qualities as FASTQ writes them (Phred + 33)."""

import argparse
import sys

from haplowave import cli
from haplowave.files import atomic_path
from haplowave.tables.text import write_text


def main(arguments: argparse.Namespace) -> None:
    if arguments.output is None:
        write_text(arguments.table, sys.stdout)
        return
    with atomic_path(arguments.output) as temporary, open(temporary, "w", encoding="utf-8") as file:
        write_text(arguments.table, file)


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("table", help="a Parquet table that haplowave wrote")
    parser.add_argument("--output", help="file to write (default: standard output)")
    cli.run(main, parser)
