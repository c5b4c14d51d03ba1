"""Host side of kernels/distance_trace.cl: paths through small rectangles, all side by side."""

from collections.abc import Iterator

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.planes import Planes
from haplowave.opencl import Device

LEAF = 1 << 19  # cells, at most
LONGEST = 2048  # rows or columns, at most
MATCH, SUBSTITUTION, A_ONLY, B_ONLY = range(4)
_LANES = 32  # leaves whose matrices are interleaved
_WORDS = 1 << 27  # of matrices at a time
_STEPS = 1 << 30  # bytes at a time
_NOTHING = 255


def trace(device: Device, planes: Planes, leaves: np.ndarray) -> np.ndarray:
    """uint8, the steps through rectangles (int64 (n, >= 4): top, left, height, width; in order) from the first to the last."""
    ends = np.cumsum(leaves[:, 2] + leaves[:, 3])
    if not len(leaves) or ends[-1] == 0:
        return np.empty(0, np.uint8)
    parts = np.split(leaves, np.flatnonzero(np.diff(ends // min(_STEPS, device.max_allocation // 2))) + 1)
    return np.concatenate([_steps(device, planes, part) for part in parts])


def _steps(device: Device, planes: Planes, leaves: np.ndarray) -> np.ndarray:
    heights, widths = leaves[:, 2], leaves[:, 3]
    ends = np.cumsum(heights + widths)
    steps = np.empty(int(ends[-1]), np.uint8)
    inner = np.flatnonzero((heights > 0) & (widths > 0))
    if len(inner):
        size = int(ends[inner[-1]])
        out = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
        cl.enqueue_fill_buffer(planes.queue, out, np.uint8(_NOTHING), 0, size)
        _launch(device, planes, leaves[inner, :4], ends[inner], out)
        cl.enqueue_copy(planes.queue, steps[:size], out)
    for index in np.flatnonzero((heights == 0) != (widths == 0)).tolist():
        height, width, end = int(heights[index]), int(widths[index]), int(ends[index])
        steps[end - height - width : end] = A_ONLY if height else B_ONLY
    return steps[steps != _NOTHING]


def _launch(device: Device, planes: Planes, rectangles: np.ndarray, ends: np.ndarray, out: cl.Buffer) -> None:
    defines = planes.defines(device) | {"LANES": _LANES}
    kernel = kernel_of(device.build("distance_trace.cl", defines), "trace")
    group = _LANES if device.kind == "gpu" else 1
    rows, columns = -(-rectangles[:, 2] // 64), rectangles[:, 3]
    order = np.lexsort((columns, rows))[::-1]  # lanes of like work together
    fields = np.concatenate([rectangles, ends[:, None]], axis=1)[order]
    words = (2 * rows * (columns + 1) + columns)[order]
    for part, base in _parts(words, min(_WORDS, device.max_allocation // 8)):
        inputs = cl.Buffer(device.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ascontiguousarray(fields[part]))
        bases = cl.Buffer(device.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=base)
        kept = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 8 * int(base[-1]))
        count = part.stop - part.start
        items = -(-count // group) * group
        kernel(planes.queue, (items,), (group,), *planes.a, *planes.b, inputs, np.int32(count), bases, kept, out)


def _parts(words: np.ndarray, room: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Leaves (whole groups of _LANES) whose matrices fit `room`, and where each group's matrices begin (int64, with the end)."""
    largest = _LANES * np.maximum.reduceat(words, np.arange(0, len(words), _LANES))
    start = 0
    while start < len(largest):
        begins = np.concatenate([[0], np.cumsum(largest[start:])])
        groups = max(1, int(np.searchsorted(begins, room, "right")) - 1)
        stop = min(len(largest), start + groups)
        yield slice(start * _LANES, min(len(words), stop * _LANES)), begins[: stop - start + 1]
        start = stop
