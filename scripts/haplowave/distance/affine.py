"""Scores and alignments of many pairs with gap-affine penalties: the wavefront algorithm in a batch.

Edit, indel (longest common subsequence), linear, affine and two-piece affine penalties are one recurrence
(kernels/distance_affine.cl). A match score below 0 (a bonus, as WFA2-lib writes it) is folded into the other penalties.
"""

from dataclasses import dataclass
from math import gcd

import numpy as np

from haplowave.distance.affine_run import Run, components, levels
from haplowave.errors import UserError
from haplowave.opencl import Device, device_failures, select
from haplowave.sequences import Sequences

MEMORY = 1 << 28  # bytes of wavefronts and of traces that a launch may hold


@dataclass(frozen=True)
class Penalties:
    """What an alignment costs. `match` <= 0 (0, or a bonus), `mismatch` > 0 or None (not allowed), a gap of length l costs
    gap_open + l · gap_extend, or with a second piece the lesser of that and gap_open2 + l · gap_extend2.
    """

    match: int = 0
    mismatch: int | None = 4
    gap_open: int = 6
    gap_extend: int = 2
    gap_open2: int | None = None
    gap_extend2: int | None = None

    def __post_init__(self) -> None:
        second = (self.gap_open2, self.gap_extend2)
        if self.match > 0 or (self.mismatch is not None and self.mismatch <= 0):
            raise UserError(f"penalties: match {self.match} and mismatch {self.mismatch}; match must be 0 or less, mismatch more than 0")
        if self.gap_open < 0 or self.gap_extend <= 0 or (None in second) != (second == (None, None)):
            raise UserError("penalties: gap_open must be 0 or more, gap_extend more than 0, the second piece whole or absent")
        if None not in second and (self.gap_open2 < 0 or self.gap_extend2 <= 0):
            raise UserError("penalties: gap_open2 must be 0 or more, gap_extend2 more than 0")

    @classmethod
    def edit(cls) -> "Penalties":
        """Unit costs."""
        return cls(0, 1, 0, 1)

    @classmethod
    def indel(cls) -> "Penalties":
        """Insertions and deletions alone."""
        return cls(0, None, 0, 1)

    @classmethod
    def linear(cls, mismatch: int, gap: int) -> "Penalties":
        return cls(0, mismatch, 0, gap)

    def unsigned(self) -> tuple["Penalties", int]:
        """Equivalent penalties with match = 0, and by what to divide them.

        With b = -match, score = b·(m + n)/2 - (penalty of the doubled scheme)/2, because matches = (m + n - 2·mismatches -
        gap symbols)/2 (Eizenga and Paten 2022, equation 2).
        """
        bonus = -self.match
        if bonus:
            mismatch = None if self.mismatch is None else 2 * (self.mismatch + bonus)
            first = (2 * self.gap_open, 2 * self.gap_extend + bonus)
            second = (None, None) if self.gap_open2 is None else (2 * self.gap_open2, 2 * self.gap_extend2 + bonus)
            doubled = Penalties(0, mismatch, *first, *second)
        else:
            doubled = self
        unit = gcd(*(value for value in doubled.steps() if value))
        scaled = [None if value is None else value // unit for value in doubled.steps(keep_none=True)]
        return Penalties(0, *scaled), unit

    def steps(self, keep_none: bool = False) -> tuple[int | None, ...]:
        """mismatch, gap_open, gap_extend, gap_open2, gap_extend2; absent ones are 0."""
        values = (self.mismatch, self.gap_open, self.gap_extend, self.gap_open2, self.gap_extend2)
        return values if keep_none else tuple(value or 0 for value in values)


@dataclass(frozen=True)
class AffineResult:
    """`scores`: int64 (n,), bonus of matches minus penalties (so -penalty without a bonus); `cigars`: with = X I D, or None."""

    scores: np.ndarray
    cigars: list[str] | None


def align_batch(
    queries: Sequences,
    targets: Sequences,
    pairs: np.ndarray,
    penalties: Penalties,
    *,
    cigars: bool = True,
    device: Device | str = "auto",
    memory: int = MEMORY,
) -> AffineResult:
    """Optimal global alignments of `pairs` (int, shape (n, 2): query index, target index).

    I consumes a symbol of the target, D one of the query. Scores are optimal; of several alignments of that score one is given, the
    same on every device. `memory`: bytes of device memory to work in; long pairs are computed in stretches of penalty with kept
    fronts between them, and the stretches again on the way back. Marco-Sola et al. 2021.
    """
    device = select(device)
    plain, unit = penalties.unsigned()
    pairs = np.asarray(pairs).reshape(-1, 2)
    scores = np.zeros(len(pairs), np.int64)
    texts = [""] * len(pairs)
    with device_failures(device):
        for part in _parts(queries, targets, pairs, plain.steps(), memory):
            run = Run(device, [queries[q] for q in pairs[part, 0]], [targets[t] for t in pairs[part, 1]], plain.steps(), memory)
            scores[part] = run.penalties(keep=cigars)
            if cigars:
                for index, text in zip(part.tolist(), run.cigars(), strict=True):
                    texts[index] = text
    lengths = queries.lengths[pairs[:, 0]] + targets.lengths[pairs[:, 1]] if len(pairs) else np.zeros(0, np.int64)
    bonus = -penalties.match
    signed = (bonus * lengths - scores * unit) // 2 if bonus else -scores * unit
    return AffineResult(signed, texts if cigars else None)


def _parts(queries: Sequences, targets: Sequences, pairs: np.ndarray, steps: tuple[int, ...], memory: int) -> list[np.ndarray]:
    """Pairs of like length together, as many as leave room for their fronts and some hundred levels of trace each."""
    if not len(pairs):
        return []
    width = queries.lengths[pairs[:, 0]] + targets.lengths[pairs[:, 1]] + 3
    order = np.argsort(width, kind="stable")
    need = np.cumsum(width[order]) * (512 + 4 * levels(steps) * components(steps))
    cuts = np.unique(np.searchsorted(need, np.arange(memory, int(need[-1]), memory)))
    return [part for part in np.split(order, cuts) if len(part)]


def score_of(cigar: list[tuple[int, str]], penalties: Penalties) -> int:
    """Score of an alignment given as (length, operation): what `AffineResult.scores` must equal."""
    total = 0
    for length, operation in cigar:
        if operation == "=":
            total -= length * penalties.match
        elif operation == "X":
            if penalties.mismatch is None:
                raise ValueError("a mismatch where none is allowed")
            total -= length * penalties.mismatch
        else:
            gaps = [penalties.gap_open + length * penalties.gap_extend]
            if penalties.gap_open2 is not None and penalties.gap_extend2 is not None:
                gaps.append(penalties.gap_open2 + length * penalties.gap_extend2)
            total -= min(gaps)
    return total
