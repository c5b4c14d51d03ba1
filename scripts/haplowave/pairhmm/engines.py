"""The kernels by name, and what one kernel is given and gives back.

An engine is a function `run(work, device, precision) -> Outcome` in the module of its own name:

- `work` holds unique pairs only, of regular reads only (`model.RowParameters.regular`: the five-operation form is safe), every sequence
  has at least one base, every byte is a letter. Duplicates, irregular reads and the rescue in FP64 are the caller's business
  (`haplowave.pairhmm.api`), so an engine computes every pair that it is given, once, in the precision that it is told.
- `device` is where it runs. Batches are sized by the device's memory; `batching.in_batches` halves a batch that does not fit.
- `precision` is 'fp32' or 'fp64'. The engine picks its own scale C and removes it and `log10_scale` from the result, exactly.
- A pair whose state left the range of the precision is `unsafe`: its log10 is then ignored and the caller asks again in FP64, and after
  that the renormalising form of `lanes`, which takes everything. An engine that renormalises never needs to say unsafe.
- The bits of a result depend on that pair alone, not on what else is in the batch, nor on the batch's size.

Row parameters come ready from `work.rows` (FP64, one row a base, flat, made on first use); an engine that makes them on the device
takes the tables of `haplowave.pairhmm.model.tables` instead.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from haplowave.opencl import Device
from haplowave.pairhmm.model import RowParameters, row_parameters
from haplowave.sequences import Reads, Sequences


@dataclass(frozen=True)
class Work:
    """Pairs to compute. `pairs`: int64, shape (n, 2), [read index, haplotype index], without duplicates, in no particular order."""

    reads: Reads
    haplotypes: Sequences
    pairs: np.ndarray
    convention: str = "gatk"
    share_prefixes: bool = True
    """Whether haplotypes that begin alike may share the computation; never changes a result."""

    @cached_property
    def rows(self) -> RowParameters:
        return row_parameters(self.reads, self.convention)

    @cached_property
    def cells(self) -> int:
        """Sum of read length times haplotype length."""
        return cells_of(self, np.arange(len(self.pairs)))


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
    kernel_seconds: float = 0.0
    """Sum over the device's kernels of end minus start."""
    cells_computed: int = 0
    """Cells of the matrices that were computed, padding not counted: less than `work.cells` where prefixes were shared."""
    notes: dict[str, float] = field(default_factory=dict)
    """Anything else worth a benchmark's line."""


Engine = Callable[[Work, Device, str], Outcome]


def _engine(module: str) -> Engine:
    def run(work: Work, device: Device, precision: str) -> Outcome:
        return importlib.import_module(f"haplowave.pairhmm.{module}").run(work, device, precision)

    run.__name__ = module
    return run


ENGINES: dict[str, Engine] = {name: _engine(name) for name in ("reference", "lanes", "skewed", "rowwise")}
"""Name to engine; a module is loaded when its engine first runs."""


def choose(device: Device) -> str:
    """The kernel that 'auto' means on `device`."""
    return "lanes" if device.kind == "cpu" else "skewed"
