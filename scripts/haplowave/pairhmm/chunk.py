"""A chunk of pairs on its way through a device: its buffers and its kernels. Nothing waits until the results are collected.

A driver may copy to and from ordinary memory only while the call lasts, so large uploads and read backs have threads, and both have
queues of their own. Large uploads go through pinned memory where the device has use for it.
"""

import itertools
from collections import defaultdict
from concurrent.futures import Future, wait

import numpy as np
import pyopencl as cl

from haplowave.ahead import pool
from haplowave.opencl import Device, TypedKernel
from haplowave.opencl.buffers import Staging

_LINES = 4
_LARGE = 1 << 18  # bytes from which an upload gets a thread


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
        self._line = 0
        self._buffers: list[cl.Buffer] = []
        self._arrays: list[np.ndarray] = []
        self._uploads: list[Future[list[cl.Event]]] = []
        self._uploaded: list[cl.Event] = []

    def put(self, array: np.ndarray) -> cl.Buffer:
        """A buffer with the content of `array`, which may still be on its way."""
        array = np.ascontiguousarray(array)
        buffer = self._buffer(array.nbytes)
        self._arrays.append(array)
        if array.nbytes >= _LARGE:
            self._uploads += self._put_large(buffer, array)
        elif array.nbytes:
            self._uploaded.append(self._upload(buffer, array))
        return buffer

    def _put_large(self, buffer: cl.Buffer, array: np.ndarray) -> list[Future[list[cl.Event]]]:
        staging = self.queues.staging
        if staging is None:
            return [pool().submit(lambda: [self._upload(buffer, array)])]
        data = array.view(np.uint8).reshape(-1)
        return [pool().submit(self._put_block, staging, buffer, data, begin) for begin in range(0, len(data), staging.BLOCK)]

    def _put_block(self, staging: Staging, buffer: cl.Buffer, data: np.ndarray, begin: int) -> list[cl.Event]:
        """Upload from `begin` on, as much as a block of pinned memory holds; waits, so that the block is free again: no events are left."""
        data = data[begin : begin + staging.BLOCK]
        with staging.block() as block:
            pinned = block[: len(data)]
            np.copyto(pinned, data)
            cl.enqueue_copy(self.queues.uploads, buffer, pinned, dst_offset=begin)
        return []

    def _upload(self, buffer: cl.Buffer, array: np.ndarray) -> cl.Event:
        return cl.enqueue_copy(self.queues.uploads, buffer, array, is_blocking=False)

    def empty(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        """A buffer of `count` elements, not initialised."""
        return self._buffer(count * np.dtype(dtype).itemsize)

    def _buffer(self, size: int) -> cl.Buffer:
        buffer = self.queues.buffers.take(size)
        self._buffers.append(buffer)
        return buffer

    def begin(self) -> None:
        """All is on its way: what follows are kernels. Waits for what threads upload."""
        self._uploaded += [event for upload in self._uploads for event in upload.result()]
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
            wait_for=(self._uploaded if not self.kernels else []) + (after or []),
        )
        queue.flush()
        self.kernels.append((kernel.name, event))
        return event

    def read(self, buffer: cl.Buffer, target: np.ndarray) -> np.ndarray:
        """`target`, filled when all kernels have ended; waits for them."""
        cl.wait_for_events([event for _, event in self.kernels])
        cl.enqueue_copy(self.queues.reads, target, buffer)
        return target

    def times(self) -> list[tuple[str, int, int]]:
        """Name, start and end of each kernel in ns, when all have ended."""
        return [(name, event.profile.start, event.profile.end) for name, event in self.kernels]

    def close(self) -> None:
        """Give the buffers back; no command may use them any more."""
        self.queues.buffers.give(self._buffers)
        self._buffers, self._arrays = [], []

    def abandon(self) -> None:
        """Close a chunk of which nothing but uploads may be under way."""
        wait(self._uploads)
        self.queues.uploads.finish()
        self.close()


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
