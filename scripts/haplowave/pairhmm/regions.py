"""Pairs as rectangles, so that nothing about millions of pairs is planned pair by pair."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haplowave.ahead import in_slices
from haplowave.sequences import members

_SLICE = 1 << 20  # pairs in which rectangles are looked for by one thread


@dataclass(frozen=True)
class Regions:
    """Each read of a run with each haplotype of a run: region by region, in a region read by read, for a read haplotype by haplotype.

    spans: int64, shape (m, 4): first read, number of reads, first haplotype, number of haplotypes. Runs may overlap; none may be empty.
    `len` is the number of pairs.
    """

    spans: np.ndarray

    @classmethod
    def from_counts(cls, reads: np.ndarray, haplotypes: np.ndarray) -> "Regions":
        """Regions that follow one another: region i takes the next reads[i] reads and the next haplotypes[i] haplotypes."""
        counts = np.stack([np.asarray(reads, np.int64), np.asarray(haplotypes, np.int64)], axis=1).reshape(-1, 2)
        first = np.cumsum(counts, axis=0) - counts
        spans = np.stack([first[:, 0], counts[:, 0], first[:, 1], counts[:, 1]], axis=1)
        return cls(spans[(counts > 0).all(axis=1)])

    @classmethod
    def from_pairs(cls, pairs: np.ndarray) -> "Regions":
        """The same pairs in the same order; `pairs`: int, shape (n, 2), [read index, haplotype index]."""
        parts = in_slices(lambda begin, end: _rectangles(pairs[begin:end]), len(pairs), _SLICE)
        return cls(np.concatenate(parts) if parts else np.zeros((0, 4), np.int64))

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64 (m + 1,): the first pair of each region, and the number of pairs."""
        return np.append(0, np.cumsum(self.spans[:, 1] * self.spans[:, 3]))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def pairs(self, which: np.ndarray | None = None) -> np.ndarray:
        """int64 (n, 2): [read index, haplotype index] of the pairs `which` (indices, default: all)."""
        if which is None:
            return np.stack(self.indices(), axis=1)
        region = np.searchsorted(self.offsets, which, side="right") - 1
        read, haplotype = np.divmod(which - self.offsets[region], self.spans[region, 3])
        return np.stack([self.spans[region, 0] + read, self.spans[region, 2] + haplotype], axis=1)

    def indices(self) -> tuple[np.ndarray, np.ndarray]:
        """(read, haplotype) of each pair, int64."""
        region, read = self.rows
        row, haplotype = runs(self.spans[region, 2], self.spans[region, 3])
        return read[row], haplotype

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(region, read) of each read of each region, in order."""
        return runs(self.spans[:, 0], self.spans[:, 1])

    @cached_property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """(region, haplotype) of each haplotype of each region, in order."""
        return runs(self.spans[:, 2], self.spans[:, 3])

    def part(self, begin: int, end: int) -> "Regions":
        """The pairs begin..end."""
        if begin >= end:
            return Regions(self.spans[:0])
        first = int(np.searchsorted(self.offsets, begin, side="right")) - 1
        last = int(np.searchsorted(self.offsets, end, side="left")) - 1
        start, stop = begin - int(self.offsets[first]), end - int(self.offsets[last])
        if first == last:
            return Regions(_cut(self.spans[first], start, stop))
        whole = int(self.offsets[first + 1] - self.offsets[first])
        return Regions(
            np.concatenate([_cut(self.spans[first], start, whole), self.spans[first + 1 : last], _cut(self.spans[last], 0, stop)])
        )

    def bases(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """int64 (m,): bases of the reads, and of the haplotypes, of each region; rows, columns: offsets of reads and haplotypes."""
        first_read, reads, first_haplotype, haplotypes = self.spans.T
        return rows[first_read + reads] - rows[first_read], columns[first_haplotype + haplotypes] - columns[first_haplotype]


def runs(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For runs first..first + count: (number of the run, member) of each member, int64."""
    region = np.repeat(np.arange(len(first)), count)
    return region, members(first, count)


def _cut(span: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The pairs begin..end of one region, as up to three regions."""
    read, _, haplotype, haplotypes = span.tolist()
    (first, skipped), (last, more) = divmod(begin, haplotypes), divmod(end, haplotypes)
    if first == last:
        return np.array([[read + first, 1, haplotype + skipped, more - skipped]], np.int64)
    parts = []
    if skipped:
        parts.append([read + first, 1, haplotype + skipped, haplotypes - skipped])
        first += 1
    if last > first:
        parts.append([read + first, last - first, haplotype, haplotypes])
    if more:
        parts.append([read + last, 1, haplotype, more])
    return np.array(parts, np.int64).reshape(-1, 4)


def _rectangles(pairs: np.ndarray) -> np.ndarray:
    """Spans as in `Regions`: runs of haplotypes of a read, joined where the next read has the same run."""
    read, haplotype = pairs[:, 0], pairs[:, 1]
    new = np.ones(len(pairs), bool)
    np.not_equal(haplotype[1:] - haplotype[:-1], 1, out=new[1:])
    new[1:] |= read[1:] != read[:-1]
    begin = np.flatnonzero(new)
    size = np.diff(np.append(begin, len(pairs)))
    read, haplotype = read[begin], haplotype[begin]
    apart = np.ones(len(begin), bool)
    apart[1:] = (read[1:] - read[:-1] != 1) | (haplotype[1:] != haplotype[:-1]) | (size[1:] != size[:-1])
    corner = np.flatnonzero(apart)
    return np.stack([read[corner], np.diff(np.append(corner, len(begin))), haplotype[corner], size[corner]], axis=1).astype(np.int64)
