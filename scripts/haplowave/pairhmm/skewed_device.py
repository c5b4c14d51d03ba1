"""The device side of `skewed` and `rowwise`: compiled kernels, and the launches that turn a chunk of pairs into likelihoods."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm.chunk import Chunk, Queues
from haplowave.pairhmm.model import QUALITY_MASK, Tables, tables
from haplowave.pairhmm.skewed_plan import Bucket, Jobs, buckets, long_jobs, short_jobs
from haplowave.pairhmm.tuning import Settings, exchange_variant, options
from haplowave.sequences import Reads, Sequences

LETTERS = b"ACGT"
READ_BLOCK = 8  # rows that reads are padded to, as in the kernels
SCALE_LOG2 = {("fp32", False): 100, ("fp64", False): 980, ("fp32", True): 90, ("fp64", True): 900}
"""log2 of the scale C, by precision and whether lanes have exponents (then as TOP in pairhmm_skewed.cl). J may be 2^29 above it."""
_SMALLEST = {("fp32", False): 1e-34, ("fp64", False): 1e-292, ("fp32", True): 1e-37, ("fp64", True): 1e-37}
_BORDER_SLACK = 16  # blocks that may be read past the end of a border
_ITEMS = 64  # work-items a read in pairhmm_prepare.cl
_VARIANTS = {"nvidia-ptx": "NVIDIA", "khr": "KHR", "intel": "INTEL", "local": "LOCAL"}


@dataclass(frozen=True)
class Kind:
    """What the kernels are compiled for, apart from the shape."""

    precision: str
    per_row_gap: bool
    letters: bytes


@dataclass(frozen=True)
class _Prepared:
    """Reads on the device, as the kernels take them."""

    rows: cl.Buffer
    gaps: cl.Buffer
    gap: float
    """Gap continuation probability, where it is one for all."""
    reads: cl.Buffer
    starts: cl.Buffer
    scales: cl.Buffer


class Runner:
    """Compiled kernels, tables and queues of one device and one `Kind`."""

    def __init__(self, device: Device, settings: Settings, kind: Kind, convention: str):
        self.device, self.settings, self.kind = device, settings, kind
        self.queues = Queues(device)
        self.real = np.dtype(np.float32 if kind.precision == "fp32" else np.float64)
        self.wide = np.dtype(np.float64 if device.has_fp64 else np.float32)
        self.defines = {"LETTERS": len(kind.letters)}
        if kind.precision == "fp64":
            self.defines["FP64"] = 1
        if kind.per_row_gap:
            self.defines["PER_ROW_GAP"] = 1
        self._prepare = device.build("pairhmm_prepare.cl", self._prepare_defines(long=False))
        self._tables = self.constant(_flat_tables(tables(convention)).astype(self.wide))
        self.codes = self.constant(_codes(kind.letters))
        self._letters = self.constant(np.frombuffer(kind.letters, np.uint8))

    def _prepare_defines(self, long: bool) -> dict[str, int]:
        return self.defines | ({"HAS_FP64": 1} if self.device.has_fp64 else {}) | ({"LONG": 1} if long else {})

    def constant(self, array: np.ndarray) -> cl.Buffer:
        """A buffer that lives as long as the runner."""
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.device.context, flags, hostbuf=np.ascontiguousarray(array))

    def shape(self, columns: int) -> dict[str, int]:
        """Definitions of a kernel with `columns` a lane."""
        variant = _VARIANTS[exchange_variant(self.device)]
        return {f"VARIANT_{variant}": 1, "W": self.settings.warp, "WARPS": self.settings.warps, "N": columns}

    def launch(self, reads: Reads, haplotypes: Sequences, pairs: np.ndarray, where: slice) -> Chunk:
        """Enqueue everything for `pairs` (int, (n, 2)), indices into `reads` and `haplotypes`, which hold nothing else. No waiting."""
        chunk = Chunk(self.queues, where)
        prepared = self._prepare_reads(reads, chunk)
        chunk.mark()
        rows, columns = reads.bases.lengths, haplotypes.lengths
        data = chunk.put(haplotypes.data, shared=True)
        for line, bucket in enumerate(buckets(rows, columns, pairs, self.settings, self.kind.precision)):
            chunk.fork(line)
            inside = pairs[bucket.which]
            masks = self.prepare_masks(bucket.columns, haplotypes.offsets[:-1], columns, data, chunk)
            if bucket.long:
                jobs = long_jobs(inside, rows, columns, bucket.columns, self.settings.warp, READ_BLOCK)
            else:
                jobs = short_jobs(inside, columns, bucket.columns)
            self._launch_bucket(bucket, jobs, prepared, masks, chunk)
        return chunk

    def upload_bytes(self, reads: Reads, chunk: Chunk) -> tuple[object, ...]:
        """Bases, the four arrays of qualities, and their strides: 0 for an array that is one value throughout, of which one is sent."""
        arrays, strides = [], []
        for array in (reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals):
            uniform = is_uniform(array)
            arrays.append(chunk.put(array[:1] if uniform else array))
            strides.append(0 if uniform else 1)
        return chunk.put(reads.bases.data), *arrays, np.array(strides, np.uint32)

    def _prepare_reads(self, reads: Reads, chunk: Chunk) -> _Prepared:
        lengths = reads.bases.lengths
        blocks = np.ones(len(lengths) + 1, np.int64)  # block 0 is for idle lanes
        np.cumsum(-(-lengths // READ_BLOCK), out=blocks[1:])
        blocks[1:] += 1
        count = (int(blocks[-1]) + 2) * READ_BLOCK  # what is fetched ahead of the last row is still inside
        result = _Prepared(
            rows=chunk.empty(4 * count, self.real),
            gaps=chunk.empty(count if self.kind.per_row_gap else READ_BLOCK, self.real),
            gap=10.0 ** (-(int(reads.gap_quals[0]) & QUALITY_MASK) / 10.0),
            reads=chunk.empty(4 * len(lengths), np.uint32),
            starts=chunk.empty(len(lengths), self.real),
            scales=chunk.empty(len(lengths), self.wide),
        )
        chunk.clear(result.rows, 4 * READ_BLOCK * self.real.itemsize)
        chunk.clear(result.gaps, READ_BLOCK * self.real.itemsize)
        offsets, block_offsets = chunk.put(reads.bases.offsets.astype(np.uint32)), chunk.put(blocks.astype(np.uint32))
        inputs = (*self.upload_bytes(reads, chunk), offsets, block_offsets, self.codes, self._tables)
        outputs = (result.rows, result.gaps, result.reads, result.starts, result.scales, chunk.strange)
        chunk.run(cl.Kernel(self._prepare, "prepare_rows"), len(lengths) * _ITEMS, _ITEMS, *inputs, *outputs)
        return result

    def prepare_masks(self, columns: int, begin: np.ndarray, lengths: np.ndarray, data: cl.Buffer, chunk: Chunk) -> tuple:
        """(masks, haplotypes) as pairhmm_skewed.cl takes them, of the haplotypes at data[begin], for lanes of `columns`."""
        lanes = -(-lengths // columns)
        warp = self.settings.warp
        lanes = np.where(lanes > warp, -(-lanes // warp) * warp, lanes)  # strips are whole warps
        offsets = np.append(0, np.cumsum(lanes)).astype(np.uint32)
        masks = chunk.empty(int(offsets[-1]) * len(self.kind.letters), np.uint32)
        described = chunk.empty(2 * len(lengths), np.uint32)
        spans = chunk.put(np.stack([begin, lengths], axis=1).astype(np.uint32))
        inputs = (data, spans, chunk.put(offsets), self._letters, np.uint32(columns))
        chunk.run(cl.Kernel(self._prepare, "prepare_masks"), len(lengths) * _ITEMS, _ITEMS, *inputs, masks, described)
        return masks, described

    def _launch_bucket(self, bucket: Bucket, jobs: Jobs, prepared: _Prepared, masks: tuple, chunk: Chunk) -> None:
        scale_log2 = SCALE_LOG2[self.kind.precision, bucket.long]
        groups, job_buffer = chunk.put(jobs.groups), chunk.put(jobs.jobs)
        partials, counters = chunk.empty(jobs.partials, self.real), chunk.zeros(len(jobs.groups), np.int32)
        exponents = chunk.empty(jobs.partials if bucket.long else 1, np.int32)
        arguments = [prepared.rows, prepared.gaps, self.real.type(prepared.gap), self.real.type(2.0**scale_log2), masks[0], job_buffer]
        arguments += [prepared.reads, masks[1], prepared.starts, groups, np.int32(len(jobs.groups)), counters, partials]
        block = self.settings.long_block if bucket.long and self.kind.precision == "fp32" else self.settings.block
        defines = self.defines | self.shape(bucket.columns) | {"ROWS": block}
        if bucket.long:
            arguments += [exponents, *self._borders(jobs, chunk)]
            defines["LONG"] = 1
        program = self.device.build("pairhmm_skewed.cl", defines, options(self.settings, self.kind.precision, bucket.long))
        chunk.run(cl.Kernel(program, "skewed"), *self.grid(jobs), *arguments)
        self.finish(bucket, jobs, (partials, exponents, job_buffer, groups, prepared.scales), chunk)

    def _borders(self, jobs: Jobs, chunk: Chunk) -> list[cl.Buffer]:
        rows = (jobs.border_blocks + _BORDER_SLACK) * READ_BLOCK
        numbers, exponents = chunk.empty(rows * 2, self.real), chunk.empty(rows // 2, np.int32)
        return [numbers, exponents, chunk.put(jobs.border_offsets), chunk.zeros(len(jobs.jobs), np.int32)]

    def grid(self, jobs: Jobs) -> tuple[int, int]:
        """(work-items, work-group size): as many warps as the device holds, or fewer where there are fewer jobs."""
        a_warp = self.settings.warp // jobs.groups[:, 0]
        warps = int((-(-(jobs.groups[:, 2] - jobs.groups[:, 1]) // a_warp)).max())
        work_groups = max(1, min(self.device.compute_units * self.settings.groups_a_unit, -(-warps // self.settings.warps)))
        size = self.settings.warp * self.settings.warps
        return work_groups * size, size

    def finish(self, bucket: Bucket, jobs: Jobs, buffers: tuple[cl.Buffer, ...], chunk: Chunk) -> None:
        """Enqueue the last kernel of a bucket; buffers: partial sums, exponents, jobs, groups, scales of the reads."""
        partials, exponents, job_buffer, groups, scales = buffers
        count = len(jobs.results) if bucket.long else len(jobs.jobs)
        log10s = chunk.empty(count, self.wide)
        key = self.kind.precision, bucket.long
        results = chunk.put(jobs.results) if bucket.long else exponents
        arguments = [partials, exponents, job_buffer, results, np.int32(count), groups, np.int32(len(jobs.groups)), scales]
        arguments += [self.wide.type(SCALE_LOG2[key] * np.log10(2.0)), self.wide.type(_SMALLEST[key]), log10s]
        program = self.device.build("pairhmm_prepare.cl", self._prepare_defines(bucket.long))
        chunk.run(cl.Kernel(program, "finish"), -(-count // 64) * 64, 64, *arguments)
        chunk.result(_composed(bucket.which, jobs.order), count, log10s, self.wide)


def is_uniform(array: np.ndarray) -> bool:
    """Whether a uint8 array, not empty, is one value throughout."""
    if array.strides == (0,):
        return True
    words = array[: len(array) // 8 * 8].view(np.uint64) if array.flags.c_contiguous else array[:0]
    first = array[0]
    if (array[:64] != first).any() or (len(words) and (words != words[0]).any()):
        return False
    return not (array[8 * len(words) :] != first).any()


def _composed(outer: np.ndarray | slice, inner: np.ndarray | slice) -> np.ndarray | slice:
    """`x[outer][inner]` as one index."""
    if isinstance(inner, slice):
        return outer
    return inner if isinstance(outer, slice) else outer[inner]


def _codes(letters: bytes) -> np.ndarray:
    codes = np.full(256, 255, np.uint8)
    codes[np.frombuffer(letters, np.uint8)] = np.arange(len(letters))
    codes[ord("N")] = len(letters)
    return codes


def _flat_tables(table: Tables) -> np.ndarray:
    """The tables of pairhmm_prepare.cl, one after another."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [table.mismatch / table.match, 1 / table.match, table.gap, table.leave, 1 / table.gap, np.log10(table.match)]
        return np.concatenate([*parts, (1 / table.mm).ravel(), np.log10(table.mm).ravel()])
