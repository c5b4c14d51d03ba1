"""A chunk of pairs on its way through a device: its buffers and its kernels. Nothing waits until the results are collected.

A driver may copy to and from ordinary memory only while the call lasts, and slowly. So large arrays go through pinned memory, by threads;
small ones are put together, and go in one copy.
"""

import contextlib
import itertools
import mmap
from collections import defaultdict
from concurrent.futures import Future

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device, TypedKernel
from haplowave.opencl.buffers import Arena

_LINES = 4
_LINE = 64  # bytes, alignment in pinned memory
_READ = 1 << 19  # bytes that are read back at a time, while those before are passed on


class Queues:
    """Queues for uploads, for reading back, and several for kernels, so that small ones, and the ends of large ones, run together."""

    def __init__(self, device: Device):
        self.buffers, self.staging, self.compute_units = device.buffers, device.staging, device.compute_units
        self.uploads, self.reads = (cl.CommandQueue(device.context) for _ in range(2))
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        count = _LINES if device.kind != "cpu" else 1
        self.kernels = [cl.CommandQueue(device.context, properties=profiling) for _ in range(count)]
        self._turns = itertools.count()

    def turn(self) -> int:
        """The line of the next chunk: chunks that follow one another have different ones."""
        return next(self._turns)

    def finish(self) -> None:
        """Wait for everything."""
        for queue in (self.uploads, *self.kernels, self.reads):
            queue.finish()


class Chunk:
    """What `where` (a slice of the pairs) needs on the device; holds every buffer until `close`."""

    def __init__(self, queues: Queues, where: slice):
        self.queues, self.where = queues, where
        self.kernels: list[tuple[str, cl.Event]] = []
        self.prior: list[cl.Event] = []
        """What the kernels that compute cells wait for, beside their inputs."""
        self._line = 0
        self._buffers: list[cl.Buffer] = []
        self._arenas: list[Arena] = []
        self._waiting: list[tuple[cl.Buffer, np.ndarray]] = []
        self._uploads: list[Future[None]] = []
        self._uploaded: list[cl.Event] = []

    def put(self, array: np.ndarray) -> cl.Buffer:
        """A buffer that will have the content of `array` when the first kernel runs."""
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        if len(data) <= Arena.SLOT:
            return self._put_small(data)
        self._waiting.append((self._buffer(len(data)), data))
        return self._waiting[-1][0]

    def _put_small(self, data: np.ndarray) -> cl.Buffer:
        buffer = self._arenas[-1].put(data) if self._arenas else None
        if buffer is None:
            self._arenas.append(self.queues.staging.take_arena())
            buffer = self._arenas[-1].put(data)
        return buffer

    def send(self) -> None:
        """Have a thread send the large arrays that are put so far; waits for nothing."""
        if self._waiting:
            self._uploads.append(self.queues.staging.threads.submit(self._send, self._waiting))
            self._waiting = []

    def _send(self, waiting: list[tuple[cl.Buffer, np.ndarray]]) -> None:
        for buffer, data in waiting:
            self._uploaded.append(self.queues.staging.upload(buffer, data))

    def empty(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        """A buffer of `count` elements, not initialised."""
        return self._buffer(count * np.dtype(dtype).itemsize)

    def _buffer(self, size: int) -> cl.Buffer:
        buffer = self.queues.buffers.take(size)
        self._buffers.append(buffer)
        return buffer

    def ones(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        """A buffer of `count` elements whose bits are set, as soon as what is enqueued on the chunk's own queue has run."""
        size = count * np.dtype(dtype).itemsize
        buffer = self._buffer(size)
        if size:
            queue = self.queues.kernels[self._line % len(self.queues.kernels)]
            self.kernels.append(("fill", cl.enqueue_fill_buffer(queue, buffer, np.uint32(0xFFFFFFFF), 0, size, self._inputs())))
        return buffer

    def begin(self) -> None:
        """All is on its way: what follows are kernels. Waits for what threads upload."""
        self.send()
        small = [arena.upload(self.queues.uploads) for arena in self._arenas]
        for upload in self._uploads:
            upload.result()
        self._uploaded += small
        self._line = self.queues.turn()
        self.queues.uploads.flush()

    def run(
        self, kernel: TypedKernel, items: int, group: int, *arguments: object, fork: int = 0, after: list[cl.Event] | None = None
    ) -> cl.Event:
        """Enqueue a kernel for `items` work-items or a few more, in groups of `group`, on the chunk's own queue, where it comes after those
        before, or on another (`fork` counts them)."""
        queue = self.queues.kernels[(self._line + fork) % len(self.queues.kernels)]
        event = kernel(
            queue,
            (-(-items // group) * group,),
            (group,),
            *arguments,
            wait_for=self._inputs() + (after or []),
        )
        queue.flush()
        self.kernels.append((kernel.name, event))
        return event

    def _inputs(self) -> list[cl.Event]:
        """What the first command of the chunk's own queue waits for; those after it come after it."""
        return [] if self.kernels else self._uploaded

    def read(self, *wanted: tuple[cl.Buffer, np.ndarray]) -> None:
        """Fill arrays from buffers when all kernels have ended; waits for them."""
        for _, target in wanted:
            target.view(np.uint8)[:: mmap.PAGESIZE] = 0  # memory that nobody has touched yet is slow, and now is time
        cl.wait_for_events([event for _, event in self.kernels])
        with self.queues.staging.target(self.queues.reads) as block:
            copies, at = [], 0
            for buffer, target in wanted:
                data = target.view(np.uint8)
                for begin in range(0, len(data), _READ):
                    part = data[begin : begin + _READ]
                    if at + len(part) > len(block):
                        _arrive(copies)
                        copies, at = [], 0
                    pinned = block[at : at + len(part)]
                    event = cl.enqueue_copy(self.queues.reads, pinned, buffer, src_offset=begin, is_blocking=False)
                    copies.append((event, pinned, part))
                    at += -(-len(part) // _LINE) * _LINE
            _arrive(copies)

    def times(self) -> list[tuple[str, int, int]]:
        """Name, start and end of each kernel in ns, when all have ended."""
        return [(name, event.profile.start, event.profile.end) for name, event in self.kernels]

    def close(self) -> None:
        """Give the buffers back; no command may use them any more."""
        self.queues.buffers.give(self._buffers)
        for arena in self._arenas:
            self.queues.staging.give_arena(arena)
        self._buffers, self._arenas = [], []

    def abandon(self) -> None:
        """Close a chunk that failed, or is not wanted any more; waits for all that may use its buffers."""
        for upload in self._uploads:
            upload.exception()
        with contextlib.suppress(cl.Error):
            self.queues.staging.queue.finish()
            self.queues.finish()
        self.close()


def _arrive(copies: list[tuple[cl.Event, np.ndarray, np.ndarray]]) -> None:
    """Wait for each copy, and pass it on from pinned memory to where it belongs."""
    for event, pinned, target in copies:
        event.wait()
        np.copyto(target, pinned)


def busy_seconds(intervals: list[tuple[str, int, int]]) -> float:
    """Time in which at least one kernel ran."""
    total, until = 0, 0
    for _, start, end in sorted(intervals, key=lambda item: item[1]):
        if end > until:
            total += end - max(start, until)
            until = end
    return total * 1e-9


def busy_seconds_by_name(intervals: list[tuple[str, int, int]]) -> dict[str, float]:
    """The same for the kernels of each name."""
    by_name = defaultdict(list)
    for interval in intervals:
        by_name[interval[0]].append(interval)
    return {name: busy_seconds(some) for name, some in by_name.items()}
