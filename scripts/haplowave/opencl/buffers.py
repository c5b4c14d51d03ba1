"""Memory that is handed out again and again: to give a device's back waits for what the device is doing, to pin a host's takes long."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
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


class Staging:
    """Blocks of pinned host memory, through which large arrays go to a device four times as fast; for several threads."""

    BLOCK = 4 << 20
    _BLOCKS = 12

    def __init__(self, context: cl.Context, queue: cl.CommandQueue):
        self._context, self._queue = context, queue
        self._pinned: list[cl.Buffer] = []
        self._free: list[np.ndarray] = []
        self._lock, self._room = threading.Lock(), threading.Semaphore(self._BLOCKS)

    @contextlib.contextmanager
    def block(self) -> Iterator[np.ndarray]:
        """uint8 (BLOCK,), for the caller alone."""
        with self._room:
            with self._lock:
                block = self._free.pop() if self._free else self._made()
            try:
                yield block
            finally:
                self._free.append(block)

    def _made(self) -> np.ndarray:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        self._pinned.append(cl.Buffer(self._context, flags, self.BLOCK))
        access = cl.map_flags.WRITE | cl.map_flags.READ
        return cl.enqueue_map_buffer(self._queue, self._pinned[-1], access, 0, (self.BLOCK,), np.uint8)[0]


def _rounded(size: int) -> int:
    if size <= _LEAST:
        return _LEAST
    step = 1 << max(12, (size - 1).bit_length() - _STEPS.bit_length())
    return -(-size // step) * step
