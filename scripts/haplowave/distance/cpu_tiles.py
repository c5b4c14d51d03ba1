"""Host side of kernels/distance_cpu_tiles.cl: sweep a band of bit-parallel tiles, any number of anti-diagonals a launch."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel, number_symbols, readable, recode
from haplowave.distance.strategies import CPU_SLACK
from haplowave.opencl import Device

SOURCE = "distance_cpu_tiles.cl"
NO_LIMIT = 1 << 40
DIAGONALS = 128  # anti-diagonals a launch, at most: work-items that gave up begin again with the next


@dataclass(frozen=True)
class Shape:
    """vectors: registers of 64-bit words a tile's rows; width: columns of a tile (a multiple of 64)."""

    vectors: int
    width: int


class Texts:
    """Both strings on the device: `b` as symbol numbers, `a` as bit planes; lengths m and n."""

    def __init__(self, device: Device, a: np.ndarray, b: np.ndarray):
        self.device = device
        self.lanes = device.vector_width // 2
        self.m, self.n = len(a), len(b)
        self._held = [readable(device, text) for text in (a, b)]
        numbers, symbols = number_symbols(device, [(self._held[0], self.m), (self._held[1], self.n)])
        self.planes = max(1, (symbols - 1).bit_length())
        self._held.append(readable(device, numbers))
        self.a, self.b = (recode(device, self._held[i], length, self._held[2], CPU_SLACK) for i, length in ((0, self.m), (1, self.n)))
        self.words = -(-self.m // 4096) * 64  # whole strips of any shape
        self.rows = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, self.words * self.planes * 8)
        pack = kernel(self.program(Shape(1, 64)), "pack")
        pack(device.queue, (self.words,), None, self.a, np.int64(self.words), self.rows)

    def program(self, shape: Shape) -> cl.Program:
        return self.device.build(SOURCE, {"PLANES": self.planes, "LANES": self.lanes, "VECTORS": shape.vectors, "WIDTH": shape.width})


class Band:
    """Strips low[c]..high[c] (int32, inclusive) of every chunk c; both never fall."""

    def __init__(self, low: np.ndarray, high: np.ndarray):
        self.low, self.high = low.astype(np.int32), high.astype(np.int32)

    def launches(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last strip of every anti-diagonal s + c of tiles."""
        chunks = np.arange(len(self.low))
        diagonals = np.arange(chunks[-1] + self.high[-1] + 1)
        # chunk c is on diagonals low[c] + c .. high[c] + c, both rising in c
        last_chunk = np.searchsorted(self.low + chunks, diagonals, "right") - 1
        first_chunk = np.searchsorted(self.high + chunks, diagonals, "left")
        return diagonals - last_chunk, diagonals - first_chunk


class Sweep:
    """State of one pass over a band: what is known at the borders of the tiles done so far.

    `launch`: anti-diagonals done; `state`: the buffers that hold everything else; `sizes`: their bytes.
    """

    def __init__(self, texts: Texts, shape: Shape, band: Band, limit: int = NO_LIMIT, keep: bool = False):
        """keep: hold what `path` needs, the borders of every tile: about 2 bits a row and a column of each."""
        self.texts, self.shape, self.queue, self.keep = texts, shape, texts.device.queue, keep
        self.rows, self.limit = 64 * texts.lanes * shape.vectors, limit
        first, last = band.launches()
        tiles = np.maximum(last - first + 1, 0)
        self.launch, self.launches, self._widest = 0, len(first), int(tiles.max())
        strips, chunks = -(-texts.m // self.rows), len(band.low)
        blocks = chunks * shape.width // 64
        state = {
            "pv": np.full(texts.words, -1, np.int64),
            "mv": np.zeros(texts.words, np.int64),
            "hp": np.full(blocks, -1, np.int64),
            "hm": np.zeros(blocks, np.int64),
            "right": np.arange(strips) * self.rows,
            "below": np.arange(chunks) * shape.width,
            "right_alive": (np.arange(strips) <= band.high[0]).astype(np.uint8),
            "below_alive": (band.low == 0).astype(np.uint8),
            "done": np.zeros(strips, np.int32),
            "reached": np.zeros(strips, np.int32),
        }
        self.sizes = {name: array.nbytes for name, array in state.items()}
        self.state = {name: self._buffer(array) for name, array in state.items()}
        self._band = [self._buffer(array) for array in (band.low, band.high)]  # a kernel does not keep its arguments alive
        begin = np.append(0, np.cumsum(tiles, dtype=np.int64))
        self._order = [self._buffer(first.astype(np.int32)), self._buffer(begin)]
        self._items = min(self._widest, texts.device.threads)
        self._kept(band, keep)

    def _kept(self, band: Band, keep: bool) -> list[cl.Buffer]:
        """Borders of tiles, their slots by chunk and strip, where each chunk's slots begin, how many slots are taken."""
        tiles = (band.high - band.low + 1).astype(np.int64) if keep else np.zeros(0, np.int64)
        begin = np.concatenate([[0], np.cumsum(tiles)]).astype(np.int32)
        size = max(16, int(tiles.sum()) * border_bytes(self.texts, self.shape))
        kept = cl.Buffer(self.texts.device.context, cl.mem_flags.READ_WRITE, size)
        self.kept = [kept, *map(self._buffer, (np.full(max(1, begin[-1]), -1, np.int32), begin, np.zeros(1, np.int32)))]
        return self.kept

    def _buffer(self, array: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.texts.device.context, flags, hostbuf=array)

    def run(self, until: int | None = None) -> None:
        """Do anti-diagonals up to `until` (None: all), and wait for them."""
        until = self.launches if until is None else min(until, self.launches)
        while self.launch < until:
            self._launch(min(until, self.launch + DIAGONALS))

    def _launch(self, until: int) -> None:
        texts, state = self.texts, self.state
        order = self._buffer(np.array([0, self._items] + [-1] * self._items, np.int32))
        border = [buffer for name, buffer in state.items() if name not in ("done", "reached")]
        kernel(texts.program(self.shape), "tiles")(
            self.queue, (self._items,), (1,), texts.rows, np.int64(texts.words), texts.b, *border, *self._band,
            state["done"], state["reached"], np.int64(texts.m), np.int64(texts.n), np.int64(self.limit),
            cl.LocalMemory(mask_bytes(texts, self.shape)), np.int32(self.keep), *self.kept, *self._order, np.int32(self.launch),
            np.int32(until), order,
        )  # fmt: skip
        self.queue.finish()
        self.launch = until

    def score(self) -> int | None:
        """After the last launch, the score at the end of both strings: an upper bound of the distance, exact where it is <= limit;
        None where no path is left."""
        texts = self.texts
        strip = (texts.m - 1) // self.rows
        words = self.rows // 64
        alive, right = np.empty(1, np.uint8), np.empty(1, np.int64)
        cl.enqueue_copy(self.queue, alive, self.state["right_alive"], src_offset=strip)
        if not alive[0]:
            return None
        cl.enqueue_copy(self.queue, right, self.state["right"], src_offset=8 * strip)
        within = texts.m - strip * self.rows
        counts = []
        for name in ("pv", "mv"):
            column = np.empty(words, np.uint64)
            cl.enqueue_copy(self.queue, column, self.state[name], src_offset=8 * words * strip)
            counts.append(int(np.unpackbits(column.view(np.uint8), count=within, bitorder="little").sum()))
        return int(right[0]) + counts[0] - counts[1]

    def path(self) -> np.ndarray:
        """After a sweep that kept its borders and reached the end within its limit: the steps of one optimal path, uint8, first to last
        (0 match, 1 substitution, 2 symbol of a only, 3 of b only)."""
        texts, wide = self.texts, self.shape.width + self.rows // 64
        border, record, steps, count = (
            cl.Buffer(texts.device.context, cl.mem_flags.READ_WRITE, size)
            for size in (border_bytes(texts, self.shape), 2 * wide * self.rows // 8, texts.m + texts.n, 8)
        )
        spare = cl.LocalMemory(mask_bytes(texts, self.shape))
        trace = kernel(texts.program(self.shape), "trace")
        trace(
            self.queue, (1,), (1,), texts.rows, np.int64(texts.words), texts.a, texts.b, *self._band, np.int64(texts.m), np.int64(texts.n),
            spare, *self.kept[:3], border, record, steps, count,
        )  # fmt: skip
        taken = np.empty(1, np.int64)
        cl.enqueue_copy(self.queue, taken, count)
        out = np.empty(int(taken[0]), np.uint8)
        cl.enqueue_copy(self.queue, out, steps)
        return out[::-1]

    def cells(self) -> int:
        done = np.empty(self.sizes["done"] // 4, np.int32)
        cl.enqueue_copy(self.queue, done, self.state["done"])
        return int(done.sum()) * self.rows * self.shape.width


def mask_bytes(texts: Texts, shape: Shape) -> int:
    """Local memory of one tile: a word a plane and column."""
    return 8 * texts.planes * (shape.width + 3 * texts.lanes * shape.vectors)


def fitting(texts: Texts, shape: Shape) -> Shape:
    """`shape`, narrower where the device's local memory is small."""
    while shape.width > 64 and mask_bytes(texts, shape) > texts.device.local_memory:
        shape = Shape(shape.vectors, shape.width // 2)
    return shape


def border_bytes(texts: Texts, shape: Shape) -> int:
    """Of the left and upper border of one tile."""
    return 16 * (texts.lanes * shape.vectors + shape.width // 64)


def ukkonen_band(texts: Texts, shape: Shape, limit: int) -> Band:
    """Tiles that hold a cell with |k| + |n - m - k| <= limit, k = j - i (Ukkonen 1985)."""
    lead = texts.n - texts.m
    least, most = (lead - limit) // 2, (lead + limit) // 2
    rows = 64 * texts.lanes * shape.vectors
    begin = np.arange(-(-texts.n // shape.width)) * shape.width
    top = np.maximum(begin - most, 0)
    bottom = np.minimum(begin + shape.width - least, texts.m - 1)
    return Band(np.minimum(top, texts.m - 1) // rows, bottom // rows)
