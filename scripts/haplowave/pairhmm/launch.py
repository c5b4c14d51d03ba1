"""Running the CPU kernels: what they take first, and work-items that fetch their tasks from a counter."""

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.symbols import letters_in, symbol_tables

_FLAGS = cl.mem_flags


def options() -> tuple[str, ...]:
    """Compiler options: numbers below the smallest normal are zero, because they cost a hundred cycles each and count for nothing."""
    return ("-cl-denorms-are-zero",)


def buffer(context: cl.Context, array: np.ndarray) -> cl.Buffer:
    """`array` on the device, for reading."""
    array = np.ascontiguousarray(array)
    if not array.size:
        array = np.zeros(1, array.dtype)
    return cl.Buffer(context, _FLAGS.READ_ONLY | _FLAGS.COPY_HOST_PTR, hostbuf=array)


def log2_table(table: np.ndarray) -> np.ndarray:
    """log2, -inf at zero."""
    with np.errstate(divide="ignore"):
        return np.log2(table)


def workers(device: Device, scratch_bytes: int, tasks: int) -> int:
    """How many work-items to start: one a compute unit, fewer where their scratch would not fit."""
    fits = max(1, int(min(device.max_allocation, device.global_memory // 4) // max(scratch_bytes, 1)))
    return max(1, min(device.compute_units, tasks, fits))


class Launch:
    """Reads, haplotypes and tables of one batch on the device, in the order in which the kernels take them."""

    def __init__(self, work: Work, device: Device, program: cl.Program, quality_tables: tuple[np.ndarray, ...]):
        self.device, self.program = device, program
        reads, context = work.reads, device.context
        sets, codes, by_code = symbol_tables(letters_in(reads.bases.data), letters_in(work.haplotypes.data))
        self.symbols = len(by_code)
        self._kernels: dict[str, cl.Kernel] = {}
        quals = reads.qualities
        arrays = (reads.bases.offsets, reads.bases.data, *quals, sets, *quality_tables)
        self.reads = tuple(buffer(context, array) for array in arrays)
        self.haplotypes = (buffer(context, codes[work.haplotypes.data]), buffer(context, by_code))

    def counter(self) -> cl.Buffer:
        """Where work-items fetch the number of their next task."""
        return buffer_writable(self.device.context, np.zeros(1, np.int32))

    def run(self, name: str, items: int, arguments: tuple, outputs: tuple[np.ndarray, ...]) -> float:
        """Start kernel `name` with reads, `arguments` and a buffer for each of `outputs`; fill these; return the kernel's seconds."""
        queue = self.device.queue
        kernel = cl.Kernel(self.program, name)
        buffers = [cl.Buffer(self.device.context, _FLAGS.WRITE_ONLY, max(output.nbytes, 1)) for output in outputs]
        event = kernel(queue, (items,), (1,), *self.reads, *arguments, *buffers)
        for output, source in zip(outputs, buffers, strict=True):
            cl.enqueue_copy(queue, output, source)
        return (event.profile.end - event.profile.start) * 1e-9


def buffer_writable(context: cl.Context, array: np.ndarray) -> cl.Buffer:
    """`array` on the device, for reading and writing."""
    return cl.Buffer(context, _FLAGS.READ_WRITE | _FLAGS.COPY_HOST_PTR, hostbuf=array)
