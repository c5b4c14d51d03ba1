"""Host side of kernels/distance_cpu_wavefront.cl: wavefronts from both ends of two strings until they meet."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel, readable
from haplowave.opencl import Device

SOURCE = "distance_cpu_wavefront.cl"
FIRST = 256  # edits from each end before the first look
WIDE = (1 << 30) - 1024  # symbols from which rows take 64 bits
_SPARE = 80  # bytes behind a string that the kernel may read


@dataclass(frozen=True)
class Front:
    """Furthest rows after r edits from one end: diagonals low..low + len(rows) - 1 in the coordinates of that end."""

    r: int
    low: int
    rows: np.ndarray

    def row(self, diagonal: int) -> int:
        """-1 where the front has not come to the diagonal."""
        return int(self.rows[diagonal - self.low]) if self.low <= diagonal < self.low + len(self.rows) else -1


class Wavefronts:
    """Forward (0) and backward (1) wavefronts of `a` (rows) and `b`, uint8, both not empty."""

    def __init__(self, device: Device, a: np.ndarray, b: np.ndarray):
        self.device, self.m, self.n = device, len(a), len(b)
        self.type, names = offsets(max(self.m, self.n))
        self._texts = [readable(device, spared(text)) for text in (a, b, a[::-1], b[::-1])]
        program = device.build(SOURCE, names)
        self._advance, self._meet = kernel(program, "advance"), kernel(program, "meet")
        self._at = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 16)
        self.r = [-1, -1]
        self.cells = 0
        self._reach = 0
        self._grow(4 * FIRST)

    def advance(self, *to: int) -> None:
        """Bring both fronts to `to` edits (never back); the forward one stops where it reaches the end."""
        self._make_room(max(to))
        self._advance(self.device.queue, (2,), (1,), *self._state(), np.array(to, np.int32), self._at)
        self._arrived(2)

    def meet(self, limit: int) -> int | None:
        """Bring both fronts on until they meet and return the edits of both together; None where `limit` edits do not suffice.

        On one core, edit by edit: for the last stretch.
        """
        self._make_room(max(*self.r, limit // 2 + 1))
        self._meet(self.device.queue, (1,), (1,), *self._state(), np.int32(limit), self._at)
        return sum(self.r) if self._arrived(3)[2] else None

    def _state(self) -> tuple:
        texts = (*self._texts, self.type(self.m), self.type(self.n))
        return *texts, self._fronts, np.int32(self._reach), self._more, np.array(self.r, np.int32)

    def _arrived(self, size: int) -> list[int]:
        at = np.empty(size, np.int32)
        cl.enqueue_copy(self.device.queue, at, self._at)
        self.cells += sum(int(new) ** 2 - max(old, 0) ** 2 for new, old in zip(at[:2], self.r, strict=True))
        self.r = at[:2].tolist()
        return at.tolist()

    def _make_room(self, reach: int) -> None:
        if reach > self._reach:
            fronts = [self.front(end) if r >= 0 else None for end, r in enumerate(self.r)]
            self._grow(max(reach, 2 * self._reach))
            for end, front in enumerate(fronts):
                self.put(end, front)

    def front(self, end: int) -> Front:
        """A copy of the front of one end."""
        r = self.r[end]
        low, high = max(-r, -self.m), min(r, self.n)
        rows = np.empty(high - low + 1, self.type)
        cl.enqueue_copy(self.device.queue, rows, self._fronts, src_offset=self._offset(end, r, low))
        return Front(r, low, rows)

    def put(self, end: int, front: Front | None) -> None:
        """Go back to `front` (None: to the beginning)."""
        self.r[end] = -1 if front is None else front.r
        if front is not None:
            none = np.full(2, -(1 << 30), self.type)
            guarded = np.concatenate([none, front.rows, none])
            cl.enqueue_copy(self.device.queue, self._fronts, guarded, dst_offset=self._offset(end, front.r, front.low - 2))

    def _grow(self, reach: int) -> None:
        self._reach = reach
        size = 2 * reach + 5
        context, flags = self.device.context, cl.mem_flags.READ_WRITE
        self._fronts = cl.Buffer(context, flags, 4 * size * np.dtype(self.type).itemsize)
        self._more = cl.Buffer(context, flags, 2 * (size + 11))

    def _offset(self, end: int, r: int, diagonal: int) -> int:
        size = 2 * self._reach + 5
        return ((2 * end + (r & 1)) * size + diagonal + self._reach + 2) * np.dtype(self.type).itemsize


def offsets(longest: int) -> tuple[type, dict[str, str]]:
    """The type of rows for strings of that length, and the kernels' names of it."""
    if longest >= WIDE:
        return np.int64, {"offset_t": "long", "uoffset_t": "ulong"}
    return np.int32, {"offset_t": "int", "uoffset_t": "uint"}


def met(forward: Front, backward: Front, m: int, n: int) -> int:
    """How many rows both fronts have covered on the diagonal that is furthest: m or more where they meet.

    A diagonal k from the start is n - m - k from the end. Fronts that meet make a path of forward.r + backward.r edits, and a path
    of that many edits makes them meet, because the scores along a diagonal never fall.
    """
    _, ahead, behind = overlap(forward, backward, m, n)
    return int((ahead.astype(np.int64) + behind).max(initial=0))


def overlap(forward: Front, backward: Front, m: int, n: int) -> tuple[int, np.ndarray, np.ndarray]:
    """The first diagonal that both fronts have, and the rows of both from there on; rows behind count from the end."""
    goal = n - m
    low = max(forward.low, goal - backward.low - len(backward.rows) + 1)
    high = min(forward.low + len(forward.rows) - 1, goal - backward.low)
    if low > high:
        return low, forward.rows[:0], backward.rows[:0]
    ahead = forward.rows[low - forward.low : high - forward.low + 1]
    return low, ahead, backward.rows[goal - high - backward.low : goal - low - backward.low + 1][::-1]


def spared(text: np.ndarray) -> np.ndarray:
    out = np.zeros(len(text) + _SPARE, np.uint8)
    out[: len(text)] = text
    return out
