"""Strategy `bitparallel` for any device: one pruned sweep of bit-parallel tiles below a bound that `anchors` supplies."""

from haplowave.distance.anchors import upper_bound
from haplowave.distance.checkpoint import Checkpoint
from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.shared_sweep import SharedSweep, worth_sharing
from haplowave.distance.strategies import Problem, register
from haplowave.distance.tiles import UNKNOWN, Sweep, shape_for, task

AT_ONCE = 512  # launches between looks at the clock


@register("bitparallel")
def bitparallel(problem: Problem) -> int:
    checkpoint = Checkpoint.open(problem)
    planes = upload(problem.device, command_queue(problem.device), problem.a, problem.b)
    bound = upper_bound(problem.device, planes) if checkpoint is None or checkpoint.bound is None else checkpoint.bound
    problem.report(0.0, bound)
    return sweep_below(problem, planes, bound, checkpoint)


def sweep_below(problem: Problem, planes: Planes, bound: int, checkpoint: Checkpoint | None = None) -> int:
    """The distance, given that it is at most `bound`; or problem.maximum + 1."""
    m, n = planes.lengths
    problem.notes["bound"] = bound
    if problem.maximum is not None:
        bound = min(bound, problem.maximum)
        if abs(m - n) > bound:
            return bound + 1
    if problem.others and worth_sharing(problem.device, planes, bound):
        shared = SharedSweep([problem.device, *problem.others], planes, problem.a, problem.b, bound)
        shared.run(lambda done: problem.report(done, bound))
        problem.cells += shared.cells()
        return _known(shared.distance(), bound)
    # two sweeps that meet take half as many launches, and fill a GPU better, than one from end to end; a CPU gains nothing from it
    both = problem.device.kind == "gpu" and n > 1 and checkpoint is None
    sweep = Sweep(problem.device, planes, _tasks(m, n, bound, both), shape_for(problem.device, m, bound))
    if checkpoint is not None:
        checkpoint.restore(sweep)
    while sweep.launch < sweep.launches:
        sweep.run(until=sweep.launch + AT_ONCE)
        problem.report(sweep.launch / sweep.launches, bound)
        if checkpoint is not None:
            checkpoint.save_when_due(sweep, bound)
    problem.cells += sweep.cells()
    if checkpoint is not None:
        checkpoint.remove()
    return _known(int(sweep.meetings()[0, 0] if both else sweep.corners()[0]), bound)


def _known(distance: int, bound: int) -> int:
    return bound + 1 if distance >= UNKNOWN or distance > bound else distance


def _tasks(m: int, n: int, bound: int, both: bool) -> list[tuple[int, ...]]:
    if not both:
        return [task(0, 0, m, n, 1, n, bound)]
    half = n // 2
    return [task(0, 0, m, half, 1, n, bound), task(m - 1, n - 1, m, n - half, -1, n, bound)]
