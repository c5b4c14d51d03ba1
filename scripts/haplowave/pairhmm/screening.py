"""Whether sequences are fit for the kernels: looked through in threads, beside the device where the engine allows it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Self

import numpy as np

from haplowave.ahead import cores
from haplowave.errors import UserError
from haplowave.pairhmm.model import regular_reads
from haplowave.sequences import Reads, Sequences

_THREADS = 4
_BASES = 1 << 21  # bases that a thread looks through at a time
_BLOCK = 1 << 18  # bytes that stay in a core's cache


class Screening:
    """A context in which the sequences of one call are looked through. Empty sequences are told at once.

    Raises UserError, from `regular` or else at the end, for a byte that is no letter.
    """

    def __init__(self, reads: Reads, haplotypes: Sequences, convention: str):
        self._reads, self._convention = reads, convention
        self._sides = (("read", reads.bases), ("haplotype", haplotypes))
        for what, sequences in self._sides:
            if (sequences.offsets[1:] <= sequences.offsets[:-1]).any():
                raise UserError(f"{what} {int(np.argmin(sequences.lengths))} (counted from 0): is empty; leave empty sequences out")
        self._pool = ThreadPoolExecutor(min(_THREADS, cores()))
        self._letters = [
            self._pool.submit(_check_letters, what, sequences, *bounds) for what, sequences in self._sides for bounds in _slices(sequences)
        ]
        self._regular = [self._pool.submit(self._regular_part, *bounds) for bounds in _slices(reads.bases)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._pool:
            self.regular()  # a wrong byte explains whatever else went wrong

    def regular(self) -> np.ndarray:
        """bool a read, as `regular_reads`; waits."""
        for checked in self._letters:
            checked.result()
        return np.concatenate([part.result() for part in self._regular])

    def _regular_part(self, begin: int, end: int) -> np.ndarray:
        reads = self._reads
        quals = (reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals)
        return regular_reads(Reads(Sequences(reads.bases.data, reads.bases.offsets[begin : end + 1]), *quals), self._convention)


def _slices(sequences: Sequences) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of runs of sequences, of about _BASES or of one sequence."""
    offsets = sequences.offsets
    cuts = np.searchsorted(offsets, np.arange(int(offsets[0]) + _BASES, int(offsets[-1]), _BASES))
    return pairwise(np.unique(np.concatenate([[0], cuts, [len(sequences)]])).tolist())


def _check_letters(what: str, sequences: Sequences, first: int, last: int) -> None:
    begin, end = int(sequences.offsets[first]), int(sequences.offsets[last])
    for at in range(begin, end, _BLOCK):
        strange = _no_letters(sequences.data[at : min(at + _BLOCK, end)])
        if strange.any():
            at += int(np.argmax(strange))
            index = int(np.searchsorted(sequences.offsets, at, side="right")) - 1
            raise UserError(f"{what} {index} (counted from 0): byte {sequences.data[at]} is no letter; give bases as letters")


def _no_letters(data: np.ndarray) -> np.ndarray:
    """bool a byte: it is none of a-z and A-Z."""
    return (data | np.uint8(32)) - np.uint8(ord("a")) > 25
