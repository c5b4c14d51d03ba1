"""The host's share of a chunk of `skewed`: which sequences it needs, what may be shared, and its way to the device.

All of it is done region by region, in NumPy.
"""

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyopencl as cl

from haplowave.pairhmm.chunk import Chunk, Queues
from haplowave.pairhmm.duplicates import representatives
from haplowave.pairhmm.engines import Work
from haplowave.pairhmm.model import QUALITY_MASK, take
from haplowave.pairhmm.regions import Regions
from haplowave.pairhmm.screening import check_lengths
from haplowave.pairhmm.skewed_inputs import (
    DOUBTS,
    READ_BLOCK,
    HaplotypeInputs,
    LongInputs,
    ReadInputs,
    SentReads,
    UnitInputs,
    put_haplotypes,
    put_long,
    put_units,
    put_zeros,
)
from haplowave.pairhmm.skewed_plan import Jobs, Shapes, filling_columns, long_jobs, shapes, short_units
from haplowave.pairhmm.trie_inputs import TreeInputs, put_trees
from haplowave.pairhmm.trie_plan import plan, saved
from haplowave.pairhmm.tuning import Settings, warps_at_once
from haplowave.sequences import Reads, Sequences

_LONG_GAP = 12  # FP32 keeps 16 rows and a lane's columns in range up to this gap continuation quality
_RAMP, _END, _TWO = (0.3, 0.4, 0.7), (0.3, 0.12, 0.05), (0.3, 0.7)  # sizes of the first chunks, of the last, of two
_PREPARED = 6e9  # bytes a second that the host prepares and uploads
_MANY = 4  # the first chunks have to be less than this share of the regions
_SAMPLED = 16  # regions that are searched for equal reads first
_IRREGULAR = np.random.default_rng(0).random(_SAMPLED)
_LOOK, _COMPARE = 3e-7, 5e-8  # seconds that it takes to look for a read's equals, and to compare a base of it with that of another
_WORTH_LANES = 0.15  # share of the lanes that others have, too, from which haplotypes are sorted
_LARGE = 1 << 20  # reads that are too many to be searched for equal ones first
_A_PAIR, _A_BASE = 8, 2  # bytes that a pair and a base of a read count towards the size of a chunk


@dataclass(frozen=True)
class Packed:
    """A chunk, uploaded and ready to be launched."""

    chunk: Chunk
    pairs: int
    reads: ReadInputs
    haplotypes: HaplotypeInputs
    trees: TreeInputs | None
    """Short pairs of engine `trees` in FP32, but for the widest haplotypes."""
    short: UnitInputs | None
    """The other short pairs."""
    long: list[LongInputs]
    copies: cl.Buffer | None
    """uint32 (n, 4): to, from, how many, 0: likelihoods of reads that are equal to others of their region."""
    copy_count: int
    doubts: cl.Buffer
    """As in pairhmm_prepare.cl."""
    cells: int
    """Cells that the chunk computes."""
    steep: np.ndarray | None
    """bool a pair: gaps continue at too high a quality for FP32 to keep a lane in range; None where there is none."""


def first_pieces(work: Work, settings: Settings) -> list[slice]:
    """The first of the slices that `pieces` makes, found without looking at all regions; none where that does not do."""
    some = Regions(work.regions.spans[: len(work.regions.spans) // _MANY])
    cost, wanted = _costs(work, some), np.cumsum(_RAMP) * settings.chunk_bytes
    if cost[-1] < wanted[-1] or not _device_is_slower(work, some, cost, settings):
        return []
    cuts = np.interp(wanted, cost, some.offsets).astype(np.int64)
    return _slices([0, *_between(some, cuts, int(cuts[0]) // 2)])


def pieces(work: Work, settings: Settings, begin: int = 0) -> list[slice]:
    """Slices of the pairs from `begin` on whose inputs are about `chunk_bytes` each; cut between regions, or at least between reads, where
    it can be. begin: 0, or where `first_pieces` end.

    The first are smaller, so that the device begins early, and the last, so that little is left to be read back when it ends. Where the
    device is quicker than what is made for it, they are few.
    """
    regions, cost, size = work.regions, _costs(work, work.regions), settings.chunk_bytes
    if not begin and cost[-1] <= size:
        return [slice(0, len(work))]
    first = np.interp(begin, regions.offsets, cost)
    ramp, end = ((() if begin else _RAMP), _END) if begin or _device_is_slower(work, regions, cost, settings) else (_TWO[:1], ())
    whole = round((cost[-1] - first) / size - sum(ramp) - sum(end))
    shares = [*ramp, *[1.0] * whole, *end] if whole > 0 else _TWO
    wanted = first + np.cumsum(shares)[:-1] * ((cost[-1] - first) / sum(shares))
    cuts = _between(regions, np.interp(wanted, cost, regions.offsets).astype(np.int64), len(work) // (8 * len(shares)))
    return _slices([begin, *np.maximum(cuts, begin), len(work)])


def _device_is_slower(work: Work, regions: Regions, cost: np.ndarray, settings: Settings) -> bool:
    """Whether the cells of `regions` take the device longer than the host takes to prepare and to upload them. cost: as from `_costs`."""
    rows, columns = work.bases_of(regions)
    return float(rows @ columns) / settings.speed > cost[-1] / _PREPARED


def _slices(bounds: list[int]) -> list[slice]:
    return [slice(*bound) for bound in itertools.pairwise(np.unique(bounds).tolist())]


def _costs(work: Work, regions: Regions) -> np.ndarray:
    """Bytes up to each of `regions`, the first of those of `work`, and in all of them."""
    rows, columns = work.bases_of(regions)
    return np.append(0, np.cumsum(_A_BASE * rows + columns + _A_PAIR * regions.spans[:, 1] * regions.spans[:, 3]))


def _between(regions: Regions, cuts: np.ndarray, slack: int) -> np.ndarray:
    """For each of `cuts` a pair before it, no further than `slack`, at which a region begins, or else a read."""
    region = np.minimum(np.searchsorted(regions.offsets, cuts, side="right"), len(regions.spans)) - 1
    within = cuts - regions.offsets[region]
    row = within % regions.spans[region, 3]
    return cuts - np.where(within <= slack, within, np.where(row <= slack, row, 0))


def halves(piece: slice) -> list[slice]:
    """The slice in two."""
    middle = (piece.start + piece.stop) // 2
    return [slice(piece.start, middle), slice(middle, piece.stop)]


@dataclass(frozen=True)
class Cut:
    """The sequences of some pairs, mostly views."""

    regions: Regions
    """By indices into what follows."""
    reads: Reads
    haplotypes: Sequences
    share_prefixes: bool
    """Whether haplotypes that begin alike share lanes."""


def cut_out(work: Work, piece: slice, share_prefixes: bool) -> Cut:
    """What the pairs of `piece` need. share_prefixes: as in Cut."""
    regions = work.regions.part(piece.start, piece.stop)
    first_read, which_reads = _used(regions.spans[:, 0], regions.spans[:, 1])
    first_haplotype, which_haplotypes = _used(regions.spans[:, 2], regions.spans[:, 3])
    spans = np.stack([first_read, regions.spans[:, 1], first_haplotype, regions.spans[:, 3]], axis=1)
    reads, haplotypes = _reads(work.reads, which_reads), _sequences(work.haplotypes, which_haplotypes)
    if any((part.offsets[1:] <= part.offsets[:-1]).any() for part in (reads.bases, haplotypes)):
        check_lengths(work.reads.bases, work.haplotypes)
    return Cut(Regions(spans), reads, haplotypes, share_prefixes)


class Packing:
    """A chunk that is planned, and on its way to the device while threads look through its reads.

    share: look for equal reads; share_prefixes: as in Cut.
    """

    def __init__(
        self, work: Work, piece: slice, share: bool, share_prefixes: bool, queues: Queues, settings: Settings, precision: str
    ) -> None:
        self.piece, self.chunk = piece, Chunk(queues, piece)
        cut = cut_out(work, piece, share_prefixes)
        try:
            self._plan(cut, share, settings, precision)
        except BaseException:
            self.chunk.abandon()
            raise

    def _plan(self, cut: Cut, share: bool, settings: Settings, precision: str) -> None:
        chunk, regions, haplotypes = self.chunk, cut.regions, cut.haplotypes
        rows, columns = cut.reads.bases.lengths, haplotypes.lengths
        chosen = shapes(rows, columns, settings, precision)
        put = put_haplotypes(haplotypes, chosen.long_columns is not None, settings.warp, chunk)
        sent = SentReads(cut.reads, chunk)
        kept, copies = _shared(regions, sent.known()) if share else (None, None)
        in_trees = columns <= settings.most_in_tree
        units = short_units(regions, kept, chosen.without(in_trees)) if (chosen.short > 0)[~in_trees].any() else None
        trees, spared = _trees(cut, _short_rows(regions, kept, rows, chosen), in_trees, settings, chunk) if in_trees.any() else (None, 0)
        long = _long(regions, kept, rows, columns, chosen, settings, precision, chunk.queues.compute_units)
        known = {
            "chunk": chunk,
            "pairs": len(regions),
            "haplotypes": put,
            "trees": trees,
            "short": put_units(units, chunk) if units and units.launches else None,
            "long": [put_long(*jobs, chunk) for jobs in long],
            "copies": None if copies is None else chunk.put(copies),
            "copy_count": 0 if copies is None else len(copies),
            "doubts": put_zeros(DOUBTS, chunk),
            "cells": _cells(regions, kept, cut.reads, haplotypes) - spared,
        }
        chunk.send()
        self._steep = partial(_steep, regions, columns=columns, settings=settings) if precision == "fp32" else None
        self._sent, self._known = sent, known

    def packed(self) -> Packed:
        """What `Runner.launch` takes. Waits until the reads are looked through."""
        try:
            steep = self._steep(reads=self._sent.known()) if self._steep else None
            return Packed(reads=self._sent.inputs(), steep=steep, **self._known)
        except BaseException:
            self.chunk.abandon()
            raise


def _trees(cut: Cut, rows: np.ndarray, wanted: np.ndarray, settings: Settings, chunk: Chunk) -> tuple[TreeInputs | None, int]:
    """The trees of the haplotypes `wanted` (bool), uploaded, and the cells that they spare; rows: as `_short_rows` says."""
    warps = chunk.queues.compute_units * warps_at_once(settings, "fp32")
    launches = plan(cut.regions.spans, cut.haplotypes, wanted, rows, settings.of_trees, settings.warp, warps, cut.share_prefixes)
    if not launches:
        return None, 0
    return put_trees(launches, cut.regions, rows, wanted, settings.warp, chunk), sum(launch.spared for launch in launches)


def _short_rows(regions: Regions, kept: np.ndarray | None, rows: np.ndarray, chosen: Shapes) -> np.ndarray:
    """Rows of the reads of short pairs, 0 where a read is left out."""
    if kept is not None:
        computed = np.zeros(len(rows), bool)
        computed[regions.rows[1][kept]] = True
        rows = np.where(computed, rows, 0)
    return rows if chosen.long_reads is None else np.where(chosen.long_reads, 0, rows)


def _cells(regions: Regions, kept: np.ndarray | None, reads: Reads, haplotypes: Sequences) -> int:
    rows, columns = regions.bases(reads.bases.offsets, haplotypes.offsets)
    if kept is None:
        return int(rows @ columns)
    region, read = (index[kept] for index in regions.rows)
    return int(reads.bases.lengths[read] @ columns[region])


def _used(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, slice | np.ndarray]:
    """(first index of each run among the sequences used, those sequences: a slice where they are most of a range)."""
    low, high = int(first.min()), int((first + count).max())
    if len(first) == 1 or (first[1:] == (first + count)[:-1]).all():
        return first - low, slice(low, high)
    size = high - low + 1
    used = np.cumsum(np.bincount(first - low, minlength=size) - np.bincount(first + count - low, minlength=size))[:-1] > 0
    if 2 * np.count_nonzero(used) > high - low:
        return first - low, slice(low, high)
    return (np.cumsum(used) - 1)[first - low], np.flatnonzero(used) + low


def _reads(reads: Reads, which: slice | np.ndarray) -> Reads:
    """Some of the reads: views where they are a slice."""
    if isinstance(which, slice):
        span = slice(int(reads.bases.offsets[which.start]), int(reads.bases.offsets[which.stop]))
        return Reads(_sequences(reads.bases, which), *(array[span] for array in reads.qualities))
    return take(reads, which)


def _sequences(sequences: Sequences, which: slice | np.ndarray) -> Sequences:
    """Some of the sequences: views where they are a slice."""
    if isinstance(which, slice):
        begin, end = int(sequences.offsets[which.start]), int(sequences.offsets[which.stop])
        return Sequences(sequences.data[begin:end], sequences.offsets[which.start : which.stop + 1] - begin)
    return sequences.take(which)


def _some(spans: np.ndarray) -> np.ndarray:
    """Some of the regions, always the same ones; at irregular distances, for regions may repeat themselves at regular ones."""
    if len(spans) <= _SAMPLED:
        return spans
    return spans[((np.arange(_SAMPLED) + _IRREGULAR) * (len(spans) / _SAMPLED)).astype(np.int64)]


def worth_sharing(work: Work, speed: float) -> bool:
    """Whether equal reads are so many that to look for them saves time: some of the regions tell. speed: as in Settings."""
    some = Regions(_some(work.regions.spans))
    region, read = some.rows
    begin, lengths = work.reads.bases.offsets[read], work.reads.bases.offsets[read + 1] - work.reads.bases.offsets[read]
    seconds = lengths * work.bases_of(some)[1][region] / speed
    if seconds.sum() < _LOOK * len(read):  # not even if all were equal
        return False
    if len(read) > _LARGE:
        return True
    same = representatives(begin, lengths, (work.reads.bases.data, *work.reads.qualities), region)
    equal = same != np.arange(len(same))
    return seconds[equal].sum() >= _LOOK * len(read) + _COMPARE * lengths[equal].sum()


def worth_sharing_prefixes(work: Work, columns: int) -> bool:
    """Whether haplotypes share so many lanes, of `columns`, that to look for them saves time: some of the regions tell."""
    return saved(_some(work.regions.spans), work.haplotypes, columns) >= _WORTH_LANES


def _shared(regions: Regions, reads: Reads) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(bool a read of a region: it is computed, `copies` as in Packed); None where all are."""
    region, read = regions.rows
    family = np.full(len(reads), -1)
    family[read[::-1]] = region[::-1]
    arrays = tuple(array for array in (reads.bases.data, *reads.qualities) if array.strides != (0,))
    same = representatives(reads.bases.offsets[:-1], reads.bases.lengths, arrays, family)[read]
    first, _, _, haplotypes = regions.spans[region].T
    kept = (same == read) | (same < first)  # a read of several regions may be represented by one that is not in all of them
    if kept.all():
        return None, None
    begin, dropped = regions.offsets[region], ~kept
    copies = np.stack([begin + (read - first) * haplotypes, begin + (same - first) * haplotypes, haplotypes, haplotypes], axis=1)
    return kept, copies[dropped].astype(np.uint32)


def _long(
    regions: Regions,
    kept: np.ndarray | None,
    rows: np.ndarray,
    columns: np.ndarray,
    chosen: Shapes,
    settings: Settings,
    precision: str,
    units: int,
) -> list[tuple[int, Jobs, np.ndarray]]:
    """Columns a lane, jobs, and the pairs' indices in the order of `results`, of the long pairs."""
    if chosen.long_columns is None:
        return []
    read, haplotype = regions.indices()
    long = chosen.short[haplotype] == 0
    if chosen.long_reads is not None:
        long |= chosen.long_reads[read]
    if kept is not None:
        long &= np.repeat(kept, regions.spans[regions.rows[0], 3])
    key = np.where(long, chosen.long_columns[haplotype], 0)
    wide = np.flatnonzero(long & (columns > settings.warp * max(settings.long_rates[precision]))[haplotype])
    if len(wide):
        blocks, warps = -(-rows[read[wide]] // settings.block), units * warps_at_once(settings, precision, long=True)
        rates = settings.long_rates[precision]
        key[wide] = filling_columns(blocks, columns[haplotype[wide]], key[wide], rates, settings.warp, warps)
    result = []
    for lane in np.unique(key[key > 0])[::-1].tolist():
        which = np.flatnonzero(key == lane)
        jobs = long_jobs(np.stack([read[which], haplotype[which]], axis=1), rows, columns, lane, settings.warp, READ_BLOCK)
        result.append((lane, jobs, which[jobs.order]))
    return result


def _steep(regions: Regions, reads: Reads, columns: np.ndarray, settings: Settings) -> np.ndarray | None:
    gaps = reads.gap_quals[:1] if reads.gap_quals.strides == (0,) else reads.gap_quals
    if int(gaps.max()) <= _LONG_GAP:
        return None
    highest = np.maximum.reduceat(reads.gap_quals & QUALITY_MASK, reads.bases.offsets[:-1])
    wide = columns > settings.warp * max(settings.rates["fp32"])
    pairs = regions.pairs()
    return (highest > _LONG_GAP)[pairs[:, 0]] & ((reads.bases.lengths > settings.long_rows)[pairs[:, 0]] | wide[pairs[:, 1]])
