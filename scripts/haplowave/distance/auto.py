"""Strategy `auto`: a short wavefront first; then whichever is cheaper, the wavefront on or a bit-parallel sweep.

The wavefront costs about d^2 / 2 cells and d steps that wait for each other, the sweep n * d / 2 cells and n such steps. The wavefront goes
on while what lies ahead of it, at the rate of its last edits, costs less than a sweep from the start. Otherwise anchors give a bound
(mostly within some percent of the distance), from which both costs follow; that a wavefront goes on longer than its bound promised
cannot happen, because the bound is proven.
"""

from dataclasses import dataclass

import numpy as np

from haplowave.distance.anchors import bound_matters, cut, whole
from haplowave.distance.bitparallel_tiles import sweep_below
from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.strategies import CPU_STRATEGIES, Problem, has_cpu_programs, register
from haplowave.distance.wavefront import KEEP_EVERY, Front
from haplowave.opencl import Device

NO_PIECES = np.empty((0, 5), np.int64)


@dataclass(frozen=True)
class Costs:
    """Seconds: `column`, one wavefront step that waits for the last; `cell`, one wavefront cell; `start`, a sweep before its first
    step; `symbol`, one column of a sweep that waits for the last; `product`, one matrix cell of a sweep; `anchors` and `look`, a bound,
    and that for a symbol. `probe`: edits that are tried first."""

    column: float
    cell: float
    start: float
    symbol: float
    product: float
    anchors: float
    look: float
    probe: int

    def wavefront(self, edits: float) -> float:
        return edits * self.column + edits * edits / 2 * self.cell

    def sweep(self, m: int, n: int, bound: float) -> float:
        return self.start + n * self.symbol + min(m * n, n * bound / 2) * self.product

    def bound(self, n: int) -> float:
        return self.anchors + n * self.look


def costs(device: Device) -> Costs:
    """Measured on an NVIDIA H200 and on two cores of a server CPU; docs/distance.md tells how."""
    if device.kind == "gpu":
        return Costs(8.5e-7, 9e-12, 1e-3, 5.1e-8, 4e-14, 1.5e-3, 3.3e-9, 512)
    return Costs(5e-6, 4e-8, 5e-3, 1e-8, 7e-11, 0.0, 5e-8, 64)


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
    if has_cpu_programs(device, problem.longest) and "bitparallel" in CPU_STRATEGIES:
        return CPU_STRATEGIES["bitparallel"](problem)
    return sweep_below(problem, planes, int(pieces[:, 4].sum()))


def choose(problem: Problem, planes: Planes, keep: bool = False) -> tuple[Front | None, np.ndarray]:
    """A wavefront to go on with (or already at its end), or None and the pieces whose costs bound a sweep. keep: as in `Front`."""
    device, price = problem.device, costs(problem.device)
    m, n = planes.lengths
    limit, gap = _limit(problem, planes), abs(m - n)
    front = Front(device, planes, keep=keep)
    problem.notes["strategy"] = "wfa"
    looked = bound_matters(device, planes)
    search = price.bound(n) if looked else 0.0
    # the gap alone takes the end's diagonal so many edits to reach
    tried = gap < 4 * price.probe or price.wavefront(gap) < (search + price.sweep(m, n, gap)) / 4
    if tried:
        front.advance(min(limit, gap + price.probe // 2))
        while front.distance is None and front.radius < limit and _affordable(front, front.expected):
            expected = min(front.expected, limit)
            if price.wavefront(expected) - price.wavefront(front.radius) > search + price.sweep(m, n, expected):
                break
            front.advance(min(limit, front.radius + max(price.probe, front.radius) // 2))
        if front.distance is not None or front.radius >= limit:
            return front, NO_PIECES
    if not looked and (tried or price.wavefront(gap) > price.sweep(m, n, gap)):
        problem.cells += front.cells
        return None, whole(planes)
    pieces = cut(device, planes)
    bound = int(pieces[:, 4].sum())
    problem.notes["bound"] = bound
    problem.report(0.0, bound)
    ahead = price.wavefront(min(bound, limit)) - price.wavefront(max(front.radius, 0))
    if _affordable(front, bound) and ahead <= price.sweep(m, n, min(bound, limit)):
        front.tighten(bound)
        return front, pieces
    problem.cells += front.cells
    return None, pieces


def _affordable(front: Front, edits: float) -> bool:
    """Whether waves kept for a path fit the device's memory."""
    return not front.keep or edits * edits / KEEP_EVERY * front.width < front.device.global_memory / 8


def finish(problem: Problem, front: Front, limit: int) -> int:
    """The wavefront to its end, or to `limit`."""
    while front.radius < limit and front.distance is None and not front.advance(min(limit, front.radius + 4096)):
        problem.report(front.done, front.bound)
    problem.cells += front.cells
    return limit + 1 if front.distance is None else front.distance


def _limit(problem: Problem, planes: Planes) -> int:
    longest = max(planes.lengths)
    return longest if problem.maximum is None else min(longest, problem.maximum)
