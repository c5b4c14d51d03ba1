"""Put the evaluation summaries of several samples into one table, the header once."""

import argparse
from pathlib import Path

from haplowave import cli
from haplowave.errors import UserError
from haplowave.files import atomic_path


def main(arguments: argparse.Namespace) -> None:
    header, rows = None, []
    for path in arguments.summaries:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        if header not in (None, lines[0]):
            raise UserError(f"{path}: has other columns than {arguments.summaries[0]}; evaluate all samples with one version")
        header = lines[0]
        rows += lines[1:]
    with atomic_path(arguments.output) as temporary:
        temporary.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("summaries", nargs="+", help="summary.tsv of evaluate.py, one a sample")
    parser.add_argument("--output", required=True, help="the table to write")
    cli.run(main, parser)
