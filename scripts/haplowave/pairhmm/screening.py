"""Whether sequences are fit for the kernels, looked through by several threads."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from haplowave.ahead import pool
from haplowave.errors import UserError
from haplowave.pairhmm.model import regular_reads
from haplowave.sequences import Reads, Sequences

_BASES = 1 << 21  # bases that a thread looks through at a time
_BLOCK = 1 << 18  # bytes that stay in a core's cache


class SequenceError(UserError):
    """A sequence that no kernel takes: number `index` (from 0) of the reads or of the haplotypes (`what`), and why (`reason`)."""

    def __init__(self, what: str, index: int, reason: str, advice: str):
        super().__init__(f"{what} {index} (counted from 0): {reason}; {advice}")
        self.what, self.index, self.reason = what, index, reason


def check_lengths(reads: Sequences, haplotypes: Sequences) -> None:
    """Raises SequenceError for an empty sequence."""
    for what, sequences in (("read", reads), ("haplotype", haplotypes)):
        if (sequences.offsets[1:] <= sequences.offsets[:-1]).any():
            raise SequenceError(what, int(np.argmin(sequences.lengths)), "is empty", "leave empty sequences out")


def screen(reads: Reads, haplotypes: Sequences, convention: str) -> np.ndarray:
    """bool a read, as `regular_reads`. Raises SequenceError for a byte that is no letter."""
    for what, sequences in (("read", reads.bases), ("haplotype", haplotypes)):
        list(pool().map(lambda bounds: _check_letters(what, sequences, *bounds), _slices(sequences)))  # noqa: B023 - done within the loop
    return np.concatenate(list(pool().map(lambda bounds: _regular(reads, *bounds, convention), _slices(reads.bases))))


def _regular(reads: Reads, begin: int, end: int, convention: str) -> np.ndarray:
    quals = reads.qualities
    return regular_reads(Reads(Sequences(reads.bases.data, reads.bases.offsets[begin : end + 1]), *quals), convention)


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
            raise SequenceError(what, index, f"byte {sequences.data[at]} is no letter", "give bases as letters")


def _no_letters(data: np.ndarray) -> np.ndarray:
    """bool a byte: it is none of a-z and A-Z."""
    return (data | np.uint8(32)) - np.uint8(ord("a")) > 25
