"""Genotype the regions of one chunk: tables of haplotypes, reads and likelihoods in, a bgzipped VCF out."""

import argparse

from haplowave import cli
from haplowave.calling.genotype import genotype
from haplowave.io.reference import open_reference
from haplowave.io.samples import read_samples
from haplowave.options import GenotypeOptions


def main(arguments: argparse.Namespace) -> None:
    genotype(
        open_reference(arguments.reference, arguments.index_dir),
        read_samples(arguments.samples),
        arguments.regions,
        arguments.haplotypes,
        arguments.reads,
        arguments.likelihoods,
        arguments.output,
        cli.options_from(arguments, GenotypeOptions),
    )


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    cli.add_inputs(parser)
    parser.add_argument("--regions", required=True, help="table of regions")
    parser.add_argument("--haplotypes", required=True, help="table of haplotypes")
    parser.add_argument("--reads", required=True, help="table of reads")
    parser.add_argument("--likelihoods", required=True, help="table of likelihoods")
    parser.add_argument("--output", required=True, help="VCF of the chunk, bgzipped (.vcf.gz)")
    cli.add_options(parser, GenotypeOptions)
    cli.run(main, parser)
