"""A cheap upper bound of the distance: anchors, their chain, and the exact distances of the pieces between them.

Any cut of both strings into corresponding pieces gives an upper bound, the sum of the pieces' distances. Cuts at seeds that occur
once and lie in order put nearly all of the optimal path inside the pieces, so the bound is close, and the exact sweep that
follows can prune with it.
"""

from bisect import bisect_right
from itertools import pairwise

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.planes import Planes
from haplowave.distance.tiles import Sweep, shape_for
from haplowave.opencl import Device

SEED = 20  # symbols: 4^20 >> any chromosome, and at 15 % difference 4 % of the seeds are still intact
MOST_SAMPLES = 1 << 20
WHOLE = 4096  # rows a compute unit up to which no processor of it has more than one strip: 4 each, 2,048 rows, two sweeps
DETOUR = 64  # an anchor that costs this many more gaps than its neighbours alone is left out


def bound_matters(device: Device, planes: Planes) -> bool:
    """Whether a sweep is any faster inside a band: on a GPU with more processors than the matrix has strips it is not."""
    return device.kind != "gpu" or planes.lengths[0] > device.compute_units * WHOLE


def whole(planes: Planes) -> np.ndarray:
    """As `cut`, the one piece that there is without looking: at most the longer length."""
    return np.array([[0, 0, *planes.lengths, max(planes.lengths)]], np.int64)


def upper_bound(device: Device, planes: Planes) -> int:
    """Sum of the exact distances of the pieces: at least the distance of the two strings."""
    pieces = cut(device, planes) if bound_matters(device, planes) else whole(planes)
    return min(int(pieces[:, 4].sum()), max(planes.lengths))


def cut(device: Device, planes: Planes) -> np.ndarray:
    """int64 (n, 5): the pieces (top, left, height, width) in order and their exact distances."""
    longest = max(planes.lengths)
    size = max((2048 if longest < 1 << 19 else 8192) if device.kind == "gpu" else 1024, longest // 8192)
    points = anchors(device, planes, most=1024 + 4 * longest // size)
    rectangles = pieces(planes.lengths, points, size)
    rectangles[:, 2:] -= rectangles[:, :2]
    heights, widths = rectangles[:, 2], rectangles[:, 3]
    costs = np.maximum(heights, widths)
    solid = (heights > 0) & (widths > 0)
    tasks = np.stack([rectangles[:, 0], rectangles[:, 1], heights, widths, np.ones_like(widths), widths, costs], axis=1)[solid]
    if len(tasks):
        sweep = Sweep(device, planes, tasks, shape_for(device, 1))
        sweep.run()
        costs[solid] = sweep.corners()
    return np.concatenate([rectangles, costs[:, None]], axis=1)


def anchors(device: Device, planes: Planes, most: int) -> np.ndarray:
    """int64 (n, 2), n <= most: positions in a and b of chained seeds, both ascending; may be empty."""
    m, n = planes.lengths
    if min(m, n) < 4 * SEED:
        return np.empty((0, 2), np.int64)
    spacing = max(32, -(-(m - SEED) // MOST_SAMPLES))
    samples = (m - SEED) // spacing
    size = 1 << int(4 * samples).bit_length()
    context, queue = device.context, planes.queue
    table, hits, where = (cl.Buffer(context, cl.mem_flags.READ_WRITE, count) for count in (size * 4, samples * 4, samples * 8))
    cl.enqueue_fill_buffer(queue, table, np.uint32(0), 0, size * 4)
    cl.enqueue_fill_buffer(queue, hits, np.uint32(0), 0, samples * 4)
    program = device.build("distance_anchors.cl", planes.defines(device) | {"SEED": SEED})
    group = 128 if device.kind == "gpu" else 16
    mask = np.uint32(size - 1)
    kernel_of(program, "sample")(
        queue, (_whole(samples, group),), (group,), *planes.a, np.int64(spacing), np.uint32(samples), table, mask, hits
    )
    positions = n - SEED
    kernel_of(program, "scan")(
        queue, (_whole(positions, group),), (group,), *planes.a, *planes.b, np.int64(spacing), np.int64(positions), table, mask, hits, where
    )
    counted, found = np.empty(samples, np.uint32), np.empty(samples, np.int64)
    cl.enqueue_copy(queue, counted, hits)
    cl.enqueue_copy(queue, found, where)
    unique = np.flatnonzero(counted == 1)
    unique = unique[:: len(unique) // most + 1]
    return chain(np.stack([unique * spacing, found[unique]], axis=1), (m, n))


def chain(points: np.ndarray, lengths: tuple[int, int]) -> np.ndarray:
    """The longest chain ascending in both coordinates (points are sorted by the first), without anchors that are mere detours."""
    tails: list[int] = []  # least last b of a chain of each length
    tail_index: list[int] = []
    before = np.full(len(points), -1, np.int64)
    for index, position in enumerate(points[:, 1].tolist()):
        at = bisect_right(tails, position)
        if at:
            if tails[at - 1] == position:
                continue
            before[index] = tail_index[at - 1]
        if at == len(tails):
            tails.append(position)
            tail_index.append(index)
        else:
            tails[at], tail_index[at] = position, index
    chosen = []
    index = tail_index[-1] if tail_index else -1
    while index >= 0:
        chosen.append(index)
        index = before[index]
    kept = points[chosen[::-1]]
    for _ in range(8):
        diagonal = np.concatenate([[0], kept[:, 1] - kept[:, 0], [lengths[1] - lengths[0]]])
        straight = np.abs(diagonal[2:] - diagonal[:-2])
        detour = np.abs(np.diff(diagonal))[1:] + np.abs(np.diff(diagonal))[:-1] - straight > DETOUR
        detour[1:] &= ~detour[:-1]  # of two neighbours drop one, then look again
        if not detour.any():
            break
        kept = kept[~detour]
    return kept


def pieces(lengths: tuple[int, int], points: np.ndarray, size: int) -> np.ndarray:
    """int64 (n, 4): rectangles (top, left, bottom, right), cut at anchors about `size` apart, and evenly in between."""
    m, n = lengths
    corners = [(0, 0)]
    for i, j in points.tolist():
        if i - corners[-1][0] >= size and j >= corners[-1][1]:
            corners.append((i, j))
    corners.append((m, n))
    cuts = []
    for (top, left), (bottom, right) in pairwise(corners):
        parts = max(1, min(-(-max(bottom - top, right - left) // (2 * size)), 1 + min(bottom - top, right - left)))
        steps = np.arange(parts, dtype=np.int64)
        cuts.append(np.stack([top + (bottom - top) * steps // parts, left + (right - left) * steps // parts], axis=1))
    starts = np.concatenate([*cuts, [[m, n]]])
    return np.concatenate([starts[:-1], starts[1:]], axis=1)


def _whole(count: int, group: int) -> int:
    return (count + group - 1) // group * group
