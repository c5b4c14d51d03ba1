"""One pair swept by several devices.

The sweep from the start and the one from the end meet at a column, and need nothing of each other before: devices take turns at joining
either, and the column lies so that each has the same share. Two devices exchange nothing on the way.

Where a sweep has several devices, its strips are dealt out in groups: group x belongs to device x mod devices, so that the band keeps all
of them busy on its way down. Group x runs two turns of LAG launches behind group x - 1: one to compute what it needs, one to hand on
the border under the last strip, while all devices go on computing. Borders pass through the host; contexts share no events.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyopencl as cl

from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.tiles import Shape, Sweep, shape_for, task
from haplowave.errors import UserError
from haplowave.opencl import Device

LAG = 32
BEHIND = 2  # turns
SHARES = 3  # groups of strips that each device has in the band at a time
BATCH = 64  # launches of a device that has a sweep to itself between those of the others
AHEAD = 4  # turns or batches that a device may be behind the host


def worth_sharing(device: Device, planes: Planes, bound: int) -> bool:
    """Whether the band of both sweeps has more strips at a time than `device` has processors (4 a compute unit)."""
    m, n = planes.lengths
    shape = shape_for(device, m, bound)
    return n > 1 and 2 * min(m // shape.rows, bound // (shape.rows + shape.chunk)) > 4 * device.compute_units


class SharedSweep:
    """`run`, then `distance`: UNKNOWN or more where it exceeds the bound. At least two devices and columns."""

    def __init__(self, devices: Sequence[Device], planes: Planes, a: np.ndarray, b: np.ndarray, bound: int, lag: int = LAG):
        m, n = planes.lengths
        column = min(max(1, n * len(devices[0::2]) // len(devices)), n - 1)
        rows = [task(0, 0, m, column, 1, n, bound), task(m - 1, n - 1, m, n - column, -1, n, bound)]
        shape = shape_for(devices[0], m, 2 * bound // len(devices))
        sweeps = [Sweep(devices[0], planes, rows, shape)]
        sweeps += [Sweep(other, upload(other, command_queue(other), a, b), rows, _same(shape, other)) for other in devices[1:]]
        self.sweeps = sweeps
        self.halves = [_Half(sweeps[which::2], which, bound, lag) for which in (0, 1)]

    def run(self, report: Callable[[float], None]) -> None:
        running = {half: half.steps() for half in self.halves}
        done = dict.fromkeys(self.halves, 0.0)
        while running:
            for half in list(running):
                done[half] = next(running[half], 1.0)
                if done[half] == 1.0:
                    del running[half]
            report(min(done.values()))
        for sweep in self.sweeps:
            sweep.queue.finish()

    def distance(self) -> int:
        for half in self.halves:
            half.gather(self.sweeps[0])
        return int(self.sweeps[0].meetings()[0, 0])

    def cells(self) -> int:
        return sum(sweep.cells() for sweep in self.sweeps)


class _Half:
    """Task `which` of the sweeps, each of another device: `steps` enqueues a turn at a time."""

    def __init__(self, sweeps: Sequence[Sweep], which: int, bound: int, lag: int):
        self.sweeps, self.which = sweeps, which
        self.strips, self.chunks = int(sweeps[0].strips[which]), int(sweeps[0].chunks[which])
        self.lag = BATCH if len(sweeps) == 1 else lag
        shape = sweeps[0].shape
        in_band = min(self.strips, 1 + bound // (shape.rows + shape.chunk))
        self.group = self.strips if len(sweeps) == 1 else max(1, in_band // (SHARES * len(sweeps)))
        self.groups = -(-self.strips // self.group)
        self.blocks = -(-(self.strips + self.chunks - 1) // self.lag)

    def steps(self) -> Iterator[float]:
        """The share that has been enqueued, after every turn."""
        turns = self.blocks + BEHIND * (self.groups - 1)
        waiting: list[_Border] = []
        turns_ahead: deque[tuple[list[cl.Event], list[_Border]]] = deque()
        for turn in range(turns):
            running = [(x, block) for x in range(self.groups) if 0 <= (block := turn - BEHIND * x) < self.blocks]
            for x, block in running:
                self._advance(x, block * self.lag)
            borders = [border for x, block in running if (border := self._border(x, block * self.lag)) is not None]
            marks = [cl.enqueue_marker(sweep.queue) for sweep in self.sweeps]
            for sweep in self.sweeps:
                sweep.queue.flush()
            for border in waiting:  # of the turn before: the devices are busy with this one
                border.write()
            turns_ahead.append((marks, waiting))
            waiting = borders
            if len(turns_ahead) > AHEAD:
                for mark in turns_ahead.popleft()[0]:
                    mark.wait()
            yield min(0.999, turn / turns)

    def _owner(self, x: int) -> Sweep:
        return self.sweeps[x % len(self.sweeps)]

    def _strips(self, x: int) -> tuple[int, int]:
        return x * self.group, min(self.strips, (x + 1) * self.group)

    def _advance(self, x: int, start: int) -> None:
        """A turn of group x from launch `start`, tiles of its own strips only."""
        sweep, (low, high) = self._owner(x), self._strips(x)
        sweep.only(low, high)
        launches = np.arange(start, min(start + self.lag, self.strips + self.chunks - 1))
        first, final = sweep.limits(launches[:, None], low, high)
        for launch, tiles in zip(launches.tolist(), (final - first)[:, self.which].tolist(), strict=True):
            sweep.enqueue(launch, tiles + 1, self.which)

    def _border(self, x: int, start: int) -> "_Border | None":
        """What lies under group x, of the chunks that its last strip did in launches start .. start + lag - 1, on its way to the next."""
        source = self._owner(x)
        if x + 1 == self.groups or source is self._owner(x + 1):
            return None
        last = self._strips(x)[1] - 1
        low, high = max(0, start - last), min(self.chunks, start + self.lag - last)
        base = int(source.chunks[: self.which].sum())
        return _Border(source, self._owner(x + 1), base + low, base + high) if high > low else None

    def gather(self, target: Sweep) -> None:
        """Bring the end of every strip to `target`, after the last step."""
        base, words = int(target.strips[: self.which].sum()), target.shape.rows // 8
        for x in range(self.groups):
            source, (low, high) = self._owner(x), self._strips(x)
            if source is target:
                continue
            for name, width in (("pv", words), ("mv", words), ("strip_score", 8), ("strip_last", 4)):
                part = np.empty((high - low) * width, np.uint8)
                cl.enqueue_copy(source.queue, part, source.state[name], src_offset=(base + low) * width)
                cl.enqueue_copy(target.queue, target.state[name], part, dst_offset=(base + low) * width)


class _Border:
    """Chunks low..high - 1 of what a sweep hands on: read when it has come so far, without waiting for that; then `write`.

    Keep it until the target has come so far: an event that is let go waits for its copy.
    """

    def __init__(self, source: Sweep, target: Sweep, low: int, high: int):
        self.target, self.low = target, low
        width = source.shape.chunk // 8
        self.widths = {"chunk_strip": 8, "chunk_before": 8, "chunk_after": 8, "border_ph": width, "border_mh": width}
        self.parts = {name: np.empty((high - low) * size, np.uint8) for name, size in self.widths.items()}
        self.events = [
            cl.enqueue_copy(source.queue, part, source.state[name], src_offset=low * self.widths[name], is_blocking=False)
            for name, part in self.parts.items()
        ]

    def write(self) -> None:
        cl.wait_for_events(self.events)
        queue, state = self.target.queue, self.target.state
        self.events = [
            cl.enqueue_copy(queue, state[name], part, dst_offset=self.low * self.widths[name], is_blocking=False)
            for name, part in self.parts.items()
        ]


def _same(shape: Shape, other: Device) -> Shape:
    """The tiles' geometry has to agree: warps, sub-groups and single items have others."""
    if shape_for(other, 0).lanes != shape.lanes:
        raise UserError(f"device {other.name}: its tiles differ from those of the first device; share a pair among devices of one vendor")
    return shape
