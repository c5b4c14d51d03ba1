"""A chunk of pairs on its way through a device: its buffers, its kernels, its results. Nothing waits until the results are collected."""

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device

_LINES = 4


class Queues:
    """One queue for uploads, which run beside the kernels of the chunk before, and several for kernels, so that small ones run together."""

    def __init__(self, device: Device):
        self.context = device.context
        self.uploads = cl.CommandQueue(device.context)
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        count = _LINES if device.kind != "cpu" else 1
        self.kernels = [device.queue, *(cl.CommandQueue(device.context, properties=profiling) for _ in range(count - 1))]


class Chunk:
    """What `where` (a slice of the pairs) needs on the device; keeps every buffer alive until its results are there."""

    def __init__(self, queues: Queues, where: slice):
        self.queues, self.where = queues, where
        self.parts: list[tuple[np.ndarray | slice, cl.Buffer, np.ndarray]] = []
        """Indices within the chunk and, in that order, their log10 likelihoods: the buffer and where they will be read to."""
        self.kernels: list[tuple[str, cl.Event]] = []
        self._queue = queues.kernels[0]
        self._reads: list[cl.Event] = []
        self._alive: list[object] = []
        self._pending: list[cl.Event] = []
        self._shared: list[cl.Event] = []
        self._mark: cl.Event | None = None
        self.strange = self.zeros(1, np.int32)
        """Set by the kernels when a read has a letter that they do not know."""

    def put(self, array: np.ndarray, shared: bool = False) -> cl.Buffer:
        """A buffer with the content of `array`, uploaded without waiting. `shared`: kernels of several forks read it."""
        array = np.ascontiguousarray(array)
        buffer = cl.Buffer(self.queues.context, cl.mem_flags.READ_ONLY, max(array.nbytes, 4))
        self._alive += [array, buffer]
        if array.nbytes:
            uploaded = cl.enqueue_copy(self.queues.uploads, buffer, array, is_blocking=False)
            (self._shared if shared else self._pending).append(uploaded)
        return buffer

    def empty(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        """A buffer of `count` elements, not initialised."""
        buffer = cl.Buffer(self.queues.context, cl.mem_flags.READ_WRITE, max(count, 1) * np.dtype(dtype).itemsize)
        self._alive.append(buffer)
        return buffer

    def zeros(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        """A buffer of `count` zeros."""
        buffer = self.empty(count, dtype)
        self.clear(buffer, max(count, 1) * np.dtype(dtype).itemsize)
        return buffer

    def clear(self, buffer: cl.Buffer, size: int) -> None:
        """Zero the first `size` bytes, before the kernels that follow."""
        cl.enqueue_fill_buffer(self._queue, buffer, np.zeros(1, np.int32), 0, size)

    def mark(self) -> None:
        """What has been enqueued so far comes before everything that is forked."""
        self._mark = cl.enqueue_marker(self._queue)
        self._queue.flush()

    def fork(self, line: int) -> None:
        """What follows runs in a queue of its own (`line` counts through them), after what was marked."""
        self._queue = self.queues.kernels[line % len(self.queues.kernels)]
        self._pending += [self._mark, *self._shared]

    def result(self, which: np.ndarray | slice, count: int, buffer: cl.Buffer, dtype: np.dtype) -> None:
        """Read `count` results from `buffer` when they are ready; they belong to the pairs `which` of the chunk."""
        values = np.empty(count, dtype)
        self._reads.append(cl.enqueue_copy(self._queue, values, buffer, is_blocking=False))
        self._queue.flush()
        self.parts.append((which, buffer, values))

    def run(self, kernel: cl.Kernel, items: int, group: int, *arguments: object) -> None:
        """Enqueue a kernel, after all uploads so far."""
        self.queues.uploads.flush()
        event = kernel(self._queue, (items,), (group,), *arguments, wait_for=self._pending or None)
        self._pending = []
        self.kernels.append((kernel.function_name, event))

    def collect(self, log10: np.ndarray) -> tuple[bool, list[tuple[str, int, int]]]:
        """Wait, and put the results into `log10[where]`; (every letter was known, name, start and end of each kernel in ns)."""
        target = log10[self.where]
        cl.wait_for_events(self._reads)
        for which, _, values in self.parts:
            target[which] = values
        strange = np.empty(1, np.int32)
        cl.enqueue_copy(self.queues.kernels[0], strange, self.strange)
        return not strange[0], [(name, event.profile.start, event.profile.end) for name, event in self.kernels]


def busy_seconds(intervals: list[tuple[str, int, int]], name: str | None = None) -> float:
    """Time in which at least one kernel (of that name) ran."""
    total, until = 0, 0
    for kernel, start, end in sorted(intervals, key=lambda item: item[1]):
        if name in (None, kernel) and end > until:
            total += end - max(start, until)
            until = end
    return total * 1e-9
