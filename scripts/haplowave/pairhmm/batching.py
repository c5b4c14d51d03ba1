"""Work cut to what a device can hold."""

from collections.abc import Callable

import numpy as np

from haplowave.opencl import Device, is_out_of_memory
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import take

_SHARE_OF_MEMORY = 0.4
_MOST = 1 << 34  # bytes: the kernels' positions are 32-bit


def in_batches(work: Work, device: Device, compute: Callable[[Work], Outcome], bytes_a_pair: int = 32, bytes_a_base: int = 32) -> Outcome:
    """`compute` on parts of `work` that fit the device, joined in the order of `work.pairs`.

    A part is sized by `bytes_a_pair` for each pair and `bytes_a_base` for each base of a sequence it uses; a part that turns out
    too large is halved. Where several parts are needed, each holds only the sequences that it uses.
    """
    limit = min(_SHARE_OF_MEMORY * min(device.global_memory, 4 * device.max_allocation), _MOST)
    bases = int(work.reads.bases.lengths.sum() + work.haplotypes.lengths.sum())
    if bases * bytes_a_base + len(work.pairs) * bytes_a_pair <= limit:
        return _halving(work, compute)
    order = np.lexsort((work.pairs[:, 1], work.pairs[:, 0]))
    read, haplotype = work.pairs[order].T
    first = np.concatenate([[True], read[1:] != read[:-1]])
    cost = np.cumsum(bytes_a_pair + bytes_a_base * (work.reads.bases.lengths[read] * first + work.haplotypes.lengths[haplotype]))
    cuts = np.flatnonzero(np.diff((cost / limit).astype(np.int64))) + 1
    return _joined(len(order), [(part, _halving(compact(work, work.pairs[part]), compute)) for part in np.split(order, cuts)])


def compact(work: Work, pairs: np.ndarray) -> Work:
    """The same work for `pairs` alone, with only the reads and haplotypes that these use."""
    reads, read = np.unique(pairs[:, 0], return_inverse=True)
    haplotypes, haplotype = np.unique(pairs[:, 1], return_inverse=True)
    pairs = np.stack([read, haplotype], axis=1)
    return Work(take(work.reads, reads), work.haplotypes.take(haplotypes), pairs, work.convention, work.share_prefixes)


def _halving(work: Work, compute: Callable[[Work], Outcome]) -> Outcome:
    try:
        return compute(work)
    except Exception as error:
        if not is_out_of_memory(error) or len(work.pairs) < 2:
            raise
    order = np.lexsort((work.pairs[:, 1], work.pairs[:, 0]))
    halves = np.array_split(order, 2)
    return _joined(len(order), [(part, _halving(compact(work, work.pairs[part]), compute)) for part in halves])


def _joined(count: int, parts: list[tuple[np.ndarray, Outcome]]) -> Outcome:
    whole = Outcome(np.empty(count), np.empty(count, bool))
    for where, part in parts:
        whole.log10[where], whole.unsafe[where] = part.log10, part.unsafe
        whole.kernel_seconds += part.kernel_seconds
        whole.cells_computed += part.cells_computed
    return whole
