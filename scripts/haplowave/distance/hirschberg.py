"""An optimal path in linear memory by divide and conquer (Hirschberg 1975) over bit-parallel sweeps from both ends.

A rectangle is split at its middle column, or row where it is much higher than wide: a sweep from either end gives D on that line,
and the path crosses where the sum is least. Both halves' costs are then known, so their sweeps prune sharply. All rectangles of a
depth run side by side.
"""

from collections.abc import Callable

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.planes import Planes
from haplowave.distance.tiles import Sweep, shape_for
from haplowave.opencl import Device

LEAF = 512
LEAVES_AT_ONCE = 2048
RECTANGLES_AT_ONCE = 16384  # two tasks each; devices limit the second dimension of a launch to 65,535
MATCH, SUBSTITUTION, A_ONLY, B_ONLY = range(4)


def operations(
    device: Device, planes: Planes, pieces: np.ndarray, distance: int | None = None, tally: Callable[[int], None] = lambda cells: None
) -> np.ndarray:
    """uint8, the steps of one optimal path from start to end (0 match, 1 substitution, 2 symbol of a only, 3 of b only).

    pieces: cuts of both strings (as `anchors.cut`), whose costs bound the distance. Where they sum to the distance (known, or known
    after the first split), paths through the pieces make an optimal one, and the rest of the matrix is not looked at again.
    tally: is told how many cells each step computed.
    """
    bound = int(pieces[:, 4].sum())
    open_ones = pieces if bound == distance else np.array([[0, 0, *planes.lengths, bound if distance is None else distance]], np.int64)
    settled = distance is not None
    closed = []
    while len(open_ones):
        heights, widths = open_ones[:, 2], open_ones[:, 3]
        small = ((heights <= LEAF) & (widths <= LEAF)) | (heights == 0) | (widths == 0)
        closed.append(open_ones[small])
        rest = open_ones[~small]
        tall = rest[:, 2] > 2 * rest[:, 3]  # not as soon as higher than wide: most of a depth should go into one sweep
        open_ones = np.concatenate(
            [np.empty((0, 5), np.int64)]
            + [
                _split(device, planes, part[start : start + RECTANGLES_AT_ONCE], swapped, tally)
                for part, swapped in ((rest[~tall], False), (rest[tall], True))
                for start in range(0, len(part), RECTANGLES_AT_ONCE)
            ]
        )
        if not settled and len(open_ones) and int(open_ones[:, 4].sum()) == bound:
            open_ones = pieces
        settled = True
    leaves = np.concatenate(closed)
    leaves = leaves[(leaves[:, 2] > 0) | (leaves[:, 3] > 0)]
    leaves = leaves[np.argsort(leaves[:, 0] + leaves[:, 1], kind="stable")]
    tally(int((leaves[:, 2] * leaves[:, 3]).sum()))
    return _trace(device, planes, leaves)


def _split(device: Device, planes: Planes, rectangles: np.ndarray, swapped: bool, tally: Callable[[int], None]) -> np.ndarray:
    """Halves (top, left, height, width, cost) of rectangles, split at the middle column; swapped: at the middle row."""
    if swapped:
        rectangles = rectangles[:, [1, 0, 3, 2, 4]]
    top, left, height, width, cost = rectangles.T
    half = width // 2
    one = np.ones_like(half)
    forward = np.stack([top, left, height, half, one, width, cost], axis=1)
    backward = np.stack([top + height - 1, left + width - 1, height, width - half, -one, width, cost], axis=1)
    tasks = np.stack([forward, backward], axis=1).reshape(-1, 7)
    sweep = Sweep(device, planes, tasks, shape_for(device, int(height.max()), int(cost.sum())), swapped)
    sweep.run()
    tally(sweep.cells())
    total, row, first = sweep.meetings().T
    if (total > cost).any():
        raise RuntimeError("an alignment's halves cost more than its whole: the bound was not one")
    parts = np.concatenate([
        np.stack([top, left, row, half, first], axis=1),
        np.stack([top + row, left + half, height - row, width - half, total - first], axis=1),
    ])  # fmt: skip
    return parts[:, [1, 0, 3, 2, 4]] if swapped else parts


def _trace(device: Device, planes: Planes, leaves: np.ndarray) -> np.ndarray:
    defines = {"BITS": planes.bits, "LEAF": LEAF, **({"NVIDIA": 1} if device.is_nvidia else {})}
    kernel = kernel_of(device.build("distance_trace.cl", defines), "trace")
    context, queue, flags = device.context, planes.queue, cl.mem_flags
    at_once = LEAVES_AT_ONCE if device.kind == "gpu" else 256
    kept = cl.Buffer(context, flags.READ_WRITE, (LEAF + 1) * (LEAF // 64) * 16 * min(at_once, max(1, len(leaves))))
    pieces: list[np.ndarray] = []
    for start in range(0, len(leaves), at_once):
        part = leaves[start : start + at_once]
        whole = (part[:, 2] > 0) & (part[:, 3] > 0)
        inner = np.ascontiguousarray(part[whole, :4])
        steps, out = np.zeros(len(inner), np.int32), np.empty((len(inner), 2 * LEAF), np.uint8)
        if len(inner):
            buffers = [cl.Buffer(context, flags.READ_WRITE, array.nbytes) for array in (out, steps)]
            fields = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=inner)
            group = 32 if device.kind == "gpu" else 1
            items = (len(inner) + group - 1) // group * group
            kernel(queue, (items,), (group,), planes.a, planes.b, fields, np.int32(len(inner)), kept, *buffers)
            for array, buffer in zip((out, steps), buffers, strict=True):
                cl.enqueue_copy(queue, array, buffer)
        index = 0
        for (_, _, height, width, _), traced in zip(part.tolist(), whole.tolist(), strict=True):
            if traced:
                pieces.append(out[index, steps[index] - 1 :: -1] if steps[index] else out[index, :0])
                index += 1
            else:
                pieces.append(np.full(max(height, width), A_ONLY if height else B_ONLY, np.uint8))
    return np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
