"""Random reads and haplotypes for the tests of the GPU kernels, which run here on a CPU device in a small shape."""

import dataclasses

import numpy as np
from hypothesis import HealthCheck, settings

from haplowave.opencl import Device
from haplowave.pairhmm import ENGINES, tuning
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.model import regular_reads, take
from haplowave.sequences import Reads, Sequences

BASES = np.frombuffer(b"ACGT", np.uint8)
TOLERANCE = {"fp32": 5e-5, "fp64": 1e-9}
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def small_shape(device: Device) -> tuning.Settings:
    """Strips of 32 columns, so that short sequences reach every path: 8 lanes of 4 columns; long from 64 rows on; sharing pays."""
    rates = {"fp32": {4: 1.0}, "fp64": {4: 1.0}}
    shape = dataclasses.replace(tuning.built_in(device), warp=8, warps=1, long_rows=64, rates=rates, long_rates=rates)
    return dataclasses.replace(shape, tree_rates={}, speed=1e7)


def mutated(rng: np.random.Generator, sequence: np.ndarray, rate: float, letters: bytes = b"ACGT") -> np.ndarray:
    """A copy with substitutions, insertions and deletions."""
    copy = sequence.copy()
    where = rng.random(len(copy)) < rate
    copy[where] = rng.choice(np.frombuffer(letters, np.uint8), where.sum())
    kept = copy[rng.random(len(copy)) >= rate / 3]
    kept = kept if len(kept) else copy[:1]
    places = rng.integers(0, len(kept), rng.binomial(len(kept), rate / 3))
    return np.insert(kept, places, rng.choice(BASES, len(places)))


def make_reads(bases: list[np.ndarray], rng: np.random.Generator, base=(6, 42), indel=(20, 60), gap=(10, 11)) -> Reads:
    """Reads of the given bases, with qualities from half-open ranges."""
    sequences = Sequences.from_list(item.tobytes() for item in bases)
    return Reads(sequences, *(rng.integers(*bounds, len(sequences.data)).astype(np.uint8) for bounds in (base, indel, indel, gap)))


def case(seed: int, reads: int, haplotypes: int, rows: tuple[int, int], columns: tuple[int, int], letters=b"ACGTN", **quals) -> Work:
    """All pairs of reads and haplotypes that are pieces of one sequence; only regular reads."""
    rng = np.random.default_rng(seed)
    founder = rng.choice(BASES, 2 * max(rows[1], columns[1]))

    def piece(bounds: tuple[int, int]) -> np.ndarray:
        size, begin = rng.integers(bounds[0], bounds[1] + 1), rng.integers(0, len(founder) // 4 + 1)
        return mutated(rng, founder[begin : begin + size], 0.03, letters)

    made = make_reads([piece(rows) for _ in range(reads)], rng, **quals)
    pairs = np.stack(np.divmod(np.arange(reads * haplotypes), haplotypes), axis=1)
    pairs = pairs[regular_reads(made)[pairs[:, 0]]]
    return Work(made, Sequences.from_list(piece(columns).tobytes() for _ in range(haplotypes)), pairs)


def reference(work: Work) -> np.ndarray:
    """log10 of the oracle."""
    return ENGINES["reference"](work, None, "fp64").log10


def assert_right(outcome: Outcome, work: Work, tolerance: float) -> None:
    """Every safe value is within `tolerance` of the oracle, relative to values beyond -100."""
    expected = reference(work)
    safe = ~outcome.unsafe
    assert np.isfinite(outcome.log10[safe]).all()
    error = np.abs(outcome.log10 - expected)[safe] / np.maximum(1.0, -expected[safe] / 100)
    assert error.max(initial=0.0) <= tolerance


def repeated(work: Work, times: int) -> Reads:
    """Every read `times` times, one after another."""
    return take(work.reads, np.repeat(np.arange(len(work.reads)), times))
