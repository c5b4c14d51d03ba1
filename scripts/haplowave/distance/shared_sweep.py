"""One pair swept by several devices: rows of tiles are dealt out in turns, and their borders handed on.

Group x of GROUP strips belongs to device x mod devices, so that the band keeps all of them busy on its way down. Group x runs LAG
launches behind group x - 1; after every LAG launches the border under its last strip, LAG chunks of it, goes to the next
group's device. The devices need not be alike or know each other: borders pass through the host.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyopencl as cl

from haplowave.distance.planes import Planes, command_queue, upload
from haplowave.distance.tiles import Shape, Sweep, shape_for, task
from haplowave.errors import UserError
from haplowave.opencl import Device

LAG = 32
SHARES = 3  # groups of strips that each device has in the band at a time


class SharedSweep:
    """`run`, then `corner`: D at the end of both strings, UNKNOWN where it exceeds the bound."""

    def __init__(self, devices: Sequence[Device], planes: Planes, a: np.ndarray, b: np.ndarray, bound: int, lag: int = LAG):
        m, n = planes.lengths
        self.lag = lag
        shape = shape_for(devices[0], m, bound // len(devices))
        rows = [task(0, 0, m, n, 1, n, bound)]
        self.sweeps = [Sweep(devices[0], planes, rows, shape)]
        self.sweeps += [Sweep(other, upload(other, command_queue(other), a, b), rows, _same(shape, other)) for other in devices[1:]]
        self.strips, self.chunks = int(self.sweeps[0].strips[0]), int(self.sweeps[0].chunks[0])
        in_band = min(self.strips, 1 + bound // (shape.rows + shape.chunk))
        self.group = max(1, in_band // (SHARES * len(devices)))
        self.groups = -(-self.strips // self.group)
        self.limits = self.sweeps[0].limits

    def run(self, report: Callable[[float], None]) -> None:
        blocks = -(-self.sweeps[0].launches // self.lag)
        for turn in range(blocks + self.groups - 1):
            groups = range(max(0, turn - blocks + 1), min(self.groups, turn + 1))
            for x in groups:
                self._advance(x, (turn - x) * self.lag)
            for sweep in self.sweeps:
                sweep.queue.flush()
            for x in groups:
                if x + 1 < self.groups:
                    self._hand_on(x, (turn - x) * self.lag)
            report((turn + 1) / (blocks + self.groups - 1))
        for sweep in self.sweeps:
            sweep.queue.finish()

    def _owner(self, x: int) -> Sweep:
        return self.sweeps[x % len(self.sweeps)]

    def _advance(self, x: int, start: int) -> None:
        """LAG launches of group x from launch `start`, tiles of its own strips only."""
        sweep = self._owner(x)
        low, high = x * self.group, min(self.strips, (x + 1) * self.group)
        sweep.kernel.set_arg(sweep.launch_argument + 1, np.int64(low))
        sweep.kernel.set_arg(sweep.launch_argument + 2, np.int64(high))
        launches = np.arange(start, min(start + self.lag, sweep.launches))
        first, final = sweep.limits(launches[:, None], low, high)
        for launch, tiles in zip(launches.tolist(), (final - first)[:, 0].tolist(), strict=True):
            sweep.enqueue(launch, tiles + 1)

    def _hand_on(self, x: int, start: int) -> None:
        """The border under group x, of the chunks that its last strip did in launches start .. start + LAG - 1."""
        source, target = self._owner(x), self._owner(x + 1)
        if source is target:
            return
        last = min(self.strips, (x + 1) * self.group) - 1
        low, high = max(0, start - last), min(self.chunks, start + self.lag - last)
        if high <= low:
            return
        border = source.shape.chunk // 8
        for name, width in (("chunk_strip", 8), ("chunk_before", 8), ("chunk_after", 8), ("border_ph", border), ("border_mh", border)):
            part = np.empty((high - low) * width, np.uint8)
            cl.enqueue_copy(source.queue, part, source.state[name], src_offset=low * width)
            cl.enqueue_copy(target.queue, target.state[name], part, dst_offset=low * width)

    def corner(self) -> int:
        return int(self._owner(self.groups - 1).corners()[0])

    def cells(self) -> int:
        return sum(sweep.cells() for sweep in self.sweeps)


def _same(shape: Shape, other: Device) -> Shape:
    """The tiles' geometry has to agree: PTX kernels have another than generic ones."""
    if (shape.lanes == 32) != other.is_nvidia:
        raise UserError(f"device {other.name}: its tiles differ from those of the first device; share a pair among devices of one vendor")
    return shape
