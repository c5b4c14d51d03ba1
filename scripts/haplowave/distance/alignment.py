"""`align`: one optimal alignment of two strings of any length, in memory far below the size of the matrix."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haplowave.distance import cigar
from haplowave.distance.anchors import cut
from haplowave.distance.auto import choose, finish
from haplowave.distance.cpu_align import cpu_runs
from haplowave.distance.hirschberg import operations
from haplowave.distance.long import symbols
from haplowave.distance.planes import command_queue, upload
from haplowave.distance.strategies import Problem, find, has_cpu_programs
from haplowave.opencl import Device, device_failures, select


@dataclass(frozen=True)
class Alignment:
    """`distance`: edits of the alignment, the least there are. `runs`: its operations. The rest as in `DistanceResult`."""

    distance: int
    runs: cigar.Runs
    strategy: str
    seconds: float
    cells: int
    query_length: int
    target_length: int

    @property
    def cigar(self) -> str:
        """Extended CIGAR (=, X, I, D), a as query and b as target."""
        return self.runs.cigar


def align(
    a: bytes | str | np.ndarray,
    b: bytes | str | np.ndarray,
    *,
    device: Device | str = "auto",
    progress: Callable[[float, int | None], None] | None = None,
    ignore_case: bool = False,
) -> Alignment:
    """Optimal global alignment under unit costs: the wavefront's path where the strings are alike, Hirschberg's where not.

    The result is replayed against both strings before it is returned. Raises UserError for a failing device.
    """
    device = select(device)
    a, b = symbols(a, ignore_case), symbols(b, ignore_case)
    began = time.perf_counter()
    problem = Problem(a, b, device, progress=progress)
    if len(a) == 0 or len(b) == 0:
        result = cigar.runs(np.array([cigar.INSERTION, cigar.DELETION]), np.array([len(a), len(b)]))
    else:
        with device_failures(device):
            result = _runs(problem)
    seconds = time.perf_counter() - began
    if not cigar.replay(result, a, b):
        raise RuntimeError(f"alignment of strings of {len(a)} and {len(b)} symbols does not replay on {device.name}")
    strategy = str(problem.notes.get("strategy", "wfa"))
    return Alignment(result.edits, result, strategy, seconds, problem.cells, len(a), len(b))


def _runs(problem: Problem) -> cigar.Runs:
    device = problem.device
    if not has_cpu_programs(device, problem.longest):
        return any_device_runs(problem)
    if (path := cpu_runs(problem)) is not None:
        return path
    # its own programs for distances are faster than sweeps that stop halfway
    planes = upload(device, command_queue(device), problem.a, problem.b)
    pieces, found = cut(device, planes), find("auto", device, problem.longest)(problem)
    problem.notes["strategy"] = "bitparallel"
    return cigar.runs(operations(device, planes, pieces, found, problem.count))


def any_device_runs(problem: Problem) -> cigar.Runs:
    """One optimal path of two strings that are not empty."""
    device = problem.device
    planes = upload(device, command_queue(device), problem.a, problem.b)
    front, pieces = choose(problem, planes, keep=True)
    if front is None:
        problem.notes["strategy"] = "bitparallel"
        return cigar.runs(operations(device, planes, pieces, tally=problem.count))
    finish(problem, front, max(planes.lengths))
    edits, matches = front.path()
    both = np.empty(2 * len(edits), np.uint8)
    counts = np.ones(2 * len(edits), np.int64)
    both[0::2], both[1::2], counts[1::2] = edits, cigar.MATCH, matches
    return cigar.runs(both[1:], counts[1:])
