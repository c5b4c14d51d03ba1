"""Suite `distance_cpu`: the CPU strategies beside edlib and WFA2-lib, short pairs in batches, and gap-affine alignments in batches.

Engines take turns on the same strings, and the fastest of the rounds counts; slow ones run once. Wall-clock times mean something
on a quiet machine only; `cpu_seconds`, the processor time of all threads of that round, also on a busy one.
"""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path

from haplowave.benchmark import distance_peers
from haplowave.benchmark.distance_cpu_sets import LongPair, real_pairs, simulated_pairs
from haplowave.benchmark.records import Record, print_table
from haplowave.benchmark.turns import in_turns

PARTS = ("long", "short", "affine")
_COLUMNS = ("experiment", "engine", "query_length", "target_length", "distance", "seconds", "cpu_seconds", "gcups")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of this suite."""
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}, separated by commas (default: all)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with expected.tsv and FASTA files NAME.fa.gz of real pairs")
    parser.add_argument("--rounds", type=int, default=5, help="times that each engine computes each set, in turns (default: 5)")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="also measure edlib and WFA2-lib if installed")


def run(arguments: argparse.Namespace) -> list[Record]:
    """Print the tables; one record an engine and set."""
    from haplowave.benchmark import distance_batches as batches
    from haplowave.opencl import select

    device = select("cpu" if arguments.device == "auto" else arguments.device, arguments.threads)
    print(f"device: {device.name} ({device.platform_name}), {device.threads} threads; seconds from strings in memory to the result")
    rounds = 2 if arguments.quick else arguments.rounds
    chosen = arguments.parts.split(",")
    records: list[Record] = []
    if "long" in chosen:
        pairs = simulated_pairs(100_000 if arguments.quick else 1_000_000)
        if arguments.data:
            pairs = real_pairs(arguments.data, 200_000 if arguments.quick else 1 << 31) + pairs
        records += _shown(_long(pairs, device, rounds, arguments.peers), _COLUMNS)
    if "short" in chosen:
        records += _shown(batches.short(device, rounds, 100_000 if arguments.quick else 1_000_000, arguments.peers), batches.BATCH_COLUMNS)
    if "affine" in chosen:
        records += _shown(batches.affine(device, rounds, 2_000 if arguments.quick else 20_000), batches.BATCH_COLUMNS)
    return records


def _shown(records: list[Record], columns: tuple[str, ...]) -> list[Record]:
    print()
    print_table(records, columns)
    return records


def _long(pairs: list[LongPair], device, rounds: int, peers: bool) -> list[Record]:
    from haplowave.distance import distance

    others = _peers(device.threads) if peers else {}
    records = []
    for pair in pairs:
        engines: dict[str, Callable[[], object]] = {}
        for strategy in ("auto", "wfa", "bitparallel"):
            if strategy == "wfa" and pair.distance > 60_000:
                continue
            engines[f"haplowave {strategy}"] = functools.partial(distance, pair.a, pair.b, strategy=strategy, device=device)
        texts = pair.a.tobytes(), pair.b.tobytes()
        for name, program in others.items():
            if "WFA2" not in name or pair.distance <= 100_000:
                engines[name] = functools.partial(program, *texts)
        for engine in list(engines)[:3]:
            engines[engine]()  # kernels compiled
        for name, timing in in_turns(engines, rounds).items():
            found = getattr(timing.result, "distance", timing.result)
            seconds, used = timing.fastest
            shape = {"query_length": len(pair.a), "target_length": len(pair.b), "distance": found}
            rate = len(pair.a) * len(pair.b) / seconds / 1e9
            records.append({"experiment": pair.name, "engine": name, **shape, "seconds": seconds, "cpu_seconds": used, "gcups": rate})
        answers = {record["distance"] for record in records if record["experiment"] == pair.name}
        if len(answers) > 1 or (pair.published and answers != {pair.distance}):
            raise AssertionError(f"{pair.name}: the engines find {sorted(answers)}, expected about {pair.distance}")
    return records


def _peers(threads: int) -> dict[str, Callable[[bytes, bytes], int]]:
    programs = {
        "edlib": distance_peers.edlib(),
        f"WFA2-lib, {threads} threads": distance_peers.wfa2(threads),
        "WFA2-lib, both ends": distance_peers.wfa2(1, both_ends=True),
    }
    return {name: program for name, program in programs.items() if program is not None}
