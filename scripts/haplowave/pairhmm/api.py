"""The Python interface: likelihoods of pairs, each in the cheapest precision that is right."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from haplowave.errors import UserError
from haplowave.opencl import Device, device_failures, select
from haplowave.pairhmm import engines, renormalised
from haplowave.pairhmm.batching import compact
from haplowave.pairhmm.duplicates import representatives
from haplowave.pairhmm.engines import ENGINES, Outcome, Work
from haplowave.pairhmm.model import CONVENTIONS, regular_reads
from haplowave.pairhmm.symbols import letters_in
from haplowave.sequences import Reads, Sequences

HOW = ("fp32", "fp64")
_FEW = 0.2  # share of the pairs below which their sequences are copied out, so that a device gets only those
_LONG_READ = 4096  # bases from which `lanes` leaves a read to the renormalising kernel, which spreads it over the lanes
PRECISIONS = ("auto", "fp32", "fp64")
GATK_SAFE = -28.0 - 120.0 * np.log10(2.0)
"""GATK accepts a float result of 1e-28 or more of its scale 2^120 (GKL pairhmm_common.h, MIN_ACCEPTED)."""

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


@dataclass
class Result:
    """Likelihoods and what they took, parallel to the pairs asked for."""

    log10: np.ndarray
    """float64 (n,): log10 P(read | haplotype); -inf where the model gives probability zero."""
    how: np.ndarray
    """uint8 (n,): index into HOW, the precision that the value was computed in."""
    cells: int = 0
    """Sum over the pairs of read length times haplotype length."""
    cells_computed: int = 0
    """Cells that the first pass and the rescue really computed."""
    rescued: int = 0
    """Pairs that the first precision could not answer."""
    kernel_seconds: float = 0.0


def log10_likelihoods(
    reads: Reads,
    haplotypes: Sequences,
    pairs: np.ndarray | None = None,
    *,
    device: Device | str = "auto",
    others: Sequence[Device] = (),
    kernel: str = "auto",
    precision: str = "auto",
    convention: str = "gatk",
    share_duplicates: bool = True,
    share_prefixes: bool = True,
) -> Result:
    """log10 P(read | haplotype) of each pair by GATK's PairHMM (`haplowave.pairhmm.model` has the equations).

    pairs: int, shape (n, 2), [read index, haplotype index]; None means every read with every haplotype, reads slowest.
    device: an OpenCL device or what `haplowave.opencl.select` takes. others: more devices of its model (`haplowave.opencl.alike`), which
    take equal shares of the cells. kernel: 'auto' or a name of ENGINES.
    precision: 'auto' is GATK's rule (FP32, and FP64 where FP32 falls below 1e-28 of its scale), 'fp32' turns to FP64 only where FP32
    arithmetic itself fails, 'fp64' computes all in FP64. convention: 'gatk' (a mismatch has e/3) or 'raw' (e).
    share_duplicates, share_prefixes: compute equal reads once, equal haplotype beginnings once; results are the same either way.

    Raises UserError for an empty sequence, a byte that is no letter, or a device that fails; ValueError for arguments out of range.
    """
    if precision not in PRECISIONS or convention not in CONVENTIONS or (kernel != "auto" and kernel not in ENGINES):
        raise ValueError(f"precision {precision!r}, convention {convention!r} or kernel {kernel!r} is unknown")
    pairs = _checked_pairs(reads, haplotypes, pairs)
    result = Result(np.empty(len(pairs)), np.zeros(len(pairs), np.uint8))
    if not len(pairs):
        return result
    _check_sequences("read", reads.bases)
    _check_sequences("haplotype", haplotypes)
    chosen = select(device)
    name = engines.choose(chosen) if kernel == "auto" else kernel
    unique, inverse = _unique_pairs(reads, haplotypes, pairs) if share_duplicates else (pairs, None)
    work = Work(reads, haplotypes, unique, convention, share_prefixes)
    computed, rescued = _climb(work, (chosen, *others), name, precision)
    _spread(computed, result, inverse)
    result.rescued = int((rescued if inverse is None else rescued[inverse]).sum())
    result.cells = Work(reads, haplotypes, pairs).cells
    return result


def _checked_pairs(reads: Reads, haplotypes: Sequences, pairs: np.ndarray | None) -> np.ndarray:
    if pairs is None:
        read, haplotype = np.divmod(np.arange(len(reads) * len(haplotypes)), max(len(haplotypes), 1))
        return np.stack([read, haplotype], axis=1)
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    if len(pairs) and ((pairs < 0) | (pairs >= [len(reads), len(haplotypes)])).any():
        raise ValueError(f"pairs hold indices outside of {len(reads)} reads and {len(haplotypes)} haplotypes")
    return pairs


def _check_sequences(what: str, sequences: Sequences) -> None:
    if (sequences.lengths <= 0).any():
        raise UserError(f"{what} {int(np.argmin(sequences.lengths))} (counted from 0): is empty; leave empty sequences out")
    data = sequences.data[sequences.offsets[0] : sequences.offsets[-1]]
    if not set(letters_in(data)) <= _LETTERS:
        position = int(np.argmin(np.isin(data, list(_LETTERS)))) + int(sequences.offsets[0])
        index = int(np.searchsorted(sequences.offsets, position, side="right")) - 1
        raise UserError(f"{what} {index} (counted from 0): byte {sequences.data[position]} is no letter; give bases as letters")


def _unique_pairs(reads: Reads, haplotypes: Sequences, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    arrays = (reads.bases.data, reads.base_quals, reads.insertion_quals, reads.deletion_quals, reads.gap_quals)
    family = np.full(len(reads), -1)  # the first haplotype that a read is paired with: reads of a region share it
    family[pairs[::-1, 0]] = pairs[::-1, 1]
    read = representatives(reads.bases.offsets, arrays, family)[pairs[:, 0]]
    keys = read * len(haplotypes) + pairs[:, 1]
    if (keys[1:] > keys[:-1]).all():
        return pairs, None
    keys, inverse = np.unique(keys, return_inverse=True)
    return np.stack(np.divmod(keys, len(haplotypes)), axis=1), inverse


def _spread(computed: Result, result: Result, inverse: np.ndarray | None) -> None:
    for name in ("log10", "how"):
        values = getattr(computed, name)
        setattr(result, name, values if inverse is None else values[inverse])
    result.cells_computed, result.kernel_seconds = computed.cells_computed, computed.kernel_seconds


def _climb(work: Work, devices: Sequence[Device], kernel: str, precision: str) -> tuple[Result, np.ndarray]:
    """The result and which pairs were rescued, both parallel to `work.pairs`; the devices work at the same time."""

    def run(part: Work, device: Device) -> _Ladder:
        with device_failures(device):
            ladder = _Ladder(part, device, kernel)
            ladder.climb(precision)
        return ladder

    if len(devices) == 1:
        ladder = run(work, devices[0])
        return ladder.result, ladder.rescued
    with ThreadPoolExecutor(len(devices)) as pool:
        ladders = list(pool.map(run, _shares(work, len(devices)), devices))
    results = [ladder.result for ladder in ladders]
    whole = Result(np.concatenate([result.log10 for result in results]), np.concatenate([result.how for result in results]))
    whole.cells_computed = sum(result.cells_computed for result in results)
    whole.kernel_seconds = max(result.kernel_seconds for result in results)
    return whole, np.concatenate([ladder.rescued for ladder in ladders])


def _shares(work: Work, count: int) -> Iterator[Work]:
    """Runs of pairs with about equal numbers of cells, each with the sequences that it uses."""
    cells = np.cumsum(work.reads.bases.lengths[work.pairs[:, 0]] * work.haplotypes.lengths[work.pairs[:, 1]])
    cuts = np.searchsorted(cells, cells[-1] * np.arange(1, count) / count)
    return (compact(work, pairs) for pairs in np.split(work.pairs, cuts))


class _Ladder:
    """FP32, then FP64, then renormalised FP64: every pair stops at the first rung that answers it."""

    def __init__(self, work: Work, device: Device, kernel: str):
        self.work, self.device, self.kernel = work, device, kernel
        count = len(work.pairs)
        self.result = Result(np.empty(count), np.ones(count, np.uint8))
        self.rescued = np.zeros(count, bool)

    def climb(self, precision: str) -> Result:
        if self.kernel == "reference":
            self._take(np.arange(len(self.work.pairs)), ENGINES["reference"](self.work, self.device, "fp64"), 1)
            return self.result
        read = self.work.pairs[:, 0]
        last = ~regular_reads(self.work.reads, self.work.convention)[read]
        if precision != "fp64":
            self.rescued |= last
        if self.kernel == "lanes":
            last |= self.work.reads.bases.lengths[read] >= _LONG_READ
        open_pairs = np.flatnonzero(~last)
        if precision != "fp64":
            open_pairs = self._first(open_pairs, GATK_SAFE if precision == "auto" else -np.inf)
            self.rescued[open_pairs] = True
        left = self._run(open_pairs, "fp64")
        self._renormalise(np.concatenate([np.flatnonzero(last), left]))
        return self.result

    def _first(self, which: np.ndarray, floor: float) -> np.ndarray:
        outcome, unsafe = self._compute(which, "fp32")
        if outcome is None:
            return which
        unsafe |= outcome.log10 < floor
        self.result.how[which[~unsafe]] = 0
        return which[unsafe]

    def _run(self, which: np.ndarray, precision: str) -> np.ndarray:
        outcome, unsafe = self._compute(which, precision)
        return which if outcome is None else which[unsafe]

    def _compute(self, which: np.ndarray, precision: str) -> tuple[Outcome | None, np.ndarray]:
        if not len(which):
            return None, np.zeros(0, bool)
        outcome = ENGINES[self.kernel](self._part(which), self.device, precision)
        self._take(which, outcome, HOW.index(precision))
        return outcome, outcome.unsafe.copy()

    def _renormalise(self, which: np.ndarray) -> None:
        if len(which):
            self._take(which, renormalised.run(self._part(which), self.device), 1)

    def _part(self, which: np.ndarray) -> Work:
        if len(which) == len(self.work.pairs):
            return self.work
        if len(which) < _FEW * len(self.work.pairs):
            return compact(self.work, self.work.pairs[which])
        return Work(self.work.reads, self.work.haplotypes, self.work.pairs[which], self.work.convention, self.work.share_prefixes)

    def _take(self, which: np.ndarray, outcome: Outcome, how: int) -> None:
        self.result.log10[which] = outcome.log10
        self.result.how[which] = how
        self.result.kernel_seconds += outcome.kernel_seconds
        self.result.cells_computed += outcome.cells_computed
