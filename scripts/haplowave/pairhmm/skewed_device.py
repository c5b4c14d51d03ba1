"""The device side of `skewed` and `rowwise`: compiled kernels, and the launches that turn a chunk of pairs into likelihoods."""

import threading
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device, TypedKernel
from haplowave.pairhmm.chunk import Chunk, Queues
from haplowave.pairhmm.model import ALWAYS_REGULAR, Tables, tables
from haplowave.pairhmm.skewed_inputs import DOUBTS, READ_BLOCK, HaplotypeInputs, LongInputs, ReadInputs, UnitInputs
from haplowave.pairhmm.skewed_pack import Packed
from haplowave.pairhmm.trie_device import ShortPairs
from haplowave.pairhmm.tuning import Settings, exchange_variant, options, warps_at_once

LETTERS = b"ACGT"
SCALE_LOG2 = {("fp32", False): 100, ("fp64", False): 980, ("fp32", True): 90, ("fp64", True): 900}
"""log2 of the scale C, by precision and whether lanes have exponents (then as TOP in pairhmm_long.cl). J may be 2^29 above it."""
_SMALLEST = {("fp32", False): 1e-34, ("fp64", False): 1e-292, ("fp32", True): 1e-37, ("fp64", True): 1e-37}
_LOOKS = {"fp32": (18, 10), "fp64": (32, 40)}
"""Rows between two looks at exponents where gaps continue at one quality that is no higher than this; _LOOK_ROWS elsewhere."""
_LOOK_ROWS = 8
_LOOK_GROWTH, _VARYING_GROWTH = 12, 50  # binades that a border may grow by beyond what longer gaps of one quality, or of several, make
_ITEMS = 64  # work-items of a group in pairhmm_prepare.cl
_VARIANTS = {"nvidia-ptx": "NVIDIA", "khr": "KHR", "intel": "INTEL", "local": "LOCAL"}


class Runner:
    """Compiled kernels, tables and queues of one device, precision and set of letters. `lock`: kernels are enqueued by one thread."""

    def __init__(self, device: Device, settings: Settings, precision: str, letters: bytes, convention: str):
        self.device, self.settings, self.precision, self.letters = device, settings, precision, letters
        self.queues = Queues(device)
        self.lock = threading.Lock()
        self.real = np.dtype(np.float32 if precision == "fp32" else np.float64)
        self.wide = np.dtype(np.float64 if device.has_fp64 else np.float32)
        self.defines = {"LETTERS": len(letters)} | ({"FP64": 1} if precision == "fp64" else {})
        self._floors = dict(zip(("BASE_FLOOR", "INSERTION_FLOOR", "DELETION_FLOOR", "GAP_FLOOR"), ALWAYS_REGULAR, strict=True))
        self._kernels: dict[tuple, TypedKernel] = {}
        self._prepared: dict[tuple, TypedKernel] = {}
        self._gap = tables(convention).gap
        self.tables = self.constant(_flat_tables(tables(convention)).astype(self.wide))
        self.codes = self.constant(_codes(letters))
        self.letters_buffer = self.constant(np.frombuffer(letters, np.uint8))

    def constant(self, array: np.ndarray) -> cl.Buffer:
        """A buffer that lives as long as the runner."""
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.device.context, flags, hostbuf=np.ascontiguousarray(array))

    def kernel(self, file: str, name: str, defines: dict[str, int], flags: tuple[str, ...] = ()) -> TypedKernel:
        """Kernel `name` of `file`, made once: that takes longer than to run it."""
        key = (file, name, *sorted(defines.items()), flags)
        if key not in self._kernels:
            self._kernels[key] = TypedKernel(self.device.build(file, self.defines | defines, flags), name)
        return self._kernels[key]

    def prepare(self, name: str, file: str = "pairhmm_prepare.cl", **defines: int) -> TypedKernel:
        """A kernel of `file` that prepares or finishes."""
        key = (file, name, *defines.items())
        if key not in self._prepared:
            self._prepared[key] = self.kernel(file, name, self._floors | ({"HAS_FP64": 1} if self.device.has_fp64 else {}) | defines)
        return self._prepared[key]

    def gap_of(self, reads: ReadInputs) -> float:
        """The gap continuation probability of all bases, 0 where it varies."""
        return 0.0 if reads.gap is None else float(self._gap[reads.gap])

    def shape(self, columns: int) -> dict[str, int]:
        """Definitions of a kernel with `columns` a lane."""
        variant = _VARIANTS[exchange_variant(self.device)]
        newer = {"SM_80": 1} if self.device.compute_capability >= (8, 0) else {}
        return {f"VARIANT_{variant}": 1, "W": self.settings.warp, "WARPS": self.settings.warps, "N": columns} | newer

    def launch(self, packed: Packed) -> "Flight":
        """Enqueue all kernels of a chunk. No waiting."""
        try:
            with self.lock:
                return _Launching(self, packed).run()
        except BaseException:
            packed.chunk.abandon()
            raise

    def prepare_rows(self, reads: ReadInputs, doubts: cl.Buffer, chunk: Chunk) -> "_Rows":
        """Enqueue what makes rows from bytes."""
        count = reads.blocks * READ_BLOCK
        varies = reads.gap is None
        rows = _Rows(
            rows=chunk.empty(4 * count, self.real),
            gaps=chunk.empty(count if varies else READ_BLOCK, self.real),
            gap=self.gap_of(reads),
            reads=chunk.empty(4 * reads.count, np.uint32),
            starts=chunk.empty(reads.count, self.real),
            scales=chunk.empty(reads.count, self.wide),
        )
        outputs = (rows.rows, rows.gaps, rows.reads, rows.starts, rows.scales, doubts)
        kernel = self.prepare("prepare_rows", **({"PER_ROW_GAP": 1} if varies else {}))
        chunk.run(kernel, reads.count * _ITEMS, _ITEMS, *reads.buffers, self.codes, self.tables, *outputs)
        return rows

    def prepare_masks(self, columns: int, inputs: HaplotypeInputs, doubts: cl.Buffer, chunk: Chunk) -> tuple[cl.Buffer, cl.Buffer]:
        """Enqueue what makes (masks, haplotypes) as pairhmm_skewed.cl takes them, for lanes of `columns`."""
        outputs = chunk.empty(inputs.lanes(columns) * len(self.letters), np.uint32), chunk.empty(2 * inputs.count, np.uint32)
        sizes = (np.uint32(columns), np.uint32(self.settings.warp), np.uint32(inputs.slack))
        arguments = (*inputs.buffers, self.letters_buffer, self.codes, *sizes, *outputs, doubts)
        chunk.run(self.prepare("prepare_masks"), inputs.count * _ITEMS, _ITEMS, *arguments)
        return outputs

    def grid(self, groups: np.ndarray, a_group: int, a_unit: int) -> tuple[int, int]:
        """(work-items, work-group size), `a_group` warps each: `a_unit` warps a compute unit, or fewer where there are fewer jobs."""
        a_warp = self.settings.warp // groups[:, 0]
        warps = int((-(-(groups[:, 2] - groups[:, 1]) // a_warp)).max())
        most = self.device.compute_units * a_unit // a_group
        work_groups = max(1, min(most, -(-warps // a_group)))
        size = self.settings.warp * a_group
        return work_groups * size, size

    def finish(
        self, chunk: Chunk, count: int, sums: tuple[cl.Buffer, ...], groups: tuple, rest: tuple, long: bool = False, **how
    ) -> cl.Event:
        """Enqueue what makes `count` likelihoods. sums: partial sums, exponents, jobs, results, targets; groups: buffer and count;
        rest: scales of the reads, likelihoods."""
        scale = self.wide.type(SCALE_LOG2[self.precision, long] * np.log10(2.0)), self.wide.type(_SMALLEST[self.precision, long])
        arguments = (*sums, np.int32(count), groups[0], np.int32(groups[1]), rest[0], *scale, rest[1])
        return chunk.run(self.prepare("finish", **({"LONG": 1} if long else {})), count, _ITEMS, *arguments, **how)


@dataclass(frozen=True)
class _Rows:
    """Reads on the device, as the kernels take them."""

    rows: cl.Buffer
    gaps: cl.Buffer
    gap: float
    """Gap continuation probability, where it is one for all."""
    reads: cl.Buffer
    starts: cl.Buffer
    scales: cl.Buffer


@dataclass
class Landed:
    """What came back with a chunk's likelihoods."""

    doubts: np.ndarray
    """int32 (DOUBTS,): as in pairhmm_prepare.cl."""
    safe: bool
    """No likelihood is unsafe."""
    times: list[tuple[str, int, int]]
    """Name, start and end of each kernel in ns."""


class Flight:
    """A chunk whose kernels are enqueued; `steep` as in Packed."""

    def __init__(self, chunk: Chunk, log10s: cl.Buffer, doubts: cl.Buffer, wide: np.dtype, steep: np.ndarray | None = None):
        self.chunk, self._log10s, self._doubts, self._wide, self._steep = chunk, log10s, doubts, wide, steep

    def collect(self, log10: np.ndarray, unsafe: np.ndarray, least: float) -> Landed:
        """Wait, and fill these arrays at the chunk's place; likelihoods below `least` are unsafe. The chunk is closed, come what may."""
        try:
            landed = self._landed(log10, unsafe, least)
        except BaseException:
            self.chunk.abandon()
            raise
        self.chunk.close()
        return landed

    def _landed(self, log10: np.ndarray, unsafe: np.ndarray, least: float) -> Landed:
        chunk, values, doubts = self.chunk, log10[self.chunk.where], np.empty(DOUBTS, np.int32)
        wide = values if values.dtype == self._wide else np.empty(len(values), self._wide)
        chunk.read((self._doubts, doubts), (self._log10s, wide))
        if wide is not values:
            values[:] = wide
        doubted = unsafe[chunk.where]
        np.logical_not(np.greater_equal(values, least, out=doubted), out=doubted)  # and so is what is no number
        if self._steep is not None:
            doubted |= self._steep
        return Landed(doubts, not doubted.any(), chunk.times())


class _Launching:
    """One chunk on its way into the queues of a runner: preparation, then a launch a shape beside each other, then likelihoods."""

    def __init__(self, runner: Runner, packed: Packed):
        self.runner, self.packed, self.chunk = runner, packed, packed.chunk
        self.log10s = self.chunk.empty(packed.pairs, runner.wide)
        self.forks = 0

    def run(self) -> Flight:
        runner, packed, chunk = self.runner, self.packed, self.chunk
        chunk.begin()
        widths = {launch.columns for launch, _, _ in packed.short.launches} if packed.short else set()
        widths |= {long.columns for long in packed.long}
        trees = ShortPairs(runner, packed.trees, packed.reads, packed.haplotypes, chunk) if packed.trees else None
        if trees:
            trees.prepare(packed.doubts)
        if packed.short or packed.long:
            self.rows = runner.prepare_rows(packed.reads, packed.doubts, chunk)
            self.masks = {columns: runner.prepare_masks(columns, packed.haplotypes, packed.doubts, chunk) for columns in sorted(widths)}
        jobs = self._make_jobs(packed.short) if packed.short else ()
        borders = [self._borders(long) for long in packed.long]
        self.prepared = [chunk.kernels[-1][1]]
        ends = [self._long(*long) for long in zip(packed.long, borders, strict=True)]
        if packed.short:
            ends.append(self._short(packed.short, *jobs))
        if trees:
            sums = [trees.compute(number, **self._fork()) for number in range(len(packed.trees.launches))]
            ends.append(trees.finish(self.log10s, after=sums))
        if packed.copies is not None:
            chunk.run(runner.prepare("copy_rows"), packed.copy_count * _ITEMS, _ITEMS, packed.copies, self.log10s, after=ends)
        return Flight(chunk, self.log10s, packed.doubts, runner.wide, packed.steep)

    def _make_jobs(self, short: UnitInputs) -> tuple[cl.Buffer, cl.Buffer]:
        jobs, targets = self.chunk.empty(2 * short.jobs, np.int32), self.chunk.empty(short.jobs, np.uint32)
        arguments = (*short.buffers, np.int32(short.unit_count), np.uint32(short.jobs), jobs, targets)
        self.chunk.run(self.runner.prepare("make_jobs", **short.listed), short.jobs, _ITEMS, *arguments)
        return jobs, targets

    def _short(self, short: UnitInputs, jobs: cl.Buffer, targets: cl.Buffer) -> cl.Event:
        partials = self.chunk.empty(short.partials, self.runner.real)
        ends = [
            self._skewed(launch.columns, launch.groups, jobs, (groups, np.int32(len(launch.groups)), counters), (partials,))
            for launch, groups, counters in short.launches
        ]
        sums = (partials, self.packed.doubts, jobs, self.packed.doubts, targets)  # exponents and results are of long pairs alone
        rest = (self.rows.scales, self.log10s)
        return self.runner.finish(self.chunk, short.jobs, sums, (short.groups, short.group_count), rest, after=ends)

    def _borders(self, long: LongInputs) -> tuple[cl.Buffer, cl.Buffer]:
        """Borders between strips and their exponents, as if no strip had been there (pairhmm_borders.cl)."""
        border = long.jobs.border_blocks * READ_BLOCK
        return self.chunk.ones(2 * border, self.runner.real), self.chunk.ones(border // self.runner.settings.block, np.int32)

    def _long(self, long: LongInputs, borders: tuple[cl.Buffer, cl.Buffer]) -> cl.Event:
        runner, chunk, jobs = self.runner, self.chunk, long.jobs
        partials, exponents = chunk.empty(jobs.partials, runner.real), chunk.empty(jobs.partials, np.int32)
        outputs = (partials, exponents, *borders, long.border_offsets, long.progress, *self._looks())
        ends = [
            self._skewed(long.columns, jobs.groups[[which]], long.job_buffer, (group, long.counters, np.int32(which)), outputs, long=True)
            for which, group in enumerate(jobs.groups)
        ]
        sums = (partials, exponents, long.job_buffer, long.results, long.targets)
        groups, rest = (long.groups, len(jobs.groups)), (self.rows.scales, self.log10s)
        return runner.finish(chunk, len(jobs.results), sums, groups, rest, long=True, after=ends)

    def _looks(self) -> tuple[np.int32, np.int32]:
        """Blocks between two looks at exponents, and the binades that a border may grow by in that time: gaps that get longer.

        The blocks are fewer than the lanes of a warp: pairhmm_borders.cl says why."""
        settings = self.runner.settings
        quality, (rows, highest) = self.packed.reads.highest_gap, _LOOKS[self.runner.precision]
        varies = self.packed.reads.gap is None
        rows = _LOOK_ROWS if varies or quality > highest else rows
        growth = rows * quality * np.log2(10) / 10 + (_VARYING_GROWTH if varies else _LOOK_GROWTH)
        return np.int32(min(rows // settings.block, settings.warp - 1)), np.int32(growth)

    def _skewed(self, columns: int, groups: np.ndarray, jobs: cl.Buffer, counting: tuple, outputs: tuple, long: bool = False) -> cl.Event:
        runner, rows, real = self.runner, self.rows, self.runner.real.type
        settings, precision = runner.settings, runner.precision
        masks, haplotypes = self.masks[columns]
        inputs = (rows.rows, rows.gaps, real(rows.gap), real(2.0 ** SCALE_LOG2[precision, long]), masks, jobs, rows.reads, haplotypes)
        inputs += (rows.starts, *counting)
        defines = runner.shape(columns) | {"ROWS": settings.block}
        defines |= {"S": int(groups[0, 0]), "WARPS": 1} if long else {}
        defines |= {"PER_ROW_GAP": 1} if self.packed.reads.gap is None else {}
        file = "pairhmm_long.cl" if long else "pairhmm_skewed.cl"
        kernel = runner.kernel(file, "skewed", defines, options(settings, precision, long))
        a_unit = settings.groups_a_unit * settings.warps if long else warps_at_once(settings, precision)
        return self.chunk.run(kernel, *runner.grid(groups, defines["WARPS"], a_unit), *inputs, *outputs, **self._fork())

    def _fork(self) -> dict:
        """For Chunk.run: the next queue, after what prepares."""
        self.forks += 1
        return {"fork": self.forks - 1, "after": self.chunk.prior + (self.prepared if self.forks > 1 else [])}


def _codes(letters: bytes) -> np.ndarray:
    """By byte: the letter's number, that of N; 255 for another letter, 254 for what is none."""
    codes = np.full(256, 254, np.uint8)
    for first in b"Aa":
        codes[first : first + 26] = 255
    codes[np.frombuffer(letters, np.uint8)] = np.arange(len(letters))
    codes[ord("N")] = len(letters)
    return codes


def _flat_tables(table: Tables) -> np.ndarray:
    """The tables of pairhmm_prepare.cl, one after another."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [table.mismatch / table.match, 1 / table.match, table.gap, table.leave, 1 / table.gap, np.log10(table.match)]
        return np.concatenate([*parts, (1 / table.mm).ravel(), np.log10(table.mm).ravel()])
