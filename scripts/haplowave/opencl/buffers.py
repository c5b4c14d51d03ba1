"""Device memory that is handed out again and again: to give memory back waits for what the device is doing."""

import threading
from collections import defaultdict
from collections.abc import Iterable

import pyopencl as cl

_LEAST = 1 << 12
_STEPS = 8  # sizes between two powers of two, so that at most an eighth is wasted


class BufferPool:
    """Buffers of one context, for reading and writing; may be used by several threads.

    most: bytes that are kept while nobody uses them.
    """

    def __init__(self, context: cl.Context, most: int):
        self._context, self._most = context, most
        self._free: dict[int, list[cl.Buffer]] = defaultdict(list)
        self._lock = threading.Lock()

    def take(self, size: int) -> cl.Buffer:
        """A buffer of at least `size` bytes, its content undefined."""
        size = _rounded(size)
        with self._lock:
            if self._free[size]:
                return self._free[size].pop()
        try:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        except cl.MemoryError:
            self.clear()
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)

    def give(self, buffers: Iterable[cl.Buffer]) -> None:
        """Take back buffers that no command uses any more; what exceeds the limit is released, largest first."""
        with self._lock:
            for buffer in buffers:
                self._free[buffer.size].append(buffer)
            kept = sum(size * len(free) for size, free in self._free.items())
            for size in sorted(self._free, reverse=True) if kept > self._most else ():
                while kept > self._most and self._free[size]:
                    self._free[size].pop().release()
                    kept -= size

    def clear(self) -> None:
        """Release all that is not in use."""
        with self._lock:
            for buffers in self._free.values():
                for buffer in buffers:
                    buffer.release()
            self._free.clear()


def _rounded(size: int) -> int:
    if size <= _LEAST:
        return _LEAST
    step = 1 << max(12, (size - 1).bit_length() - _STEPS.bit_length())
    return -(-size // step) * step
