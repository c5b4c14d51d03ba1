"""Parts `auto`, `alignment` and `devices` of the suite `distance`: what a call costs beside what it could have been instead."""

import functools
import time
from collections.abc import Callable

import numpy as np

from haplowave.benchmark.distance_cpu_sets import LongPair, real_pairs
from haplowave.benchmark.distance_literature import PAIRS
from haplowave.benchmark.distance_pairs import simulate_pair
from haplowave.benchmark.distance_parts import Setting, say
from haplowave.benchmark.records import Record
from haplowave.benchmark.turns import SLOW, in_turns
from haplowave.distance import align, distance
from haplowave.opencl import Device

AUTO_COLUMNS = ("experiment", "query_length", "target_length", "distance", "wfa", "bitparallel", "auto", "choice", "ratio")
ALIGNMENT_COLUMNS = (
    "experiment", "query_length", "target_length", "distance", "strategy", "distance_seconds", "seconds", "ratio",
)  # fmt: skip
DEVICES_COLUMNS = ("experiment", "query_length", "target_length", "distance", "devices", "seconds", "times_faster", "cells")
ROUNDS = 15  # of pairs that take milliseconds
_HOPELESS = 5  # `wfa` is stopped at this many times the time of `bitparallel`
GRACE = 0.2  # and these seconds
_SIMULATED = ((100_000, 1000), (100_000, 30_000), (1_000_000, 10_000), (3_000_000, 900_000), (46_000_000, 4_000_000))  # length, edits


class _TooSlowError(Exception):
    pass


def choices(setting: Setting) -> list[Record]:
    """Medians of `wfa`, `bitparallel` and `auto` in turns, and `auto` over the better of the others."""
    records = []
    for pair in _pairs(setting):
        say(f"auto {pair.name}")
        call = functools.partial(distance, pair.a, pair.b, device=setting.device)
        engines = {name: functools.partial(call, strategy=name) for name in ("bitparallel", "auto", "wfa")}
        found = engines["auto"]()
        engines["bitparallel"]()
        sweep = engines["bitparallel"]().seconds
        if _stopped(engines["wfa"], _HOPELESS * sweep + GRACE) is None:
            del engines["wfa"]
        timings = in_turns(engines, _rounds(setting, sweep + found.seconds), lambda result: result.seconds)
        _check(pair, {timing.result.distance for timing in timings.values()})
        medians = {name: timing.median for name, timing in timings.items()}
        better = min(seconds for name, seconds in medians.items() if name != "auto")
        records.append({
            "part": "auto", **_shape(pair, found.distance), "wfa": "too slow", **medians,
            "choice": timings["auto"].result.strategy, "ratio": medians["auto"] / better,
        })  # fmt: skip
    return records


def alignments(setting: Setting) -> list[Record]:
    """Medians of an alignment and of the distance in turns, and the one over the other."""
    records = []
    for pair in _pairs(setting):
        say(f"alignment {pair.name}")
        engines = {"distance": functools.partial(distance, pair.a, pair.b, device=setting.device)}
        engines["alignment"] = functools.partial(align, pair.a, pair.b, device=setting.device)
        timings = in_turns(engines, 1, lambda result: result.seconds)
        once = sum(timing.median for timing in timings.values())
        if once < SLOW:  # kernels compiled now
            timings = in_turns(engines, _rounds(setting, once), lambda result: result.seconds)
        answers = {timing.result.distance for timing in timings.values()}
        _check(pair, answers)
        plain, seconds = timings["distance"].median, timings["alignment"].median
        records.append({
            "part": "alignment", **_shape(pair, answers.pop()), "strategy": timings["alignment"].result.strategy,
            "distance_seconds": plain, "seconds": seconds, "ratio": seconds / plain,
        })  # fmt: skip
    return records


def shared(setting: Setting, others: tuple[Device, ...]) -> list[Record]:
    """Medians of `bitparallel` on one device and on it with each number of others, in turns."""
    records = []
    for device in others:
        setting.warm(device)
    for pair in _long_pairs(setting):
        say(f"devices {pair.name}")
        call = functools.partial(distance, pair.a, pair.b, strategy="bitparallel", device=setting.device)
        counts = range(len(others) + 1)
        engines = {str(1 + count): functools.partial(call, others=others[:count]) for count in counts}
        timings = in_turns(engines, setting.repeats, lambda result: result.seconds)
        answers = {timing.result.distance for timing in timings.values()}
        _check(pair, answers)
        alone = timings["1"].median
        for devices, timing in timings.items():
            records.append({
                "part": "devices", **_shape(pair, timing.result.distance), "devices": int(devices), "seconds": timing.median,
                "times_faster": alone / timing.median, "cells": timing.result.cells,
            })  # fmt: skip
    return records


def _long_pairs(setting: Setting) -> list[LongPair]:
    """Strings that share nothing, and the pairs of Table 3 with chromosomes."""
    lengths = (20_000,) if setting.quick else (1_000_000, 10_000_000)
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)
    pairs = []
    for length in lengths:
        a, b = (letters[rng.integers(0, 4, length)] for _ in range(2))
        pairs.append(LongPair(f"random {length:,}", a, b, length // 2, False))
    for which in PAIRS:
        if which.experiment in ("Table 3, 4", "Table 3, chr21") and max(which.m, which.n) <= setting.largest:
            a, b, kind = setting.pair(which)
            pairs.append(LongPair(f"{which.experiment}, {kind}", a, b, which.distance, False))
    return pairs


def _pairs(setting: Setting) -> list[LongPair]:
    """The real pairs of the data folder, then simulated ones, as far as they are not too long."""
    pairs = real_pairs(setting.data, int(setting.largest)) if setting.data is not None else []
    sizes = ((20_000, 200), (20_000, 5000)) if setting.quick else _SIMULATED
    for length, edits in sizes:
        if length <= setting.largest:
            a, b = simulate_pair(length, length + length // 100, edits)
            pairs.append(LongPair(f"simulated {length:,}, {edits:,} edits", a, b, edits, False))
    return pairs


def _rounds(setting: Setting, seconds: float) -> int:
    """At least setting.repeats; more where a round is so short that noise counts."""
    return max(setting.repeats, min(ROUNDS, int(1 / max(seconds, 1e-3)))) if setting.repeats > 1 else 1


def _stopped(call: Callable, seconds: float) -> object | None:
    """Result of `call`, None where it takes longer than `seconds`."""
    began = time.perf_counter()

    def look(done: float, bound: int | None) -> None:
        if time.perf_counter() - began > seconds:
            raise _TooSlowError

    try:
        return call(progress=look)
    except _TooSlowError:
        return None


def _check(pair: LongPair, answers: set[int]) -> None:
    if len(answers) > 1 or (pair.published and answers != {pair.distance}):
        raise RuntimeError(f"{pair.name}: distances {sorted(answers)}, expected about {pair.distance}")


def _shape(pair: LongPair, found: int) -> Record:
    return {"experiment": pair.name, "query_length": len(pair.a), "target_length": len(pair.b), "distance": found}
