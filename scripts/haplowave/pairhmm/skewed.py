"""Engine `skewed`: sub-warps whose lanes are skewed by a block of rows, for GPUs (kernels/pairhmm_skewed.cl).

The pairs are cut into chunks. One is packed, the next ones are uploaded, some are on the device, others are read back: the device never
waits for the host. Row parameters, haplotype masks and the list of jobs are made on the device. A chunk that does not fit the memory is
halved.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from haplowave.ahead import waiters
from haplowave.opencl import Device, is_out_of_memory
from haplowave.pairhmm import engines, tuning
from haplowave.pairhmm.chunk import Chunk, busy_seconds, busy_seconds_by_name
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.skewed_device import LETTERS, Landed, Runner
from haplowave.pairhmm.skewed_inputs import DOUBTS
from haplowave.pairhmm.skewed_pack import Packing, first_pieces, halves, pieces, worth_sharing, worth_sharing_prefixes
from haplowave.pairhmm.tuning import Settings
from haplowave.sequences import Reads

_IN_FLIGHT = 6
_LAST = 3  # chunks that do not begin before the likelihoods of the one before are there
_PACKING = 2  # chunks: while one is looked through and uploaded, the next is planned
_BUSY = 2  # chunks in flight with which the device can wait for that
_MAIN = ("skewed", "trie")  # kernels that compute cells
MOST_LETTERS = 14  # codes that fit beside N and the padding into four bits


def run(work: Work, device: Device, precision: str, settings: Settings | None = None, trees: bool = False) -> Outcome:
    """Engine `skewed` (see `engines`). trees: haplotypes become trees of lanes where that may spare cells, as engine `trees` does."""
    settings = settings or tuning.settings(device)
    settings = settings if trees and precision == "fp32" else replace(settings, widest_tree=0)
    outcome = Outcome(np.empty(len(work)), np.empty(len(work), bool))
    if not len(work):
        return outcome
    known, letters = False, LETTERS
    while not known:
        outcome.cells_computed = 0
        doubts, intervals = _Pipeline(work, _runner(device, settings, precision, letters, work.convention), outcome).run()
        known = not doubts[0]
        letters = letters if known else letters_of(work.reads)
        if len(letters) > MOST_LETTERS:
            return replace(engines.ENGINES["lanes"](work, device, precision), doubtful=True)
    outcome.doubtful = bool(doubts[1:].any())
    outcome.notes = busy_seconds_by_name(intervals)
    outcome.notes["trees" if trees else "skewed"] = busy_seconds([interval for interval in intervals if interval[0] in _MAIN])
    outcome.kernel_seconds = busy_seconds(intervals)
    return outcome


_RUNNERS: dict[tuple, Runner] = {}
_RUNNERS_LOCK = threading.Lock()


def _runner(device: Device, settings: Settings, precision: str, letters: bytes, convention: str) -> Runner:
    """A runner, kept for the next call."""
    key = (device, repr(settings), precision, letters, convention)
    with _RUNNERS_LOCK:
        if key not in _RUNNERS:
            _RUNNERS[key] = Runner(device, settings, precision, letters, convention)
        return _RUNNERS[key]


def letters_of(reads: Reads) -> bytes:
    """ACGT and whatever other letters the reads have, N apart. A byte that is no letter stays one that the device finds."""
    seen = np.flatnonzero(np.bincount(reads.bases.data, minlength=256)).tolist()
    return LETTERS + bytes(value for value in seen if bytes([value]).isalpha() and value not in LETTERS + b"N")


@dataclass(frozen=True)
class _Flying:
    """A chunk on the device."""

    piece: slice
    cells: int
    chunk: Chunk
    land: Callable[[], Landed]
    """Waits for it."""


class _Pipeline:
    """The chunks of one call: those that wait, those that are packed, those in flight."""

    def __init__(self, work: Work, runner: Runner, outcome: Outcome):
        self.work, self.runner, self.outcome = work, runner, outcome
        self.share = work.share_duplicates and worth_sharing(work, runner.settings.speed)
        chosen = runner.settings
        self.share_prefixes = work.share_prefixes and chosen.widest_tree > 0 and worth_sharing_prefixes(work, max(chosen.of_trees))
        first = first_pieces(work, chosen)
        self.waiting = deque(first or pieces(work, chosen))
        self.uncut = first[-1].stop if first else None  # where the pairs begin that are not cut into pieces yet
        self.packing: deque[Packing] = deque()
        self.flying: deque[_Flying] = deque()
        self.threads = len(self.waiting) > 1  # one chunk takes less time than threads
        self.outcome.safe = True
        self.doubts, self.intervals = np.zeros(DOUBTS, np.int32), []

    def run(self) -> tuple[np.ndarray, list[tuple[str, int, int]]]:
        """Fill the outcome; what all chunks landed with."""
        try:
            while self.waiting or self.packing or self.flying:
                if self.waiting and len(self.packing) < (_PACKING if len(self.flying) >= _BUSY else 1):
                    self._pack(self.waiting.popleft())
                elif self.packing and len(self.flying) < _IN_FLIGHT:
                    self._launch(self.packing.popleft())
                else:
                    self._land()
        finally:
            self._unpack()
            while self.flying:  # after an error: nothing of this call stays under way
                with suppress(Exception):
                    self.flying.popleft().land()
        return self.doubts, self.intervals

    def _pack(self, piece: slice) -> None:
        """One thread does that for all chunks, and launches: several would wait for the interpreter, and for each other."""
        runner = self.runner
        try:
            self.packing.append(
                Packing(self.work, piece, self.share, self.share_prefixes, runner.queues, runner.settings, runner.precision)
            )
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self._make_room(piece, not self.flying and not self.packing, error)

    def _launch(self, packing: Packing) -> None:
        try:
            packed = packing.packed()
            if self.flying and len(self.waiting) + len(self.packing) < _LAST and not self.uncut:
                packed.chunk.prior = [self.flying[-1].chunk.kernels[-1][1]]  # whose results can be read back meanwhile
            flight = self.runner.launch(packed)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self._make_room(packing.piece, not self.flying and not self.packing, error)
            return
        function = partial(flight.collect, self.outcome.log10, self.outcome.unsafe, self.work.least)
        land = waiters().submit(function).result if self.threads else function
        self.flying.append(_Flying(packing.piece, packed.cells, packed.chunk, land))
        if self.uncut and not self.waiting:
            self.waiting += pieces(self.work, self.runner.settings, self.uncut)
            self.uncut = None

    def _land(self) -> None:
        flown = self.flying.popleft()
        try:
            landed = flown.land()
        except Exception as error:  # drivers take memory when a kernel runs, too
            if not is_out_of_memory(error):
                raise
            self._make_room(flown.piece, True, error)
            return
        self.outcome.cells_computed += flown.cells
        self.doubts |= landed.doubts
        self.outcome.safe &= landed.safe
        self.intervals += landed.times

    def _make_room(self, piece: slice, halve: bool, error: Exception) -> None:
        """`piece` did not fit: give back what is packed; try again when the device is empty, or in halves."""
        if halve and piece.stop - piece.start == 1:
            raise error
        while self.flying:
            self._land()
        later = self._unpack()
        self.runner.device.buffers.clear()
        self.waiting.extendleft(reversed([*(halves(piece) if halve else [piece]), *later]))

    def _unpack(self) -> list[slice]:
        """Give back what is packed."""
        pieces_of = [packing.piece for packing in self.packing]
        while self.packing:
            self.packing.popleft().chunk.abandon()
        return pieces_of
