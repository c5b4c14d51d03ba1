"""Memory that is handed out again and again: to give a device's back waits for what the device is doing, to pin a host's takes long."""

import contextlib
import functools
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pyopencl as cl

from haplowave.ahead import cores

_LEAST = 1 << 12
_ALONE = 1 << 20  # bytes that one core copies
_COPYING = 6  # cores
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
    """Pinned host memory between a device and ordinary memory, several times as fast as copies without.

    Large uploads are made by two threads, whatever their number: more would take turns with each other and with whoever plans, and each
    turn costs as much as to copy 100 kB. The copying itself is spread over cores.
    """

    BLOCK = 8 << 20
    """Bytes that are uploaded at a time."""
    _BLOCKS = 4
    READ = 2 << 20
    """Bytes of a block that is read into."""

    def __init__(self, context: cl.Context):
        self._context = context
        self.queue = cl.CommandQueue(context)
        self.threads = ThreadPoolExecutor(2)
        self._blocks: deque[tuple[np.ndarray | None, list[cl.Event]]] = deque([(None, [])] * self._BLOCKS)  # None: not made yet
        self._targets: list[np.ndarray] = []
        self._arenas: list[Arena] = []
        self._pinned: list[cl.Buffer] = []

    def upload(self, buffer: cl.Buffer, data: np.ndarray) -> cl.Event:
        """Fill `buffer` with `data` (uint8, not empty); to be called in one of `threads`. The event comes after all copies."""
        for begin in range(0, len(data), self.BLOCK):
            part = data[begin : begin + self.BLOCK]
            with self._block() as (block, copied):
                pinned = block[: len(part)]
                copy(pinned, part)
                copied.append(cl.enqueue_copy(self.queue, buffer, pinned, dst_offset=begin, is_blocking=False))
                self.queue.flush()
        return copied[-1]

    @contextlib.contextmanager
    def _block(self) -> Iterator[tuple[np.ndarray, list[cl.Event]]]:
        """uint8 (BLOCK,), free again, and a list for the event of what is copied from it."""
        block, before = self._blocks.popleft()  # there are more than threads that each hold one
        copied: list[cl.Event] = []
        try:
            if block is None:
                block = self._made(self.BLOCK)
            if before:
                before[-1].wait()
            yield block, copied
        finally:
            self._blocks.append((block, copied))

    @contextlib.contextmanager
    def target(self, queue: cl.CommandQueue) -> Iterator[np.ndarray]:
        """uint8 (READ,), for the caller alone, in any thread; to copy into by `queue`, and to wait for that."""
        block = _popped(self._targets)
        block = self._made(self.READ) if block is None else block
        try:
            yield block
        except BaseException:
            with contextlib.suppress(cl.Error):
                queue.finish()  # what was not waited for must not land in the block of another
            raise
        finally:
            self._targets.append(block)

    def take_arena(self) -> "Arena":
        """An arena with nothing in it, for the caller alone."""
        arena = _popped(self._arenas)
        if arena is None:
            arena = Arena(cl.Buffer(self._context, cl.mem_flags.READ_WRITE, Arena.SIZE), self._made(Arena.SIZE))
        arena.used = 0
        return arena

    def give_arena(self, arena: "Arena") -> None:
        """Take back an arena that no command uses any more."""
        self._arenas.append(arena)

    def _made(self, size: int) -> np.ndarray:
        """uint8 (size,), pinned if there is as much of that."""
        try:
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, size)
            access = cl.map_flags.WRITE | cl.map_flags.READ
            array = cl.enqueue_map_buffer(self.queue, buffer, access, 0, (size,), np.uint8)[0]
        except cl.Error:
            return np.empty(size, np.uint8)
        self._pinned.append(buffer)
        return array


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy bytes, by several cores where they are many."""
    arrow = _arrow() if len(source) > _ALONE and cores() > 1 else None
    if arrow is None:
        np.copyto(target, source)
        return
    writer = arrow.FixedSizeBufferWriter(arrow.py_buffer(target))
    writer.set_memcopy_threads(min(cores(), _COPYING))
    writer.write(source)


@functools.cache
def _arrow() -> ModuleType | None:
    """pyarrow, which takes a while to load and may be missing where no tables are read."""
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow


class Arena:
    """Room on a device for many small arrays, and the same pinned on the host, so that one copy takes them all there."""

    SLOT = 1 << 16
    """Bytes of the largest array."""
    _SLOTS = 32
    SIZE = _SLOTS * SLOT

    def __init__(self, buffer: cl.Buffer, pinned: np.ndarray):
        self._buffer, self._pinned = buffer, pinned
        self._slots = [buffer.get_sub_region(begin, self.SLOT) for begin in range(0, self.SIZE, self.SLOT)]
        self.used = 0

    def put(self, data: np.ndarray) -> cl.Buffer | None:
        """A buffer that will have the content of `data`, uint8 and no larger than SLOT, after `upload`; None where there is no room."""
        if self.used == self._SLOTS:
            return None
        begin = self.used * self.SLOT
        self._pinned[begin : begin + len(data)] = data
        self.used += 1
        return self._slots[self.used - 1]

    def upload(self, queue: cl.CommandQueue) -> cl.Event:
        """Enqueue the copy."""
        return cl.enqueue_copy(queue, self._buffer, self._pinned[: self.used * self.SLOT], is_blocking=False)


def _popped(items: list) -> object | None:
    """The last item, None where another thread was faster."""
    try:
        return items.pop()
    except IndexError:
        return None


def _rounded(size: int) -> int:
    if size <= _LEAST:
        return _LEAST
    step = 1 << max(12, (size - 1).bit_length() - _STEPS.bit_length())
    return -(-size // step) * step
