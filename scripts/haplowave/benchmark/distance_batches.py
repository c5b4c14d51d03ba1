"""Batches of the suites `distance` and `distance_cpu`: reads in haplotypes, and gap-affine pairs."""

import functools
from collections.abc import Callable

import numpy as np

from haplowave.benchmark import distance_peers
from haplowave.benchmark.distance_cpu_sets import short_pairs, simulated_pairs
from haplowave.benchmark.records import Record
from haplowave.benchmark.turns import in_turns
from haplowave.distance import batch
from haplowave.distance.affine import Penalties, align_batch
from haplowave.opencl import Device
from haplowave.sequences import Sequences

BATCH_COLUMNS = ("experiment", "engine", "pairs", "query_length", "target_length", "seconds", "cpu_seconds", "gcups")


def short(device: Device, rounds: int, count: int, peers: bool) -> list[Record]:
    """`count` reads of 150 inside haplotypes of 400; with peers also a sample by edlib."""
    reads, haplotypes, pairs = short_pairs(count, 150, 400)
    engines: dict[str, Callable[[], object]] = {"haplowave batch": lambda: batch(reads, haplotypes, pairs, device=device)}
    engines["haplowave batch"]()
    sample = pairs[:: max(1, count // 20_000)]
    edlib = distance_peers.edlib_infix() if peers else None
    if edlib is not None:
        texts = [(reads[read].tobytes(), haplotypes[haplotype].tobytes()) for read, haplotype in sample]
        engines["edlib, a sample"] = lambda: [edlib(*pair) for pair in texts]
    records = []
    for name, timing in in_turns(engines, rounds).items():
        seconds, used = timing.fastest
        done = count if name.startswith("haplowave") else len(sample)
        shape = {"pairs": done, "query_length": 150, "target_length": 400}
        rate = done * 150 * 400 / seconds / 1e9
        records.append(
            {"experiment": "reads in haplotypes", "engine": name, **shape, "seconds": seconds, "cpu_seconds": used, "gcups": rate}
        )
    return records


def affine(device: Device, rounds: int, count: int) -> list[Record]:
    """Scores and alignments of pairs of 150 (`count` of them), 1,000 and 10,000 symbols."""
    records = []
    for length, divergence in ((150, 0.02), (1000, 0.05), (10_000, 0.05)):
        number = max(4, count * 150 // length // (1 + length // 1000))
        texts = [simulated_pairs(length, (divergence,), seed=index)[0] for index in range(number)]
        queries, targets = (Sequences.from_list(bytes(getattr(pair, side)) for pair in texts) for side in ("a", "b"))
        pairs = np.repeat(np.arange(number), 2).reshape(-1, 2)
        engines = {
            f"haplowave {name}": functools.partial(align_batch, queries, targets, pairs, Penalties(), cigars=cigars, device=device)
            for name, cigars in (("scores", False), ("alignments", True))
        }
        for engine in engines.values():
            engine()
        for name, timing in in_turns(engines, rounds).items():
            seconds, used = timing.fastest
            shape = {"pairs": number, "query_length": length, "target_length": length}
            rate = float((queries.lengths * targets.lengths).sum()) / seconds / 1e9
            experiment = f"affine 4, 6, 2 at {divergence:.0%}"
            records.append({"experiment": experiment, "engine": name, **shape, "seconds": seconds, "cpu_seconds": used, "gcups": rate})
    return records
