"""Engine `lanes`: one pair in each SIMD lane (kernels/pairhmm_lanes.cl), the engine of CPUs.

Scale C is 2^110 in FP32 (less for haplotypes beyond 4,096, so that a row's sum stays in range) and 2^960 in FP64; it does not depend
on the haplotype's length otherwise, so that haplotypes of different lengths can share a prefix, and 1/|H| enters at the end.
"""

import functools

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm.batching import in_batches
from haplowave.pairhmm.engines import Outcome, Work, cells_of
from haplowave.pairhmm.lanes_groups import Groups, full_groups, group_reads, left_over
from haplowave.pairhmm.lanes_mixed import plan_mixed
from haplowave.pairhmm.lanes_shared import plan_shared
from haplowave.pairhmm.launch import Launch, buffer, log2_table, options, workers
from haplowave.pairhmm.model import tables

_STRIPS = {16: 8, 8: 4}  # columns whose state fits the registers: 32 of AVX-512, 16 of AVX2, by floats a register
_MOST_BORDERS = 16
_BORDER_BYTES = 256 << 20
_SAFE = {"fp32": 1e-29, "fp64": 1e-280}  # sums below may have lost cells to underflow
_TYPES = {"fp32": ("float", "int", np.float32), "fp64": ("double", "long", np.float64)}


def run(work: Work, device: Device, precision: str) -> Outcome:
    """See `engines`. Results are the same to the last bit whatever shares the lanes."""
    return in_batches(work, device, lambda part: _by_scale(part, device, precision))


def _scale_exponent(precision: str, columns: np.ndarray) -> np.ndarray:
    if precision == "fp64":
        return np.full(len(columns), 960)
    return 110 - np.maximum(0, np.ceil(np.log2(columns)).astype(np.int64) - 12)


def _by_scale(work: Work, device: Device, precision: str) -> Outcome:
    exponents = _scale_exponent(precision, work.haplotypes.lengths[work.pairs[:, 1]])
    raw = np.zeros(len(work.pairs))
    log2_scale = np.zeros(len(work.pairs))
    outcome = Outcome(raw, raw)
    launch = _Lanes(work, device, precision, raw, log2_scale, outcome)
    for exponent in np.unique(exponents):
        launch.compute(np.flatnonzero(exponents == exponent), float(2.0**exponent))
    outcome.unsafe = ~((raw >= _SAFE[precision]) & np.isfinite(raw))
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = work.haplotypes.lengths[work.pairs[:, 1]]
        outcome.log10 = np.log10(raw / columns) + (log2_scale - exponents) * np.log10(2.0)
    return outcome


@functools.lru_cache
def quality_tables(convention: str, real: type) -> tuple[np.ndarray, ...]:
    """Struct Quality by quality, 1/mm, and the base-2 logarithms of 1-e and mm: what pairhmm_lanes.cl makes its rows from."""
    table = tables(convention)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = (table.mismatch / table.match, 1 / table.match, table.gap, 1 / table.gap, table.leave)
        return np.stack(columns, axis=1).astype(real), (1 / table.mm).astype(real), log2_table(table.match), log2_table(table.mm)


class _Lanes:
    """One batch on one device: inputs are uploaded once, then each scale's pairs are computed."""

    def __init__(self, work: Work, device: Device, precision: str, raw: np.ndarray, log2_scale: np.ndarray, outcome: Outcome):
        self.work, self.device, self.raw, self.log2_scale, self.outcome = work, device, raw, log2_scale, outcome
        real, integer, self.real = _TYPES[precision]
        self.lanes = device.vector_width // (1 if precision == "fp32" else 2)
        self.strip = _STRIPS[device.vector_width]
        program = device.build("pairhmm_lanes.cl", {"REAL": real, "INTEGER": integer, "V": self.lanes, "NC": self.strip}, options())
        self.launch = Launch(work, device, program, quality_tables(work.convention, self.real))

    def compute(self, which: np.ndarray, scale: float) -> None:
        part = self.work
        if len(which) < len(part.pairs):
            part = Work(part.reads, part.haplotypes, part.pairs[which], part.convention, part.share_prefixes)
        groups = group_reads(part, self.lanes)
        full = full_groups(groups, self.lanes)
        if full.any():
            self._shared(part, which, groups, full, scale)
        if not full.all():
            self._mixed(part, which, left_over(groups, full), scale)

    def _shared(self, part: Work, which: np.ndarray, groups: Groups, full: np.ndarray, scale: float) -> None:
        rows = int(groups.lengths.max()) + 1
        border = 2 * rows
        most = min(_MOST_BORDERS, _BORDER_BYTES // (border * self._vector_bytes)) if part.share_prefixes else 0
        plan = plan_shared(part, groups, full, lanes=self.lanes, strip=self.strip, threads=self.device.compute_units, most_borders=most)
        scratch = rows * (4 + self.launch.symbols) + border * (plan.borders + 1)
        items = workers(self.device, scratch * self._vector_bytes, len(plan.tasks))
        results = np.empty(plan.results, self.real)
        scales = np.empty(len(plan.tasks) * self.lanes)
        context = self.device.context
        arguments = (
            *self.launch.haplotypes,
            np.int32(self.launch.symbols),
            buffer(context, plan.tasks),
            np.int32(len(plan.tasks)),
            buffer(context, plan.members),
            buffer(context, plan.entries),
            buffer(context, plan.saves),
            self.launch.counter(),
            cl.Buffer(context, cl.mem_flags.READ_WRITE, scratch * self._vector_bytes * items),
            np.int64(scratch),
            np.int64(border),
            self.real(scale),
        )
        self._run("shared", items, arguments, results, scales)
        target = which[plan.pairs]
        self.raw[target] = results[plan.result]
        self.log2_scale[target] = scales[plan.scale]
        self.outcome.cells_computed += plan.cells_computed

    def _mixed(self, part: Work, which: np.ndarray, pairs: np.ndarray, scale: float) -> None:
        tasks, positions = plan_mixed(part, pairs, lanes=self.lanes, strip=self.strip)
        self.outcome.cells_computed += cells_of(part, pairs)
        used = positions >= 0
        reads, haplotypes = (np.where(used, part.pairs[positions, side], -1).astype(np.int32) for side in (0, 1))
        scratch = int(((tasks[:, 0] + 1) * 8 + tasks[:, 1]).max())
        items = workers(self.device, scratch * self._vector_bytes, len(tasks))
        results, scales = np.empty(positions.size, self.real), np.empty(positions.size)
        context = self.device.context
        arguments = (
            self.launch.haplotypes[0],
            buffer(context, self.work.haplotypes.offsets),
            self.launch.haplotypes[1],
            buffer(context, tasks),
            np.int32(len(tasks)),
            buffer(context, reads),
            buffer(context, haplotypes),
            self.launch.counter(),
            cl.Buffer(context, cl.mem_flags.READ_WRITE, scratch * self._vector_bytes * items),
            np.int64(scratch),
            self.real(scale),
        )
        self._run("mixed", items, arguments, results, scales)
        target = which[positions[used]]
        self.raw[target] = results[used.ravel()]
        self.log2_scale[target] = scales[used.ravel()]

    @property
    def _vector_bytes(self) -> int:
        return self.lanes * np.dtype(self.real).itemsize

    def _run(self, name: str, items: int, arguments: tuple, *outputs: np.ndarray) -> None:
        self.outcome.kernel_seconds += self.launch.run(name, items, arguments, outputs)
