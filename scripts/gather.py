"""Join the chunks' VCFs in order of the genome and index the result."""

import argparse

from haplowave import cli
from haplowave.calling.vcf_gather import gather


def main(arguments: argparse.Namespace) -> None:
    records = gather(arguments.chunks, arguments.output)
    print(f"{arguments.output}: {records} records of {len(arguments.chunks)} chunks")


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("chunks", nargs="+", metavar="CHUNK.vcf.gz", help="bgzipped VCFs of one run")
    parser.add_argument("--output", required=True, help="joined VCF (.vcf.gz); its index .tbi is written beside it")
    cli.run(main, parser)
