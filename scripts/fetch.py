"""Fetch one file; an interrupted download goes on where it stopped."""

import argparse

from haplowave import cli
from haplowave.io.fetch import fetch


def main(arguments: argparse.Namespace) -> None:
    fetch(arguments.address, arguments.output, arguments.md5)


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("address", help="URL")
    parser.add_argument("--output", required=True, help="file to write")
    parser.add_argument("--md5", help="checksum that the file must have")
    cli.run(main, parser)
