"""From bytes to symbol numbers 0.. on the device: kernels `presence` and `recode` of distance_symbols.cl."""

import functools
import threading

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device, TypedKernel

SOURCE = "distance_symbols.cl"


def kernel(program: cl.Program, name: str) -> TypedKernel:
    """The kernel, made once a thread, for calls that set all arguments and launch at once: making one costs as much as many launches.

    Arguments are set and launched in steps, between which another thread might set its own.
    """
    return _kernel(program, name, threading.get_ident())


@functools.lru_cache(maxsize=128)
def _kernel(program: cl.Program, name: str, thread: int) -> TypedKernel:
    return TypedKernel(program, name)


def readable(device: Device, array: np.ndarray) -> cl.Buffer:
    """A buffer of `array` for kernels to read. A CPU reads the array in place: keep the buffer until its kernels have finished."""
    array = np.ascontiguousarray(array)
    share = cl.mem_flags.USE_HOST_PTR if device.kind == "cpu" else cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(device.context, cl.mem_flags.READ_ONLY | share, hostbuf=array)


def _piece(device: Device) -> int:
    """Bytes a work-item: a GPU wants many items."""
    return 1 << 14 if device.kind == "cpu" else 1 << 7


def number_symbols(device: Device, texts: list[tuple[cl.Buffer, int]], ignore_case: bool = False) -> tuple[np.ndarray, int]:
    """Number of each byte value (uint8, shape (256,)), in order of the values that occur in `texts` (buffer, length), and their count."""
    presence = kernel(device.build(SOURCE), "presence")
    seen = np.zeros(256, np.uint8)
    flags = cl.Buffer(device.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=seen)
    for buffer, length in texts:
        if length:
            piece = _piece(device)
            presence(device.queue, (-(-length // piece),), None, buffer, np.int64(length), np.int64(piece), flags)
    cl.enqueue_copy(device.queue, seen, flags)
    upper = np.arange(256)
    if ignore_case:
        upper[ord("a") : ord("z") + 1] -= 32
    present = np.unique(upper[seen > 0])
    return np.searchsorted(present, upper).astype(np.uint8), len(present)  # values for absent bytes are never looked up


def recode(device: Device, text: cl.Buffer, length: int, numbers: cl.Buffer, slack: int) -> cl.Buffer:
    """A new buffer of length + slack bytes with the numbers of `text`; the slack holds anything."""
    codes = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, length + slack)
    if length:
        piece = _piece(device)
        size = (-(-length // piece),)
        kernel(device.build(SOURCE), "recode")(device.queue, size, None, text, np.int64(length), np.int64(piece), numbers, codes)
    return codes
