"""Long reads: stretches of the true haplotypes with substitutions and indels, drawn from the qualities they report."""

from dataclasses import dataclass

import numpy as np

from haplowave.simulate import bases as b

_SHORTEST_LEFT = 1000
_CHIMERAS = 0.02


@dataclass(frozen=True)
class Profile:
    """One technology. Qualities are Phred; `in_runs`: share of the errors within a homopolymer (3 bases or more) that change its length."""

    preset: str
    read_quality: float
    read_deviation: float
    highest: int
    run_penalty: float
    in_runs: float
    indels: float
    mean_length: int
    shortest: int
    longest: int


PROFILES = {
    "hifi": Profile("map-hifi", 33, 3, 40, 1.5, 0.9, 0.4, 11_000, 5_000, 20_000),
    "ont": Profile("map-ont", 21, 2.5, 40, 1.2, 0.8, 0.5, 13_000, 2_000, 40_000),
}


@dataclass(frozen=True)
class LongRead:
    """`bases`, `quals`: uint8, as the instrument reports them; `start`, `end`: what it covers of its haplotype."""

    bases: np.ndarray
    quals: np.ndarray
    start: int
    end: int
    reverse: bool


def draw(rng: np.random.Generator, haplotype: np.ndarray, depth: float, profile: Profile) -> list[LongRead]:
    """Reads that cover `haplotype` `depth` times; two in a hundred carry another stretch at their end, as chimeras do."""
    if len(haplotype) < _SHORTEST_LEFT:
        return []
    reads, covered = [], 0
    while covered < depth * len(haplotype):
        start, end = _stretch(rng, len(haplotype), profile)
        covered += end - start
        reverse = bool(rng.random() < 0.5)
        template = haplotype[start:end]
        template = b.reverse_complement(template) if reverse else template
        if rng.random() < _CHIMERAS:
            other = slice(*_stretch(rng, len(haplotype), profile))
            template = np.concatenate([template, b.reverse_complement(haplotype[other])])
        reads.append(LongRead(*read_out(rng, template, profile), start, end, reverse))
    return reads


def _stretch(rng: np.random.Generator, length: int, profile: Profile) -> tuple[int, int]:
    """A stretch of [0, length), cut at the ends, so that they are as deep as the middle."""
    wanted = int(np.clip(rng.gamma(6, profile.mean_length / 6), profile.shortest, profile.longest))
    start = int(rng.integers(_SHORTEST_LEFT - wanted, length - _SHORTEST_LEFT + 1))
    return max(0, start), min(length, start + wanted)


def read_out(rng: np.random.Generator, template: np.ndarray, profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Bases and qualities of a read of `template`: each template base fails with probability 10^(-Q/10) of its own quality.

    A failure is a substitution, a base left out (its quality goes with it), or a base too many; within a homopolymer
    mostly the latter two, which change the run's length.
    """
    runs = b.run_lengths(template)
    quals = _qualities(rng, runs, profile)
    failed = rng.random(len(template)) < b.error_probability(quals)
    indel = failed & (rng.random(len(template)) < np.where(runs >= 3, profile.in_runs, profile.indels))
    inserted = indel & (rng.random(len(template)) < 0.4)
    bases = template.copy()
    substituted = failed & ~indel
    bases[substituted] = b.other_bases(rng, template[substituted])
    copies = np.where(indel, np.where(inserted, 2, 0), 1)
    read = np.repeat(bases, copies)
    extra = (np.cumsum(copies) - 1)[inserted & (runs < 3)]
    read[extra] = rng.choice(b.ACGT, len(extra))
    return read, np.repeat(quals, copies)


def _qualities(rng: np.random.Generator, runs: np.ndarray, profile: Profile) -> np.ndarray:
    """uint8, one a template base: the read's own level, noise over some ten bases, lower within homopolymers."""
    level = rng.normal(profile.read_quality, profile.read_deviation)
    noise = np.convolve(rng.normal(0, 5, len(runs) + 9), np.full(10, 0.32), "valid")
    penalty = profile.run_penalty * np.clip(runs - 2, 0, 10)
    return np.clip(np.rint(level + noise - penalty), 3, profile.highest).astype(np.uint8)
