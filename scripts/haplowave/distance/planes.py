"""Two strings on a device as bit planes (layout: kernels/distance_planes.cl), whatever their alphabet.

The bytes are copied as they are; the device finds which values occur and packs them, 2 bits a symbol for four letters. Bytes pass
through a staging buffer in slices, and planes that one buffer does not hold lie in several.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel as kernel_of
from haplowave.errors import UserError
from haplowave.opencl import Device

PAD = 512  # words before and after, as in distance_planes.cl
SLICE = 1 << 28  # bytes staged at a time, at most: a multiple of 32
MOST_SEGMENTS = 8
_OVERLAP = 2  # words of the next segment that a reader may need


@dataclass
class Planes:
    """`a`, `b`: bit planes, in as many buffers each; `bits`: planes a symbol; `lengths`: symbols of a and b; `segment`: symbols of a buffer
    where there are several, a power of two."""

    queue: cl.CommandQueue
    a: list[cl.Buffer]
    b: list[cl.Buffer]
    bits: int
    lengths: tuple[int, int]
    segment: int

    def defines(self, device: Device) -> dict[str, int]:
        """What kernels that read the planes are compiled with."""
        result = {"BITS": self.bits} | ({"NVIDIA": 1} if device.is_nvidia else {})
        if len(self.a) > 1:
            result |= {"SEGMENTS": len(self.a), "SEGMENT_BITS": self.segment.bit_length() - 1}
        return result


def command_queue(device: Device) -> cl.CommandQueue:
    """In order and without profiling: thousands of launches follow each other without events in between."""
    return cl.CommandQueue(device.context)


def upload(device: Device, queue: cl.CommandQueue, a: np.ndarray, b: np.ndarray) -> Planes:
    """Copy and pack both strings (uint8). Symbols get codes in the order of their byte values.

    Raises UserError where the device's buffers are too small for them.
    """
    staging = _Staging(device, queue, hold=len(a) + len(b) <= device.global_memory // 4)
    present = np.flatnonzero(_seen(device, queue, staging, (a, b)))
    bits = max(1, int(len(present) - 1).bit_length())
    codes = np.zeros(256, np.uint8)
    codes[present] = np.arange(len(present))
    table = cl.Buffer(device.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=codes)
    kernel = kernel_of(device.build("distance_pack.cl", {"BITS": bits}), "pack")
    count, segment = _segments(device, max(len(a), len(b)), bits)
    packed = []
    for text in (a, b):
        lows = [index * segment // 32 for index in range(count)]
        words = [max(0, min(-(-len(text) // 32) - low, segment // 32 + _OVERLAP)) for low in lows]
        buffers = [_zeroed(device, queue, (size + 2 * PAD + 4) * bits * 4) for size in words]
        for first, length, staged in staging.slices(text):
            for buffer, low, size in zip(buffers, lows, words, strict=True):
                if first // 32 < low + size and first + length > 32 * low:
                    _launch(device, queue, kernel, staged, length, table, buffer, first // 32, low, low + size)
        packed.append(buffers)
    return Planes(queue, packed[0], packed[1], bits, (len(a), len(b)), segment)


def _segments(device: Device, longest: int, bits: int) -> tuple[int, int]:
    """Buffers of a string, and the symbols that one takes."""
    count, segment = 1, max(32, -(-longest // 32) * 32)
    while (segment // 32 + 2 * PAD + 4 + _OVERLAP) * bits * 4 > device.max_allocation:
        count *= 2
        if count > MOST_SEGMENTS:
            raise UserError(
                f"strings of up to {longest} symbols: too long for {device.name}, whose largest buffer has {device.max_allocation} bytes"
            )
        segment = max(32, 1 << (-(-longest // count) - 1).bit_length())
    return count, segment


def _zeroed(device: Device, queue: cl.CommandQueue, size: int) -> cl.Buffer:
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
    cl.enqueue_fill_buffer(queue, buffer, np.uint32(0), 0, size)
    return buffer


class _Staging:
    """Slices of strings on the device. hold: keep them for the next time."""

    def __init__(self, device: Device, queue: cl.CommandQueue, hold: bool):
        self.device, self.queue, self.hold = device, queue, hold
        self.size = max(32, min(SLICE, device.max_allocation // 32 * 32))
        self.held: dict[tuple[int, int], cl.Buffer] = {}

    def slices(self, text: np.ndarray) -> Iterator[tuple[int, int, cl.Buffer]]:
        """First symbol, symbols, and their buffer."""
        for first in range(0, len(text), self.size):
            part = text[first : first + self.size]
            buffer = self.held.get((id(text), first))
            if buffer is None:
                buffer = cl.Buffer(self.device.context, cl.mem_flags.READ_ONLY, -(-len(part) // 32) * 32)
                cl.enqueue_copy(self.queue, buffer, np.ascontiguousarray(part), is_blocking=False)
            if self.hold:
                self.held[id(text), first] = buffer
            yield first, len(part), buffer
            if not self.hold:
                self.queue.finish()  # a queued kernel may not keep its buffers alive


def _seen(device: Device, queue: cl.CommandQueue, staging: _Staging, texts: tuple[np.ndarray, ...]) -> np.ndarray:
    """Which of the 256 values occur."""
    flags = _zeroed(device, queue, 32)
    seen = kernel_of(device.build("distance_pack.cl", {"BITS": 1}), "seen")
    group = 64 if device.kind == "gpu" else 1
    groups = device.compute_units * (32 if device.kind == "gpu" else 4)
    for text in texts:
        for _, length, buffer in staging.slices(text):
            seen(queue, (group * groups,), (group,), buffer, np.int64(length), flags)
    words = np.empty(8, np.uint32)
    cl.enqueue_copy(queue, words, flags)
    return np.unpackbits(words.view(np.uint8), bitorder="little")


def _launch(
    device: Device, queue: cl.CommandQueue, kernel: cl.Kernel, staged: cl.Buffer, length: int, table: cl.Buffer, planes: cl.Buffer,
    first: int, low: int, high: int,
) -> None:  # fmt: skip
    group = 64 if device.kind == "gpu" else 16
    items = -(-length // (32 * group)) * group
    kernel(queue, (items,), (group,), staged, np.int64(length), table, planes, np.int64(first), np.int64(low), np.int64(high))
