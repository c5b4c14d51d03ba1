"""Strategy `auto`: a short wavefront first; then whichever is cheaper, the wavefront on or a bit-parallel sweep.

The wavefront costs about d^2 / 2 cells and d steps that wait for each other, the sweep n * d / 2 cells and n such steps. A short
wavefront settles what is nearly equal before anything else has begun. What it does not settle gets a bound from anchors (mostly
within some percent of the distance), from which both costs follow; that a wavefront goes on longer than its bound promised cannot
happen, because the bound is proven.
"""

from dataclasses import dataclass

import numpy as np

from haplowave.distance.anchors import cut
from haplowave.distance.bitparallel_tiles import sweep_below
from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.strategies import CPU_STRATEGIES, Problem, register
from haplowave.distance.wavefront import KEEP_EVERY, Front
from haplowave.opencl import Device

START = 0.005  # seconds before a sweep is under way
NO_PIECES = np.empty((0, 5), np.int64)


@dataclass(frozen=True)
class Costs:
    """Seconds: `column`, one wavefront step that waits for the last; `cell`, one wavefront cell; `symbol`, one column of a sweep
    that waits for the last; `product`, one matrix cell of a sweep; `look`, finding anchors for a symbol. `probe`: edits that are
    tried first."""

    column: float
    cell: float
    symbol: float
    product: float
    look: float
    probe: int

    def wavefront(self, bound: int) -> float:
        return bound * self.column + bound * bound / 2 * self.cell

    def sweep(self, m: int, n: int, bound: int) -> float:
        return START + n * self.symbol + min(m * n, n * bound / 2) * self.product


def costs(device: Device) -> Costs:
    """Measured on an NVIDIA H200 and on two cores of a server CPU; docs/distance.md tells how."""
    if device.kind == "gpu":
        return Costs(1.33e-6, 8e-12, 5.3e-8, 4e-14, 4e-9, 512)
    return Costs(5e-6, 4e-8, 1e-8, 7e-11, 5e-8, 64)


@register("auto")
def auto(problem: Problem) -> int:
    device = problem.device
    planes = upload(device, command_queue(device), problem.a, problem.b)
    limit = _limit(problem, planes)
    if abs(planes.lengths[0] - planes.lengths[1]) > limit:
        return limit + 1
    front, pieces = choose(problem, planes)
    if front is not None:
        return finish(problem, front, limit)
    problem.notes["strategy"] = "bitparallel"
    if device.kind == "cpu" and "bitparallel" in CPU_STRATEGIES:
        return CPU_STRATEGIES["bitparallel"](problem)
    return sweep_below(problem, planes, int(pieces[:, 4].sum()))


def choose(problem: Problem, planes: Planes, keep: bool = False) -> tuple[Front | None, np.ndarray]:
    """A wavefront to go on with (or already at its end), or None and the pieces whose costs bound a sweep. keep: as in `Front`."""
    device, price = problem.device, costs(problem.device)
    m, n = planes.lengths
    limit = _limit(problem, planes)
    front = Front(device, planes, keep=keep)
    problem.notes["strategy"] = "wfa"
    if abs(m - n) < price.probe * 4:
        found = front.advance(min(limit, price.probe + abs(m - n)))  # the gap alone takes the end's diagonal |m - n| edits to reach
        if not found and front.done > 0.02:  # the rest at the same rate may cost less than looking for anchors
            expected = int(front.radius / front.done)
            if price.wavefront(expected) < 2 * (START + price.look * n):
                found = front.advance(min(limit, 2 * expected))
        if found or front.radius >= limit:
            return front, NO_PIECES
    pieces = cut(device, planes)
    bound = int(pieces[:, 4].sum())
    problem.notes["bound"] = bound
    problem.report(0.0, bound)
    affordable = not keep or bound * bound / KEEP_EVERY * front.width < device.global_memory / 8
    if affordable and price.wavefront(min(bound, limit)) <= price.sweep(m, n, min(bound, limit)):
        front.tighten(bound)
        return front, pieces
    problem.cells += front.cells
    return None, pieces


def finish(problem: Problem, front: Front, limit: int) -> int:
    """The wavefront to its end, or to `limit`."""
    while front.radius < limit and front.distance is None and not front.advance(min(limit, front.radius + 4096)):
        problem.report(front.done, front.bound)
    problem.cells += front.cells
    return limit + 1 if front.distance is None else front.distance


def _limit(problem: Problem, planes: Planes) -> int:
    longest = max(planes.lengths)
    return longest if problem.maximum is None else min(longest, problem.maximum)
