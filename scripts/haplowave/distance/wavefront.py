"""Host side of kernels/distance_wavefront.cl, and the strategy `wfa`."""

from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl

from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.strategies import Problem, register
from haplowave.opencl import Device

NOWHERE = -(1 << 29)
_UNFOUND = np.iinfo(np.int32).max


@dataclass
class Front:
    """The wave at `radius` edits on the device. `distance`: None until found; `bound`: an upper bound of it; `cells`: computed so far."""

    device: Device
    planes: Planes
    radius: int = -1
    distance: int | None = None
    bound: int = 0
    cells: int = 0
    _waves: list[cl.Buffer] = field(default_factory=list)
    _base: int = 0
    _size: int = 0

    def __post_init__(self) -> None:
        self.queue = self.planes.queue
        self.m, self.n = self.planes.lengths
        self.bound = max(self.m, self.n)
        # wide fronts: small groups give the scheduler more to choose from; a narrow one: everything in one group
        self.wide, self.narrow = (512, 1024) if self.device.kind == "gpu" else (256, 256)
        self.narrow = min(self.narrow, self.device.device.max_work_group_size)
        self.wide = min(self.wide, self.narrow)
        self.control = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, 16)
        cl.enqueue_copy(self.queue, self.control, np.array([_UNFOUND, self.bound, 0, 0], np.int32))
        self._kernels = {group: self._kernel(group) for group in {self.wide, self.narrow}}

    def _kernel(self, group: int) -> cl.Kernel:
        defines = {"BITS": self.planes.bits, "GROUP": group, "VALUE": "int"}
        if self.device.is_nvidia:
            defines["NVIDIA"] = 1
        return cl.Kernel(self.device.build("distance_wavefront.cl", defines), "advance")

    def _range(self, radius: int) -> tuple[int, int]:
        """Diagonals worth computing up to `radius`, as far as the host knows."""
        difference = self.n - self.m
        spare = self.bound - max(self.radius, 0)
        return max(-self.m, -radius, difference - spare), min(self.n, radius, difference + spare)

    def _reserve(self, first: int, last: int) -> None:
        """Buffers for diagonals first..last, grown by doubling; new entries say NOWHERE."""
        if self._size and first >= self._base and last < self._base + self._size:
            return
        wanted = max(1 << 16, 2 * (last - first + 1), 2 * self._size)
        base = (first + last - wanted) // 2
        grown = []
        for index in range(2):
            buffer = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, wanted * 4)
            cl.enqueue_fill_buffer(self.queue, buffer, np.int32(NOWHERE), 0, wanted * 4)
            if self._size:
                cl.enqueue_copy(self.queue, buffer, self._waves[index], byte_count=self._size * 4, dst_offset=(self._base - base) * 4)
            grown.append(buffer)
        self._waves, self._base, self._size = grown, base, wanted

    def _launch(self, limit: int) -> None:
        first, last = self._range(self.radius + 1)
        if last - first + 1 <= self.narrow - 2:
            columns = max(1, min(limit - self.radius, 512, (self.narrow - (last - first + 1)) // 2))
            group, halo = self.narrow, 0
        else:
            columns = min(limit - self.radius, self.wide // 8)
            group, halo = self.wide, columns
        first, last = self._range(self.radius + columns)
        self._reserve(first - group, last + group)
        groups = 1 if halo == 0 else -(-(last - first + 1) // (group - 2 * halo))
        self._kernels[group](
            self.queue, (groups * group,), (group,), self.planes.a, self.planes.b, np.int32(self.m), np.int32(self.n), self._waves[0],
            self._waves[1], np.int32(self._base), np.int32(first), np.int32(self.radius), np.int32(columns), np.int32(halo), self.control,
        )  # fmt: skip
        self._waves.reverse()
        self.radius += columns

    def advance(self, limit: int, between: int = 8) -> bool:
        """Go on to radius `limit` (or a little less past the end); look at the device every `between` launches. True once found."""
        launches = 0
        while self.radius < limit and self.distance is None:
            self._launch(limit)
            launches += 1
            if launches % between == 0 or self.radius >= limit or launches == 1:
                self._look()
        return self.distance is not None

    def _look(self) -> None:
        control = np.empty(4, np.int32)
        cl.enqueue_copy(self.queue, control, self.control)
        self.bound = int(control[1])
        self.cells = int(control[2:].view(np.uint64)[0])
        if control[0] != _UNFOUND:
            self.distance = int(control[0])

    @property
    def done(self) -> float:
        """Share of the solution diagonal that has been passed."""
        return 1 - (self.bound - max(self.radius, 0)) / max(1, min(self.m, self.n))


@register("wfa")
def wfa(problem: Problem) -> int:
    """The wavefront to the end, whatever the distance (Marco-Sola et al. 2021; Castells-Rufas 2023, section 3)."""
    queue = command_queue(problem.device)
    front = Front(problem.device, upload(problem.device, queue, problem.a, problem.b))
    limit = front.bound if problem.maximum is None else min(front.bound, problem.maximum)
    while front.radius < limit and not front.advance(min(limit, front.radius + 4096)):
        problem.report(front.done, front.bound)
    problem.cells += front.cells
    return limit + 1 if front.distance is None else front.distance
