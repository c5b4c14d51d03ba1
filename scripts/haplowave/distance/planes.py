"""Two strings on a device as bit planes (layout: kernels/distance_planes.cl), whatever their alphabet.

The bytes are copied as they are; the device finds which values occur and packs them, 2 bits a symbol for four letters. Bytes pass
through a staging buffer in slices, so that a string may be longer than what one buffer holds.
"""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.opencl import Device

PAD = 512  # words before and after, as in distance_planes.cl
SLICE = 1 << 28  # bytes staged at a time: a multiple of 32


@dataclass
class Planes:
    """`a`, `b`: buffers of bit planes; `bits`: planes a symbol; `lengths`: symbols of a and b."""

    queue: cl.CommandQueue
    a: cl.Buffer
    b: cl.Buffer
    bits: int
    lengths: tuple[int, int]


def command_queue(device: Device) -> cl.CommandQueue:
    """In order and without profiling: thousands of launches follow each other without events in between."""
    return cl.CommandQueue(device.context)


def upload(device: Device, queue: cl.CommandQueue, a: np.ndarray, b: np.ndarray) -> Planes:
    """Copy and pack both strings (uint8). Symbols get codes in the order of their byte values."""
    flags = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 32)
    cl.enqueue_fill_buffer(queue, flags, np.uint32(0), 0, 32)
    seen = kernel_of(device.build("distance_pack.cl", {"BITS": 1}), "seen")
    group = 64 if device.kind == "gpu" else 1
    groups = device.compute_units * (32 if device.kind == "gpu" else 4)
    staged: dict[int, list[cl.Buffer]] = {0: [], 1: []}
    for which, text in enumerate((a, b)):
        for part in _slices(text):
            buffer = _stage(device, queue, part)
            seen(queue, (group * groups,), (group,), buffer, np.int64(len(part)), flags)
            staged[which].append(buffer)
    words = np.empty(8, np.uint32)
    cl.enqueue_copy(queue, words, flags)
    present = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    bits = max(1, int(len(present) - 1).bit_length())
    codes = np.zeros(256, np.uint8)
    codes[present] = np.arange(len(present))
    table = cl.Buffer(device.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=codes)
    kernel = kernel_of(device.build("distance_pack.cl", {"BITS": bits}), "pack")
    packed = [_pack(device, queue, kernel, text, staged[which], table, bits) for which, text in enumerate((a, b))]
    return Planes(queue, packed[0], packed[1], bits, (len(a), len(b)))


def _slices(text: np.ndarray) -> list[np.ndarray]:
    return [text[start : start + SLICE] for start in range(0, len(text), SLICE)]


def _stage(device: Device, queue: cl.CommandQueue, part: np.ndarray) -> cl.Buffer:
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_ONLY, -(-len(part) // 32) * 32)
    cl.enqueue_copy(queue, buffer, np.ascontiguousarray(part), is_blocking=False)
    return buffer


def _pack(
    device: Device, queue: cl.CommandQueue, kernel: cl.Kernel, text: np.ndarray, staged: list[cl.Buffer], table: cl.Buffer, bits: int
) -> cl.Buffer:
    words = (-(-len(text) // 32) + 2 * PAD + 4) * bits
    planes = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, words * 4)
    cl.enqueue_fill_buffer(queue, planes, np.uint32(0), 0, words * 4)
    group = 64 if device.kind == "gpu" else 16
    for index, buffer in enumerate(staged):
        length = min(SLICE, len(text) - index * SLICE)
        words_here = (length + 31) // 32
        items = (words_here + group - 1) // group * group
        kernel(queue, (items,), (group,), buffer, np.int64(length), table, planes, np.int64(index * SLICE // 32))
    return planes
