"""Distances of many short pairs: reads against haplotypes. One launch for each strip size, lanes = pairs.

The host does nothing a pair but sort: sequences are numbered and cut into bit planes on the device, once a sequence.
"""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance.alphabet import kernel, number_symbols, readable, recode
from haplowave.distance.reference import MODES
from haplowave.errors import UserError
from haplowave.opencl import Device, device_failures, select
from haplowave.sequences import Sequences

SOURCE = "distance_short.cl"
WORD = 64
MAX_STRIP = 4  # words of 64 rows whose state stays in registers
SLACK = 16  # bytes behind each text that vector loads may touch
SCRATCH_WORDS = 1 << 23  # of horizontal differences a launch: 64 MiB


def batch(
    queries: Sequences,
    targets: Sequences,
    pairs: np.ndarray | None = None,
    *,
    mode: str = "infix",
    device: Device | str = "auto",
    ignore_case: bool = False,
) -> np.ndarray:
    """Unit-cost edit distances of `pairs` (int, shape (n, 2): query index, target index; None: all x all, query-major).

    mode "infix": the whole query inside the target, ends of the target free; "global": both whole. Any byte is a symbol of its
    own (N and IUPAC letters match only themselves); `ignore_case` makes a-z equal A-Z. Returns int32, shape (n,).
    Myers 1999, Hyyroe 2003 (kernels/distance_short.cl). Raises UserError for an index out of range or an unknown mode.
    """
    if mode not in MODES:
        raise UserError(f"mode '{mode}': choose one of {', '.join(MODES)}")
    pairs = _all_pairs(len(queries), len(targets)) if pairs is None else np.asarray(pairs)
    if pairs.shape[0] == 0:
        return np.zeros(0, np.int32)
    _check(pairs, len(queries), len(targets))
    device = select(device)
    with device_failures(device):
        return _Batch(device, queries, targets, mode, ignore_case).run(pairs)


@dataclass(frozen=True)
class Layout:
    """lanes: pairs a work-item; group: pairs that are scheduled together; local: work-items a work-group;
    byte_loads: whether words must be read byte by byte, because the device wants aligned addresses."""

    lanes: int
    group: int
    local: int
    byte_loads: bool


def layout(device: Device) -> Layout:
    """Vectors of pairs on a CPU, one pair a work-item elsewhere."""
    if device.kind == "cpu":
        lanes = device.vector_width // 2
        return Layout(lanes, lanes, 1, False)
    return Layout(1, 32, 64, True)


def _all_pairs(queries: int, targets: int) -> np.ndarray:
    grid = np.empty((queries * targets, 2), np.int64)
    grid[:, 0] = np.repeat(np.arange(queries), targets)
    grid[:, 1] = np.tile(np.arange(targets), queries)
    return grid


def _check(pairs: np.ndarray, queries: int, targets: int) -> None:
    low, high = ([int(reduce(pairs[:, side])) for side in (0, 1)] for reduce in (np.min, np.max))  # a column each: min(axis=0) is slow
    if min(low) < 0 or high[0] >= queries or high[1] >= targets:
        raise UserError(f"pairs: indices reach {high} and {low}, there are {queries} queries and {targets} targets")


class _Batch:
    """One call: the texts on the device and the pairs in launches."""

    def __init__(self, device: Device, queries: Sequences, targets: Sequences, mode: str, ignore_case: bool):
        self.device, self.queue = device, device.queue
        self.layout = layout(device)
        self.mode = mode
        self._held: list[cl.Buffer] = []
        self.query_lengths, self.target_lengths = queries.lengths, targets.lengths
        raw = [self._input(_padded(text.data)) for text in (queries, targets)]
        lengths = len(queries.data), len(targets.data)
        numbers, symbols = number_symbols(device, list(zip(raw, lengths, strict=True)), ignore_case)
        self.planes = max(1, (symbols - 1).bit_length())
        table, slack = self._input(numbers), int(self.target_lengths.max(initial=0)) + SLACK
        self.query, self.target = (recode(device, buffer, length, table, slack) for buffer, length in zip(raw, lengths, strict=True))
        self.query_begin, self.target_begin = (self._input(text.offsets.astype(np.int64, copy=False)) for text in (queries, targets))
        self.words = -(-self.query_lengths // WORD)
        self.query_words, self.word_begin = self._pack()

    def _input(self, array: np.ndarray) -> cl.Buffer:
        """A buffer that lives as long as this object: a CPU device reads the host's memory while kernels are under way."""
        self._held.append(readable(self.device, array))
        return self._held[-1]

    def _empty(self, size: int) -> cl.Buffer:
        return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, max(size, 16))

    def _pack(self) -> tuple[cl.Buffer, cl.Buffer]:
        begin = np.zeros(len(self.words) + 1, np.int32)
        np.cumsum(self.words, out=begin[1:])
        total = int(self.words.sum())
        if total >= 1 << 31:
            raise UserError("queries: more than 137 billion symbols in one call; give fewer at a time")
        words = self._empty(total * (self.planes + 1) * 8)
        begins = self._input(begin)
        if total:
            pack = kernel(self.device.build(SOURCE, {"PLANES": self.planes, "BYTE_LOADS": self.layout.byte_loads}), "pack")
            size = (len(self.words),)
            pack(self.queue, size, None, self.query, self.query_begin, begins, words)
        return words, begins

    def run(self, pairs: np.ndarray) -> np.ndarray:
        query, target = pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)
        strips = -(-self.words // MAX_STRIP)
        strip = -(-self.words // np.maximum(strips, 1))
        key, size_at = _keys(strip, strips, self.target_lengths, query, target)
        order = np.argsort(key, kind="stable")
        result = np.empty(len(pairs), np.int32)
        bounds = np.searchsorted(key[order], (np.arange(MAX_STRIP + 2) << size_at).astype(key.dtype))
        empty = order[: bounds[1]]  # queries of length 0
        result[empty] = 0 if self.mode == "infix" else self.target_lengths[target[empty]]
        for size in range(1, MAX_STRIP + 1):
            for part in self._parts(order[bounds[size] : bounds[size + 1]], query, target, strips):
                result[part] = self._launch(size, query[part], target[part], strips)
        return result

    def _parts(self, order: np.ndarray, query: np.ndarray, target: np.ndarray, strips: np.ndarray) -> list[np.ndarray]:
        """Cut `order` where the horizontal differences of a launch would outgrow SCRATCH_WORDS. strips: of every query."""
        if not len(order) or strips[query[order[-1]]] <= 1:
            return [order] if len(order) else []
        need = np.cumsum(2 * (-(-self.target_lengths[target[order]] // WORD) + 1))
        cuts = np.searchsorted(need, np.arange(SCRATCH_WORDS, int(need[-1]), SCRATCH_WORDS))
        cuts = np.unique(-(-cuts // self.layout.group) * self.layout.group)
        return [part for part in np.split(order, cuts[cuts < len(order)]) if len(part)]

    def _launch(self, size: int, query: np.ndarray, target: np.ndarray, strips: np.ndarray) -> np.ndarray:
        count, held = len(query), len(self._held)
        groups = -(-count // self.layout.group)
        group_strips, blocks = np.ones(groups, np.int32), np.zeros(groups, np.int64)
        if strips[query[-1]] > 1:  # sorted: these pairs have the most
            starts = np.arange(groups) * self.layout.group
            group_strips = np.maximum.reduceat(strips[query], starts).astype(np.int32)
            columns = np.maximum.reduceat(self.target_lengths[target], starts)
            blocks = np.where(group_strips > 1, -(-columns // WORD), 0)
        scratch_begin = np.zeros(groups + 1, np.int64)
        np.cumsum(blocks * (2 * self.layout.group), out=scratch_begin[1:])
        filled = groups * self.layout.group
        distance = np.empty(filled, np.int32)
        out = self._empty(distance.nbytes)
        inputs = [self._input(_filled(array, filled)) for array in (query, target)]
        defines = {
            "PLANES": self.planes, "STRIP": size, "LANES": self.layout.lanes, "GROUP": self.layout.group,
            "INFIX": self.mode == "infix", "BYTE_LOADS": self.layout.byte_loads,
        }  # fmt: skip
        items = filled // self.layout.lanes
        local = self.layout.local if items % self.layout.local == 0 else self.layout.group // self.layout.lanes
        distances = kernel(self.device.build(SOURCE, defines), "distances")
        distances(
            self.queue, (items,), (local,), self.query_words, self.query_begin, self.word_begin, self.target, self.target_begin,
            *inputs, self._input(group_strips), self._input(scratch_begin), self._empty(int(scratch_begin[-1]) * 8), out,
        )  # fmt: skip
        cl.enqueue_copy(self.queue, distance, out)
        del self._held[held:]
        return distance[:count]


def _keys(strip: np.ndarray, strips: np.ndarray, columns: np.ndarray, query: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, int]:
    """What pairs sort by, so that those of a vector have equal strips (of queries) and similar columns (of targets); the bit from which on
    a key is the strip's size."""
    if strips.max(initial=0) <= 1 and columns.max(initial=0) < 1 << 13:  # 16 bits sort by radix
        return (strip << 13).astype(np.uint16)[query] | columns.astype(np.uint16)[target], 13
    return ((strip << 58) | (strips << 32))[query] | columns.astype(np.int64)[target], 58


def _filled(array: np.ndarray, size: int) -> np.ndarray:
    """`array` with its last element repeated up to `size`."""
    return array if len(array) == size else np.concatenate([array, np.repeat(array[-1:], size - len(array))])


def _padded(data: np.ndarray) -> np.ndarray:
    return data if len(data) else np.zeros(SLACK, np.uint8)
