"""A chunk of pairs on its way through a device: its buffers, its kernels, its results. Nothing waits until the results are collected."""

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device


class Queues:
    """The device's own queue for kernels and results, and a second one for uploads, which run beside the kernels of the chunk before."""

    def __init__(self, device: Device):
        self.context = device.context
        self.kernels = device.queue
        self.uploads = cl.CommandQueue(device.context)


class Chunk:
    """What `where` (a slice of the pairs) needs on the device; keeps every buffer alive until its results are there."""

    def __init__(self, queues: Queues, where: slice):
        self.queues, self.where = queues, where
        self.parts: list[tuple[np.ndarray, cl.Buffer, np.dtype]] = []
        """Indices within the chunk and, in that order, their log10 likelihoods."""
        self.kernels: list[tuple[str, cl.Event]] = []
        self._alive: list[object] = []
        self._pending: list[cl.Event] = []
        self.strange = self.zeros(1, np.int32)
        """Set by the kernels when a read has a letter that they do not know."""

    def put(self, array: np.ndarray) -> cl.Buffer:
        """A buffer with the content of `array`, uploaded without waiting."""
        array = np.ascontiguousarray(array)
        buffer = cl.Buffer(self.queues.context, cl.mem_flags.READ_ONLY, max(array.nbytes, 4))
        self._alive += [array, buffer]
        if array.nbytes:
            self._pending.append(cl.enqueue_copy(self.queues.uploads, buffer, array, is_blocking=False))
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
        cl.enqueue_fill_buffer(self.queues.kernels, buffer, np.zeros(1, np.int32), 0, size)

    def run(self, kernel: cl.Kernel, items: int, group: int, *arguments: object) -> None:
        """Enqueue a kernel, after all uploads so far."""
        self.queues.uploads.flush()
        event = kernel(self.queues.kernels, (items,), (group,), *arguments, wait_for=self._pending or None)
        self._pending = []
        self.kernels.append((kernel.function_name, event))

    def collect(self, log10: np.ndarray) -> tuple[bool, dict[str, float]]:
        """Wait, and put the results into `log10[where]`; (every letter was known, seconds of each kernel)."""
        target = log10[self.where]
        for which, buffer, dtype in self.parts:
            values = np.empty(len(which), dtype)
            cl.enqueue_copy(self.queues.kernels, values, buffer)
            target[which] = values
        strange = np.empty(1, np.int32)
        cl.enqueue_copy(self.queues.kernels, strange, self.strange)
        seconds: dict[str, float] = {}
        for name, event in self.kernels:
            seconds[name] = seconds.get(name, 0.0) + (event.profile.end - event.profile.start) * 1e-9
        return not strange[0], seconds
