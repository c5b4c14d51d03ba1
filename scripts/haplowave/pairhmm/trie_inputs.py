"""What a chunk uploads for its short pairs, in the form in which pairhmm_trie.cl and pairhmm_trie_prepare.cl take it."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.pairhmm.chunk import Chunk
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.trie_plan import ROWS, Trees, blocks_of


@dataclass(frozen=True)
class TreeInputs:
    """Short pairs of a chunk."""

    rows: int
    """Rows of all reads, those around them included."""
    reads: int
    pairs: int
    """All pairs of the chunk."""
    firsts: cl.Buffer
    """uint32 (reads + 1, 2): row of the head, blocks before."""
    regions: tuple[cl.Buffer, ...]
    """First pairs, spans."""
    region_count: int
    wanted: cl.Buffer
    """uint8 a haplotype: whether its pairs are short."""
    launches: list[tuple[Trees, tuple[cl.Buffer, ...]]]
    """With branches, tasks, bundles and counter of each."""


def waiting_rows(warp: int) -> int:
    """Rows in which lanes wait until their parents have begun."""
    return ROWS * warp


def put_trees(trees: list[Trees], regions: Regions, rows: np.ndarray, wanted: np.ndarray, warp: int, chunk: Chunk) -> TreeInputs:
    """Upload the plan of the short pairs of `regions`; rows, wanted: as `plan` takes them."""
    blocks = blocks_of(rows)
    firsts = np.zeros((len(rows) + 1, 2), np.int64)  # a head in front of each read, and one behind the last
    np.cumsum(ROWS * blocks + (rows > 0), out=firsts[1:, 0])
    firsts[:, 0] += waiting_rows(warp) + 1
    np.cumsum(blocks, out=firsts[1:, 1])
    longest = max(launch.longest for launch in trees) + warp + 2  # steps that a lane may run on behind its last read
    return TreeInputs(
        rows=int(firsts[-1, 0]) + 1 + ROWS * longest,
        reads=len(rows),
        pairs=len(regions),
        firsts=chunk.put(firsts.astype(np.uint32)),
        regions=(chunk.put(regions.offsets.astype(np.uint32)), chunk.put(regions.spans.astype(np.uint32))),
        region_count=len(regions.spans),
        wanted=chunk.put(wanted.astype(np.uint8)),
        launches=[(launch, tuple(chunk.put(array) for array in _arrays(launch))) for launch in trees],
    )


def _arrays(launch: Trees) -> tuple[np.ndarray, ...]:
    return launch.branches, launch.tasks, launch.bundles, np.zeros(1, np.int32)
