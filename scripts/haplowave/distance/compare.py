"""Pairs of FASTA records: their distances as a table, their alignments as PAF."""

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TextIO

import numpy as np

from haplowave.distance.alignment import align
from haplowave.distance.cigar import paf_line
from haplowave.distance.long import DistanceResult, distance, symbols
from haplowave.errors import UserError
from haplowave.files import atomic_path
from haplowave.io.fasta import read_fasta
from haplowave.opencl import Device

COLUMNS = ("query", "target", "query_length", "target_length", "distance", "similarity", "strategy", "seconds", "gcups", "cells")

Record = tuple[str, np.ndarray]


@dataclass(frozen=True)
class Comparison:
    """What `compare` does with each pair. `maximum`, `checkpoint`, `others`: as in `distance`; not with `alignment`."""

    device: Device
    strategy: str = "auto"
    maximum: int | None = None
    ignore_case: bool = False
    checkpoint: Path | None = None
    others: tuple[Device, ...] = ()
    alignment: Path | None = None
    show_progress: bool = False


def compare(queries: Path, targets: Path, output: Path | None, all_against_all: bool, how: Comparison) -> None:
    """Write one line a pair to `output` (standard output when None), and PAF records to how.alignment.

    Record i of one file goes with record i of the other, or every one with every one. Raises UserError for unusable input.
    """
    pairs = list(_pairs(queries, targets, all_against_all))
    if how.checkpoint is not None and len(pairs) > 1:
        raise UserError(f"{how.checkpoint}: a checkpoint belongs to one pair, but there are {len(pairs)}; give files of one record each")
    if how.alignment is not None and (how.strategy != "auto" or how.maximum is not None or how.checkpoint is not None or how.others):
        raise UserError("--alignment finds its own way; leave out --strategy, --maximum, --checkpoint and --share-devices")
    if how.maximum is not None and how.maximum < 0:
        raise UserError(f"--maximum {how.maximum}: a distance is never negative; give 0 or more")
    with _opened(output) as table, _opened(how.alignment) if how.alignment else contextlib.nullcontext() as paf:
        print(*COLUMNS, sep="\t", file=table)
        for query, target in pairs:
            bar = ProgressBar(f"{query[0]} {target[0]}") if how.show_progress else None
            result = _one(query, target, how, bar, paf)
            if bar is not None:
                bar.close()
            print(_line(query[0], target[0], result), file=table, flush=True)


def _one(query: Record, target: Record, how: Comparison, bar: "ProgressBar | None", paf: TextIO | None) -> DistanceResult:
    a, b = symbols(query[1], how.ignore_case), symbols(target[1], how.ignore_case)
    if paf is None:
        return distance(
            a, b, strategy=how.strategy, device=how.device, maximum=how.maximum, progress=bar, checkpoint=how.checkpoint, others=how.others
        )
    result = align(a, b, device=how.device, progress=bar)
    print(paf_line(result.runs, query[0], target[0], len(a), len(b)), file=paf)
    return DistanceResult(result.distance, result.strategy, result.seconds, result.cells, len(a), len(b), {})


def _pairs(queries: Path, targets: Path, all_against_all: bool) -> Iterator[tuple[Record, Record]]:
    first, second = read_fasta(queries), read_fasta(targets)
    if all_against_all:
        yield from product(first, second)
        return
    if len(first) != len(second):
        raise UserError(
            f"{queries}: {len(first)} records, but {targets} has {len(second)}; pairs are formed in order: give files of equal "
            "numbers of records, or --all-vs-all"
        )
    yield from zip(first, second, strict=True)


def _line(query: str, target: str, result: DistanceResult) -> str:
    numbers = (result.query_length, result.target_length, result.distance, f"{result.similarity:.6f}", result.strategy)
    return "\t".join(map(str, (query, target, *numbers, f"{result.seconds:.6f}", f"{result.gcups:.3f}", result.cells)))


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as handle:
        yield handle


class ProgressBar:
    """A line on standard error: share done, seconds, and the best upper bound so far."""

    WIDTH = 30

    def __init__(self, label: str):
        self.label, self.began, self.shown = label, time.perf_counter(), 0.0

    def __call__(self, done: float, bound: int | None) -> None:
        now = time.perf_counter()
        if now - self.shown < 0.1:
            return
        self.shown = now
        filled = round(min(max(done, 0.0), 1.0) * self.WIDTH)
        known = "" if bound is None else f", at most {bound:,} edits"
        bar = "#" * filled + "." * (self.WIDTH - filled)
        print(f"\r{self.label} [{bar}] {100 * done:5.1f} % {now - self.began:.0f} s{known}   ", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown:
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)
