"""The ladder of GPU wavefront designs of Castells-Rufas 2023 (section 4), as named strategies of the benchmark.

Each is exact and keeps two columns, O(m + n) memory. `wfa` is what this project uses; these show where the time goes.
"""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.strategies import Problem, register
from haplowave.distance.wavefront import NOWHERE
from haplowave.errors import UserError

_UNFOUND = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Rung:
    """`stage`: variant of the kernel. `tile`: T of its diamonds. `group`: work-items a group. `read_every`: launches between looks."""

    stage: int
    group: int
    tile: int = 0
    read_every: int = 1
    whole_columns: bool = False
    bounded: bool = False


RUNGS = {
    "baseline": Rung(0, 128, whole_columns=True),
    "dynamic": Rung(0, 128),
    "fewer-reads": Rung(0, 128, read_every=100),
    "prefetch": Rung(1, 128, read_every=100),
    "tiled-global": Rung(2, 128, tile=2, read_every=50),
    "tiled-registers": Rung(3, 128, tile=3, read_every=33),
    "tiled-local": Rung(4, 128, tile=2, read_every=50),
    "tiled-workgroup": Rung(5, 0, tile=190, read_every=1),
    "diamond": Rung(5, 0, tile=190, read_every=1, bounded=True),
}


class _Ladder:
    def __init__(self, problem: Problem, rung: Rung):
        self.problem, self.rung = problem, rung
        self.device = device = problem.device
        self.queue = cl.CommandQueue(device.context)
        self.m, self.n = len(problem.a), len(problem.b)
        if self.m + self.n >= 1 << 29:
            raise UserError(
                f"strings of {self.m} and {self.n} symbols: too long for the strategies of the ladder; use wfa, bitparallel or auto"
            )
        self.tile = rung.tile if rung.stage != 5 else min(rung.tile, (device.device.max_work_group_size - 1) // 2, self._shortest_tile())
        self.group = rung.group if device.kind == "gpu" else min(16, rung.group)
        flags = cl.mem_flags
        self.texts = [
            cl.Buffer(device.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.ascontiguousarray(text))
            for text in (problem.a, problem.b)
        ]
        margin = 2 * self.tile + self.group + 2
        self.base = -self.m - margin
        size = self.m + self.n + 1 + 2 * margin
        self.columns = [cl.Buffer(device.context, flags.READ_WRITE, size * 4) for _ in range(2)]
        for column in self.columns:
            cl.enqueue_fill_buffer(self.queue, column, np.int32(NOWHERE), 0, size * 4)
        self.control = cl.Buffer(device.context, flags.READ_WRITE, 16)
        self.bound = max(self.m, self.n)
        cl.enqueue_copy(self.queue, self.control, np.array([_UNFOUND, self.bound, 0, 0], np.int32))
        self.limit = self.bound if problem.maximum is None else min(self.bound, problem.maximum)
        defines = {"STAGE": rung.stage, "GROUP": self.group, "T": self.tile, "BOUND": rung.bounded}
        program = device.build("distance_ladder.cl", defines)
        self.kernel = kernel_of(program, "column" if rung.stage < 2 else "diamonds")
        self.scratch: cl.Buffer | None = None

    def _shortest_tile(self) -> int:
        """A CPU runs the items of a group one after another: small diamonds keep short inputs short."""
        return self.rung.tile if self.device.kind == "gpu" else 16

    def look(self) -> int | None:
        control = np.empty(4, np.int32)
        cl.enqueue_copy(self.queue, control, self.control)
        self.bound = int(control[1])
        self.problem.cells = int(control[2:].view(np.uint64)[0])
        return None if control[0] == _UNFOUND else int(control[0])

    def by_columns(self) -> int:
        arguments = (*self.texts, np.int32(self.m), np.int32(self.n))
        for radius in range(self.limit + 1):
            first, last = (-self.m, self.n) if self.rung.whole_columns else (max(-self.m, -radius), min(self.n, radius))
            items = last - first + 1
            self.kernel(
                self.queue, (-(-items // self.group) * self.group,), (self.group,), *arguments, *self.columns,
                np.int32(self.base), np.int32(first), np.int32(items), np.int32(radius), self.control,
            )  # fmt: skip
            self.columns.reverse()
            if (radius + 1) % self.rung.read_every == 0 or radius == self.limit:
                found = self.look()
                if found is not None:
                    return found
                self.problem.report(radius / max(1, self.limit), self.bound)
        return self.limit + 1

    def by_diamonds(self) -> int:
        arguments = (*self.texts, np.int32(self.m), np.int32(self.n))
        side, difference = self.tile, self.n - self.m
        bands = -(-(self.limit + 1) // side) + 1
        for band in range(bands):
            column = band * side
            reach = column + 2 * side - 1
            low, high = max(-self.m, -reach), min(self.n, reach)
            if self.rung.bounded:
                spare = self.bound - column + 2 * side
                low, high = max(low, difference - spare), min(high, difference + spare)
            shift = side if band % 2 else 0
            first = -((side - low + shift) // (2 * side)) * 2 * side + shift
            items = max(0, (high + side - first) // (2 * side) + 1)
            self._launch(arguments, first, items, column)
            if (band + 1) % self.rung.read_every == 0 or band == bands - 1:
                found = self.look()
                if found is not None:
                    return found if found <= self.limit else self.limit + 1
                self.problem.report(column / max(1, self.limit), self.bound)
        return self.limit + 1

    def _launch(self, arguments: tuple, first: int, items: int, column: int) -> None:
        if items == 0:
            return
        group = 2 * self.tile + 1 if self.rung.stage == 5 else self.group
        total = items * group if self.rung.stage == 5 else -(-items // group) * group
        needed = total * 2 * (2 * self.tile + 1) * 4 if self.rung.stage == 2 else 4
        if self.scratch is None or self.scratch.size < needed:
            self.scratch = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, 2 * needed)
        self.kernel(
            self.queue, (total,), (group,), *arguments, *self.columns, np.int32(self.base), np.int32(first), np.int32(items),
            np.int32(column), self.control, self.scratch,
        )  # fmt: skip


def _strategy(rung: Rung):
    def run(problem: Problem) -> int:
        ladder = _Ladder(problem, rung)
        return ladder.by_columns() if rung.stage < 2 else ladder.by_diamonds()

    return run


for _name, _rung in RUNGS.items():
    register(_name)(_strategy(_rung))
