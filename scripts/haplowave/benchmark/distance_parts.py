"""Measurements of the suite `distance`, a function a part; each returns one record a measurement."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.benchmark.distance_literature import PAIRS, LiteraturePair
from haplowave.benchmark.distance_pairs import simulate_pair
from haplowave.benchmark.records import Record
from haplowave.distance import distance
from haplowave.distance.ladder import RUNGS
from haplowave.distance.planes import command_queue, upload
from haplowave.distance.tiles import Sweep, shape_for, task
from haplowave.opencl import Device

LITERATURE_COLUMNS = (
    "experiment", "strings", "query_length", "target_length", "distance", "similarity", "strategy", "seconds", "gcups", "cells",
    "published_distance", "published_seconds", "times_faster",
)  # fmt: skip
LADDER_COLUMNS = ("experiment", "strings", "distance", "strategy", "seconds", "gcups", "cells")
RANDOM_COLUMNS = ("length", "distance", "strategy", "seconds", "gcups")


@dataclass(frozen=True)
class Setting:
    """`largest`: longest string to measure. `data`: folder of real FASTA files or None. `quick`: sizes for a run under a minute."""

    device: Device
    repeats: int
    data: Path | None
    largest: float
    quick: bool

    def warm(self, device: Device | None = None) -> None:
        """Build the kernels that the measurements may need on `device` (default: the setting's)."""
        device = device or self.device
        rng = np.random.default_rng(0)
        letters = np.frombuffer(b"ACGT", np.uint8)
        a, b = letters[rng.integers(0, 4, 3000)], letters[rng.integers(0, 4, 3100)]
        planes = upload(device, command_queue(device), a, b)
        for bound in (0, 2_000_000, 4_000_000, 1 << 40) if device.kind == "gpu" else (0,):
            Sweep(device, planes, [task(0, 0, 3000, 3100, 1, 3100, 3100)], shape_for(device, 1 << 30, bound)).run()
        for name in ("auto", "wfa", "bitparallel"):
            distance(a, b, strategy=name, device=device)

    def best(self, call: Callable[[], object], seconds: Callable[[object], float]) -> tuple[object, float]:
        """Result and time of the fastest run; long ones run once, short ones more often, after one that does not count."""
        first = call()
        if seconds(first) > 3:
            return first, seconds(first)
        runs = [call()]
        while len(runs) < self.repeats and seconds(runs[0]) < 1:
            runs.append(call())
        fastest = min(runs, key=seconds)
        return fastest, seconds(fastest)

    def pair(self, which: LiteraturePair) -> tuple[np.ndarray, np.ndarray, str]:
        """Both strings, and 'real' or 'simulated'."""
        if self.data is not None:
            paths = [self.data / f"{name}.fa.gz" for name in (which.a, which.b)]
            if all(path.is_file() for path in paths):
                from haplowave.io.fasta import read_fasta

                return read_fasta(paths[0])[0][1], read_fasta(paths[1])[0][1], "real"
        return *simulate_pair(which.m, which.n, which.distance), "simulated"


def literature(setting: Setting, strategies: list[str]) -> list[Record]:
    """Tables 2 and 3 of Castells-Rufas 2023, as far as the strings are not too long."""
    records = []
    for which in PAIRS:
        if max(which.m, which.n) > setting.largest:
            continue
        a, b, kind = setting.pair(which)
        for name in strategies:
            say(f"{which.experiment} {name}")
            records.append(_record(setting, which, a, b, kind, name))
            records[-1] |= {"part": "literature", "published_distance": which.distance, "published_seconds": which.seconds}
            records[-1]["times_faster"] = which.seconds / float(records[-1]["seconds"])
    return records


def _record(setting: Setting, which: LiteraturePair, a: np.ndarray, b: np.ndarray, kind: str, name: str) -> Record:
    result, seconds = setting.best(lambda: distance(a, b, strategy=name, device=setting.device), lambda one: one.seconds)
    return {
        "experiment": which.experiment, "strings": kind, "query_length": len(a), "target_length": len(b), "distance": result.distance,
        "similarity": result.similarity, "strategy": name if result.strategy == name else f"{name}: {result.strategy}",
        "seconds": seconds, "gcups": len(a) * len(b) / seconds / 1e9, "cells": result.cells,
    }  # fmt: skip


def ladder(setting: Setting, experiment: str) -> list[Record]:
    """Fig. 12: every design on one pair (a small simulated one in a quick run)."""
    which = next(pair for pair in PAIRS if pair.experiment == f"Table 3, {experiment}")
    if max(which.m, which.n) > setting.largest or setting.quick:
        which = LiteraturePair("Fig. 12, small", "", "", 4000, 4100, 1900, 0.0)
    a, b, kind = setting.pair(which)
    records = []
    for name in (*RUNGS, "wfa", "bitparallel", "auto"):
        say(f"ladder {name}")
        records.append({"part": "ladder", **_record(setting, which, a, b, kind, name)})
    return records


def unrelated(setting: Setting) -> list[Record]:
    """Random strings of four letters."""
    rng = np.random.default_rng(1)
    lengths = (20_000, 100_000) if setting.quick else (100_000, 1_000_000, 10_000_000)
    records = []
    for length in lengths:
        if length > setting.largest:
            continue
        say(f"random {length}")
        a, b = (np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, length)] for _ in range(2))
        result, seconds = setting.best(lambda a=a, b=b: distance(a, b, device=setting.device), lambda one: one.seconds)
        records.append({
            "part": "random", "length": length, "distance": result.distance, "strategy": result.strategy, "seconds": seconds,
            "gcups": length * length / seconds / 1e9, "similarity": result.similarity,
        })  # fmt: skip
    return records


def say(what: str) -> None:
    """Progress, on standard error."""
    print(f"measuring {what}", file=sys.stderr, flush=True)
