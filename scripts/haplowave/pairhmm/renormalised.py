"""The last rung: FP64 with an exponent for every few rows (kernels/pairhmm_renormalised.cl). Slower, and right for every pair."""

import functools

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm.batching import in_batches
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.lanes_mixed import plan_mixed
from haplowave.pairhmm.launch import Launch, buffer, options, workers
from haplowave.pairhmm.model import tables

_STRIP = 4
_TOP, _BLOCK = 900, 16


def run(work: Work, device: Device) -> Outcome:
    """log10 of every pair of `work`, irregular reads included; never unsafe, -inf where the probability is zero."""
    return in_batches(work, device, lambda part: _run(part, device))


@functools.lru_cache
def _quality_tables(convention: str) -> tuple[np.ndarray, np.ndarray]:
    table = tables(convention)
    return np.stack([table.match, table.mismatch, table.gap, table.leave]), table.mm


def _run(work: Work, device: Device) -> Outcome:
    lanes = device.vector_width // 2
    defines = {"V": lanes, "NC": _STRIP, "TOP": _TOP, "BLOCK": _BLOCK}
    launch = Launch(work, device, device.build("pairhmm_renormalised.cl", defines, options()), _quality_tables(work.convention))
    tasks, positions = plan_mixed(work, np.arange(len(work.pairs)), lanes=lanes, strip=_STRIP)
    tasks[:, 1] += _STRIP  # room for the END column, always
    used = positions >= 0
    reads, haplotypes = (np.where(used, work.pairs[positions, side], -1).astype(np.int32) for side in (0, 1))
    scratch = int(((tasks[:, 0] + 1) * 10 + 2 * (tasks[:, 0] // _BLOCK + 1)).max())
    items = workers(device, scratch * lanes * 8, len(tasks))
    results = np.empty(positions.size)
    context = device.context
    arguments = (
        launch.haplotypes[0],
        buffer(context, work.haplotypes.offsets),
        launch.haplotypes[1],
        buffer(context, tasks),
        np.int32(len(tasks)),
        buffer(context, reads),
        buffer(context, haplotypes),
        launch.counter(),
        cl.Buffer(context, cl.mem_flags.READ_WRITE, scratch * lanes * 8 * items),
        np.int64(scratch),
    )
    seconds = launch.run("renormalised", items, arguments, (results,))
    log2 = np.empty(len(work.pairs))
    log2[positions[used]] = results[used.ravel()]
    columns = work.haplotypes.lengths[work.pairs[:, 1]]
    return Outcome(log2 * np.log10(2.0) - np.log10(columns), np.zeros(len(log2), bool), seconds, work.cells)
