"""Inputs of the benchmark of PairHMM kernels: equal lengths, Illumina-like regions, the 10s set, tables of real pairs."""

from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from haplowave.benchmark.pairhmm_cpu_sets import Pairs, tables, testcases
from haplowave.pairhmm import Regions
from haplowave.pairhmm.engines import Work
from haplowave.sequences import Reads, Sequences

_BASES = np.frombuffer(b"ACGT", np.uint8)


@dataclass(frozen=True)
class Set:
    """Pairs to measure, under the name of the paper's experiment."""

    experiment: str
    rows: int
    columns: int
    work: Work


def equal_lengths(experiment: str, rows: int, columns: int, pairs: int, seed: int = 1) -> Set:
    """`pairs` different pairs of reads and haplotypes that all come from one sequence, with 1 % substitutions."""
    rng = np.random.default_rng(seed)
    haplotypes = ceil(sqrt(pairs))
    reads = ceil(pairs / haplotypes)
    founder = _BASES[rng.integers(0, 4, max(rows, columns))]
    made = _copies(rng, founder[:columns], haplotypes), _copies(rng, founder[:rows], reads)
    work = Work(_reads(rng, made[1]), made[0], Regions.from_counts([reads], [haplotypes]).part(0, pairs), share_prefixes=False)
    return Set(experiment, rows, columns, work)


def regions(rows: int, columns: int, pairs: int, reads: int = 64, haplotypes: int = 8, seed: int = 2) -> Set:
    """Regions of `reads` x `haplotypes` pairs each, as active regions of short reads are; about `pairs` pairs in all."""
    rng = np.random.default_rng(seed)
    count = max(1, pairs // (reads * haplotypes))
    founders = _BASES[rng.integers(0, 4, (count, columns))]
    begin = rng.integers(0, columns - rows + 1, (count, reads))
    cut = np.take_along_axis(founders[:, None, :], begin[:, :, None] + np.arange(rows), axis=2)
    made = [_flat(_with_errors(rng, item)) for item in (cut.reshape(-1, rows), np.repeat(founders, haplotypes, axis=0))]
    pairs_of = Regions.from_counts(np.full(count, reads), np.full(count, haplotypes))
    return Set("regions", rows, columns, Work(_reads(rng, made[0]), made[1], pairs_of, share_prefixes=False))


def variants(rows: int, columns: int, pairs: int, reads: int = 64, sites: int = 3, seed: int = 3) -> Set:
    """Regions as those of `regions`, whose haplotypes are all combinations of substitutions at `sites` in the middle of one sequence."""
    rng = np.random.default_rng(seed)
    haplotypes = 1 << sites
    count = max(1, pairs // (reads * haplotypes))
    made = np.repeat(rng.integers(0, 4, (count, 1, columns)), haplotypes, axis=1)
    site = rng.integers(columns // 4, 3 * columns // 4, (count, sites))
    for number in range(sites):
        has = np.flatnonzero(np.arange(haplotypes) >> number & 1)
        made[np.arange(count)[:, None], has, site[:, number, None]] += 1
    made = _BASES[made % 4]
    begin, which = rng.integers(0, columns - rows + 1, (count, reads)), rng.integers(0, haplotypes, (count, reads))
    cut = made[np.arange(count)[:, None, None], which[:, :, None], begin[:, :, None] + np.arange(rows)]
    pairs_of = Regions.from_counts(np.full(count, reads), np.full(count, haplotypes))
    reads_of = _reads(rng, _flat(_with_errors(rng, cut.reshape(-1, rows))))
    return Set("variants", rows, columns, Work(reads_of, _flat(made.reshape(-1, columns)), pairs_of, share_prefixes=False))


def shared(made: Set) -> Set:
    """The same with equal beginnings of haplotypes computed once."""
    return replace(made, experiment=f"{made.experiment}, shared", work=replace(made.work, share_prefixes=True))


def text_set(path: str, copies: int = 1) -> Set:
    """The testcases of a file, with its reads `copies` times."""
    pairs = testcases(path)
    work = Work(_tiled_reads(pairs.reads, copies), pairs.haplotypes, _tiled_regions(pairs, copies, 0), share_prefixes=False)
    return _of_any_length(_name(path.rsplit("/", 1)[-1], copies), work)


def table_set(haplotypes: str, reads: str, copies: int = 1) -> Set:
    """All pairs of the regions of two tables, `copies` times over."""
    pairs = tables(haplotypes, reads)
    given = _tiled_regions(pairs, copies, len(pairs.haplotypes))
    work = Work(_tiled_reads(pairs.reads, copies), _tiled(pairs.haplotypes, copies), given, share_prefixes=False)
    return _of_any_length(_name(pairs.name, copies), work)


def _name(name: str, copies: int) -> str:
    return name + (f" x{copies}" if copies > 1 else "")


def _tiled_regions(pairs: Pairs, copies: int, haplotypes: int) -> Regions:
    """The testcases `copies` times, each copy with reads of its own and with haplotypes that many further on."""
    spans = Regions.from_counts(*np.transpose(pairs.testcases)).spans
    steps = np.arange(copies)[:, None, None] * np.array([len(pairs.reads), 0, haplotypes, 0])
    return Regions((spans + steps).reshape(-1, 4))


def _tiled(sequences: Sequences, copies: int) -> Sequences:
    return Sequences(np.tile(sequences.data, copies), _offsets(np.tile(sequences.lengths, copies)))


def _tiled_reads(reads: Reads, copies: int) -> Reads:
    quals = reads.qualities
    return Reads(_tiled(reads.bases, copies), *(np.tile(array, copies) for array in quals))


def _of_any_length(name: str, work: Work) -> Set:
    read, haplotype = work.regions.indices()
    return Set(name, int(work.reads.bases.lengths[read].mean()), int(work.haplotypes.lengths[haplotype].mean()), work)


def _copies(rng: np.random.Generator, sequence: np.ndarray, count: int) -> Sequences:
    return _flat(_with_errors(rng, np.broadcast_to(sequence, (count, len(sequence))).copy()))


def _with_errors(rng: np.random.Generator, sequences: np.ndarray) -> np.ndarray:
    where = rng.integers(0, sequences.size, sequences.size // 100)
    sequences.reshape(-1)[where] = _BASES[rng.integers(0, 4, len(where))]
    return sequences


def _flat(sequences: np.ndarray) -> Sequences:
    return Sequences(sequences.ravel(), np.arange(len(sequences) + 1, dtype=np.int64) * sequences.shape[1])


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def _reads(rng: np.random.Generator, bases: Sequences) -> Reads:
    quals = (np.full(len(bases.data), quality, np.uint8) for quality in (45, 45, 10))
    return Reads(bases, rng.integers(10, 41, len(bases.data)).astype(np.uint8), *quals)
