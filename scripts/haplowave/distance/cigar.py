"""Alignments as runs of operations: CIGAR with =, X, I, D, its replay, and PAF lines.

The first string is the query, the second the target: I is a symbol of the query only, D one of the target only.
Formats: SAM specification 1.6, section 1.4.6; PAF as minimap2's manual page describes it, cg:Z with extended operations.
"""

import re
from dataclasses import dataclass

import numpy as np

LETTERS = "=XID"  # index = operation
MATCH, MISMATCH, INSERTION, DELETION = range(4)


@dataclass(frozen=True)
class Runs:
    """`operations` uint8 and `counts` int64, shape (n,); neighbours differ, counts are positive."""

    operations: np.ndarray
    counts: np.ndarray

    @property
    def cigar(self) -> str:
        return "".join(
            f"{count}{LETTERS[operation]}" for operation, count in zip(self.operations.tolist(), self.counts.tolist(), strict=True)
        )

    def total(self, *operations: int) -> int:
        """Symbols in runs of these operations."""
        return int(self.counts[np.isin(self.operations, operations)].sum())

    @property
    def edits(self) -> int:
        return self.total(MISMATCH, INSERTION, DELETION)


def runs(operations: np.ndarray, counts: np.ndarray | None = None) -> Runs:
    """Merge equal neighbours and drop empty runs; counts default to 1 each."""
    if counts is not None:
        operations, counts = operations[counts > 0], counts[counts > 0]
    if len(operations) == 0:
        return Runs(np.empty(0, np.uint8), np.empty(0, np.int64))
    starts = np.flatnonzero(np.concatenate([[True], operations[1:] != operations[:-1]]))
    lengths = np.diff(np.append(starts, len(operations))) if counts is None else np.add.reduceat(counts.astype(np.int64), starts)
    return Runs(operations[starts].astype(np.uint8), lengths.astype(np.int64))


def parse(text: str) -> Runs:
    """The runs of a CIGAR of =, X, I and D. Raises ValueError for anything else."""
    if not re.fullmatch(r"(?:[0-9]+[=XID])*", text):
        raise ValueError(f"'{text[:30]}' is no CIGAR of =, X, I and D")
    symbols = np.frombuffer(text.encode(), np.uint8)
    ends = np.flatnonzero(symbols > ord("9"))
    if len(ends) == 0:
        return runs(np.empty(0, np.uint8))
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.repeat(ends, ends - starts + 1) - np.arange(len(symbols)) - 1  # -1 for letters
    digits = np.where(place >= 0, symbols - np.int64(ord("0")), 0) * 10 ** np.maximum(place, 0)
    numbers = {ord(letter): operation for operation, letter in enumerate(LETTERS)}
    operations = np.array([numbers.get(value, 0) for value in range(256)], np.uint8)[symbols[ends]]
    return runs(operations, np.add.reduceat(digits, starts))


def replay(result: Runs, query: np.ndarray, target: np.ndarray) -> bool:
    """Whether the runs use up both strings (uint8) and every = and X is true."""
    in_query, in_target = result.operations != DELETION, result.operations != INSERTION
    ends_query, ends_target = np.cumsum(result.counts * in_query), np.cumsum(result.counts * in_target)
    if len(result.counts) == 0:
        return len(query) == len(target) == 0
    if ends_query[-1] != len(query) or ends_target[-1] != len(target):
        return False
    aligned = in_query & in_target
    counts, equal = result.counts[aligned], result.operations[aligned] == MATCH
    starts_query, starts_target = ends_query[aligned] - counts, ends_target[aligned] - counts
    long = np.flatnonzero(counts > 256)
    for run in long.tolist():
        i, j, count = starts_query[run], starts_target[run], counts[run]
        if not ((query[i : i + count] == target[j : j + count]) == equal[run]).all():
            return False
    short = np.flatnonzero(counts <= 256)
    for part in np.array_split(short, max(1, len(short) // 100_000)):
        first = np.cumsum(counts[part]) - counts[part]
        within = np.arange(int(counts[part].sum())) - np.repeat(first, counts[part])
        same = query[np.repeat(starts_query[part], counts[part]) + within] == target[np.repeat(starts_target[part], counts[part]) + within]
        if not (same == np.repeat(equal[part], counts[part])).all():
            return False
    return True


def paf_line(result: Runs, query: str, target: str, query_length: int, target_length: int) -> str:
    """One PAF record of an end-to-end alignment on the forward strand; mapping quality 255 (none)."""
    columns = [query, query_length, 0, query_length, "+", target, target_length, 0, target_length]
    columns += [result.total(MATCH), int(result.counts.sum()), 255, f"NM:i:{result.edits}", f"cg:Z:{result.cigar}"]
    return "\t".join(map(str, columns))
