"""Index a BAM or CRAM; the index appears when it is complete."""

import argparse

import pysam

from haplowave import cli
from haplowave.errors import UserError
from haplowave.files import atomic_path


def main(arguments: argparse.Namespace) -> None:
    with atomic_path(arguments.output) as temporary:
        try:
            pysam.index("-@", str(arguments.threads), "-o", str(temporary), arguments.alignments)
        except pysam.SamtoolsError as error:
            raise UserError(f"{arguments.alignments}: cannot be indexed ({str(error).strip()}); give a sorted, intact file") from error


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("alignments", help="BAM or CRAM, sorted by coordinate")
    parser.add_argument("--output", required=True, help="index to write: .bai or .crai")
    parser.add_argument("--threads", type=int, default=1, help="threads (default: 1)")
    cli.run(main, parser)
