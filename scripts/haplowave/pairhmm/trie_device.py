"""The device side of short pairs in trees, FP32: from a chunk's reads, haplotypes and trees to likelihoods (kernels/pairhmm_trie.cl)."""

from typing import TYPE_CHECKING

import numpy as np
import pyopencl as cl

from haplowave.opencl import TypedKernel
from haplowave.pairhmm.chunk import Chunk
from haplowave.pairhmm.skewed_inputs import HaplotypeInputs, ReadInputs
from haplowave.pairhmm.trie_inputs import TreeInputs, waiting_rows
from haplowave.pairhmm.trie_plan import Trees
from haplowave.pairhmm.tuning import options

if TYPE_CHECKING:
    from haplowave.pairhmm.skewed_device import Runner

_SCALE_LOG2 = 100
"""log2 of the scale C. Sums are |H| times as large, and J may be 2^29 above it where insertion qualities jump: what overflows is unsafe."""
_SMALLEST = 1e-34
_NODE = 8  # words
_ITEMS = 64


class ShortPairs:
    """The short pairs of one chunk: `prepare`, then `compute` for each launch, in any queue, then `finish`."""

    def __init__(self, runner: "Runner", inputs: TreeInputs, reads: ReadInputs, haplotypes: HaplotypeInputs, chunk: Chunk):
        self.runner, self.inputs, self.reads, self.haplotypes, self.chunk = runner, inputs, reads, haplotypes.buffers, chunk
        self._varies = {"PER_ROW_GAP": 1} if reads.gap is None else {}
        pairs = inputs.pairs
        self._sums, self._scales = chunk.empty(pairs, runner.real), chunk.empty(inputs.reads, runner.wide)
        self._rows = chunk.empty(4 * inputs.rows, runner.real)
        self._gaps = chunk.empty(inputs.rows if self._varies else 1, runner.real)
        self._lanes: list[tuple[cl.Buffer, cl.Buffer]] = []

    def prepare(self, doubts: cl.Buffer) -> None:
        """Enqueue what makes rows from reads and lanes from haplotypes. doubts: as in Packed."""
        runner, inputs, chunk = self.runner, self.inputs, self.chunk
        unused = chunk.empty(1, np.uint32), chunk.empty(1, runner.real)
        arguments = (*self.reads.buffers, runner.codes, runner.tables, self._rows, self._gaps, *unused, self._scales, doubts)
        numbers = inputs.reads, inputs.rows, waiting_rows(runner.settings.warp)
        around = inputs.firsts, *map(np.uint32, numbers), runner.real.type(2.0**_SCALE_LOG2)
        chunk.run(self._kernel("prepare_rows"), (inputs.reads + 1) * _ITEMS, _ITEMS, *arguments, *around)
        self._lanes = [self._make_nodes(trees, buffers[0], doubts) for trees, buffers in inputs.launches]

    def _make_nodes(self, trees: Trees, branches: cl.Buffer, doubts: cl.Buffer) -> tuple[cl.Buffer, cl.Buffer]:
        runner, chunk, warp = self.runner, self.chunk, self.runner.settings.warp
        lanes, count = trees.warps * warp, len(trees.branches)
        nodes, masks = chunk.empty(_NODE * lanes, np.uint32), chunk.empty(len(runner.letters) * lanes, np.uint32)
        chunk.run(self._kernel("clear_nodes"), lanes, _ITEMS, nodes, np.uint32(lanes))
        numbers = np.uint32(count), np.uint32(warp), np.uint32(trees.columns)
        arguments = (*self.haplotypes, branches, *numbers, runner.letters_buffer, runner.codes, nodes, masks, doubts)
        chunk.run(self._kernel("make_nodes"), count * warp, _ITEMS, *arguments)
        return nodes, masks

    def compute(self, number: int, **how) -> cl.Event:
        """Enqueue launch `number`; how: as Chunk.run takes it."""
        runner, settings = self.runner, self.runner.settings
        trees, (_, tasks, bundles, counter) = self.inputs.launches[number]
        nodes, masks = self._lanes[number]
        real = runner.real.type
        inputs = (self._rows, self._gaps, real(runner.gap_of(self.reads)), masks, nodes, self.inputs.firsts)
        flags = options(settings, runner.precision, long=False)
        kernel = runner.kernel("pairhmm_trie.cl", "trie", runner.shape(trees.columns) | self._varies, flags)
        size = settings.warp * settings.warps
        count = len(trees.bundles) - 1
        groups = min(runner.device.compute_units * settings.groups_a_unit, -(-count // settings.warps))
        return self.chunk.run(kernel, groups * size, size, *inputs, tasks, bundles, np.int32(count), counter, self._sums, **how)

    def finish(self, log10s: cl.Buffer, **how) -> cl.Event:
        """Enqueue what makes likelihoods of the sums."""
        inputs, wide = self.inputs, self.runner.wide.type
        scale = wide(_SCALE_LOG2 * np.log10(2.0)), wide(_SMALLEST)
        arguments = (self._sums, *inputs.regions, np.int32(inputs.region_count), np.uint32(inputs.pairs), self.haplotypes[1])
        arguments += (inputs.wanted, inputs.firsts, self._scales, *scale, log10s)
        return self.chunk.run(self._kernel("finish_regions"), inputs.pairs, _ITEMS, *arguments, **how)

    def _kernel(self, name: str) -> TypedKernel:
        return self.runner.prepare(name, "pairhmm_trie_prepare.cl", TRIE=1, **self._varies)
