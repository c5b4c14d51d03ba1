"""Benchmarks, a module a suite.

A suite is a module of this package, listed in SUITES, with `add_arguments(parser)` (its own flags) and
`run(arguments) -> list[dict]` (prints its tables, draws its plots into `arguments.plots` when that is given,
and returns one record a measurement). `scripts/benchmark.py` turns every suite into a subcommand, adds the
flags that all share (--device, --threads, --quick, --json, --plots) and writes the records.
"""

import argparse
import importlib
from types import ModuleType

SUITES: dict[str, str] = {
    "distance": "edit distance of long strings: the literature's pairs, the ladder of designs, alignments",
    "pairhmm": "PairHMM kernels: rates over lengths and shapes, the 10s set, real pairs, percentage of the device's peak",
    "distance_cpu": "edit distance on a CPU: long pairs next to edlib and WFA2-lib, batches of short and of gap-affine pairs",
    "pairhmm_cpu": "PairHMM on a CPU, next to Intel GKL on the same pairs",
    "calling": "the whole workflow on real reads with truth: accuracy, time, memory",
}
"""Name of the suite's module -> one line for --help. A suite adds its line here when its module exists."""


def suite(name: str) -> ModuleType:
    """The module of suite `name`. Suites import pyopencl and matplotlib inside their functions, so that --help is quick."""
    return importlib.import_module(f"haplowave.benchmark.{name}")


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of every suite."""
    parser.add_argument("--device", default="auto", help="index, part of a name, cpu, gpu or auto (default: auto)")
    parser.add_argument("--threads", type=int, default=None, help="cores that a CPU device may use (default: all)")
    parser.add_argument("--quick", action="store_true", help="a short run, under a minute")
    parser.add_argument("--json", default=None, metavar="FILE", help="write the records, a list of objects")
    parser.add_argument("--plots", default=None, metavar="DIR", help="draw PNG files into this folder")
