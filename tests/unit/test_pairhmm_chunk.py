"""How pairs are cut into chunks, and a chunk's way to the device and back."""

import dataclasses
import itertools
import threading

import numpy as np
import pyopencl as cl
import pytest
from pairhmm_cases import case, repeated

from devices import DEVICE
from haplowave.opencl import TypedKernel, select
from haplowave.opencl.buffers import Arena, BufferPool, Staging
from haplowave.pairhmm import Regions, rowwise, skewed, tuning
from haplowave.pairhmm.chunk import Chunk, Queues
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.skewed_inputs import is_uniform
from haplowave.pairhmm.skewed_pack import first_pieces, pieces, worth_sharing
from haplowave.sequences import Reads, Sequences


@pytest.fixture(scope="module")
def queues() -> Queues:
    return Queues(select(DEVICE))


def regions_of(count: int, reads: int, haplotypes: int, seed: int = 1) -> Work:
    """Regions of up to that many reads and haplotypes, all of 10 bases."""
    rng = np.random.default_rng(seed)
    regions = Regions.from_counts(rng.integers(1, reads + 1, count), rng.integers(1, haplotypes + 1, count))
    lasts = regions.spans[-1]
    bases, columns = (Sequences(np.full(10 * n, 65, np.uint8), 10 * np.arange(n + 1)) for n in (lasts[0] + lasts[1], lasts[2] + lasts[3]))
    quals = (np.full(len(bases.data), 30, np.uint8) for _ in range(4))
    return Work(Reads(bases, *quals), columns, regions)


def cut(size: int, speed: float = 1e9) -> tuning.Settings:
    return tuning.Settings(chunk_bytes=size, speed=speed)


@pytest.mark.parametrize("speed", [1e9, 1e15])
@pytest.mark.parametrize("size", [300, 3_000, 30_000, 300_000, 3_000_000])
def test_pieces_follow_one_another_and_are_no_larger_than_asked(size, speed):
    work = regions_of(3000, 9, 5)
    first = first_pieces(work, cut(size, speed))
    everything = [*first, *pieces(work, cut(size, speed), first[-1].stop if first else 0)]
    assert [piece.start for piece in everything] == [0, *(piece.stop for piece in everything[:-1])]
    assert everything[-1].stop == len(work)
    assert bool(first) == (size < 200_000 and speed == 1e9)
    whole = 8 * len(work) + 20 * len(work.reads) + 10 * len(work.haplotypes)
    pairs = max(piece.stop - piece.start for piece in everything) - 45  # a piece ends with a region
    assert pairs * whole / len(work) < 1.6 * size


def test_pieces_begin_and_end_small_where_the_device_takes_longer_than_the_host():
    work = regions_of(3000, 9, 5)
    slow, quick = ([piece.stop - piece.start for piece in pieces(work, cut(60_000, speed))] for speed in (1e9, 1e15))
    assert slow[:4] == sorted(slow[:4])
    assert slow[-4:] == sorted(slow[-4:], reverse=True)
    assert 2 * slow[0] < max(slow) > 15 * slow[-1]
    assert len(quick) < len(slow)


def test_one_large_region_is_cut_between_reads():
    work = regions_of(1, 400, 7)
    assert all(piece.start % work.regions.spans[0, 3] == 0 for piece in pieces(work, cut(2_000)))
    assert len(pieces(work, cut(2_000))) > 4


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 200, 5000])
def test_one_value_throughout(length):
    array = np.full(length + 1, 45, np.uint8)[1:]
    assert is_uniform(array)
    assert is_uniform(np.broadcast_to(array[:1], (length,)))
    for at in {0, length // 2, length - 1} if length > 1 else ():
        array[at] = 44
        assert not is_uniform(array)
        assert not is_uniform(array[::-1])
        array[at] = 45


def test_arrays_of_any_size_arrive_and_come_back(queues):
    rng = np.random.default_rng(2)
    sizes = [1, 7, Arena.SLOT, Arena.SLOT + 1, queues.staging.BLOCK - 3, 3 * queues.staging.BLOCK + 5, *[100] * 80]
    arrays = [rng.integers(0, 256, size).astype(np.uint8) for size in sizes]
    context = queues.uploads.context
    program = cl.Program(context, "__kernel void add(__global uchar *data, const uint4 v, const float x) { data[0] += v.y + (int)x; }")
    kernel = TypedKernel(program.build(), "add")
    for _ in range(2):  # the second time in the memory of the first
        chunk = Chunk(queues, slice(0, 1))
        buffers = [chunk.put(array) for array in arrays]
        chunk.begin()
        chunk.run(kernel, 1, 1, buffers[0], np.array([9, 1, 9, 9], np.uint32), np.float32(2))
        targets = [np.full(size, 99, np.uint8) for size in sizes]
        chunk.read(*zip(buffers, targets, strict=True))
        chunk.close()
        assert targets[0][0] == (int(arrays[0][0]) + 3) % 256
        assert all((target == array).all() for target, array in zip(targets[1:], arrays[1:], strict=True))


def test_equal_reads_are_looked_for_where_the_device_is_slow():
    work = case(2, 20, 3, (20, 90), (20, 90))
    twice = dataclasses.replace(work, reads=repeated(work, 2), given=Regions.from_counts([40], [3]))
    once = dataclasses.replace(work, given=Regions.from_counts([20], [3]))
    assert worth_sharing(twice, 1e7)
    assert not worth_sharing(once, 1e7)
    assert not worth_sharing(twice, 3e12)
    assert tuning.built_in(select(DEVICE)).speed > 0


def test_uploads_go_on_after_one_that_failed_and_without_pinned_memory(queues, monkeypatch):
    staging = Staging(queues.uploads.context)
    data = np.random.default_rng(3).integers(0, 256, 100_000).astype(np.uint8)
    buffer = cl.Buffer(queues.uploads.context, cl.mem_flags.READ_WRITE, len(data))
    too_small = cl.Buffer(queues.uploads.context, cl.mem_flags.READ_WRITE, 10)
    made = cl.Buffer

    def unpinned(context, flags, size):
        if flags & cl.mem_flags.ALLOC_HOST_PTR:
            raise cl.MemoryError("test", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return made(context, flags, size)

    monkeypatch.setattr(cl, "Buffer", unpinned)
    for _ in range(10):
        with pytest.raises(cl.Error):
            staging.upload(too_small, data)
    for shift in range(6):
        staging.upload(buffer, data + np.uint8(shift)).wait()
        target = np.empty_like(data)
        cl.enqueue_copy(queues.reads, target, buffer)
        assert (target == data + np.uint8(shift)).all()


def test_a_block_that_there_was_no_memory_for_is_made_later(queues, monkeypatch):
    staging, data = Staging(queues.uploads.context), np.full(100_000, 7, np.uint8)
    buffer = cl.Buffer(queues.uploads.context, cl.mem_flags.READ_WRITE, len(data))

    def none(self, size):
        raise MemoryError("test")

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "_made", none)
        for _ in range(10):
            with pytest.raises(MemoryError):
                staging.upload(buffer, data)
    staging.upload(buffer, data).wait()


def test_a_block_is_not_read_into_by_another_while_a_copy_that_nobody_waited_for_is_under_way(queues):
    staging, queue = Staging(queues.uploads.context), cl.CommandQueue(queues.uploads.context)
    buffer, held = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 100), cl.UserEvent(queue.context)
    threading.Timer(0.3, held.set_status, [cl.command_execution_status.COMPLETE]).start()
    copies = []

    def copy_and_fail() -> None:
        with staging.target(queue) as block:
            copies.append(cl.enqueue_copy(queue, block[:100], buffer, is_blocking=False, wait_for=[held]))
            raise ValueError("test")

    with pytest.raises(ValueError, match="test"):
        copy_and_fail()
    assert copies[0].command_execution_status == cl.command_execution_status.COMPLETE


@pytest.mark.parametrize("filled", [False, True])
def test_the_first_command_of_a_chunk_waits_for_its_uploads_and_the_kernels_come_after_it(queues, monkeypatch, filled):
    waited = []
    fill = cl.enqueue_fill_buffer

    def filling(*arguments):
        waited.append(arguments[5])
        return fill(*arguments)

    def kernel(queue, size, local, *arguments, wait_for):
        waited.append(wait_for)
        return cl.enqueue_marker(queue)

    kernel.name = "test"
    monkeypatch.setattr(cl, "enqueue_fill_buffer", filling)
    chunk = Chunk(queues, slice(0, 1))
    chunk.put(np.ones(10))
    chunk.put(np.ones(Arena.SLOT))
    chunk.begin()
    if filled:
        chunk.ones(10, np.int32)
    chunk.run(kernel, 1, 1)
    assert len(waited[0]) == 2
    assert waited[1:] == [[]] * filled
    chunk.abandon()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize(
    ("engine", "chunk_bytes", "fails"), [*((skewed, 2000, n) for n in (1, 3, 5)), (skewed, 1 << 20, 1), (rowwise, 1 << 20, 1)]
)
@pytest.mark.parametrize("step", ["put", "begin", "empty", "run", "read"])
def test_a_call_that_fails_gives_back_all_that_it_took(device, shape, monkeypatch, step, engine, chunk_bytes, fails, error):
    work, shape = case(9, 40, 6, (1, 100), (1, 80)), dataclasses.replace(shape, chunk_bytes=chunk_bytes)
    expected = engine.run(work, device, "fp32", shape)
    out, lock, calls = [], threading.Lock(), itertools.count(1)
    take, give, take_arena, give_arena = BufferPool.take, BufferPool.give, Staging.take_arena, Staging.give_arena

    def taken(thing):
        with lock:
            out.append(thing)
        return thing

    def given(things):
        with lock:
            for thing in things:
                out.remove(thing)
        return things

    monkeypatch.setattr(BufferPool, "take", lambda self, size: taken(take(self, size)))
    monkeypatch.setattr(BufferPool, "give", lambda self, buffers: give(self, given(buffers)))
    monkeypatch.setattr(Staging, "take_arena", lambda self: taken(take_arena(self)))
    monkeypatch.setattr(Staging, "give_arena", lambda self, arena: give_arena(self, given([arena])[0]))
    do = getattr(Chunk, step)

    def failing(self, *arguments, **how):
        if next(calls) == fails:
            raise error
        return do(self, *arguments, **how)

    monkeypatch.setattr(Chunk, step, failing)
    with pytest.raises(error):
        engine.run(work, device, "fp32", shape)
    assert not out
    assert engine.run(work, device, "fp32", shape).log10.tobytes() == expected.log10.tobytes()
    assert not out
