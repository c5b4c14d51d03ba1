"""The kernels by name, and what one kernel is given and gives back.

An engine is a function `run(work, device, precision) -> Outcome` in the module of its own name:

- Every sequence of `work` has at least one base, every byte is a letter, every read is regular (`model.RowParameters.regular`: the
  five-operation form is safe), no read is equal to another of its region. What is not so is the caller's business, and so is the rescue in
  FP64 (`haplowave.pairhmm.api`): an engine computes every pair that it is given, in the precision that it is told.
- Engines of PIPELINED are quicker than a caller that looks through their input and output: they may be given any reads and haplotypes,
  share equal reads if `work.share_duplicates`, and say afterwards whether there is a byte that is no letter or may be an irregular read
  (`Outcome.doubtful`). They raise UserError for an empty sequence.
- `device` is where it runs. Batches are sized by the device's memory; `batching.in_batches` halves a batch that does not fit.
- `precision` is 'fp32' or 'fp64'. The engine picks its own scale C and removes it and `log10_scale` from the result, exactly.
- A pair whose state left the range of the precision is `unsafe`: its log10 is then ignored and the caller asks again in FP64, and after
  that the renormalising form of `lanes`, which takes everything. An engine that renormalises never needs to say unsafe.
- The bits of a result depend on that pair alone, not on what else is in the batch, nor on the batch's size. In `skewed`, pairs whose
  haplotype is wider than a warp are an exception: their columns a lane, which decide about rounding, are those that fill the device.

Row parameters come ready from `work.rows` (FP64, one row a base, flat, made on first use); an engine that makes them on the device
takes the tables of `haplowave.pairhmm.model.tables` instead.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from haplowave.opencl import Device
from haplowave.pairhmm.model import RowParameters, row_parameters
from haplowave.pairhmm.regions import Regions
from haplowave.sequences import Reads, Sequences


@dataclass(frozen=True)
class Work:
    """Pairs to compute, as a list or as regions; either form is made from the other when an engine asks for it."""

    reads: Reads
    haplotypes: Sequences
    given: np.ndarray | Regions
    """int64, shape (n, 2), [read index, haplotype index], in no particular order, or regions."""
    convention: str = "gatk"
    share_prefixes: bool = True
    """Whether haplotypes that begin alike may share the computation; never changes a result."""
    share_duplicates: bool = False
    """Whether equal reads of a region may share theirs; never changes a result."""
    least: float = -np.inf
    """log10 likelihoods below this are unsafe, however exact."""

    @cached_property
    def pairs(self) -> np.ndarray:
        """int64, shape (n, 2): [read index, haplotype index]."""
        return self.given.pairs() if isinstance(self.given, Regions) else self.given

    @cached_property
    def regions(self) -> Regions:
        """The same pairs in the same order."""
        return self.given if isinstance(self.given, Regions) else Regions.from_pairs(self.given)

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.given)

    def pairs_at(self, which: np.ndarray) -> np.ndarray:
        """int64, shape (k, 2): the pairs with the indices `which`."""
        return self.given.pairs(which) if isinstance(self.given, Regions) else self.given[which]

    def of(self, pairs: np.ndarray | Regions) -> "Work":
        """The same for other pairs of the same reads and haplotypes."""
        return replace(self, given=pairs)

    @cached_property
    def rows(self) -> RowParameters:
        return row_parameters(self.reads, self.convention)

    def bases_of(self, regions: Regions) -> tuple[np.ndarray, np.ndarray]:
        """int64 (m,): bases of the reads, and of the haplotypes, of each of `regions`; found once for those of the work itself."""
        return self._bases if regions is self.regions else regions.bases(self.reads.bases.offsets, self.haplotypes.offsets)

    @cached_property
    def _bases(self) -> tuple[np.ndarray, np.ndarray]:
        return self.regions.bases(self.reads.bases.offsets, self.haplotypes.offsets)

    @cached_property
    def cells(self) -> int:
        """Sum of read length times haplotype length."""
        rows, columns = self._bases
        return int(rows @ columns)


def cells_of(work: Work, which: np.ndarray) -> int:
    """Sum of read length times haplotype length of the pairs `which` (indices into `work.pairs`)."""
    pairs = work.pairs[which]
    return int(work.reads.bases.lengths[pairs[:, 0]] @ work.haplotypes.lengths[pairs[:, 1]])


@dataclass
class Outcome:
    """What an engine gives back, parallel to `work.pairs`."""

    log10: np.ndarray
    """float64 (n,): log10 P(read | haplotype); -inf where the probability is zero."""
    unsafe: np.ndarray
    """bool (n,): the precision did not suffice; log10 holds nothing of use."""
    safe: bool = False
    """Nothing is unsafe, as far as the engine has looked."""
    kernel_seconds: float = 0.0
    """Sum over the device's kernels of end minus start."""
    cells_computed: int = 0
    """Cells of the matrices that were computed, padding not counted: less than `work.cells` where prefixes were shared."""
    doubtful: bool = False
    """There may be irregular reads, or bytes that are no letters (engines of PIPELINED)."""
    notes: dict[str, float] = field(default_factory=dict)
    """Anything else worth a benchmark's line."""


Engine = Callable[[Work, Device, str], Outcome]


def _engine(module: str) -> Engine:
    def run(work: Work, device: Device, precision: str) -> Outcome:
        outcome = importlib.import_module(f"haplowave.pairhmm.{module}").run(work, device, precision)
        if work.least > -np.inf and module not in PIPELINED:
            outcome.unsafe = outcome.unsafe | (outcome.log10 < work.least)
        return outcome

    run.__name__ = module
    return run


ENGINES: dict[str, Engine] = {name: _engine(name) for name in ("reference", "lanes", "skewed", "trees", "rowwise")}
"""Name to engine; a module is loaded when its engine first runs."""

PIPELINED = frozenset({"skewed", "trees"})


def choose(device: Device) -> str:
    """The kernel that 'auto' means on `device`."""
    return "lanes" if device.kind == "cpu" else "skewed"
