"""Host side of kernels/distance_wavefront.cl, and the strategy `wfa`.

For an alignment the wave is stored every KEEP_EVERY columns; the path back computes the columns between two stored waves again, only
on the diagonals that can lead to where it is, so memory is d^2 / KEEP_EVERY and time d * KEEP_EVERY cells.
"""

from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.strategies import Problem, register
from haplowave.opencl import Device, TypedKernel

NOWHERE = -(1 << 29)
KEEP_EVERY = 60  # columns between stored waves: below half a group of `retrace`
RETRACE_GROUP = 128
_UNFOUND = np.iinfo(np.int32).max


@dataclass
class Front:
    """The wave at `radius` edits on the device. `distance`: None until found; `bound`: an upper bound of it; `cells`: computed so far;
    `history`: edits and the furthest (i + j) / 2 after them, at every look.

    `keep`: store waves on the way, for `path`.
    """

    device: Device
    planes: Planes
    radius: int = -1
    distance: int | None = None
    bound: int = 0
    cells: int = 0
    keep: bool = False
    kept: list[tuple[int, int, int, int]] = field(default_factory=list)  # radius, first diagonal, entries, offset in `store`
    store: cl.Buffer | None = None
    history: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    _waves: list[cl.Buffer] = field(default_factory=list)
    _base: int = 0
    _size: int = 0

    def __post_init__(self) -> None:
        self.queue = self.planes.queue
        self.m, self.n = self.planes.lengths
        self.bound = min(max(self.m, self.n), _UNFOUND - 1)
        self.value = np.int32 if max(self.m, self.n) < (1 << 31) - (1 << 20) else np.int64
        self.width = np.dtype(self.value).itemsize
        # wide fronts: small groups give the scheduler more to choose from; a narrow one: everything in one group
        self.wide, self.narrow = (512, 1024) if self.device.kind == "gpu" else (256, 256)
        self.narrow = min(self.narrow, self.device.device.max_work_group_size)
        self.wide = min(self.wide, self.narrow)
        self.control = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, 24)
        cl.enqueue_copy(self.queue, self.control, np.array([_UNFOUND, self.bound, 0, 0, 0, 0], np.int32))
        self._kernels = {group: self._kernel(group) for group in {self.wide, self.narrow}}

    def _kernel(self, group: int, name: str = "advance") -> TypedKernel:
        defines = {"GROUP": group, "VALUE": "long" if self.value is np.int64 else "int"}
        return kernel_of(self.device.build("distance_wavefront.cl", self.planes.defines(self.device) | defines), name)

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
            buffer = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, wanted * self.width)
            cl.enqueue_fill_buffer(self.queue, buffer, self.value(NOWHERE), 0, wanted * self.width)
            if self._size:
                old, there = self._size * self.width, (self._base - base) * self.width
                cl.enqueue_copy(self.queue, buffer, self._waves[index], byte_count=old, dst_offset=there)
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
        if self.keep:
            columns = min(columns, KEEP_EVERY)
            halo = min(halo, columns)
        first, last = self._range(self.radius + columns)
        if last < first:  # no diagonal can still beat the bound: the end has been reached
            self.radius = limit
            return
        self._reserve(first - group, last + group)
        groups = 1 if halo == 0 else -(-(last - first + 1) // (group - 2 * halo))
        texts = (*self.planes.a, *self.planes.b, self.value(self.m), self.value(self.n))
        where = (self.value(self._base), self.value(first), self.value(self.radius), np.int32(columns), np.int32(halo))
        self._kernels[group](self.queue, (groups * group,), (group,), *texts, *self._waves, *where, self.control)
        self._waves.reverse()
        self.radius += columns
        if self.keep:
            self._keep(first, last)

    def _keep(self, first: int, last: int) -> None:
        offset = self.kept[-1][3] + self.kept[-1][2] if self.kept else 0
        size = last - first + 1
        if self.store is None or (offset + size) * self.width > self.store.size:
            grown = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, max(1 << 20, 2 * (offset + size) * self.width))
            if self.store is not None:
                cl.enqueue_copy(self.queue, grown, self.store, byte_count=offset * self.width)
            self.store = grown
        cl.enqueue_copy(
            self.queue, self.store, self._waves[0], byte_count=size * self.width, src_offset=(first - self._base) * self.width,
            dst_offset=offset * self.width,
        )  # fmt: skip
        self.kept.append((self.radius, first, size, offset))

    def path(self) -> tuple[np.ndarray, np.ndarray]:
        """Once found: edits (uint8; 0 for the start, 1 substitution, 2 of a only, 3 of b only), matches after each; (distance + 1,)."""
        context, count = self.device.context, (self.distance or 0) + 1
        waves = [(-1, 0, 0, 0)] + [wave for wave in self.kept if wave[0] < (self.distance or 0)]
        columns = np.array(waves, np.int64).T
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        radii, firsts, sizes, offsets = (cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(column)) for column in columns)
        operation, matches = np.empty(count, np.uint8), np.empty(count, self.value)
        outputs = [cl.Buffer(context, cl.mem_flags.WRITE_ONLY, array.nbytes) for array in (operation, matches)]
        history = cl.Buffer(context, cl.mem_flags.READ_WRITE, (KEEP_EVERY + 1) * RETRACE_GROUP * self.width)
        texts = (*self.planes.a, *self.planes.b, self.value(self.m), self.value(self.n))
        stored = (self.store, offsets, firsts, sizes, radii, np.int32(len(waves)), self.value(self.distance or 0))
        self._kernel(RETRACE_GROUP, "retrace")(self.queue, (RETRACE_GROUP,), (RETRACE_GROUP,), *texts, *stored, history, *outputs)
        for array, buffer in zip((operation, matches), outputs, strict=True):
            cl.enqueue_copy(self.queue, array, buffer)
        return operation, matches

    def advance(self, limit: int, between: int = 8) -> bool:
        """Go on to radius `limit` (or a little less past the end); look at the device every `between` launches. True once found."""
        launches = 0
        while self.radius < limit and self.distance is None:
            self._launch(limit)
            launches += 1
            if launches % between == 0 or self.radius >= limit or launches == 1:
                self._look()
        return self.distance is not None

    def tighten(self, bound: int) -> None:
        """Tell the front an upper bound of the distance: diagonals from which the end is farther are left out from now on."""
        self._look()
        if self.distance is None and bound < self.bound:
            self.bound = bound
            cl.enqueue_copy(self.queue, self.control, np.array([bound], np.int32), dst_offset=4)

    def _look(self) -> None:
        control = np.empty(6, np.int32)
        cl.enqueue_copy(self.queue, control, self.control)
        self.bound = min(self.bound, int(control[1]))
        self.cells = int(control[2:4].view(np.uint64)[0])
        self.history.append((self.radius, int(control[4])))
        if control[0] != _UNFOUND:
            self.distance = int(control[0])

    @property
    def expected(self) -> float:
        """The distance if the symbols ahead cost what those of the second half of the edits so far did."""
        edits, reached = self.history[-1]
        before, there = max(past for past in self.history if past[0] <= max(0, edits) / 2)
        rate = (edits - before) / max(1, reached - there)
        return max(abs(self.m - self.n), edits + ((self.m + self.n) / 2 - reached) * rate)

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
