"""Where an optimal path crosses the borders that two sweeps kept: all cuts of a rectangle from one pair of sweeps.

A sweep of a half from the far end, kept borders and all, is matched with the sweep that came from the near end.
"""

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.tiles import Keeping, Shape, Sweep, kept_strips
from haplowave.opencl import Device

LEAST_SHARE = 8  # of the device's memory that kept borders of one sweep may take


def spacing(device: Device, tasks: np.ndarray, shape: Shape) -> int:
    """Chunks between kept borders, a power of two: as few as the device has memory for."""
    slots = kept_strips(tasks, shape) * -(-tasks[:, 3] // shape.chunk)
    room = min(device.global_memory // LEAST_SHARE, device.max_allocation) // (shape.rows // 4 + 8)
    every = 1
    while int((slots // every).sum()) > room and every < int(tasks[:, 3].max()):
        every *= 2
    return every


def opposite(sweep: Sweep, which: np.ndarray, ends: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, Keeping]:
    """Tasks from the far ends of what tasks `which` of a keeping sweep covered, down to row `ends`, at costs that are known.

    They stop where the first kept border is, and keep the same borders.
    """
    tasks, every, chunk = sweep.tasks[which], sweep.keeping.every, sweep.shape.chunk
    n, step = tasks[:, 3], tasks[:, 4]
    back = np.stack([
        tasks[:, 0] + step * (ends - 1), tasks[:, 1] + step * (n - 1), ends, n - every * chunk, -step, n, costs,
    ], axis=1)  # fmt: skip
    return back, Keeping(every, -sweep.chunks[which] % every, -n % chunk)


def crossings(near: Sweep, which: np.ndarray, far: Sweep) -> tuple[np.ndarray, np.ndarray]:
    """Task t of `far` is opposite to task which[t] of `near`. Returns int64 (n, 4): t, row, column, cost up to there (all from the near
    end), ordered by t and column, on one optimal path a task; and int64 (n,): the whole cost. Borders that are not met are left out."""
    every, device = near.keeping.every, near.device
    inner = -(-near.chunks[which] // every) - 1  # kept borders between the ends
    task = np.repeat(np.arange(len(which)), inner)
    border = np.arange(len(task)) - np.repeat(np.cumsum(inner) - inner, inner)
    rows, cost = far.m[task], far.bound[task]
    entries = np.stack([which[task], border, task, inner[task] - 1 - border, rows, cost], axis=1)
    best = np.empty((len(task), 3), np.int64)
    if len(task):
        buffer = cl.Buffer(device.context, cl.mem_flags.WRITE_ONLY, best.nbytes)
        fields = cl.Buffer(device.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=entries)
        kernel_of(near.program, "crossings")(
            near.queue, (64 * len(task),), (64,), near.problems, near.kept_words, near.kept_scores,
            far.problems, far.kept_words, far.kept_scores, np.int32(every), fields, buffer,
        )  # fmt: skip
        cl.enqueue_copy(near.queue, best, buffer)
    columns = (border + 1) * every * near.shape.chunk
    return np.stack([task, best[:, 1], columns, best[:, 2]], axis=1), best[:, 0]
