#!/usr/bin/env python3
"""Measure which shapes of the GPU PairHMM kernels are fastest on a device, and keep that for later runs on it."""

import argparse

from haplowave import cli
from haplowave.opencl import device_failures, select
from haplowave.pairhmm import tuning
from haplowave.pairhmm.tuning_measure import measure


def main(arguments: argparse.Namespace) -> None:
    device = select(arguments.device, arguments.threads)
    with device_failures(device):
        chosen = measure(device, arguments.cells or (1e10 if device.kind != "cpu" else 1e6))
    print(f"{device.name}: kept in {tuning.store(device, chosen)}; set HAPLOWAVE_TUNING to keep it elsewhere")


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--device", default="auto", help="index, part of a name, cpu, gpu or auto (default: auto)")
    parser.add_argument("--threads", type=int, default=None, help="cores that a CPU device may use (default: all)")
    parser.add_argument("--cells", type=float, default=None, help="cells a measurement (default: 1e10; 1e6 on a CPU)")
    cli.run(main, parser)
