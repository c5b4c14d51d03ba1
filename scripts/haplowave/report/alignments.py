"""Alignments of long strings as lines of a few hundred points."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.distance import cigar

POINTS = 400
MOST_LINES = 6


@dataclass(frozen=True)
class AlignmentPath:
    """Where an alignment is after each of its runs: `query`, `target`, `matches`, int64 (runs + 1,), all from 0 on and never falling."""

    query: np.ndarray
    target: np.ndarray
    matches: np.ndarray

    @classmethod
    def of(cls, runs: cigar.Runs) -> "AlignmentPath":
        def summed(*operations: int) -> np.ndarray:
            return np.concatenate([[0], np.cumsum(runs.counts * np.isin(runs.operations, operations))])

        both = (cigar.MATCH, cigar.MISMATCH)
        return cls(summed(*both, cigar.INSERTION), summed(*both, cigar.DELETION), summed(cigar.MATCH))

    def points(self) -> tuple[list[float], list[float]]:
        """(target, query) of points along the path, corners of long gaps among them."""
        steps = np.linspace(0, len(self.query) - 1, min(POINTS, len(self.query))).astype(np.int64)
        gaps = np.argsort(np.abs(np.diff(self.query) - np.diff(self.target)))[-POINTS // 4 :]
        chosen = np.unique(np.concatenate([steps, gaps, gaps + 1]))
        return self.target[chosen].tolist(), self.query[chosen].tolist()

    def identity(self) -> tuple[list[float], list[float]]:
        """(middle in the query, matches in per cent of the window's symbols) of windows of equal length."""
        edges = np.linspace(0, self.query[-1], min(POINTS // 2, max(2, int(self.query[-1]) // 20)) + 1)
        if self.query[-1] == 0:
            return [], []
        matches = np.interp(edges, self.query, self.matches)
        return ((edges[1:] + edges[:-1]) / 2).tolist(), (100 * np.diff(matches) / np.diff(edges)).tolist()


def alignment_paths(files: Sequence[Path]) -> dict[str, AlignmentPath]:
    """Of the first records of PAF files, by `pair: query, target`."""
    found: dict[str, AlignmentPath] = {}
    for file in files:
        with open(file, encoding="utf-8") as handle:
            for line in handle:
                if len(found) == MOST_LINES:
                    return found
                fields = line.rstrip("\n").split("\t")
                text = next(field[5:] for field in fields[12:] if field.startswith("cg:Z:"))
                found[f"{file.stem}: {fields[0]}, {fields[5]}"] = AlignmentPath.of(cigar.parse(text))
    return found
