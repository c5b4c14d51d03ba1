"""Host side of kernels/distance_affine.cl: one set of pairs from the first level to their CIGARs."""

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel, readable
from haplowave.opencl import Device

SOURCE = "distance_affine.cl"
_SPARE = 16


class Run:
    """Pairs `a[i]`, `b[i]` (uint8 arrays) under penalties (mismatch, open, extend, open2, extend2; 0 where absent).

    Levels of penalty are computed in segments, so that their traces fit into `memory` bytes. Fronts at the beginning of each segment
    are kept; on the way back a segment is computed again from them.
    """

    def __init__(self, device: Device, a: list[np.ndarray], b: list[np.ndarray], steps: tuple[int, ...], memory: int):
        self.device, self.queue, self.count = device, device.queue, len(a)
        _, open1, extend1, _, extend2 = steps
        self.steps = [np.int32(step) for step in steps]
        self.levels = levels(steps)
        self.rows, self.columns = (np.array([len(text) for text in texts], np.int32) for texts in (a, b))
        width = self.rows.astype(np.int64) + self.columns + 3
        self.width = int(width.sum())
        last = 2 * open1 + extend1 * int(width.max())  # everything deleted, everything inserted
        self.segment = min(max(64, memory // self.width), last + 1)
        self.front = width * self.levels * components(steps)
        self.begins = {
            "ring": _begins(self.front),
            "trace": _begins(width * self.segment),
            "steps": _begins(2 * width),
        }
        self._shared = {name: readable(device, array) for name, array in self.begins.items()}
        self.texts = [readable(device, _joined(texts)) for texts in (a, b)]
        self.texts += [readable(device, _begins(lengths)) for lengths in (self.rows, self.columns)]
        self.lengths = [readable(device, lengths) for lengths in (self.rows, self.columns)]
        lanes = lanes_of(device)
        self.local, self.size = (lanes,), (lanes * self.count,)
        self.program = device.build(SOURCE, {"LANES": lanes, "TWO_PIECE": int(extend2 > 0)})
        self.advance = kernel(self.program, "advance")
        self.ring, self.range = self._buffer(4 * int(self.front.sum())), self._buffer(8 * (self.levels + 1) * self.count)
        self.trace = self._buffer(1)
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []

    def _buffer(self, size: int, array: np.ndarray | None = None) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE
        if array is None:
            return cl.Buffer(self.device.context, flags, max(size, 16))
        return cl.Buffer(self.device.context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)

    def penalties(self, keep: bool) -> np.ndarray:
        """Penalty of every pair, int32. `keep`: hold what `cigars` needs."""
        self._begin()
        if keep:
            self.trace = self._buffer(self.segment * self.width)
        self.result = np.full(self.count, -1, np.int32)
        begin = 0
        while (self.result < 0).any():
            if keep and begin:
                self.kept.append((self._read(self.ring), self._read(self.range)))
            self._segment(begin, keep)
            begin += self.segment
        return self.result

    def _begin(self) -> None:
        cl.enqueue_fill_buffer(self.queue, self.range, np.int32(0), 0, 8 * (self.levels + 1) * self.count)

    def _read(self, buffer: cl.Buffer) -> np.ndarray:
        host = np.empty(buffer.size // 4, np.int32)
        cl.enqueue_copy(self.queue, host, buffer)
        return host

    def _segment(self, begin: int, tracing: bool) -> None:
        """Levels begin..begin + segment - 1 of the pairs that are not done before; their scores go to `result`."""
        score = self._buffer(0, np.where(self.result < begin, self.result, -1).astype(np.int32))
        self.advance(
            self.queue, self.size, self.local, *self.texts, *self.lengths, self.ring, self._shared["ring"], self.range, self.trace,
            self._shared["trace"], score, np.int32(self.levels), np.int32(begin), np.int32(begin + self.segment), *self.steps,
            np.int32(tracing),
        )  # fmt: skip
        cl.enqueue_copy(self.queue, self.result, score)

    def cigars(self) -> list[str]:
        """One CIGAR a pair, after `penalties(keep=True)`."""
        at = np.zeros((self.count, 4), np.int32)
        at[:, 0], at[:, 1] = self.result, self.columns - self.rows
        place, steps = self._buffer(0, at), self._buffer(2 * self.width)
        walk_back = kernel(self.program, "walk_back")
        for index in range(len(self.kept), -1, -1):
            begin = index * self.segment
            if index < len(self.kept):
                self._again(index)
            walk_back(
                self.queue, (self.count,), None, self.trace, self._shared["trace"], *self.lengths, place, steps, self._shared["steps"],
                np.int32(begin), *self.steps,
            )  # fmt: skip
            self.queue.finish()
        texts, length = np.empty(2 * self.width, np.uint8), np.empty(self.count, np.int32)
        out, count = self._buffer(texts.nbytes), self._buffer(length.nbytes)
        spell = kernel(self.program, "spell")
        spell(self.queue, (self.count,), None, *self.texts, *self.lengths, place, steps, self._shared["steps"], out, count)
        cl.enqueue_copy(self.queue, texts, out)
        cl.enqueue_copy(self.queue, length, count)
        text, starts = texts.tobytes(), self.begins["steps"].tolist()
        return [text[start : start + size].decode("ascii") for start, size in zip(starts, length.tolist(), strict=False)]

    def _again(self, index: int) -> None:
        """The trace of a segment that a later one has overwritten."""
        if index:
            ring, span = self.kept[index - 1]
            cl.enqueue_copy(self.queue, self.ring, ring)
            cl.enqueue_copy(self.queue, self.range, span)
        else:
            self._begin()
        final = self.result.copy()
        self._segment(index * self.segment, True)
        self.result = final


def lanes_of(device: Device) -> int:
    """Work-items that share a pair's diagonals: a CPU's loops are vectors as they are."""
    return 1 if device.kind == "cpu" else 64


def levels(steps: tuple[int, ...]) -> int:
    """Levels of penalty that the recurrence looks at."""
    mismatch, open1, extend1, open2, extend2 = steps
    return max(mismatch, open1 + extend1, open2 + extend2) + 1


def components(steps: tuple[int, ...]) -> int:
    """M, I, D, and a second I and D where gaps have two pieces."""
    return 5 if steps[4] else 3


def _joined(texts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([*texts, np.zeros(_SPARE, np.uint8)])


def _begins(lengths: np.ndarray) -> np.ndarray:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out
