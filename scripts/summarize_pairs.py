"""Count the read-haplotype pairs of each sample: their number and the shortest, median and longest read and haplotype."""

import argparse

from haplowave import cli
from haplowave.calling.pairs import PairCounts, write_pairs
from haplowave.errors import UserError
from haplowave.io.samples import read_samples


def main(arguments: argparse.Namespace) -> None:
    if len(arguments.haplotypes) != len(arguments.reads):
        raise UserError(f"{len(arguments.haplotypes)} haplotype tables for {len(arguments.reads)} read tables; give both for each chunk")
    counts = PairCounts()
    for haplotypes, reads in zip(arguments.haplotypes, arguments.reads, strict=True):
        counts.add(haplotypes, reads)
    write_pairs(counts, read_samples(arguments.samples), arguments.output)


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--samples", required=True, help="sample sheet")
    parser.add_argument("--haplotypes", nargs="+", required=True, help="haplotype tables, one a chunk")
    parser.add_argument("--reads", nargs="+", required=True, help="read tables of the same chunks in the same order")
    parser.add_argument("--output", required=True, help="TSV to write")
    cli.run(main, parser)
