"""What a chunk of `skewed` or `rowwise` uploads, in the form in which the kernels take it."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.pairhmm.chunk import Chunk
from haplowave.pairhmm.model import QUALITY_MASK
from haplowave.pairhmm.skewed_plan import Jobs, Launch, Units
from haplowave.sequences import Reads, Sequences

READ_BLOCK = 8  # rows that reads are padded to, as in the kernels


@dataclass(frozen=True)
class ReadInputs:
    """Reads as `prepare_rows` takes them."""

    count: int
    blocks: int
    """Blocks of READ_BLOCK rows, those around the reads included."""
    gap: int | None
    """The gap continuation quality, None where it varies."""
    buffers: tuple
    """Bases, four arrays of qualities, their strides, offsets, first blocks."""


@dataclass(frozen=True)
class MaskInputs:
    """Haplotypes as `prepare_masks` takes them for one number of columns a lane."""

    columns: int
    lanes: int
    """Lanes of all haplotypes."""
    buffers: tuple[cl.Buffer, ...]
    """Bases, spans, first lanes."""


@dataclass(frozen=True)
class UnitInputs:
    """Short pairs: what `make_jobs` takes, and a launch a number of columns a lane."""

    jobs: int
    partials: int
    buffers: tuple[cl.Buffer, ...]
    """Units, first jobs, reads, haplotypes."""
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
    words = array[: len(array) // 8 * 8].view(np.uint64) if array.flags.c_contiguous else array[:0]
    first = array[0]
    if (array[:64] != first).any() or (len(words) and (words != words[0]).any()):
        return False
    return not (array[8 * len(words) :] != first).any()


def put_bytes(reads: Reads, chunk: Chunk) -> tuple[object, ...]:
    """Bases, the four arrays of qualities, and their strides: of an array that is one value throughout one is sent, with stride 0."""
    arrays = (reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals)
    uniform = [is_uniform(array) for array in arrays]
    quals = [chunk.put(array[:1] if one else array) for array, one in zip(arrays, uniform, strict=True)]
    return chunk.put(reads.bases.data), *quals, np.array([0 if one else 1 for one in uniform], np.uint32)


def put_reads(reads: Reads, chunk: Chunk) -> ReadInputs:
    """Upload reads."""
    blocks = np.ones(len(reads) + 1, np.int64)  # block 0 is for idle lanes
    np.cumsum(-(-reads.bases.lengths // READ_BLOCK), out=blocks[1:])
    blocks[1:] += 1
    offsets, first_blocks = (chunk.put(array.astype(np.uint32)) for array in (reads.bases.offsets, blocks))
    return ReadInputs(
        count=len(reads),
        blocks=int(blocks[-1]) + 2,  # what is fetched ahead of the last row is still inside
        gap=int(reads.gap_quals[0]) & QUALITY_MASK if is_uniform(reads.gap_quals) else None,
        buffers=(*put_bytes(reads, chunk), offsets, first_blocks),
    )


def put_haplotypes(haplotypes: Sequences, widths: set[int], warp: int, chunk: Chunk) -> list[MaskInputs]:
    """Upload haplotypes, for each number of columns a lane of `widths`."""
    lengths = haplotypes.lengths
    data = chunk.put(haplotypes.data)
    spans = chunk.put(np.stack([haplotypes.offsets[:-1], lengths], axis=1).astype(np.uint32))
    result = []
    for columns in sorted(widths):
        lanes = -(-lengths // columns)
        lanes = np.where(lanes > warp, -(-lanes // warp) * warp, lanes)  # strips are whole warps
        first = np.append(0, np.cumsum(lanes))
        result.append(MaskInputs(columns, int(first[-1]), (data, spans, chunk.put(first.astype(np.uint32)))))
    return result


def put_units(units: Units, chunk: Chunk) -> UnitInputs:
    """Upload the plan of the short pairs."""
    groups = [launch.groups for launch in units.launches]
    return UnitInputs(
        jobs=units.jobs,
        partials=units.partials,
        buffers=tuple(chunk.put(array) for array in (units.units, units.offsets, units.reads, units.haplotypes)),
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
