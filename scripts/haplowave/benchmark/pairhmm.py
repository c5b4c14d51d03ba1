"""PairHMM kernels on one device: the experiments of Graca & Ilic 2026 (Endeavor) and the project's own.

`lengths`: equal lengths, both precisions (their Figs. 6-9). `columns`: columns a lane (Fig. 5). `sets`: the 10s set (Table 2) with
`--text`, real pairs (kinds of Table 1) with `--tables`. `regions`: Illumina-like, where the transfers count, and such whose haplotypes are
variants of one sequence. "Shared": equal beginnings of haplotypes are computed once. `few`: long pairs that are too few for the device, 8
of 100 kb and 149 of 16 kb. `call`: log10_likelihoods on `regions` and on `sets`, arrays in and out, transfers and host work included.
`command`: the step reads -> likelihoods, tables on disk in and out, without and with the table of distances.

seconds and gcups are those of the kernel that computes the cells, in `call` and `command` those of the whole; call_gcups those of the
engine's call. gcups counts the cells of the pairs asked for, computed_gcups those that were computed. largest_error: of log10, to the
oracle, of some pairs; fp32_difference: between FP64 and FP32, of all.
"""

import argparse
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from haplowave.benchmark.pairhmm_sets import Set, equal_lengths, regions, shared, table_set, text_set, variants
from haplowave.benchmark.records import Record, print_table

_COLUMNS = (
    "experiment",
    "kernel",
    "precision",
    "read_length",
    "haplotype_length",
    "pairs",
    "seconds",
    "gcups",
    "computed_gcups",
    "peak_percent",
    "call_gcups",
)
_COLUMNS += ("unsafe", "largest_error", "fp32_difference")
_LENGTHS = tuple(2**n for n in range(5, 18))
_SHARING = ("lanes", "trees")  # kernels that compute equal beginnings once
_CHECKED_CELLS = 3e6  # of the pairs that are compared with the oracle
_CHECKED_ALONE = 2e7  # cells of a pair that is compared all the same
_COPIES = 64
_FEW = ((16_384, 149), (100_000, 8))  # length, pairs
_LONG = 1024  # bases from which `trees` has nothing of its own
_FILLING = 16  # times the cells of short pairs
_EXPERIMENTS = ("lengths", "columns", "regions", "few", "sets", "call", "command")
_ILLUMINA = (151, 400)  # read and haplotype length


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of this suite."""
    parser.add_argument("--kernel", action="append", choices=("skewed", "trees", "rowwise", "lanes"), help="only this kernel (repeatable)")
    parser.add_argument("--precision", action="append", choices=("fp32", "fp64"), help="only this precision (repeatable)")
    parser.add_argument("--experiment", action="append", help="only this one (repeatable)")
    parser.add_argument("--longest", type=int, default=None, help="longest of the equal lengths (default: 131072; 4096 on a CPU)")
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="also the testcases of this file, and 64 copies of it")
    parser.add_argument(
        "--tables", nargs=2, action="append", default=[], metavar=("HAPLOTYPES", "READS"), help="also these tables, and 64 copies of them"
    )


def run(arguments: argparse.Namespace) -> list[Record]:
    """Print the tables; one record a measurement."""
    from haplowave.benchmark.peak import OPERATIONS_A_CELL, multiply_adds
    from haplowave.opencl import select

    device = select(arguments.device, arguments.threads)
    gpu = device.kind != "cpu"
    precisions = [name for name in arguments.precision or ("fp32", "fp64") if name == "fp32" or device.has_fp64]
    peaks = {precision: multiply_adds(device, precision) for precision in precisions}
    for precision, peak in peaks.items():
        limit = peak / OPERATIONS_A_CELL / 1e9
        print(f"{device.name}: {peak / 1e12:.2f} T multiply-adds/s in {precision}, so at most {limit:.0f} GCUPS", flush=True)
    cells = (4e10 if gpu else 4e9) / (8 if arguments.quick else 1)
    kernels = arguments.kernel or (["skewed", "trees", "rowwise"] if gpu else ["lanes"])
    measure = _Measure(device, peaks, 2 if arguments.quick else 4)
    records = []
    for made in _sets(arguments, cells, gpu):
        for kernel in [name for name in kernels if _tells(name, made)]:
            for precision in precisions:
                records += _shown(measure(made, kernel, precision))
    if _wanted(arguments, "call"):
        from haplowave.benchmark.pairhmm_command import measure_call

        for made in _called(arguments, cells, gpu):
            records += _shown(measure_call(device, made, measure.rounds))
    if _wanted(arguments, "columns") and "skewed" in kernels and gpu:
        for precision in precisions:
            records += _columns(measure, precision, cells)
    if _wanted(arguments, "command"):
        from haplowave.benchmark.pairhmm_command import measure_command

        for record in measure_command(device, *_ILLUMINA, _illumina_pairs(cells, gpu), 1 << 19, measure.rounds):
            records += _shown(record)
    print_table(records, _COLUMNS)
    if arguments.plots:
        from haplowave.benchmark.pairhmm_plots import draw

        draw(records, Path(arguments.plots))
    return records


def _tells(kernel: str, made: Set) -> bool:
    """Whether a kernel does something of its own with a set."""
    if made.work.share_prefixes:
        return kernel in _SHARING
    return kernel != "trees" or made.columns <= _LONG


def _wanted(arguments: argparse.Namespace, name: str) -> bool:
    return name in (arguments.experiment or _EXPERIMENTS)


def _sets(arguments: argparse.Namespace, cells: float, gpu: bool) -> Iterator[Set]:
    if _wanted(arguments, "lengths"):
        longest = arguments.longest or (_LENGTHS[-1] if gpu else 4096)
        for length in [length for length in _LENGTHS if length <= longest][:: 2 if arguments.quick else 1]:
            yield equal_lengths("lengths", length, length, _pairs_of(length, cells, gpu and not arguments.quick))
    if _wanted(arguments, "regions"):
        for made in (regions(*_ILLUMINA, _illumina_pairs(cells, gpu)), variants(*_ILLUMINA, _illumina_pairs(cells, gpu))):
            yield from (made, shared(made))
    if _wanted(arguments, "few") and gpu and not arguments.quick:
        for length, pairs in _FEW:
            yield equal_lengths("few long", length, length, pairs)
    if _wanted(arguments, "sets"):
        for made in _real(arguments, gpu):
            yield from (made, shared(made))


def _pairs_of(length: int, cells: float, fill: bool) -> int:
    """fill: long pairs are so many that the device is full for nearly all of the time; "few long" is for those that do not fill it."""
    if not fill:
        return max(4, int(cells / length**2))
    return max(256, int(cells * (_FILLING if length > _LONG else 1) / length**2))


def _called(arguments: argparse.Namespace, cells: float, gpu: bool) -> Iterator[Set]:
    yield regions(*_ILLUMINA, _illumina_pairs(cells, gpu))
    yield from _real(arguments, gpu)


def _illumina_pairs(cells: float, gpu: bool) -> int:
    return int(cells * (8 if gpu else 1) / np.prod(_ILLUMINA))


def _real(arguments: argparse.Namespace, gpu: bool) -> Iterator[Set]:
    for path in arguments.text:
        yield text_set(path)
        if gpu:
            yield text_set(path, _COPIES)
    for paths in arguments.tables:
        yield table_set(*paths)
        if gpu:
            yield table_set(*paths, _COPIES)


def _columns(measure: "_Measure", precision: str, cells: float) -> Iterator[Record]:
    """Fig. 5: the rate by columns a lane, each at the length that 8 lanes hold."""
    from haplowave.pairhmm import tuning

    base = tuning.settings(measure.device)
    for columns in (8, 12, 16, 20, 24, 28, 32):
        lanes = min(8, base.warp)
        settings = dataclasses.replace(base, rates=base.rates | {precision: {columns: 1.0}})
        made = equal_lengths(f"{columns} columns a lane", lanes * columns, lanes * columns, int(cells / (lanes * columns) ** 2))
        yield from _shown(measure(made, "skewed", precision, settings))


def _shown(record: Record) -> list[Record]:
    print("  ".join(str(record[column]) for column in _COLUMNS[:6]), f"{record['gcups']:.4g} GCUPS", flush=True)
    return [record]


class _Measure:
    def __init__(self, device, peaks: dict[str, float], rounds: int):
        self.device, self.peaks, self.rounds = device, peaks, rounds
        self.before: tuple | None = None  # what was measured last: set, kernel, precision, outcome

    def __call__(self, made: Set, kernel: str, precision: str, settings=None) -> Record:
        from haplowave.benchmark.peak import OPERATIONS_A_CELL
        from haplowave.pairhmm import ENGINES, skewed

        engine = ENGINES[kernel] if settings is None else lambda *given: skewed.run(*given, settings)
        seconds, call = float("inf"), float("inf")
        for _ in range(self.rounds):
            began = time.perf_counter()
            outcome = engine(made.work, self.device, precision)
            call = min(call, time.perf_counter() - began)
            seconds = min(seconds, outcome.notes.get(kernel, outcome.kernel_seconds))
        difference = self._difference(made, kernel, precision, outcome)
        self.before = made, kernel, precision, outcome
        cells = made.work.cells
        safe = outcome.log10[~outcome.unsafe]
        return {
            "experiment": made.experiment,
            "device": self.device.name,
            "kernel": kernel,
            "precision": precision,
            "read_length": made.rows,
            "haplotype_length": made.columns,
            "pairs": len(made.work),
            "seconds": seconds,
            "gcups": cells / seconds / 1e9,
            "computed_gcups": outcome.cells_computed / seconds / 1e9,
            "peak_percent": 100 * cells / seconds * OPERATIONS_A_CELL / self.peaks[precision],
            "call_seconds": call,
            "call_gcups": cells / call / 1e9,
            "unsafe": int(outcome.unsafe.sum()),
            "finite": bool(np.isfinite(safe).all()),
            "largest_error": _largest_error(made, outcome),
            **difference,
        }

    def _difference(self, made: Set, kernel: str, precision: str, outcome) -> dict[str, float]:
        """In FP64: largest difference of log10 to what FP32 just gave for the same pairs, of those that are safe in both."""
        if self.before is None or self.before[0] is not made or (*self.before[1:3], precision) != (kernel, "fp32", "fp64"):
            return {}
        safe = ~(outcome.unsafe | self.before[3].unsafe)
        return {"fp32_difference": float(np.abs(outcome.log10 - self.before[3].log10)[safe].max(initial=0))}


def _largest_error(made: Set, outcome) -> float:
    """Largest difference of log10 to the oracle among the first pairs that are safe; -1 where none is small enough to be checked."""
    from haplowave.pairhmm import ENGINES

    cells = made.rows * made.columns
    count = min(max(int(_CHECKED_CELLS / cells), int(cells <= _CHECKED_ALONE)), 20)
    which = np.flatnonzero(~outcome.unsafe)[:count]
    if not len(which):
        return -1.0
    expected = ENGINES["reference"](made.work.of(made.work.pairs_at(which)), None, "fp64").log10
    return float(np.abs(outcome.log10[which] - expected).max())
