"""An optimal path in linear memory by divide and conquer (Hirschberg 1975) over bit-parallel sweeps from both ends.

A rectangle is split at its middle column, or row where it is much higher than wide: a sweep from either end gives D on that line,
and the path crosses where the sum is least. Both sweeps keep the right borders of their tiles on the way. A second pair of sweeps, from the
middle outwards, meets those borders, and tells where the path crosses every one of them. So a rectangle of any size falls into
pieces of one tile's columns by two pairs of sweeps, the second of which knows its cost and prunes sharply.
"""

from collections.abc import Callable

import numpy as np

from haplowave.distance.crossings import crossings, opposite, spacing
from haplowave.distance.leaves import LEAF, LONGEST, trace
from haplowave.distance.planes import Planes
from haplowave.distance.tiles import Keeping, Sweep, shape_for
from haplowave.opencl import Device

RECTANGLES_AT_ONCE = 16384  # two tasks each; devices limit the second dimension of a launch to 65,535

Tally = Callable[[int], None]


def operations(
    device: Device, planes: Planes, pieces: np.ndarray, distance: int | None = None, tally: Tally = lambda cells: None
) -> np.ndarray:
    """uint8, the steps of one optimal path from start to end (0 match, 1 substitution, 2 symbol of a only, 3 of b only).

    pieces: cuts of both strings (as `anchors.cut`), whose costs bound the distance. Where they sum to the distance (known, or known
    after the first sweep), paths through the pieces make an optimal one, and the rest of the matrix is not looked at again.
    tally: is told how many cells each step computed.
    """
    bound = int(pieces[:, 4].sum())
    open_ones = np.array([[0, 0, *planes.lengths, bound if distance is None else distance]], np.int64)
    if bound == distance:
        open_ones = pieces
    closed = []
    first = distance is None
    while len(open_ones):
        heights, widths = open_ones[:, 2], open_ones[:, 3]
        small = ((heights * widths <= LEAF) & (np.maximum(heights, widths) <= LONGEST)) | (heights == 0) | (widths == 0)
        closed.append(open_ones[small])
        rest = open_ones[~small]
        tall = rest[:, 2] > 2 * rest[:, 3]  # not as soon as higher than wide: most of a depth should go into one sweep
        parts = [np.empty((0, 5), np.int64)]
        for part, swapped in ((rest[~tall], False), (rest[tall], True)):
            for start in range(0, len(part), RECTANGLES_AT_ONCE):
                division = _Division(device, planes, part[start : start + RECTANGLES_AT_ONCE], swapped, tally)
                if first and int(division.total.sum()) == bound:
                    parts = [pieces]
                else:
                    parts.append(division.parts())
                first = False
        open_ones = np.concatenate(parts)
    leaves = np.concatenate(closed)
    leaves = leaves[(leaves[:, 2] > 0) | (leaves[:, 3] > 0)]
    leaves = leaves[np.argsort(leaves[:, 0] + leaves[:, 1], kind="stable")]
    tally(int((leaves[:, 2] * leaves[:, 3]).sum()))
    return trace(device, planes, leaves)


class _Division:
    """Rectangles (top, left, height, width, cost or a bound of it) on their way to pieces; swapped: split at rows.

    `total`: their costs.
    """

    def __init__(self, device: Device, planes: Planes, rectangles: np.ndarray, swapped: bool, tally: Tally):
        self.device, self.planes, self.swapped, self.tally = device, planes, swapped, tally
        self.rectangles = rectangles[:, [1, 0, 3, 2, 4]] if swapped else rectangles
        top, left, height, width, cost = self.rectangles.T
        half = width // 2
        one = np.ones_like(half)
        forward = np.stack([top, left, height, half, one, width, cost], axis=1)
        backward = np.stack([top + height - 1, left + width - 1, height, width - half, -one, width, cost], axis=1)
        tasks = np.stack([forward, backward], axis=1).reshape(-1, 7)
        shape = shape_for(device, int(height.max()), int(cost.sum()))
        self.near = Sweep(device, planes, tasks, shape, swapped, Keeping.from_start(spacing(device, tasks, shape), len(tasks)))
        self._run(self.near)
        self.total, self.row, self.first = self.near.meetings().T
        if (self.total > cost).any():
            raise RuntimeError("an alignment's halves cost more than its whole: the bound was not one")

    def _run(self, sweep: Sweep) -> None:
        sweep.run()
        self.tally(sweep.cells())

    def parts(self) -> np.ndarray:
        """The pieces with their costs, in any order."""
        height = self.rectangles[:, 2]
        ends = np.stack([self.row, height - self.row], axis=1).reshape(-1)
        costs = np.stack([self.first, self.total - self.first], axis=1).reshape(-1)
        points = self._inner(ends, costs)
        corners = np.stack([np.arange(len(ends)), ends, self.near.n, costs], axis=1)
        starts = corners * [1, 0, 0, 0]
        order = np.argsort(np.concatenate([starts, points, corners])[:, 0], kind="stable")  # starts, then inner points, then ends
        task, row, column, cost = np.concatenate([starts, points, corners])[order].T
        inside = np.flatnonzero(task[1:] == task[:-1])
        before, after = inside, inside + 1
        task = task[before]
        top, left, step = self.near.tasks[task, 0], self.near.tasks[task, 1], self.near.tasks[task, 4]
        row_from, row_to = np.where(step > 0, row[before], row[after]), np.where(step > 0, row[after], row[before])
        column_from = np.where(step > 0, column[before], column[after])
        result = np.stack([
            top + step * row_from + (step < 0), left + step * column_from + (step < 0), np.abs(row_to - row_from),
            column[after] - column[before], cost[after] - cost[before],
        ], axis=1)  # fmt: skip
        return result[:, [1, 0, 3, 2, 4]] if self.swapped else result

    def _inner(self, ends: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """Points (task, row, column, cost up to there) of the paths on kept borders, all from the task's start."""
        near = self.near
        which = np.flatnonzero((ends > 0) & (near.chunks > near.keeping.every))
        if not len(which):
            return np.empty((0, 4), np.int64)
        tasks, keeping = opposite(near, which, ends[which], costs[which])
        far = Sweep(self.device, self.planes, tasks, near.shape, self.swapped, keeping)
        self._run(far)
        points, whole = crossings(near, which, far)
        if (whole != costs[which][points[:, 0]]).any():
            raise RuntimeError("the sweeps of an alignment do not meet")
        points[:, 0] = which[points[:, 0]]
        return points
