"""Engine `rowwise`: Endeavor's row-wise formulation with a scaled prefix scan (kernels/pairhmm_rowwise.cl).

All lanes of a sub-warp work on one row, so that rows need no skew; the price is a scan over the lanes for every row. The arithmetic is the
plain one, without scaling by row: a second, independent way to the numbers of `skewed`, and the published method to compare with.
"""

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device
from haplowave.pairhmm import engines, tuning
from haplowave.pairhmm.batching import in_batches
from haplowave.pairhmm.chunk import Chunk, busy_seconds
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import Tables, tables
from haplowave.pairhmm.skewed import MOST_LETTERS, letters_of
from haplowave.pairhmm.skewed_device import LETTERS, SCALE_LOG2, Kind, Runner
from haplowave.pairhmm.skewed_plan import Bucket, short_jobs
from haplowave.pairhmm.tuning import Settings
from haplowave.sequences import Reads, Sequences

_BYTES_A_BASE = 48


def run(work: Work, device: Device, precision: str, settings: Settings | None = None) -> Outcome:
    """Engine `rowwise` (see `engines`)."""
    settings = settings or tuning.settings(device)
    return in_batches(work, device, lambda part: _run(part, device, precision, settings), bytes_a_base=_BYTES_A_BASE)


def _run(work: Work, device: Device, precision: str, settings: Settings) -> Outcome:
    outcome = Outcome(np.full(len(work.pairs), np.nan), np.zeros(len(work.pairs), bool), cells_computed=work.cells)
    if not len(work.pairs):
        return outcome
    pairs = work.pairs.astype(np.int32)
    known, letters = False, LETTERS
    while not known:
        runner = _RowwiseRunner(device, settings, Kind(precision, False, letters), work.convention)
        known, intervals = runner.launch(work.reads, work.haplotypes, pairs, slice(None)).collect(outcome.log10)
        letters = letters_of(work.reads) if not known else letters
        if len(letters) > MOST_LETTERS:
            return engines.ENGINES["lanes"](work, device, precision)
    outcome.notes = {name: busy_seconds(intervals, name) for name in {name for name, _, _ in intervals}}
    outcome.kernel_seconds = busy_seconds(intervals)
    outcome.unsafe = np.isnan(outcome.log10)
    return outcome


class _RowwiseRunner(Runner):
    """Masks and the last step are those of `skewed`; the kernel itself reads the rows as bytes."""

    def __init__(self, device: Device, settings: Settings, kind: Kind, convention: str):
        super().__init__(device, settings, kind, convention)
        self._probabilities = self.constant(_probabilities(tables(convention)).astype(self.real))

    def launch(self, reads: Reads, haplotypes: Sequences, pairs: np.ndarray, where: slice) -> Chunk:
        """As Runner.launch."""
        chunk = Chunk(self.queues, where)
        lengths = haplotypes.lengths[pairs[:, 1]]
        columns = max(self.settings.rates[self.kind.precision])
        strip = columns * self.settings.warp
        masks = self.prepare_masks(columns, haplotypes.offsets[:-1], haplotypes.lengths, chunk.put(haplotypes.data), chunk)
        jobs = short_jobs(pairs, np.minimum(haplotypes.lengths, strip), columns)
        spans = np.stack([reads.bases.offsets[:-1], reads.bases.lengths], axis=1).astype(np.uint32)
        border_rows = np.where(lengths[jobs.order] > strip, reads.bases.lengths[pairs[jobs.order][:, 0]], 0)
        border_offsets = np.append(0, np.cumsum(border_rows))
        partials, job_buffer, groups = chunk.empty(jobs.partials, self.real), chunk.put(jobs.jobs), chunk.put(jobs.groups)
        scale = self.real.type(2.0 ** SCALE_LOG2[self.kind.precision, False])
        arguments = [*self.upload_bytes(reads, chunk), chunk.put(spans), self.codes, self._probabilities, *masks, job_buffer, groups]
        arguments += [np.int32(len(jobs.groups)), scale, chunk.empty(2 * int(border_offsets[-1]), self.real)]
        arguments += [chunk.put(border_offsets.astype(np.uint32)), partials, chunk.strange]
        program = self.device.build("pairhmm_rowwise.cl", self.defines | self.shape(columns))
        chunk.run(cl.Kernel(program, "rowwise"), *self.grid(jobs), *arguments)
        buffers = (partials, chunk.empty(1, np.int32), job_buffer, groups, chunk.zeros(len(reads), self.wide))
        self.finish(Bucket(False, columns, slice(None)), jobs, buffers, chunk)
        return chunk


def _probabilities(table: Tables) -> np.ndarray:
    """The tables of pairhmm_rowwise.cl, one after another."""
    return np.concatenate([table.match, table.mismatch, table.gap, table.leave, table.mm.ravel()])
