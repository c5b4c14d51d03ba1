"""Write the report of a run: one HTML file with counts, plots, times and the evaluation."""

import argparse

from haplowave import cli
from haplowave.io.samples import read_samples
from haplowave.report.page import write_report


def main(arguments: argparse.Namespace) -> None:
    write_report(
        arguments.output,
        calls=arguments.calls,
        samples=read_samples(arguments.samples),
        pairs=arguments.pairs,
        read_filters=arguments.read_filters,
        benchmarks=arguments.benchmarks,
        evaluation=arguments.evaluation,
        edit_distances=arguments.edit_distances,
    )


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--calls", required=True, help="VCF of all calls")
    parser.add_argument("--samples", required=True, help="sample sheet")
    parser.add_argument("--pairs", required=True, help="table of summarize_pairs.py")
    parser.add_argument("--read-filters", nargs="+", required=True, help="counts of find_regions.py, one a chunk")
    parser.add_argument("--benchmarks", required=True, help="folder of Snakemake's benchmark files")
    parser.add_argument("--evaluation", help="summary of the evaluation, where there is truth")
    parser.add_argument("--edit-distances", nargs="*", default=[], help="tables of edit_distance.py, alignments beside them as .paf")
    parser.add_argument("--output", required=True, help="HTML to write")
    cli.run(main, parser)
