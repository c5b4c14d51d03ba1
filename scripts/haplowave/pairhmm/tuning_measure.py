"""Measuring the settings of the GPU kernels on a device (`scripts/tune.py`)."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from haplowave.opencl import Device
from haplowave.pairhmm import skewed, tuning
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.tuning import Settings
from haplowave.sequences import Reads, Sequences

_COLUMNS = (8, 12, 13, 16, 18, 20, 21, 24, 25, 26, 27, 28, 30, 32)
_BLOCKS = (2, 4)
_READS, _HAPLOTYPES = 64, 8  # of a region
_WORTH = 0.85  # a number of columns below this share of the best rate is not kept


def measure(device: Device, cells: float, report: Callable[[str], None] = print) -> Settings:
    """The settings of `device` with measured rates; each shape computes about `cells` cells a run."""
    base = tuning.built_in(device)
    precisions = ("fp32", "fp64") if device.has_fp64 else ("fp32",)
    for long in (False, True):
        field = "long_rates" if long else "rates"
        best: tuple[float, int, dict[str, dict[int, float]]] = (0.0, 0, {})
        for block in (base.block,) if long else _BLOCKS:
            rates = {}
            for precision in precisions:
                tried = dataclasses.replace(base, block=block)
                rates[precision] = _kept(dict(_rates(device, tried, field, precision, long, cells, report)))
            top = max(rates["fp32"].values())
            if top > best[0]:
                best = (top, block, rates)
        base = dataclasses.replace(base, block=best[1], **{field: getattr(base, field) | best[2]})
    return base


def _rates(
    device: Device, base: Settings, field: str, precision: str, long: bool, cells: float, report: Callable[[str], None]
) -> Iterator[tuple[int, float]]:
    """(columns a lane, GCUPS) of sub-warps of 8 lanes, or, long, of single strips of whole warps."""
    for columns in _COLUMNS:
        width = columns * (base.warp if long else min(8, base.warp))
        rows = base.long_rows + 8 if long else width
        settings = dataclasses.replace(base, **{field: getattr(base, field) | {precision: {columns: 1.0}}})
        work = _work(rows, width, max(1, int(cells / (rows * width))))
        seconds = min(skewed.run(work, device, precision, settings).notes["skewed"] for _ in range(3))
        rate = work.cells / seconds / 1e9
        name = "long" if long else "short"
        report(f"{precision} {name}: {columns} columns a lane, {base.block} rows a block: {rate:.1f} GCUPS")
        yield columns, round(rate, 2)


def _kept(rates: dict[int, float]) -> dict[int, float]:
    best = max(rates.values())
    return {columns: rate for columns, rate in rates.items() if rate >= _WORTH * best}


def _work(rows: int, columns: int, pairs: int) -> Work:
    """About `pairs` pairs of equal shape, in regions."""
    rng = np.random.default_rng(1)
    reads, haplotypes = min(pairs, _READS), min(max(1, pairs // _READS), _HAPLOTYPES)
    regions = Regions(np.tile([[0, reads, 0, haplotypes]], (max(1, pairs // (reads * haplotypes)), 1)))
    bases = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, max(rows, columns))]
    quals = [np.full(reads * rows, quality, np.uint8) for quality in (30, 45, 45, 10)]
    made = [Sequences(np.tile(bases[:size], count), np.arange(count + 1) * size) for size, count in ((rows, reads), (columns, haplotypes))]
    return Work(Reads(made[0], *quals), made[1], regions, share_prefixes=False)
