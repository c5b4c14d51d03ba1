"""Write schemas and reference pages from the code; with --rulegraph also the picture of the rules (needs Graphviz's dot)."""

import argparse
import subprocess
import sys
from pathlib import Path

from haplowave import cli
from haplowave.documents import all_documents
from haplowave.errors import UserError
from haplowave.files import atomic_path

_ROOT = Path(__file__).resolve().parents[1]


def main(arguments: argparse.Namespace) -> None:
    for name, content in all_documents().items():
        with atomic_path(_ROOT / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    if arguments.rulegraph:
        graph = subprocess.run(
            [sys.executable, "-m", "snakemake", "--rulegraph", "dot", "--forceall"],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        with atomic_path(_ROOT / "docs" / "rulegraph.svg") as temporary:
            try:
                subprocess.run(["dot", "-Tsvg", "-Gbgcolor=white", "-o", str(temporary)], input=graph, text=True, check=True)
            except FileNotFoundError as error:
                raise UserError("dot: not found; install Graphviz to draw the rule graph") from error


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--rulegraph", action="store_true", help="draw docs/rulegraph.svg too")
    cli.run(main, parser)
