"""The Python interface: likelihoods of pairs, each in the cheapest precision that is right."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from haplowave.opencl import Device, device_failures, list_devices, select
from haplowave.pairhmm import engines, renormalised
from haplowave.pairhmm.batching import compact
from haplowave.pairhmm.duplicates import representatives
from haplowave.pairhmm.engines import ENGINES, Outcome, Work
from haplowave.pairhmm.model import CONVENTIONS
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.screening import check_lengths, screen
from haplowave.sequences import Reads, Sequences

HOW = ("fp32", "fp64")
_FEW = 0.2  # share of the pairs below which their sequences are copied out, so that a device gets only those
_LONG_READ = 4096  # bases from which `lanes` leaves a read to the renormalising kernel, which spreads it over the lanes
PRECISIONS = ("auto", "fp32", "fp64")
GATK_SAFE = -28.0 - 120.0 * np.log10(2.0)
"""GATK accepts a float result of 1e-28 or more of its scale 2^120 (GKL pairhmm_common.h, MIN_ACCEPTED)."""


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
    pairs: np.ndarray | Regions | None = None,
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

    pairs: int, shape (n, 2), [read index, haplotype index]; or Regions, which cost nothing to plan, however many pairs they hold;
    None means every read with every haplotype, reads slowest.
    device: an OpenCL device or what `haplowave.opencl.select` takes. others: more devices of its model (`haplowave.opencl.alike`), which
    take equal shares of the cells. kernel: 'auto' or a name of ENGINES. What needs FP64 goes to another device where `device` has none.
    precision: 'auto' is GATK's rule (FP32, and FP64 where FP32 falls below 1e-28 of its scale), 'fp32' turns to FP64 only where FP32
    arithmetic itself fails, 'fp64' computes all in FP64. convention: 'gatk' (a mismatch has e/3) or 'raw' (e).
    share_duplicates, share_prefixes: compute equal reads once, equal haplotype beginnings once; results are the same either way.

    Raises UserError for an empty sequence, a byte that is no letter, or a device that fails; ValueError for arguments out of range.
    """
    if precision not in PRECISIONS or convention not in CONVENTIONS or (kernel != "auto" and kernel not in ENGINES):
        raise ValueError(f"precision {precision!r}, convention {convention!r} or kernel {kernel!r} is unknown")
    least = GATK_SAFE if precision == "auto" else -np.inf
    work = _work(reads, haplotypes, pairs, convention, share_prefixes, share_duplicates, least)
    if not len(work):
        return Result(np.empty(0), np.zeros(0, np.uint8))
    whole, inverse = work, None
    chosen = select(device)
    name = engines.choose(chosen) if kernel == "auto" else kernel
    if precision == "fp64" and not chosen.has_fp64:
        chosen, name = _exact(chosen, name)
        others = ()
    screening = functools.cache(lambda: screen(reads, haplotypes, convention))
    if name not in engines.PIPELINED:
        check_lengths(reads.bases, haplotypes)
        screening()
        if share_duplicates:
            unique, inverse = _unique_pairs(reads, haplotypes, work.pairs)
            work = work.of(unique)
    result, rescued = _climb(work, (chosen, *others), name, precision, screening)
    result.rescued = len(rescued)
    if inverse is not None:
        result.log10, result.how = result.log10[inverse], result.how[inverse]
        result.rescued = int(np.bincount(inverse, minlength=len(work))[rescued].sum())
    result.cells = whole.cells  # now, for the device does not wait
    return result


def _exact(device: Device, kernel: str) -> tuple[Device, str]:
    """Where FP64 is computed, and by which kernel: on `device` if it can, else on another device, else by NumPy."""
    if device.has_fp64:
        return device, kernel
    able = [other for other in list_devices() if other.has_fp64]
    return (able[0], engines.choose(able[0])) if able else (device, "reference")


def _by_numpy(work: Work, device: Device) -> Outcome:
    return ENGINES["reference"](work, device, "fp64")


def _work(reads: Reads, haplotypes: Sequences, pairs: np.ndarray | Regions | None, *options: object) -> Work:
    if pairs is None:
        pairs = Regions.from_counts([len(reads)], [len(haplotypes)])
    elif not isinstance(pairs, Regions):
        pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    work = Work(reads, haplotypes, pairs, *options)
    bases = (reads.bases.data, *reads.qualities)
    if any(array.dtype != np.uint8 for array in (*bases, haplotypes.data)) or any(len(array) < reads.bases.offsets[-1] for array in bases):
        raise ValueError("bases and qualities have to be uint8, and as many qualities of each kind as bases")
    spans = work.regions.spans
    if len(spans):
        first_read, read_count, first_haplotype, haplotype_count = spans.T
        fit = (first_read + read_count).max() <= len(reads) and (first_haplotype + haplotype_count).max() <= len(haplotypes)
        if not fit or min(first_read.min(), first_haplotype.min()) < 0 or min(read_count.min(), haplotype_count.min()) < 1:
            raise ValueError(f"pairs hold indices outside of {len(reads)} reads and {len(haplotypes)} haplotypes")
    return work


def _unique_pairs(reads: Reads, haplotypes: Sequences, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    family = np.full(len(reads), -1)  # the first haplotype that a read is paired with: reads of a region share it
    family[pairs[::-1, 0]] = pairs[::-1, 1]
    read = representatives(reads.bases.offsets[:-1], reads.bases.lengths, (reads.bases.data, *reads.qualities), family)[pairs[:, 0]]
    keys = read * len(haplotypes) + pairs[:, 1]
    if (keys[1:] > keys[:-1]).all():
        return pairs, None
    keys, inverse = np.unique(keys, return_inverse=True)
    return np.stack(np.divmod(keys, len(haplotypes)), axis=1), inverse


def _climb(
    work: Work, devices: Sequence[Device], kernel: str, precision: str, screening: Callable[[], np.ndarray]
) -> tuple[Result, np.ndarray]:
    """The result, in the order of the pairs, and the indices of the pairs that were rescued; the devices work at the same time."""

    def run(part: Work, device: Device) -> _Ladder:
        with device_failures(device):
            ladder = _Ladder(part, device, kernel, screening)
            ladder.climb(precision)
        return ladder

    if len(devices) == 1:
        ladder = run(work, devices[0])
        return ladder.result, ladder.rescued
    with ThreadPoolExecutor(len(devices)) as pool:
        shares = list(_shares(work, len(devices)))
        ladders = list(pool.map(run, shares, devices))
    results = [ladder.result for ladder in ladders]
    whole = Result(np.concatenate([result.log10 for result in results]), np.concatenate([result.how for result in results]))
    whole.cells_computed = sum(result.cells_computed for result in results)
    whole.kernel_seconds = max(result.kernel_seconds for result in results)
    first = np.cumsum([0, *map(len, shares)])
    return whole, np.concatenate([ladder.rescued + at for ladder, at in zip(ladders, first[:-1], strict=True)])


def _shares(work: Work, count: int) -> Iterator[Work]:
    """Runs of pairs with about equal numbers of cells."""
    regions = work.regions
    rows, columns = work.bases_of(regions)
    cells = np.append(0, np.cumsum(rows * columns))
    cuts = np.interp(cells[-1] * np.arange(1, count) / count, cells, regions.offsets).astype(np.int64)
    bounds = [0, *cuts.tolist(), len(work)]
    return (work.of(regions.part(begin, end)) for begin, end in itertools.pairwise(bounds))


class _Ladder:
    """FP32, then FP64, then renormalised FP64: every pair stops at the first rung that answers it."""

    def __init__(self, work: Work, device: Device, kernel: str, screening: Callable[[], np.ndarray]):
        self.work, self.device, self.kernel, self.screening = work, device, kernel, screening
        self.exact = _exact(device, kernel)
        self.result = Result(np.empty(0), np.zeros(0, np.uint8))
        self.rescued = np.zeros(0, np.int64)
        self.doubtful = False

    def climb(self, precision: str) -> None:
        """Fill `result` and `rescued`."""
        if not len(self.work):
            return
        if self.kernel == "reference":
            self._start(ENGINES["reference"](self.work, self.device, "fp64"), "fp64")
            return
        first = "fp64" if precision == "fp64" else "fp32"
        if self.kernel in engines.PIPELINED:
            left = self._first(self.work, None, first)
            last = self._irregular() if self.doubtful else np.zeros(0, np.int64)
            left = np.setdiff1d(left, last, assume_unique=True)
        else:
            last = self._irregular()
            left = self._first(*self._without(last), first)
        if first == "fp32":
            self.rescued = np.concatenate([last, left])
            self.result.how[last] = HOW.index("fp64")
            if len(left):
                outcome = ENGINES[self.exact[1]](self._part(left), self.exact[0], "fp64")
                self._take(left, outcome)
                left = left[outcome.unsafe]
        last = np.concatenate([last, left])
        if len(last):
            able = self.exact[0].has_fp64
            self._take(last, (renormalised.run if able else _by_numpy)(self._part(last), self.exact[0]))

    def _irregular(self) -> np.ndarray:
        """Indices of the pairs that only the last rung can take."""
        reads = ~self.screening()
        if self.kernel == "lanes":
            reads |= self.work.reads.bases.lengths >= _LONG_READ
        return np.flatnonzero(reads[self.work.pairs[:, 0]]) if reads.any() else np.zeros(0, np.int64)

    def _without(self, last: np.ndarray) -> tuple[Work, np.ndarray | None]:
        """The work without the pairs `last`, and the indices of what is left (None: all)."""
        if not len(last):
            return self.work, None
        which = np.delete(np.arange(len(self.work)), last)
        return replace(self._part(which), least=self.work.least), which

    def _first(self, work: Work, which: np.ndarray | None, precision: str) -> np.ndarray:
        """Compute the pairs `which` (None: all), those of `work`; returns the ones that the next rung must take."""
        if not len(work):
            self._start(Outcome(np.empty(len(self.work)), np.empty(0, bool)), "fp64")
            return np.zeros(0, np.int64)
        outcome = ENGINES[self.kernel](work, self.device, precision)
        unsafe, self.doubtful = outcome.unsafe, outcome.doubtful
        left = np.zeros(0, np.int64) if outcome.safe else np.flatnonzero(unsafe)
        if which is None:
            self._start(outcome, precision, unsafe.view(np.uint8) if precision == "fp32" else None)
            return left
        self._start(Outcome(np.empty(len(self.work)), unsafe), "fp64")
        self._take(which, outcome)
        if precision == "fp32":
            self.result.how[which] = unsafe
        return which[left]

    def _start(self, outcome: Outcome, precision: str, how: np.ndarray | None = None) -> None:
        if how is None:
            how = np.full(len(self.work), HOW.index(precision), np.uint8)
        self.result = Result(outcome.log10, how, cells_computed=outcome.cells_computed, kernel_seconds=outcome.kernel_seconds)

    def _part(self, which: np.ndarray) -> Work:
        pairs = self.work.pairs_at(which)
        return compact(self.work, pairs) if len(which) < _FEW * len(self.work) else replace(self.work, given=pairs, least=-np.inf)

    def _take(self, which: np.ndarray, outcome: Outcome) -> None:
        self.result.log10[which] = outcome.log10
        self.result.kernel_seconds += outcome.kernel_seconds
        self.result.cells_computed += outcome.cells_computed
