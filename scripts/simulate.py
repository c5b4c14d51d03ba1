"""Write a simulated data set: reference, truth, aligned reads of three relatives, sample sheet and configuration."""

import argparse
from pathlib import Path

from haplowave import cli
from haplowave.simulate import dataset
from haplowave.simulate.options import SimulationOptions


def main(arguments: argparse.Namespace) -> None:
    dataset.write(arguments.output, cli.options_from(arguments, SimulationOptions))


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for all files")
    cli.add_options(parser, SimulationOptions)
    cli.run(main, parser)
