"""Make an indexed view of a FASTA whose own folder has no index: a link to it with .fai (and .gzi) beside the link."""

import argparse
import os
import tempfile
from pathlib import Path

from haplowave import cli
from haplowave.io.reference import index_paths, index_reference


def main(arguments: argparse.Namespace) -> None:
    link = Path(arguments.output)
    link.parent.mkdir(parents=True, exist_ok=True)
    reference = Path(arguments.reference).absolute()
    with tempfile.TemporaryDirectory(dir=link.parent, prefix=".partial-") as folder:
        index_reference(reference, folder)
        for made, final in zip(index_paths(reference, Path(folder)), index_paths(link), strict=True):
            if made.exists():
                os.replace(made, final)
    link.unlink(missing_ok=True)
    link.symlink_to(reference)


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--reference", required=True, help="FASTA, plain or compressed with bgzip")
    parser.add_argument("--output", required=True, help="the link to make; its index files lie beside it")
    cli.run(main, parser)
