"""The device side of `skewed`: what is uploaded, and the launches that turn a chunk of pairs into likelihoods."""

from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm.model import Tables, tables
from haplowave.pairhmm.skewed_plan import Bucket, Jobs, buckets, long_jobs, short_jobs
from haplowave.pairhmm.tuning import Settings
from haplowave.sequences import Reads, Sequences

READ_BLOCK = 4  # rows that reads are padded to, as in the kernels
_BORDER_SLACK = 16  # blocks that may be read past the end of a border
LETTERS = b"ACGT"
_SCALE_LOG2 = {("fp32", False): 120, ("fp64", False): 1020, ("fp32", True): 100, ("fp64", True): 900}
_SMALLEST = {("fp32", False): 1e-28, ("fp64", False): 1e-280, ("fp32", True): 0.0, ("fp64", True): 0.0}
_ITEMS = 64  # work-items a read in pairhmm_prepare.cl


@dataclass(frozen=True)
class Kind:
    """What a kernel is compiled for, apart from the shape."""

    precision: str
    per_row_gap: bool
    letters: bytes


@dataclass
class Launched:
    """A chunk that is being computed: where its results will be, and everything that must live until then."""

    pairs: slice
    strange: cl.Buffer
    parts: list[tuple[np.ndarray, cl.Buffer]] = field(default_factory=list)
    """Indices within the chunk and, in that order, their log10 likelihoods."""
    kernels: list[tuple[str, cl.Event]] = field(default_factory=list)
    alive: list[object] = field(default_factory=list)


class Runner:
    """Compiled kernels, tables and queues of one device and one `Kind`."""

    def __init__(self, device: Device, settings: Settings, kind: Kind, convention: str):
        self.device, self.settings, self.kind = device, settings, kind
        self.queue = device.queue
        self.transfers = cl.CommandQueue(device.context)
        self.real = np.dtype(np.float32 if kind.precision == "fp32" else np.float64)
        self.wide = np.dtype(np.float64 if device.has_fp64 else np.float32)
        self._defines = {"LETTERS": len(kind.letters)}
        if kind.precision == "fp64":
            self._defines["FP64"] = 1
        if kind.per_row_gap:
            self._defines["PER_ROW_GAP"] = 1
        prepare = device.build("pairhmm_prepare.cl", self._prepare_defines(long=False))
        self._rows, self._masks = cl.Kernel(prepare, "prepare_rows"), cl.Kernel(prepare, "prepare_masks")
        self._tables = self._constant(_flat_tables(tables(convention)).astype(self.wide))
        self._codes = self._constant(_codes(kind.letters))
        self._letters = self._constant(np.frombuffer(kind.letters, np.uint8))

    def _prepare_defines(self, long: bool) -> dict[str, int]:
        return self._defines | ({"HAS_FP64": 1} if self.device.has_fp64 else {}) | ({"LONG": 1} if long else {})

    def _constant(self, array: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.device.context, flags, hostbuf=np.ascontiguousarray(array))

    def _main(self, long: bool, columns: int) -> cl.Kernel:
        variant = {"nvidia-ptx": "NVIDIA", "khr": "KHR", "intel": "INTEL", "local": "LOCAL"}[self.device.subgroup_variant]
        shape = {f"VARIANT_{variant}": 1, "W": self.settings.warp, "WARPS": self.settings.warps, "N": columns}
        defines = self._defines | shape | ({"LONG": 1, "ROWS": self.settings.long_block} if long else {"ROWS": self.settings.block})
        program = self.device.build("pairhmm_skewed.cl", defines, self.settings.build_options)
        return cl.Kernel(program, "skewed")

    def _finish(self, long: bool) -> cl.Kernel:
        return cl.Kernel(self.device.build("pairhmm_prepare.cl", self._prepare_defines(long)), "finish")

    def launch(self, reads: Reads, haplotypes: Sequences, pairs: np.ndarray, where: slice) -> Launched:
        """Enqueue everything for `pairs` (int, (n, 2)), indices into `reads` and `haplotypes`, which hold nothing else. No waiting."""
        upload = _Upload(self)
        launched = Launched(where, upload.zeros(1, np.int32))
        prepared = self._prepare_reads(reads, upload, launched)
        rows = reads.bases.lengths[pairs[:, 0]]
        columns = haplotypes.lengths[pairs[:, 1]]
        data = upload.put(haplotypes.data)
        for bucket in buckets(rows, columns, self.settings, self.kind.precision):
            self._launch_bucket(bucket, pairs, rows, columns, haplotypes, data, prepared, upload, launched)
        launched.alive += upload.alive
        self.queue.flush()
        return launched

    def _prepare_reads(self, reads: Reads, upload: "_Upload", launched: Launched) -> dict[str, cl.Buffer]:
        arrays, strides = [], []
        for array in (reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals):
            uniform = len(array) > 0 and bool((array == array[0]).all())
            arrays.append(upload.put(array[:1] if uniform else array))
            strides.append(0 if uniform else 1)
        lengths = reads.bases.lengths
        blocks = np.ones(len(lengths) + 1, np.int64)  # block 0 is for idle lanes
        np.cumsum(-(-lengths // READ_BLOCK), out=blocks[1:])
        blocks[1:] += 1
        count = (int(blocks[-1]) + 2) * READ_BLOCK  # what is fetched ahead of the last row is still inside
        gaps = count if self.kind.per_row_gap else 1
        out = {
            "rows": upload.empty(4 * count, self.real),
            "gaps": upload.empty(gaps, self.real),
            "reads": upload.empty(4 * len(lengths), np.uint32),
            "starts": upload.empty(len(lengths), self.real),
            "scales": upload.empty(len(lengths), self.wide),
        }
        cl.enqueue_fill_buffer(self.queue, out["rows"], np.zeros(1, self.real), 0, 4 * READ_BLOCK * self.real.itemsize)
        cl.enqueue_fill_buffer(self.queue, out["gaps"], np.zeros(1, self.real), 0, min(gaps, READ_BLOCK) * self.real.itemsize)
        bases = upload.put(reads.bases.data)
        offsets = upload.put(reads.bases.offsets.astype(np.uint32))
        block_offsets = upload.put(blocks.astype(np.uint32))
        arguments = (bases, *arrays, np.array(strides, np.uint32), offsets, block_offsets, self._codes, self._tables)
        arguments += (out["rows"], out["gaps"], out["reads"], out["starts"], out["scales"], launched.strange)
        launched.kernels.append(upload.run(self._rows, len(lengths) * _ITEMS, _ITEMS, *arguments))
        out["gap_quality"] = int(reads.gap_quals[0]) & 127
        return out

    def _launch_bucket(
        self,
        bucket: Bucket,
        pairs: np.ndarray,
        rows: np.ndarray,
        columns: np.ndarray,
        haplotypes: Sequences,
        data: cl.Buffer,
        prepared: dict[str, cl.Buffer],
        upload: "_Upload",
        launched: Launched,
    ) -> None:
        read, haplotype, columns = pairs[bucket.which, 0], pairs[bucket.which, 1], columns[bucket.which]
        local, used = _compact(haplotype, len(haplotypes))
        masks, spans = self._prepare_masks(bucket, haplotypes, used, data, upload, launched)
        if bucket.long:
            blocks = -(-rows[bucket.which] // READ_BLOCK)
            jobs = long_jobs(read, local, columns, blocks, bucket.columns, self.settings.warp)
        else:
            jobs = short_jobs(read, local, columns, bucket.columns)
        scale_log2 = _SCALE_LOG2[self.kind.precision, bucket.long]
        groups, job_buffer = upload.put(jobs.groups), upload.put(jobs.jobs)
        partials = upload.empty(jobs.partials, self.real)
        arguments = [prepared["rows"], prepared["gaps"], self.real.type(10.0 ** (-prepared["gap_quality"] / 10.0))]
        arguments += [self.real.type(2.0**scale_log2), masks, job_buffer, prepared["reads"], spans, prepared["starts"]]
        arguments += [groups, np.int32(len(jobs.groups)), upload.zeros(len(jobs.groups), np.int32), partials]
        exponents = upload.empty(jobs.partials if bucket.long else 1, np.int32)
        if bucket.long:
            arguments += [exponents, *self._borders(jobs, upload)]
        width = self.settings.warp * self.settings.warps
        kernel = self._main(bucket.long, bucket.columns)
        launched.kernels.append(upload.run(kernel, self._work_groups(jobs) * width, width, *arguments))
        results = upload.put(jobs.results) if bucket.long else exponents
        log10s = upload.empty(len(bucket.which), self.wide)
        arguments = [partials, exponents, job_buffer, results, np.int32(len(bucket.which)), groups, np.int32(len(jobs.groups))]
        arguments += [prepared["scales"], self.wide.type(scale_log2 * np.log10(2.0))]
        arguments += [self.wide.type(_SMALLEST[self.kind.precision, bucket.long]), log10s]
        launched.kernels.append(upload.run(self._finish(bucket.long), -(-len(bucket.which) // 64) * 64, 64, *arguments))
        launched.parts.append((bucket.which[jobs.order], log10s))

    def _prepare_masks(
        self, bucket: Bucket, haplotypes: Sequences, used: np.ndarray, data: cl.Buffer, upload: "_Upload", launched: Launched
    ) -> tuple[cl.Buffer, cl.Buffer]:
        begin, lengths = haplotypes.offsets[:-1][used], haplotypes.lengths[used]
        lanes = -(-lengths // bucket.columns)
        lanes = np.where(lanes > self.settings.warp, -(-lanes // self.settings.warp) * self.settings.warp, lanes)
        offsets = np.append(0, np.cumsum(lanes)).astype(np.uint32)
        masks = upload.empty(int(offsets[-1]) * len(self.kind.letters), np.uint32)
        described = upload.empty(2 * len(used), np.uint32)
        spans = upload.put(np.stack([begin, lengths], axis=1).astype(np.uint32))
        arguments = (data, spans, upload.put(offsets), self._letters, np.uint32(bucket.columns), masks, described)
        launched.kernels.append(upload.run(self._masks, len(used) * _ITEMS, _ITEMS, *arguments))
        return masks, described

    def _borders(self, jobs: Jobs, upload: "_Upload") -> list[cl.Buffer]:
        rows = (jobs.border_blocks + _BORDER_SLACK) * READ_BLOCK
        return [upload.empty(rows * 2, self.real), upload.empty(rows // 2, np.int32), upload.put(jobs.border_offsets), upload.zeros(len(jobs.jobs), np.int32)]

    def _work_groups(self, jobs: Jobs) -> int:
        a_warp = self.settings.warp // jobs.groups[:, 0]
        warps = int((-(-(jobs.groups[:, 2] - jobs.groups[:, 1]) // a_warp)).max())
        return max(1, min(self.device.compute_units * self.settings.groups_a_unit, -(-warps // self.settings.warps)))

    def collect(self, launched: Launched, log10: np.ndarray) -> tuple[bool, dict[str, float]]:
        """Wait for a chunk and put its results into `log10[launched.pairs]`; (every letter was known, seconds a kernel)."""
        target = log10[launched.pairs]
        for which, buffer in launched.parts:
            values = np.empty(len(which), self.wide)
            cl.enqueue_copy(self.queue, values, buffer)
            target[which] = values
        strange = np.empty(1, np.int32)
        cl.enqueue_copy(self.queue, strange, launched.strange)
        seconds: dict[str, float] = {}
        for name, event in launched.kernels:
            seconds[name] = seconds.get(name, 0.0) + (event.profile.end - event.profile.start) * 1e-9
        return not strange[0], seconds


class _Upload:
    """Buffers of one chunk; transfers go through their own queue, so that they run beside the kernels of the chunk before."""

    def __init__(self, runner: Runner):
        self.runner = runner
        self.alive: list[object] = []
        self._pending: list[cl.Event] = []

    def put(self, array: np.ndarray) -> cl.Buffer:
        array = np.ascontiguousarray(array)
        buffer = cl.Buffer(self.runner.device.context, cl.mem_flags.READ_ONLY, max(array.nbytes, 4))
        if array.nbytes:
            self._pending.append(cl.enqueue_copy(self.runner.transfers, buffer, array, is_blocking=False))
        self.alive += [array, buffer]
        return buffer

    def empty(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        buffer = cl.Buffer(self.runner.device.context, cl.mem_flags.READ_WRITE, max(count, 1) * np.dtype(dtype).itemsize)
        self.alive.append(buffer)
        return buffer

    def zeros(self, count: int, dtype: np.dtype | type) -> cl.Buffer:
        buffer = self.empty(count, dtype)
        cl.enqueue_fill_buffer(self.runner.queue, buffer, np.zeros(1, dtype), 0, max(count, 1) * np.dtype(dtype).itemsize)
        return buffer

    def run(self, kernel: cl.Kernel, items: int, group: int, *arguments: object) -> tuple[str, cl.Event]:
        """Enqueue after all transfers so far; the kernel's name and its event."""
        self.runner.transfers.flush()
        event = kernel(self.runner.queue, (items,), (group,), *arguments, wait_for=self._pending or None)
        self._pending = []
        return kernel.function_name, event


def _compact(indices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(position of each index among those used, the used indices ascending)."""
    used = np.zeros(count, bool)
    used[indices] = True
    position = np.cumsum(used) - 1
    return position[indices].astype(np.int32), np.flatnonzero(used)


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
