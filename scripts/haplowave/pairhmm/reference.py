"""The oracle: PairHMM in FP64 logarithms, straight from the recurrences of `model`, so that no scaling trick is shared with a kernel.

Natural logarithms inside; every length and every probability, zero included, is in range. Row by row, vectorised over the columns of
many pairs; D, which runs along the row, is a scan: D[i,j] = md * sum over k < j of ii^(j-1-k) * M[i,k].
"""

import time

import numpy as np

from haplowave.opencl import Device
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import QUALITY_MASK, tables

_CELLS = 1 << 16  # of one row of a batch: arrays stay in the cache
_N = ord("N")


def run(work: Work, device: Device | None = None, precision: str = "fp64") -> Outcome:
    """Engine `reference` (see `engines`); `device` and `precision` have no say."""
    began = time.perf_counter()
    log10 = np.empty(len(work.pairs))
    rows = work.reads.bases.lengths[work.pairs[:, 0]]
    columns = work.haplotypes.lengths[work.pairs[:, 1]]
    order = np.lexsort((rows, columns))
    begin = 0
    while begin < len(order):
        size = max(1, _CELLS // int(columns[order[begin]]))
        size = max(1, min(size, _CELLS // int(columns[order[min(begin + size, len(order)) - 1]])))
        batch = order[begin : begin + size]
        log10[batch] = _batch(work, work.pairs[batch])
        begin += size
    return Outcome(log10, np.zeros(len(log10), bool), time.perf_counter() - began, work.cells)


def _padded(data: np.ndarray, offsets: np.ndarray, which: np.ndarray, fill: int) -> np.ndarray:
    """uint8 (len(which), longest): the chosen sequences, one a row."""
    lengths = offsets[which + 1] - offsets[which]
    position = np.arange(lengths.max())
    inside = position < lengths[:, None]
    return np.where(inside, data[np.where(inside, offsets[which][:, None] + position, 0)], np.uint8(fill))


def _batch(work: Work, pairs: np.ndarray) -> np.ndarray:
    read, haplotype = pairs[:, 0], pairs[:, 1]
    offsets = work.reads.bases.offsets
    bases = _padded(work.reads.bases.data, offsets, read, 0)
    base_q, insertion_q, deletion_q, gap_q = (_padded(quals, offsets, read, 0) & QUALITY_MASK for quals in work.reads.qualities)
    columns = _padded(work.haplotypes.data, work.haplotypes.offsets, haplotype, 0)
    table = tables(work.convention)
    with np.errstate(divide="ignore"):
        log = {name: np.log(getattr(table, name)) for name in ("match", "mismatch", "gap", "leave", "mm")}
    rows = work.reads.bases.lengths[read]
    width = work.haplotypes.lengths[haplotype]
    inside = np.arange(columns.shape[1]) < width[:, None]
    power = np.arange(columns.shape[1], dtype=float)
    result = np.empty(len(pairs))

    M = np.full((len(pairs), columns.shape[1] + 1), -np.inf)  # column 0 is the border
    I, D = M.copy(), np.repeat(-np.log(width)[:, None], columns.shape[1] + 1, axis=1)  # noqa: E741
    for row in range(bases.shape[1]):
        base = bases[:, row, None]
        matches = (columns == base) | (columns == _N) | (base == _N)
        prior = np.where(matches, log["match"][base_q[:, row]][:, None], log["mismatch"][base_q[:, row]][:, None])
        mi, md = log["gap"][insertion_q[:, row]][:, None], log["gap"][deletion_q[:, row]][:, None]
        ii, g = log["gap"][gap_q[:, row]][:, None], log["leave"][gap_q[:, row]][:, None]
        mm = log["mm"][insertion_q[:, row], deletion_q[:, row]][:, None]
        inner = prior + np.logaddexp(mm + M[:, :-1], g + np.logaddexp(I[:, :-1], D[:, :-1]))
        I = np.logaddexp(mi + M, ii + I)  # noqa: E741
        M[:, 1:] = inner
        M[:, 0] = I[:, 0] = -np.inf
        D[:, 0] = D[:, 1] = -np.inf
        D[:, 2:] = md + np.logaddexp.accumulate(M[:, 1:-1] - power[:-1] * ii, axis=1) + power[:-1] * ii
        for index in np.flatnonzero(rows == row + 1):
            result[index] = np.logaddexp.reduce(np.logaddexp(M[index, 1:], I[index, 1:])[inside[index]])
    return result / np.log(10.0)
