"""A rough path through the matrix of two long strings, from k-mers that occur once in each.

It only says where to look for a good upper bound of the distance: nothing exact depends on it.
"""

from bisect import bisect_left

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel
from haplowave.distance.cpu_tiles import Band, Shape, Texts
from haplowave.opencl import Device

SOURCE = "distance_cpu_guide.cl"
MOST_SAMPLES = 1 << 14  # k-mers taken of each string
SPACING = 64  # symbols between samples, at least
_PIECE = 1 << 14


def guide_path(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns (int64, both rising) of the corners of the path, from (0, 0) to (m, n)."""
    k = 16 if texts.n < 1 << 23 else 24
    rows, columns = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if min(texts.m, texts.n) >= 64 * k:
        rate = max(SPACING, min(texts.m, texts.n) // MOST_SAMPLES)
        (hash_a, at_a), (hash_b, at_b) = (
            _sample(texts.device, text, length, k, rate) for text, length in ((texts.a, texts.m), (texts.b, texts.n))
        )
        _, in_a, in_b = np.intersect1d(hash_a, hash_b, assume_unique=True, return_indices=True)
        rows, columns = _chain(at_a[in_a], at_b[in_b])
    return np.concatenate([[0], rows, [texts.m]]), np.concatenate([[0], columns, [texts.n]])


def _sample(device: Device, text: cl.Buffer, length: int, k: int, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Hashes (sorted) and positions of the sampled k-mers that were met once."""
    capacity = 2 * (length // rate) + 1024
    flags = cl.mem_flags.READ_WRITE
    hashes, positions = (cl.Buffer(device.context, flags, 8 * capacity) for _ in range(2))
    count = np.zeros(1, np.int32)
    counter = cl.Buffer(device.context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=count)
    sample = kernel(device.build(SOURCE, {"K": k}), "sample")
    limit = np.uint64((1 << 64) // rate - 1)
    size = (-(-length // _PIECE),)
    sample(device.queue, size, None, text, np.int64(length), np.int64(_PIECE), limit, np.int32(capacity), hashes, positions, counter)
    cl.enqueue_copy(device.queue, count, counter)
    found = min(int(count[0]), capacity)
    host_hashes, host_positions = np.empty(found, np.uint64), np.empty(found, np.int64)
    if found:
        cl.enqueue_copy(device.queue, host_hashes, hashes)
        cl.enqueue_copy(device.queue, host_positions, positions)
    unique, first, times = np.unique(host_hashes, return_index=True, return_counts=True)
    return unique[times == 1], host_positions[first[times == 1]]


def _chain(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The longest chain of points that rise in both coordinates (longest increasing subsequence, Fredman 1975)."""
    order = np.argsort(rows)
    values = columns[order].tolist()
    tails: list[int] = []
    tail_index: list[int] = []
    before = [-1] * len(values)
    for index, value in enumerate(values):
        length = bisect_left(tails, value)
        before[index] = tail_index[length - 1] if length else -1
        tails[length : length + 1] = [value]
        tail_index[length : length + 1] = [index]
    chain: list[int] = []
    index = tail_index[-1] if tail_index else -1
    while index >= 0:
        chain.append(index)
        index = before[index]
    picked = order[chain[::-1]]
    return rows[picked], columns[picked]


def band_around(texts: Texts, shape: Shape, path: tuple[np.ndarray, np.ndarray], half: int) -> Band:
    """All tiles within `half` rows of the path."""
    rows, columns = path
    begin = np.arange(-(-texts.n // shape.width)) * shape.width
    end = np.minimum(begin + shape.width, texts.n)
    strip = 64 * texts.lanes * shape.vectors
    low = np.interp(begin, columns, rows).astype(np.int64) - half
    high = np.interp(end, columns, rows).astype(np.int64) + half
    low[0], high[-1] = 0, texts.m - 1
    return Band(np.clip(low, 0, texts.m - 1) // strip, np.clip(high, 0, texts.m - 1) // strip)
