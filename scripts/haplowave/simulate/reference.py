"""A reference of several contigs that holds what makes calling hard.

A contig's genome is complete; what the reference file shows of it is masked: lower case over repeats, N over gaps,
an IUPAC letter here and there. Reads come from the genome, so that some belong where the reference has N, as in life.
"""

from dataclasses import dataclass, field

import numpy as np

from haplowave.simulate import bases as b

_SHARES = (("chr1", 0.52), ("chr2", 0.36), ("HLA-A*01:01", 0.12))
_TINY = ("tiny", 120)
_GAP, _COPY, _NEAR_COPY = 300, 700, 1200


@dataclass
class Repeat:
    """A tandem repeat: `unit` bases long, covering [start, end)."""

    start: int
    end: int
    unit: int


@dataclass
class Contig:
    """`genome`: uint8 ACGT; `shown`: uint8, what the reference file says, lower case, N and IUPAC included, same length.

    `ambiguous`: intervals [start, end) of identical copies, which no short read can tell apart.
    """

    name: str
    genome: np.ndarray
    shown: np.ndarray
    repeats: list[Repeat] = field(default_factory=list)
    ambiguous: list[tuple[int, int]] = field(default_factory=list)

    @property
    def known(self) -> np.ndarray:
        """bool: the reference shows one of ACGT."""
        return np.isin(self.shown & 0xDF, b.ACGT)


def build(rng: np.random.Generator, size: int) -> list[Contig]:
    """Contigs of `size` bp together, and a tiny one that is shorter than a read."""
    element = np.concatenate([b.random_bases(rng, 280, 0.55), b.encode("A" * 18)])
    contigs = [_contig(rng, name, int(size * share), element) for name, share in _SHARES]
    first, second = contigs[0], contigs[1]
    _plant_copies(rng, first, second)
    for contig in (first, second):
        _mask_gaps(contig)
    for letter, share in (("R", 0.31), ("M", 0.57)):
        second.shown[int(len(second.shown) * share)] = ord(letter)
    tiny = b.random_bases(rng, _TINY[1])
    return [*contigs, Contig(_TINY[0], tiny, tiny.copy())]


def _contig(rng: np.random.Generator, name: str, length: int, element: np.ndarray) -> Contig:
    """Background with one feature after another, each kind in turn so that even a small contig has them all."""
    pieces: list[np.ndarray] = []
    masks: list[np.ndarray] = []
    repeats: list[Repeat] = []
    position, turn, gc = 0, 0, 0.42

    def add(piece: np.ndarray, lower: bool) -> None:
        nonlocal position
        pieces.append(piece)
        masks.append(np.full(len(piece), lower))
        position += len(piece)

    while position < length:
        gc = float(np.clip(gc + rng.normal(0, 0.03), 0.34, 0.54))
        add(b.random_bases(rng, int(rng.integers(250, 700)), gc), False)
        kind = turn % 6
        turn += 1
        if kind in (0, 3):
            homopolymer = rng.random() < 0.5
            unit = b.random_bases(rng, 1 if homopolymer else int(rng.integers(2, 6)), 0.25)
            copies = int(rng.integers(7, 19) if homopolymer else rng.integers(5, 15))
            repeats.append(Repeat(position, position + copies * len(unit), len(unit)))
            add(np.tile(unit, copies), True)
        elif kind == 1:
            copy = element.copy()
            differs = rng.random(len(copy)) < rng.uniform(0.08, 0.15)
            copy[differs] = b.other_bases(rng, copy[differs])
            add(copy if rng.random() < 0.5 else b.reverse_complement(copy), True)
        elif kind in (2, 5):
            add(b.random_bases(rng, int(rng.integers(200, 450)), 0.78 if kind == 2 else 0.16), False)
        else:  # a tandem duplication: two copies of 60 to 120 bp that differ a little
            block = b.random_bases(rng, int(rng.integers(60, 120)), gc)
            second = block.copy()
            differs = rng.random(len(block)) < 0.05
            second[differs] = b.other_bases(rng, second[differs])
            add(np.concatenate([block, second]), True)
    genome = np.concatenate(pieces)[:length]
    shown = np.where(np.concatenate(masks)[:length], genome | 0x20, genome)
    return Contig(name, genome, shown, [repeat for repeat in repeats if repeat.end + 100 < length])


def _plant_copies(rng: np.random.Generator, first: Contig, second: Contig) -> None:
    """An identical copy within the first contig, and a copy that differs by 2 % from the first in the second."""
    source, target = len(first.genome) // 4, len(first.genome) * 3 // 4
    _paste(first, target, first.genome[source : source + _COPY])
    first.ambiguous += [(source, source + _COPY), (target, target + _COPY)]
    near = first.genome[len(first.genome) // 8 :][:_NEAR_COPY].copy()
    differs = rng.random(len(near)) < 0.02
    near[differs] = b.other_bases(rng, near[differs])
    _paste(second, len(second.genome) // 5, near)


def _paste(contig: Contig, start: int, sequence: np.ndarray) -> None:
    end = start + len(sequence)
    contig.genome[start:end] = sequence
    contig.shown[start:end] = sequence
    contig.repeats = [repeat for repeat in contig.repeats if repeat.end < start or repeat.start > end]


def _mask_gaps(contig: Contig) -> None:
    """N at the contig's start and once inside."""
    middle = len(contig.genome) * 3 // 5
    for start in (0, middle):
        contig.shown[start : start + _GAP] = ord("N")
    contig.repeats = [repeat for repeat in contig.repeats if contig.known[repeat.start - 1 : repeat.end + 1].all()]
