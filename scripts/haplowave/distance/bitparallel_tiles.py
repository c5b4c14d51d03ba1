"""Strategy `bitparallel` for any device: one pruned sweep of bit-parallel tiles below a bound that `anchors` supplies."""

from haplowave.distance.anchors import upper_bound
from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.strategies import Problem, register
from haplowave.distance.tiles import UNKNOWN, Sweep, shape_for, task

BOTH_ENDS = 6 << 20  # symbols; below, tiles are too few to fill a GPU, and two sweeps that meet halve the number of launches


@register("bitparallel")
def bitparallel(problem: Problem) -> int:
    queue = command_queue(problem.device)
    planes = upload(problem.device, queue, problem.a, problem.b)
    bound = upper_bound(problem.device, planes)
    problem.report(0.0, bound)
    return sweep_below(problem, planes, bound)


def sweep_below(problem: Problem, planes: Planes, bound: int) -> int:
    """The distance, given that it is at most `bound`; or problem.maximum + 1."""
    m, n = planes.lengths
    problem.notes["bound"] = bound
    if problem.maximum is not None:
        bound = min(bound, problem.maximum)
        if abs(m - n) > bound:
            return bound + 1
    both = problem.device.kind == "gpu" and n > 1 and m < BOTH_ENDS and problem.checkpoint is None
    sweep = Sweep(problem.device, planes, _tasks(m, n, bound, both), shape_for(problem.device, m))
    sweep.run(report=None if problem.progress is None else lambda done: problem.report(done, bound))
    problem.cells += sweep.cells()
    distance = int(sweep.meetings()[0, 0] if both else sweep.corners()[0])
    return bound + 1 if distance >= UNKNOWN or distance > bound else distance


def _tasks(m: int, n: int, bound: int, both: bool) -> list[tuple[int, ...]]:
    if not both:
        return [task(0, 0, m, n, 1, n, bound)]
    half = n // 2
    return [task(0, 0, m, half, 1, n, bound), task(m - 1, n - 1, m, n - half, -1, n, bound)]
