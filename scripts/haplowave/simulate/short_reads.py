"""Paired 2x150 reads: fragments of the true haplotypes, quality strings like an instrument's, errors drawn from them."""

from dataclasses import dataclass

import numpy as np

from haplowave.simulate import bases as b

LENGTH = 150
_MEAN_FRAGMENT, _FRAGMENT_DEVIATION, _SHORTEST = 420, 75, 60
_SHORT_FRAGMENTS = 0.015
_DUPLICATES, _FAILED, _FOREIGN = 0.02, 0.003, 0.003
_ADAPTERS = (b.encode("AGATCGGAAGAGCACACGTCTGAACTCCAGTCA"), b.encode("AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT"))
_LOWEST, _HIGHEST = 2, 41


@dataclass(frozen=True)
class Pairs:
    """Read pairs, one a row, as the instrument reports them (each mate in its own direction).

    `bases` uint8 (2, n, 150) ACGTN; `quals` uint8 (2, n, 150) Phred; `starts`, `sizes` int64 (n,) of the fragment on its
    haplotype, start -1 for a pair that comes from elsewhere; `reverse` bool (n,): first mate from the reverse strand;
    `duplicate`, `failed` bool (n,).
    """

    bases: np.ndarray
    quals: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    reverse: np.ndarray
    duplicate: np.ndarray
    failed: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


def draw(rng: np.random.Generator, haplotype: np.ndarray, depth: float) -> Pairs:
    """Pairs that cover `haplotype` `depth` times before duplicates, fewer where G + C is extreme."""
    count = round(depth * len(haplotype) / (2 * LENGTH))
    starts, sizes = _fragments(rng, haplotype, count)
    foreign = rng.random(len(starts)) < _FOREIGN
    repeats = np.flatnonzero(rng.random(len(starts)) < _DUPLICATES)
    source = np.sort(np.concatenate([np.arange(len(starts)), repeats]))
    starts, sizes, foreign = starts[source], sizes[source], foreign[source]
    reverse = (rng.random(len(foreign)) < 0.5)[np.searchsorted(source, source)]
    failed = rng.random(len(source)) < _FAILED
    templates = np.stack([_mate(rng, haplotype, starts, sizes, reverse != bool(mate), mate) for mate in (0, 1)])
    for row in np.flatnonzero(foreign):
        templates[:, row] = b.random_bases(rng, 2 * LENGTH, 0.5).reshape(2, LENGTH)
    quals = np.stack([_qualities(rng, len(source), mate, failed) for mate in (0, 1)])
    return Pairs(
        bases=add_errors(rng, templates, quals),
        quals=quals,
        starts=np.where(foreign, -1, starts),
        sizes=sizes,
        reverse=reverse,
        duplicate=_worse_copies(source, quals) & ~foreign,
        failed=failed,
    )


def add_errors(rng: np.random.Generator, bases: np.ndarray, quals: np.ndarray) -> np.ndarray:
    """`bases` with each one replaced by another with probability 10^(-Q/10); at Q2 half of those are no call (N)."""
    wrong = rng.random(bases.shape) < b.error_probability(quals)
    result = bases.copy()
    result[wrong] = b.other_bases(rng, bases[wrong])
    result[wrong & (quals == _LOWEST) & (rng.random(bases.shape) < 0.5)] = ord("N")
    return result


def _fragments(rng: np.random.Generator, haplotype: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and sizes of `count` fragments, by rejection on their G + C."""
    if len(haplotype) <= 2 * _SHORTEST:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    gc_before = np.concatenate([[0], np.cumsum(np.isin(haplotype, b.encode("GC")))])
    starts, sizes = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while len(starts) < count:
        size = rng.normal(_MEAN_FRAGMENT, _FRAGMENT_DEVIATION, count)
        short = rng.random(count) < _SHORT_FRAGMENTS
        size = np.where(short, rng.uniform(_SHORTEST, LENGTH, count), size)
        size = np.clip(size, _SHORTEST, len(haplotype)).astype(np.int64)
        start = (rng.random(count) * (len(haplotype) - size + 1)).astype(np.int64)
        gc = (gc_before[start + size] - gc_before[start]) / size
        kept = rng.random(count) < np.clip(1.15 - 4 * np.abs(gc - 0.45) ** 1.5, 0.3, 1)
        starts, sizes = np.append(starts, start[kept]), np.append(sizes, size[kept])
    return starts[:count], sizes[:count]


def _mate(
    rng: np.random.Generator, haplotype: np.ndarray, starts: np.ndarray, sizes: np.ndarray, reverse: np.ndarray, mate: int
) -> np.ndarray:
    """True bases that one mate reads, (n, 150); past the fragment's end it reads the adapter, then anything."""
    cycle = np.arange(LENGTH)
    inside = np.minimum(cycle, sizes[:, None] - 1)
    forward = haplotype[starts[:, None] + inside]
    backward = b.reverse_complement(haplotype[starts[:, None] + sizes[:, None] - 1 - inside][..., ::-1])
    result = np.where(reverse[:, None], backward, forward)
    adapter = _ADAPTERS[mate]
    for row in np.flatnonzero(sizes < LENGTH):
        tail = np.concatenate([adapter, b.random_bases(rng, LENGTH, 0.5)])
        result[row, sizes[row] :] = tail[: LENGTH - sizes[row]]
    return result


def _qualities(rng: np.random.Generator, count: int, mate: int, failed: np.ndarray) -> np.ndarray:
    """uint8 (count, 150): a curve over the cycles, an offset for the read, noise that lasts some cycles, dips, bad tails."""
    cycle = np.arange(LENGTH)
    curve = 40 - 7 * np.exp(-cycle / 4) - (4 + mate) / (1 + np.exp(-(cycle - 90) / 12)) - mate
    offset = np.where(rng.random(count) < 0.1, -rng.gamma(2, 3, count), rng.normal(0, 0.8, count))
    offset = np.where(failed, offset - 18, offset)
    quals = curve + offset[:, None]
    noise, dip = rng.normal(0, 1.6, count), np.zeros(count)
    for column in range(LENGTH):
        noise = 0.8 * noise + rng.normal(0, 1, count)
        dip = np.where(rng.random(count) < 0.006 + 0.00006 * column, rng.gamma(2, 6, count), 0.6 * dip)
        quals[:, column] -= np.abs(noise) + dip
    tail = np.where(rng.random(count) < 0.01 * (1 + mate), rng.integers(LENGTH // 3, LENGTH, count), LENGTH)
    quals = np.clip(np.rint(quals), _LOWEST + 1, _HIGHEST)
    return np.where(cycle >= tail[:, None], _LOWEST, quals).astype(np.uint8)


def _worse_copies(source: np.ndarray, quals: np.ndarray) -> np.ndarray:
    """bool: every pair of the same fragment but the one with the highest sum of qualities."""
    total = quals.sum(axis=(0, 2), dtype=np.int64)
    order = np.lexsort((np.arange(len(source)), -total, source))
    later = np.zeros(len(source), bool)
    later[order[1:]] = source[order[1:]] == source[order[:-1]]
    return later
