"""Host side of kernels/distance_tiles.cl: bit-parallel sweeps over one or many rectangles of two strings at once.

A task is a rectangle of the matrix, swept from its top left corner (or, reading both strings backwards, from its bottom right
one). All tasks of a `Sweep` run side by side, one launch an anti-diagonal of tiles.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.distance.planes import Planes
from haplowave.opencl import Device

FIELDS = 14
UNKNOWN = 1 << 60
EVERY_STRIP = np.int64(1 << 62)


@dataclass(frozen=True)
class Shape:
    """Geometry of the tiles: lanes a strip, words a lane, columns a tile."""

    lanes: int
    words: int
    chunk: int

    @property
    def word_bits(self) -> int:
        return 64 if self.lanes == 1 else 32

    @property
    def rows(self) -> int:
        return self.lanes * self.words * self.word_bits


def task(a_at: int, b_at: int, m: int, n: int, step: int, whole_n: int, bound: int) -> tuple[int, ...]:
    """A row of a `Sweep`'s tasks: sweep rows 1..m and columns 1..n of a rectangle.

    Row 1's symbol is a[a_at], column 1's b[b_at], both strings read in direction `step`. The whole rectangle is m by `whole_n`, of which
    the first n columns are swept; paths across it that cost more than `bound` need not be found.
    """
    return a_at, b_at, m, n, step, whole_n, bound


def kept_strips(tasks: np.ndarray, shape: Shape) -> np.ndarray:
    """Slots of a kept border of each task: strips that Ukkonen's band has in a chunk, at most."""
    m, bound = tasks[:, 2], tasks[:, 6]
    return np.minimum(-(-m // shape.rows), (bound + shape.chunk) // shape.rows + 3)


def has_sub_groups(device: Device) -> bool:
    """Whether sub-groups of 16 can be asked for, whose items hand values on. A CPU gains nothing from them."""
    return "cl_intel_required_subgroup_size" in device.extensions and device.subgroup_variant in ("khr", "intel")


def shape_for(device: Device, rows: int, bound: int = 0) -> Shape:
    """Few rows a strip where rectangles are small, and where few strips are at work at a time (the band of a sweep below `bound` is that
    wide)."""
    if not device.is_nvidia:
        return Shape(16, 4, 512) if device.kind == "gpu" and has_sub_groups(device) else Shape(1, 4, 512)
    if rows < 1 << 16:
        return Shape(32, 2, 512)
    for most, shape in ((1_000_000, Shape(32, 2, 512)), (3_000_000, Shape(32, 2, 1024)), (5_000_000, Shape(32, 4, 1024))):
        if bound < most:
            return shape
    return Shape(32, 8, 2048)


@dataclass(frozen=True)
class Keeping:
    """Which right borders of tiles a sweep keeps: those after chunks c with (c + 1 + phase) % every = 0.

    `phases`, `offsets`: int64, one a task; offset: columns that a task's first chunk is shorter than the others.
    """

    every: int
    phases: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_start(cls, every: int, tasks: int) -> Self:
        return cls(every, np.zeros(tasks, np.int64), np.zeros(tasks, np.int64))


class Sweep:
    """State of the tasks (int64 array or list of rows, see `task`) on the device; `launch` counts the anti-diagonals done.

    swapped: rows are symbols of b and columns symbols of a, in the tasks and in all results. keeping: borders to hold for `crossings`.
    """

    def __init__(
        self,
        device: Device,
        planes: Planes,
        tasks: np.ndarray | list[tuple[int, ...]],
        shape: Shape,
        swapped: bool = False,
        keeping: Keeping | None = None,
    ):
        self.device, self.planes, self.shape = device, planes, shape
        self.tasks = np.asarray(tasks, np.int64).reshape(-1, 7)
        self.rows_text, self.columns_text = (planes.b, planes.a) if swapped else (planes.a, planes.b)
        self.queue = planes.queue
        self.group = 1 if shape.lanes == 1 else 64
        defines = {"LANES": shape.lanes, "K": shape.words, "CHUNK": shape.chunk, "GROUP": self.group, "UNROLL": 2}
        if shape.lanes > 1 and not device.is_nvidia:
            defines[f"VARIANT_{device.subgroup_variant.upper()}"] = 1
        self.program = device.build("distance_tiles.cl", planes.defines(device) | defines)
        self.m, self.n, self.whole_n, self.bound = (np.ascontiguousarray(self.tasks[:, field]) for field in (2, 3, 5, 6))
        self.strips = -(-self.m // shape.rows)
        self.keeping = Keeping.from_start(0, len(self.tasks)) if keeping is None else keeping
        self.offsets = self.keeping.offsets
        self.chunks = -(-(self.n + self.offsets) // shape.chunk)
        self.launch = 0
        self.launches = int((self.strips + self.chunks - 1).max())
        self._allocate()

    def _allocate(self) -> None:
        context, flags = self.device.context, cl.mem_flags.READ_WRITE
        strips, chunks = int(self.strips.sum()), int(self.chunks.sum())
        fields = np.zeros((len(self.tasks), FIELDS), np.int64)
        fields[:, :5] = self.tasks[:, :5]
        fields[:, 5], fields[:, 6], fields[:, 7] = self.whole_n - self.m, self.whole_n, self.bound
        fields[1:, 8], fields[1:, 9] = np.cumsum(self.strips)[:-1], np.cumsum(self.chunks)[:-1]
        fields[:, 10], fields[:, 11] = self.offsets, self.keeping.phases
        fields[:, 12] = kept_strips(self.tasks, self.shape)
        slots = fields[:, 12] * ((self.chunks + self.keeping.phases) // max(1, self.keeping.every)) * (self.keeping.every > 0)
        fields[1:, 13] = np.cumsum(slots)[:-1]
        self.problems = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=fields)
        words = strips * self.shape.rows // 8
        border = chunks * self.shape.chunk // 8
        sizes = {"pv": words, "mv": words, "strip_score": strips * 8, "strip_last": strips * 4, "chunk_strip": chunks * 8}
        sizes |= {"chunk_before": chunks * 8, "chunk_after": chunks * 8, "border_ph": border, "border_mh": border}
        sizes["computed"] = len(self.tasks) * 4
        self.state = {name: cl.Buffer(context, flags, size) for name, size in sizes.items()}
        self.sizes = sizes
        for name, value in (("strip_last", np.int32(-2)), ("chunk_strip", np.int64(-2)), ("computed", np.uint32(0))):
            cl.enqueue_fill_buffer(self.queue, self.state[name], value, 0, sizes[name])
        slots = max(1, int(slots.sum()))
        self.kept_words = cl.Buffer(context, flags, slots * self.shape.rows // 4)
        self.kept_scores = cl.Buffer(context, flags, slots * 8)
        cl.enqueue_fill_buffer(self.queue, self.kept_scores, np.int64(UNKNOWN), 0, slots * 8)
        self._kernel = kernel_of(self.program, "tiles")

    def only(self, low: int = 0, high: int = int(EVERY_STRIP)) -> None:
        """Launches from now on are of this sweep, and of strips low..high - 1."""
        self._kernel.set_args(
            *self.rows_text, *self.columns_text, self.problems, *self.state.values(), np.int64(low), np.int64(high),
            np.int32(self.keeping.every), self.kept_words, self.kept_scores,
        )  # fmt: skip

    def limits(self, launches: np.ndarray, low: int = 0, high: int = EVERY_STRIP) -> tuple[np.ndarray, np.ndarray]:
        """First and last strip of each task (second axis) in these launches (shape (n, 1)), as the kernel has them."""
        rows, chunk = self.shape.rows, self.shape.chunk
        difference = self.whole_n - self.m
        lowest, highest = -((self.bound - difference) // 2), (self.bound + difference) // 2
        columns = launches * chunk - self.offsets
        first = np.maximum(np.maximum(low, launches - self.chunks + 1), -((highest + rows - columns) // (rows + chunk)))
        final = np.minimum(np.minimum(self.strips, high) - 1, np.minimum(launches, (columns + chunk - lowest) // (rows + chunk)))
        return first, final

    def _widths(self, launch: int) -> list[int]:
        """From `launch` on, for some launches: tiles of the task that has most of them, or more (the kernel leaves out the rest)."""
        if len(self.tasks) > 64:  # many small tasks: finding the limits takes longer than idle items
            return [int(self.strips.max())] * min(self.launches - launch, 64)
        launches = np.arange(launch, min(self.launches, launch + max(1, (1 << 18) // len(self.tasks))))[:, None]
        first, final = self.limits(launches)
        return ((final - first).max(axis=1) + 1).tolist()

    def run(self, until: int | None = None) -> None:
        """Launch all anti-diagonals up to `until` (default: to the end), and wait for them."""
        until = self.launches if until is None else min(until, self.launches)
        self.only()
        widths: list[int] = []
        while self.launch < until:
            widths = widths or self._widths(self.launch)[::-1]
            self.enqueue(self.launch, widths.pop())
            self.launch += 1
            if self.launch % 256 == 0:
                self.queue.flush()
        self.queue.finish()

    def enqueue(self, launch: int, tiles: int, which: int | None = None) -> None:
        """One launch of `tiles` tiles a task, of all tasks or one; after `only`."""
        if tiles > 0:
            groups = -(-tiles // max(1, self.group // self.shape.lanes))
            tasks, first = (len(self.tasks), 0) if which is None else (1, which)
            size, local = (groups * self.group, tasks, 1), (self.group, 1, 1)
            cl.enqueue_nd_range_kernel(self.queue, self._kernel.kernel, size, local, (0, first, launch))

    def cells(self) -> int:
        """Matrix cells computed so far."""
        computed = np.empty(len(self.tasks), np.uint32)
        cl.enqueue_copy(self.queue, computed, self.state["computed"])
        return int(computed.sum(dtype=np.int64)) * self.shape.rows * self.shape.chunk

    def corners(self) -> np.ndarray:
        """int64, one a task: D[m, n] (UNKNOWN where it exceeds the task's bound)."""
        corner = np.empty(len(self.tasks), np.int64)
        buffer = cl.Buffer(self.device.context, cl.mem_flags.WRITE_ONLY, corner.nbytes)
        state = self.state
        kernel_of(self.program, "corners")(
            self.queue, corner.shape, None, self.problems, state["pv"], state["mv"], state["strip_score"], state["strip_last"], buffer
        )
        cl.enqueue_copy(self.queue, corner, buffer)
        return np.where(corner <= self.bound, corner, UNKNOWN)

    def meetings(self) -> np.ndarray:
        """int64 (pairs, 3), tasks 2p (forward) and 2p + 1 (backward): least sum where they meet, the row of it, the forward part of it."""
        pairs, parts = len(self.tasks) // 2, int(min(256, self.strips.max() // 4 + 1))
        best = np.empty((pairs, parts, 3), np.int64)
        buffer = cl.Buffer(self.device.context, cl.mem_flags.WRITE_ONLY, best.nbytes)
        state = self.state
        kernel_of(self.program, "meetings")(
            self.queue, (64 * parts, pairs), (64, 1),
            self.problems, state["pv"], state["mv"], state["strip_score"], state["strip_last"], buffer,
        )  # fmt: skip
        cl.enqueue_copy(self.queue, best, buffer)
        return best[np.arange(pairs), best[:, :, 0].argmin(axis=1)]
