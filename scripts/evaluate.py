"""Compare the calls of one sample with a truth set: recall, precision, F1, and lists of what differs."""

import argparse
from pathlib import Path

from haplowave import cli
from haplowave.evaluation.evaluate import evaluate
from haplowave.evaluation.options import EvaluationOptions


def main(arguments: argparse.Namespace) -> None:
    evaluate(
        arguments.calls,
        arguments.truth,
        arguments.confident,
        arguments.sample,
        arguments.reference,
        arguments.output,
        cli.options_from(arguments, EvaluationOptions),
        arguments.reference_index,
    )


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--calls", type=Path, required=True, metavar="VCF", help="calls with genotypes")
    parser.add_argument("--truth", type=Path, required=True, metavar="VCF", help="truth set with genotypes")
    parser.add_argument("--confident", type=Path, metavar="BED", help="where the truth set is complete (default: everywhere)")
    parser.add_argument("--sample", required=True, help="sample in the calls, and in the truth unless that has only one")
    parser.add_argument("--reference", type=Path, required=True, metavar="FASTA", help="plain or bgzipped")
    parser.add_argument("--reference-index", type=Path, metavar="DIR", help="folder of its .fai where that is not beside it")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for summary.tsv, fp.vcf.gz, fn.vcf.gz")
    cli.add_options(parser, EvaluationOptions)
    cli.run(main, parser)
