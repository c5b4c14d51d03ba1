"""Engine `skewed`: sub-warps whose lanes are skewed by a block of rows, for GPUs (kernels/pairhmm_skewed.cl).

A chunk of pairs is uploaded as bytes; row parameters and haplotype masks are made on the device. Up to three chunks are in flight, so
that transfers and the host's bookkeeping run beside the kernels. A chunk that does not fit the memory is halved.
"""

import itertools
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from haplowave.opencl import Device, is_out_of_memory
from haplowave.pairhmm import engines, tuning
from haplowave.pairhmm.chunk import Chunk, busy_seconds
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.skewed_device import LETTERS, Kind, Runner, is_uniform
from haplowave.pairhmm.tuning import Settings
from haplowave.sequences import Reads, Sequences

_IN_FLIGHT = 3
_PREPARING = 4  # threads that cut the next chunks out of the work
MOST_LETTERS = 14  # codes that fit beside N and the padding into four bits
_LONG_GAP = 12  # FP32 keeps 16 rows and a lane's columns in range up to this gap continuation quality


def run(work: Work, device: Device, precision: str, settings: Settings | None = None) -> Outcome:
    """Engine `skewed` (see `engines`)."""
    settings = settings or tuning.settings(device)
    outcome = Outcome(np.full(len(work.pairs), np.nan), np.zeros(len(work.pairs), bool))
    if not len(work.pairs):
        return outcome
    per_row_gap = not is_uniform(work.reads.gap_quals)
    known, letters = False, LETTERS
    while not known:
        outcome.cells_computed = 0
        known, intervals = _compute(work, _runner(device, settings, Kind(precision, per_row_gap, letters), work.convention), outcome)
        letters = letters if known else letters_of(work.reads)
        if len(letters) > MOST_LETTERS:
            return engines.ENGINES["lanes"](work, device, precision)
    outcome.notes = {name: busy_seconds(intervals, name) for name in {name for name, _, _ in intervals}}
    outcome.kernel_seconds = busy_seconds(intervals)
    outcome.unsafe = np.isnan(outcome.log10)
    if precision == "fp32":
        outcome.unsafe |= _steep(work, settings)
    return outcome


_RUNNERS: dict[tuple, Runner] = {}


def _runner(device: Device, settings: Settings, kind: Kind, convention: str) -> Runner:
    """A runner, kept for the next call."""
    key = (device, repr(settings), kind, convention)
    if key not in _RUNNERS:
        _RUNNERS[key] = Runner(device, settings, kind, convention)
    return _RUNNERS[key]


def letters_of(reads: Reads) -> bytes:
    """ACGT and whatever other letters the reads have, N apart."""
    seen = np.flatnonzero(np.bincount(reads.bases.data, minlength=256)).astype(np.uint8).tobytes().replace(b"N", b"")
    return LETTERS + bytes(sorted(set(seen) - set(LETTERS)))


def _steep(work: Work, settings: Settings) -> np.ndarray:
    """Pairs that an exponent a lane may not keep in FP32's range, because gaps continue at too high a quality; bool (n,)."""
    if int(work.reads.gap_quals.max()) <= _LONG_GAP:
        return np.zeros(len(work.pairs), bool)
    highest = np.maximum.reduceat(work.reads.gap_quals & 127, work.reads.bases.offsets[:-1])
    lengths = work.reads.bases.lengths
    wide = work.haplotypes.lengths > settings.warp * max(settings.rates["fp32"])
    return (highest > _LONG_GAP)[work.pairs[:, 0]] & ((lengths > settings.long_rows)[work.pairs[:, 0]] | wide[work.pairs[:, 1]])


def _compute(work: Work, runner: Runner, outcome: Outcome) -> tuple[bool, list[tuple[str, int, int]]]:
    """Fill `outcome`; (whether the runner knows all letters of the reads, the kernels' times)."""
    in_flight: deque[Chunk] = deque()
    known, intervals = True, []
    with ThreadPoolExecutor(_PREPARING) as pool:
        waiting = deque((piece, pool.submit(_part, work, piece)) for piece in _chunks(work, runner.settings.chunk_bytes))
        while waiting or in_flight:
            if waiting and len(in_flight) < _IN_FLIGHT:
                piece, part = waiting.popleft()
                try:
                    inputs, cells = part.result()
                    in_flight.append(runner.launch(*inputs, piece))
                    outcome.cells_computed += cells
                    continue
                except Exception as error:
                    if not is_out_of_memory(error) or (piece.stop - piece.start == 1 and not in_flight):
                        raise
                    smaller = [piece] if in_flight else _halves(piece)
                    waiting.extendleft((piece, pool.submit(_part, work, piece)) for piece in reversed(smaller))
            if in_flight:
                letters_known, times = in_flight.popleft().collect(outcome.log10)
                known &= letters_known
                intervals += times
    return known, intervals


def _halves(piece: slice) -> list[slice]:
    middle = (piece.start + piece.stop) // 2
    return [slice(piece.start, middle), slice(middle, piece.stop)]


def _chunks(work: Work, size: int) -> list[slice]:
    """Slices of the pairs, equal in number, whose inputs are about `size` bytes each."""
    total = 8 * len(work.pairs) + 5 * len(work.reads.bases.data) + len(work.haplotypes.data)
    count = min(len(work.pairs), max(1, total // size))
    return [slice(int(begin), int(end)) for begin, end in itertools.pairwise(np.linspace(0, len(work.pairs), count + 1).astype(np.int64))]


def _part(work: Work, piece: slice) -> tuple[tuple[Reads, Sequences, np.ndarray], int]:
    """The reads and haplotypes of a slice of the pairs and the pairs by their new indices; and the cells of these pairs."""
    pairs = work.pairs[piece]
    read, reads = _used(pairs[:, 0], work.reads.bases)
    haplotype, haplotypes = _used(pairs[:, 1], work.haplotypes)
    arrays = (work.reads.base_quals, work.reads.insertion_quals, work.reads.deletion_quals, work.reads.gap_quals)
    bases = _take(work.reads.bases, reads, work.reads.bases.data)
    quals = [_take(work.reads.bases, reads, array).data for array in arrays]
    quals = [np.broadcast_to(array[:1], array.shape) if is_uniform(array) else array for array in quals]  # tells the runner at no cost
    renamed = np.empty((len(pairs), 2), np.int32)
    renamed[:, 0], renamed[:, 1] = read, haplotype
    columns = _take(work.haplotypes, haplotypes, work.haplotypes.data)
    cells = int(bases.lengths[renamed[:, 0]] @ columns.lengths[renamed[:, 1]])
    return (Reads(bases, *quals), columns, renamed), cells


def _used(indices: np.ndarray, sequences: Sequences) -> tuple[np.ndarray, slice | np.ndarray]:
    """(indices among the sequences used, those sequences: a slice where they are most of a range)."""
    low, high = int(indices.min()), int(indices.max()) + 1
    if high - low <= len(indices) // 4:  # nearly all of the range is used, or it is too small to matter
        return indices - low, slice(low, high)
    used = np.zeros(high - low, bool)
    used[indices - low] = True
    if 2 * int(used.sum()) > high - low:
        return indices - low, slice(low, high)
    return (np.cumsum(used) - 1)[indices - low], np.flatnonzero(used) + low


def _take(sequences: Sequences, which: slice | np.ndarray, data: np.ndarray) -> Sequences:
    offsets = sequences.offsets
    if isinstance(which, slice):
        begin = int(offsets[which.start])
        return Sequences(data[begin : int(offsets[which.stop])], offsets[which.start : which.stop + 1] - begin)
    lengths = sequences.lengths[which]
    new = np.append(0, np.cumsum(lengths))
    source = np.arange(new[-1]) + np.repeat(offsets[which] - new[:-1], lengths)
    return Sequences(data[source], new)
