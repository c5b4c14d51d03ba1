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

_STRIP = 6
_TOP, _BLOCK = 900, 16
_MOST_ROWS = 1024  # of a lane in a band: their parameters take 640 bytes each
_FEW_TASKS = 4  # a compute unit


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
    tasks, positions = _tasks(work, lanes, _FEW_TASKS * device.compute_units)
    reads, haplotypes = (np.where(positions >= 0, work.pairs[positions, side], -1).astype(np.int32) for side in (0, 1))
    rows, strips, bands = tasks[:, 0].astype(np.int64), tasks[:, 1].astype(np.int64), tasks[:, 2]
    kept = np.where(bands > 1, -(-strips * (3 * _STRIP + 1) // lanes), 0)
    scratch = int((rows * 10 + 2 * (rows // _BLOCK + 1) + kept).max())
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
    used = positions >= 0
    used[bands > 0, 1:] = False  # a spread pair stands in every lane, its result in the first
    log2 = np.empty(len(work.pairs))
    log2[positions[used]] = results[used.ravel()]
    columns = work.haplotypes.lengths[work.pairs[:, 1]]
    return Outcome(log2 * np.log10(2.0) - np.log10(columns), np.zeros(len(log2), bool), seconds, work.cells)


def _tasks(work: Work, lanes: int, few: int) -> tuple[np.ndarray, np.ndarray]:
    """Tasks (rows a lane, strips, bands, 0), int32 (n, 4), heaviest first, and the pair of each lane, int64 (n, lanes), -1: none.

    A group of pairs becomes one task a pair, its rows spread over the lanes, where that takes fewer steps, or as many and there are
    fewer than `few` tasks to go round.
    """
    groups, positions = plan_mixed(work, np.arange(len(work.pairs)), lanes=lanes, strip=_STRIP)
    rows, columns = work.reads.bases.lengths[work.pairs[:, 0]], work.haplotypes.lengths[work.pairs[:, 1]]
    bands = -(-(rows + 1) // (lanes * _MOST_ROWS))
    spread_rows = -(-(rows + 1) // (bands * lanes * _BLOCK)) * _BLOCK
    spread_strips = columns // _STRIP + lanes
    used = positions >= 0
    spread_cost = np.where(used, (bands * spread_rows * spread_strips)[positions], 0).sum(axis=1)
    group_rows = groups[:, 0].astype(np.int64) + 1
    group_strips = np.where(used, columns[positions], 0).max(axis=1) // _STRIP + 1
    factor = 1.1 if len(groups) < few else 0.9
    spread = (spread_cost < factor * group_rows * group_strips) & (group_rows > lanes * _BLOCK)
    alone = positions[spread][used[spread]]
    tasks = np.concatenate(
        [
            np.stack([group_rows, group_strips, np.zeros_like(group_rows)], axis=1)[~spread],
            np.stack([spread_rows[alone], spread_strips[alone], bands[alone]], axis=1),
        ]
    )
    order = np.argsort(-tasks[:, 0] * tasks[:, 1] * np.maximum(tasks[:, 2], 1), kind="stable")
    lane_pairs = np.concatenate([positions[~spread], np.repeat(alone[:, None], lanes, axis=1)])
    return np.pad(tasks, ((0, 0), (0, 1)))[order].astype(np.int32), lane_pairs[order]
