"""What a chunk of `skewed` or `rowwise` uploads, in the form in which the kernels take it."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyopencl as cl

from haplowave.ahead import pool
from haplowave.pairhmm.chunk import Chunk
from haplowave.pairhmm.model import QUALITY_MASK
from haplowave.pairhmm.skewed_plan import Jobs, Launch, Units
from haplowave.sequences import Reads, Sequences

READ_BLOCK = 8  # rows that reads are padded to, as in the kernels
DOUBTS = 3  # flags of pairhmm_prepare.cl: an unknown letter, no letter, qualities that may be irregular

_LARGE = 1 << 18  # bases from which a thread looks through qualities
_APART = 64  # bytes
_memcmp = ctypes.CDLL(None).memcmp  # lets other threads run, and reads twice as fast as NumPy compares
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True)
class ReadInputs:
    """Reads as `prepare_rows` takes them."""

    count: int
    blocks: int
    """Blocks of READ_BLOCK rows, those around the reads included."""
    gap: int | None
    """The gap continuation quality, None where it varies."""
    highest_gap: int
    buffers: tuple
    """Bases, four arrays of qualities, their strides, offsets."""


@dataclass(frozen=True)
class HaplotypeInputs:
    """Haplotypes as `prepare_masks` takes them."""

    count: int
    bases: int
    slack: int
    """Lanes that are left between two."""
    buffers: tuple[cl.Buffer, ...]
    """Bases, offsets."""

    def lanes(self, columns: int) -> int:
        """Lanes of all haplotypes, `columns` bases each."""
        return self.bases // columns + self.count * self.slack + 1


@dataclass(frozen=True)
class UnitInputs:
    """Short pairs: what `make_jobs` takes, and a launch a number of columns a lane."""

    jobs: int
    partials: int
    buffers: tuple[cl.Buffer, ...]
    """Units, first jobs, reads, haplotypes."""
    listed: dict[str, int]
    """Definitions of `make_jobs`."""
    unit_count: int
    groups: cl.Buffer
    group_count: int
    launches: list[tuple[Launch, cl.Buffer, cl.Buffer]]
    """With groups and counters of each."""


@dataclass(frozen=True)
class LongInputs:
    """Long pairs of one number of columns a lane."""

    columns: int
    jobs: Jobs
    job_buffer: cl.Buffer
    groups: cl.Buffer
    counters: cl.Buffer
    results: cl.Buffer
    targets: cl.Buffer
    border_offsets: cl.Buffer
    progress: cl.Buffer


def is_uniform(array: np.ndarray) -> bool:
    """Whether a uint8 array, not empty, is one value throughout."""
    if array.strides == (0,):
        return True
    if not _begins_uniform(array):
        return False
    if not array.flags.c_contiguous:
        return bool((array == array[0]).all())
    apart = min(_APART, len(array))
    return _memcmp(array.ctypes.data, array.ctypes.data + apart, len(array) - apart) == 0


def _begins_uniform(array: np.ndarray) -> bool:
    first = array[:_APART]
    return bool((first == first[0]).all())


class SentReads:
    """Reads on their way to the device; of an array of qualities that is one value throughout, as threads find out, one is sent."""

    def __init__(self, reads: Reads, chunk: Chunk):
        self._reads, self._chunk = reads, chunk
        self._bases = chunk.put(reads.bases.data)
        self._quals = [self._put(array) for array in reads.qualities]
        chunk.send()

    def _put(self, array: np.ndarray) -> Callable[[], cl.Buffer | None]:
        """Waits; the buffer of `array`, None where it is one value throughout."""
        if len(array) > _LARGE and array.strides != (0,) and _begins_uniform(array):
            uniform = pool().submit(is_uniform, array).result
            return cache(lambda: None if uniform() else self._chunk.put(array))
        buffer = None if is_uniform(array) else self._chunk.put(array)
        return lambda: buffer

    def known(self) -> Reads:
        """The reads; arrays of qualities that are one value throughout have stride 0. Waits."""
        arrays = zip(self._reads.qualities, self._quals, strict=True)
        return Reads(
            self._reads.bases, *(np.broadcast_to(array[:1], array.shape) if buffer() is None else array for array, buffer in arrays)
        )

    def buffers(self) -> tuple[object, ...]:
        """Bases, the four arrays of qualities, and their strides. Waits."""
        quals = [buffer() for buffer in self._quals]
        strides = np.array([buffer is not None for buffer in quals], np.uint32)
        arrays = zip(quals, self._reads.qualities, strict=True)
        return self._bases, *(self._chunk.put(array[:1]) if buffer is None else buffer for buffer, array in arrays), strides

    def inputs(self) -> ReadInputs:
        """What the kernels take. Waits."""
        reads = self.known()
        constant = reads.gap_quals.strides == (0,)
        return ReadInputs(
            count=len(reads),
            blocks=len(reads.bases.data) // READ_BLOCK + len(reads) + 3,  # what is fetched ahead of the last row is still inside
            gap=int(reads.gap_quals[0]) & QUALITY_MASK if constant else None,
            highest_gap=int(((reads.gap_quals[:1] if constant else reads.gap_quals) & QUALITY_MASK).max()),
            buffers=(*self.buffers(), self._chunk.put(reads.bases.offsets.astype(np.uint32))),
        )


def put_haplotypes(haplotypes: Sequences, long: bool, warp: int, chunk: Chunk) -> HaplotypeInputs:
    """Upload haplotypes. long: some have more lanes than they need."""
    buffers = chunk.put(haplotypes.data), chunk.put(haplotypes.offsets.astype(np.uint32))
    return HaplotypeInputs(len(haplotypes), len(haplotypes.data), warp if long else 1, buffers)


def put_units(units: Units, chunk: Chunk) -> UnitInputs:
    """Upload the plan of the short pairs."""
    groups = [launch.groups for launch in units.launches]
    first_jobs = chunk.put(units.offsets)
    lists = {"LISTED_READS": units.reads, "LISTED_HAPLOTYPES": units.haplotypes}
    return UnitInputs(
        jobs=units.jobs,
        partials=units.partials,
        buffers=(
            chunk.put(units.units),
            first_jobs,
            *(first_jobs if indices is None else chunk.put(indices) for indices in lists.values()),
        ),
        listed={name: 1 for name, listed in lists.items() if listed is not None},
        unit_count=len(units.units),
        groups=chunk.put(np.concatenate(groups)),
        group_count=sum(map(len, groups)),
        launches=[(launch, chunk.put(launch.groups), put_zeros(len(launch.groups), chunk)) for launch in units.launches],
    )


def put_long(columns: int, jobs: Jobs, targets: np.ndarray, chunk: Chunk) -> LongInputs:
    """Upload the plan of long pairs. targets: where the likelihood of each pair of `jobs.results` belongs."""
    return LongInputs(
        columns=columns,
        jobs=jobs,
        job_buffer=chunk.put(jobs.jobs),
        groups=chunk.put(jobs.groups),
        counters=put_zeros(len(jobs.groups), chunk),
        results=chunk.put(jobs.results),
        targets=chunk.put(targets.astype(np.uint32)),
        border_offsets=chunk.put(jobs.border_offsets),
        progress=put_zeros(len(jobs.jobs), chunk),
    )


def put_zeros(count: int, chunk: Chunk) -> cl.Buffer:
    """`count` zeros, int32."""
    return chunk.put(np.zeros(count, np.int32))
