"""Engine `rowwise`: Endeavor's row-wise formulation with a scaled prefix scan (kernels/pairhmm_rowwise.cl).

All lanes of a sub-warp work on one row, so that rows need no skew; the price is a scan over the lanes for every row. The arithmetic is the
plain one, without scaling by row: a second, independent way to the numbers of `skewed`, and the published method to compare with.
"""

import numpy as np

from haplowave.opencl import Device
from haplowave.pairhmm import engines, tuning
from haplowave.pairhmm.batching import in_batches
from haplowave.pairhmm.chunk import Chunk, busy_seconds, busy_seconds_by_name
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import Tables, tables
from haplowave.pairhmm.skewed import MOST_LETTERS, letters_of
from haplowave.pairhmm.skewed_device import LETTERS, SCALE_LOG2, Flight, Runner
from haplowave.pairhmm.skewed_inputs import DOUBTS, SentReads, put_haplotypes, put_zeros
from haplowave.pairhmm.skewed_plan import strip_jobs
from haplowave.pairhmm.tuning import Settings

_BYTES_A_BASE = 48


def run(work: Work, device: Device, precision: str, settings: Settings | None = None) -> Outcome:
    """Engine `rowwise` (see `engines`)."""
    settings = settings or tuning.settings(device)
    return in_batches(work, device, lambda part: _run(part, device, precision, settings), bytes_a_base=_BYTES_A_BASE)


def _run(work: Work, device: Device, precision: str, settings: Settings) -> Outcome:
    outcome = Outcome(np.empty(len(work)), np.empty(len(work), bool), cells_computed=work.cells)
    if not len(work):
        return outcome
    known, letters = False, LETTERS
    while not known:
        runner = _RowwiseRunner(device, settings, precision, letters, work.convention)
        landed = runner.compute(work).collect(outcome.log10, outcome.unsafe, -np.inf)
        known, intervals = not landed.doubts[0], landed.times
        letters = letters_of(work.reads) if not known else letters
        if len(letters) > MOST_LETTERS:
            return engines.ENGINES["lanes"](work, device, precision)
    outcome.notes = busy_seconds_by_name(intervals)
    outcome.kernel_seconds = busy_seconds(intervals)
    return outcome


class _RowwiseRunner(Runner):
    """Masks and the last step are those of `skewed`; the kernel itself reads the rows as bytes."""

    def __init__(self, device: Device, settings: Settings, precision: str, letters: bytes, convention: str):
        super().__init__(device, settings, precision, letters, convention)
        self._probabilities = self.constant(_probabilities(tables(convention)).astype(self.real))

    def compute(self, work: Work) -> Flight:
        """Enqueue everything for `work`."""
        chunk = Chunk(self.queues, slice(None))
        try:
            return self._launched(work, chunk)
        except BaseException:
            chunk.abandon()
            raise

    def _launched(self, work: Work, chunk: Chunk) -> Flight:
        pairs = work.pairs
        reads, haplotypes = work.reads.bases, work.haplotypes
        columns = max(self.settings.rates[self.precision])
        strip = columns * self.settings.warp
        order, groups, partials = strip_jobs(pairs, np.minimum(haplotypes.lengths, strip), columns)
        pairs = pairs[order]
        masks = put_haplotypes(haplotypes, True, self.settings.warp, chunk)
        spans = np.stack([reads.offsets[:-1], reads.lengths], axis=1).astype(np.uint32)
        border_rows = np.where(haplotypes.lengths[pairs[:, 1]] > strip, reads.lengths[pairs[:, 0]], 0)
        border_offsets = np.append(0, np.cumsum(border_rows))
        jobs, group_buffer, targets = (chunk.put(array) for array in (pairs.astype(np.int32), groups, order.astype(np.uint32)))
        doubts, scales = put_zeros(DOUBTS, chunk), chunk.put(np.zeros(len(reads), self.wide))
        inputs = (*SentReads(work.reads, chunk).buffers(), chunk.put(spans), self.codes, self._probabilities)
        offsets = chunk.put(border_offsets.astype(np.uint32))
        chunk.begin()
        scale = self.real.type(2.0 ** SCALE_LOG2[self.precision, False])
        sums, log10s = chunk.empty(partials, self.real), chunk.empty(len(pairs), self.wide)
        arguments = (*inputs, *self.prepare_masks(columns, masks, doubts, chunk), jobs, group_buffer, np.int32(len(groups)), scale)
        arguments += (chunk.empty(2 * int(border_offsets[-1]), self.real), offsets, sums, doubts)
        warps = self.settings.warps
        grid = self.grid(groups, warps, self.settings.groups_a_unit * warps)
        chunk.run(self.kernel("pairhmm_rowwise.cl", "rowwise", self.shape(columns)), *grid, *arguments)
        rest = (sums, doubts, jobs, doubts, targets), (group_buffer, len(groups)), (scales, log10s)
        self.finish(chunk, len(pairs), *rest)
        return Flight(chunk, log10s, doubts, self.wide)


def _probabilities(table: Tables) -> np.ndarray:
    """The tables of pairhmm_rowwise.cl, one after another."""
    return np.concatenate([table.match, table.mismatch, table.gap, table.leave, table.mm.ravel()])
