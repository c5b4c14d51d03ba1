"""True sites of a family: four founder haplotypes that carry SNVs, indels, clusters and multi-allelic sites.

Every site is left-aligned and trimmed as bcftools norm does it, and on one founder haplotype no two sites overlap, so that
applying the sites to the reference gives the haplotypes in whatever order they are applied.
"""

from dataclasses import dataclass

import numpy as np

from haplowave.simulate import bases as b
from haplowave.simulate.reference import Contig, Repeat

FOUNDERS = 4
_MARGIN = 60  # bp without variants around gaps and at contig ends
_MEAN_DISTANCE = 380
_MAX_INDEL = 50


@dataclass(frozen=True)
class Site:
    """`start`: 0-based position of `ref`; `founders`: for each founder haplotype 0 (reference) or 1 + index into `alts`."""

    start: int
    ref: str
    alts: tuple[str, ...]
    founders: tuple[int, ...]
    kind: str

    @property
    def end(self) -> int:
        return self.start + len(self.ref)


def left_align(genome: np.ndarray, start: int, alleles: list[str]) -> tuple[int, list[str]]:
    """Left-aligned, parsimonious alleles (reference first) and their 0-based start; Tan et al. 2015, algorithm 1."""
    alleles = list(alleles)
    moved = True
    while moved:
        moved = False
        if len({allele[-1:] for allele in alleles}) == 1 and all(alleles):
            alleles = [allele[:-1] for allele in alleles]
            moved = True
        if not all(alleles):
            start -= 1
            alleles = [chr(genome[start]) + allele for allele in alleles]
            moved = True
    while all(len(allele) > 1 for allele in alleles) and len({allele[0] for allele in alleles}) == 1:
        alleles = [allele[1:] for allele in alleles]
        start += 1
    return start, alleles


class _Builder:
    """Collects the sites of one contig; `taken` marks reference bases that a site or its neighbourhood of one base holds."""

    def __init__(self, rng: np.random.Generator, contig: Contig):
        self.rng, self.genome = rng, contig.genome
        self.sites: list[Site] = []
        unknown = np.flatnonzero(~contig.known)
        self.taken = np.zeros(len(contig.genome), bool)
        self.taken[:_MARGIN] = self.taken[-_MARGIN:] = True
        for offset in range(-_MARGIN, _MARGIN + 1):
            self.taken[np.clip(unknown + offset, 0, len(self.taken) - 1)] = True

    def founders(self, alternatives: int = 1) -> tuple[int, ...]:
        """Each founder carries an alternative allele with the site's own frequency; every alternative occurs at least once."""
        frequency = 0.1 + 0.8 * self.rng.random() ** 2  # about two heterozygous sites to one homozygous
        carriers = np.where(self.rng.random(FOUNDERS) < frequency, self.rng.integers(1, alternatives + 1, FOUNDERS), 0)
        places = self.rng.permutation(FOUNDERS)
        for index in range(alternatives):
            if not (carriers == index + 1).any():
                carriers[places[index]] = index + 1
        if len({*carriers.tolist()} - {0}) < alternatives:
            carriers[places[:alternatives]] = np.arange(1, alternatives + 1)
        return tuple(carriers.tolist())

    def add(self, start: int, ref: str, alts: list[str], founders: tuple[int, ...], kind: str, *, overlap: bool = False) -> bool:
        """Left-align and keep the site unless its place is taken; `overlap` leaves that to the caller."""
        if not 1 <= start < len(self.genome) - len(ref) - 1:
            return False
        start, (ref, *alts) = left_align(self.genome, start, [ref, *alts])
        span = slice(start - 1, start + len(ref) + 1)
        if not overlap and self.taken[span].any():
            return False
        self.taken[span] = True
        self.sites.append(Site(start, ref, tuple(alts), founders, kind))
        return True

    def text(self, start: int, end: int) -> str:
        return b.decode(self.genome[start:end])

    def snv(self, start: int, founders: tuple[int, ...], alternatives: int = 1, kind: str = "snv", overlap: bool = False) -> bool:
        ref = self.text(start, start + 1)
        others = self.rng.permutation([base for base in "ACGT" if base != ref])
        return self.add(start, ref, others[:alternatives].tolist(), founders, kind, overlap=overlap)

    def length(self) -> int:
        """Length of an indel: mostly a few bases, at most 50."""
        longest = self.rng.choice([3, 15, _MAX_INDEL], p=[0.6, 0.28, 0.12])
        return int(self.rng.integers(1, longest + 1))

    def indel(self, start: int, founders: tuple[int, ...], kind: str = "indel") -> bool:
        length = self.length()
        anchor = self.text(start, start + 1)
        if self.rng.random() < 0.5:
            return self.add(start, self.text(start, start + 1 + length), [anchor], founders, kind)
        duplicates = self.rng.random() < 0.4
        inserted = self.text(start + 1, start + 1 + length) if duplicates else b.decode(b.random_bases(self.rng, length, 0.45))
        return self.add(start, anchor, [anchor + inserted], founders, kind)

    def repeat(self, repeat: Repeat) -> bool:
        """A tandem repeat that loses or gains units; sometimes two different alleles."""
        copies = (repeat.end - repeat.start) // repeat.unit
        most = max(1, min(copies - 2, _MAX_INDEL // repeat.unit, 5))
        changes = [change for change in range(-most, most + 1) if change]
        weights = np.array([1 / abs(change) for change in changes])
        alternatives = 2 if self.rng.random() < 0.3 else 1
        chosen = self.rng.choice(changes, alternatives, replace=False, p=weights / weights.sum())
        tract = self.text(repeat.start, repeat.end)
        unit = tract[: repeat.unit]
        alts = [unit * (copies + int(change)) for change in chosen]
        return self.add(repeat.start, tract, alts, self.founders(alternatives), "repeat")

    def cluster(self, start: int) -> None:
        """Several variants within 40 bp that mostly travel together."""
        common = self.founders()
        position = start
        for _ in range(int(self.rng.integers(3, 6))):
            founders = common if self.rng.random() < 0.8 else self.founders()
            (self.indel if self.rng.random() < 0.25 else self.snv)(position, founders, kind="cluster")
            position += int(self.rng.integers(2, 14))

    def spanning(self, start: int) -> None:
        """A deletion on some founders over an SNV on others."""
        order = self.rng.permutation(FOUNDERS)
        cut = int(self.rng.integers(1, FOUNDERS))
        deleted, changed = ([int(founder in group) for founder in range(FOUNDERS)] for group in (order[:cut], order[cut:]))
        length = int(self.rng.integers(5, 16))
        if self.add(start, self.text(start, start + 1 + length), [self.text(start, start + 1)], tuple(deleted), "spanning"):
            site = self.sites[-1]
            self.snv(int(self.rng.integers(site.start + 2, site.end - 1)), tuple(changed), kind="spanning", overlap=True)


def family(rng: np.random.Generator, contig: Contig) -> list[Site]:
    """The sites of one contig, sorted by position."""
    builder = _Builder(rng, contig)
    for repeat in contig.repeats:
        if rng.random() < 0.6:
            builder.repeat(repeat)
    position = _MARGIN
    while position < len(contig.genome) - _MARGIN:
        kind = rng.choice(["snv", "indel", "cluster", "multiallelic", "spanning"], p=[0.66, 0.18, 0.09, 0.04, 0.03])
        if kind == "snv":
            builder.snv(position, builder.founders())
        elif kind == "indel":
            builder.indel(position, builder.founders())
        elif kind == "cluster":
            builder.cluster(position)
        elif kind == "multiallelic":
            builder.snv(position, builder.founders(2), alternatives=2, kind="multiallelic")
        else:
            builder.spanning(position)
        position += 3 + int(rng.exponential(_MEAN_DISTANCE))
    return sorted(builder.sites, key=lambda site: (site.start, site.ref, site.alts))


def haplotype(genome: np.ndarray, sites: list[Site], founder: int) -> np.ndarray:
    """The sequence of one founder: `genome` with the alleles it carries; uint8.

    Raises ValueError where two of its alleles overlap or a reference allele is not what `genome` holds.
    """
    pieces: list[np.ndarray] = []
    done = 0
    for site in sites:
        allele = site.founders[founder]
        if not allele:
            continue
        if site.start < done or b.decode(genome[site.start : site.end]) != site.ref:
            raise ValueError(f"site at {site.start} does not fit founder {founder}")
        pieces += [genome[done : site.start], b.encode(site.alts[allele - 1])]
        done = site.end
    return np.concatenate([*pieces, genome[done:]])
