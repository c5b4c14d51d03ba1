"""Which atoms of truth and calls agree: exact matches first, then haplotypes of the neighbourhoods that are left."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from haplowave.evaluation.alleles import Allele, Atom
from haplowave.evaluation.clusters import Fetch, Member, clusters, halves, reach
from haplowave.evaluation.haplotypes import Choice, TooComplexError, agreement
from haplowave.evaluation.options import EvaluationOptions

TRUTH, CALLS = 0, 1


@dataclass
class Side:
    """Truth or calls on one contig.

    Of each atom, `copies`: (copies, ploidy) over all alleles that hold it; `quality`: QUAL of the first of them.
    """

    alleles: Sequence[Allele]
    copies: dict[Atom, tuple[int, int]] = field(init=False)
    quality: dict[Atom, str] = field(init=False)

    def __post_init__(self) -> None:
        total: Counter[Atom] = Counter()
        ploidy: dict[Atom, int] = {}
        self.quality = {}
        for allele in self.alleles:
            for atom in allele.atoms:
                total[atom] += allele.copies
                ploidy[atom] = max(ploidy.get(atom, 0), allele.ploidy)
                self.quality.setdefault(atom, allele.quality)
        self.copies = {atom: (min(count, ploidy[atom]), ploidy[atom]) for atom, count in total.items()}


@dataclass(frozen=True)
class Matches:
    """`genotype`, `allele`: for truth and calls the atoms that agree with their genotypes, or as alleles alone.

    `unresolved`: neighbourhoods too complex for haplotypes, where exact matches alone count.
    """

    genotype: tuple[set[Atom], set[Atom]]
    allele: tuple[set[Atom], set[Atom]]
    unresolved: int


def match(truth: Side, calls: Side, fetch: Fetch, options: EvaluationOptions) -> Matches:
    """Compare one contig. `fetch` gives its reference bases."""
    sides = (truth, calls)
    same = truth.copies.keys() & calls.copies.keys()
    equal = {atom for atom in same if _equal(truth.copies[atom], calls.copies[atom])}
    by_genotype = _Matcher(sides, (set(equal), set(equal)), fetch, options, genotypes=True)
    by_genotype.run()
    by_allele = _Matcher(sides, tuple(found | same for found in by_genotype.found), fetch, options, genotypes=False)
    by_allele.run()
    return Matches(by_genotype.found, by_allele.found, by_genotype.unresolved)


def _equal(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """The same share of the haplotypes: 1/1 is 1/1/1/1, but 0/1 is not 0/0/0/1."""
    return one[0] * other[1] == other[0] * one[1]


class _Matcher:
    """Adds to `found` (atoms of truth, of calls) what haplotypes explain.

    With genotypes, alleles that agree exactly are part of every haplotype tried. Without, all alleles lie on one haplotype
    and may be left out, and a neighbourhood is searched until it explains no more.
    """

    def __init__(
        self, sides: tuple[Side, Side], found: tuple[set[Atom], set[Atom]], fetch: Fetch, options: EvaluationOptions, *, genotypes: bool
    ):
        self.sides, self.found, self.fetch, self.options, self.genotypes = sides, found, fetch, options, genotypes
        self.unresolved = 0

    def run(self) -> None:
        open_members = [
            Member(side, allele, *reach(allele, self.fetch))
            for side in (TRUTH, CALLS)
            for allele in self.sides[side].alleles
            if not self.found[side].issuperset(allele.atoms)
        ]
        settled = [
            (side, allele) for side in (TRUTH, CALLS) for allele in self.sides[side].alleles if self.found[side].issuperset(allele.atoms)
        ]
        near = _Neighbours(settled)
        pending = clusters(open_members, self.options.cluster_distance)[::-1]
        while pending:
            group = pending.pop()
            try:
                while self._search(group, near) and not self.genotypes:
                    pass
            except TooComplexError:
                parts = halves(group)
                self.unresolved += not parts
                pending += parts[::-1]

    def _search(self, group: list[Member], near: "_Neighbours") -> bool:
        """One neighbourhood; True where something new was explained."""
        start, end = min(member.left for member in group), max(member.right for member in group)
        start, end, settled = near.within(start, end)
        start = max(0, start - 1)
        window = self.fetch(start, end + 1)
        alleles = [
            [member.allele for member in group if member.side == side] + [allele for own, allele in settled if own == side]
            for side in (TRUTH, CALLS)
        ]
        ploidy = max(allele.ploidy for both in alleles for allele in both) if self.genotypes else 1
        choices = [[self._choice(side, allele, start, ploidy) for allele in alleles[side]] for side in (TRUTH, CALLS)]
        included = agreement(window, *choices, ploidy, self.options.max_states)
        accepted = [self._accept(side, alleles[side], included[side]) for side in (TRUTH, CALLS)]
        return any(accepted)

    def _choice(self, side: int, allele: Allele, start: int, ploidy: int) -> Choice:
        gain = sum(atom not in self.found[side] for atom in allele.atoms)
        copies = allele.copies * ploidy // allele.ploidy if self.genotypes else 1
        return Choice(allele.start - start, allele.end - start, allele.alt, max(1, copies), self.genotypes and not gain, gain)

    def _accept(self, side: int, alleles: Sequence[Allele], included: Sequence[int]) -> bool:
        """Atoms count when every allele of the neighbourhood that holds them is part of the agreement."""
        chosen = set(included)
        holders: dict[Atom, list[int]] = defaultdict(list)
        for index, allele in enumerate(alleles):
            for atom in allele.atoms:
                holders[atom].append(index)
        if self.genotypes:
            new = {atom for atom, indices in holders.items() if chosen.issuperset(indices)}
        else:
            new = {atom for atom, indices in holders.items() if chosen.intersection(indices)}
        new -= self.found[side]
        self.found[side].update(new)
        return bool(new)


class _Neighbours:
    """Alleles that agree already, by position."""

    def __init__(self, settled: list[tuple[int, Allele]]):
        self._settled = sorted(settled, key=lambda item: (item[1].start, item[1].end, item[1].alt, item[0]))
        self._longest = max((allele.end - allele.start for _, allele in settled), default=0)
        self._starts = [allele.start for _, allele in self._settled]

    def within(self, start: int, end: int) -> tuple[int, int, list[tuple[int, Allele]]]:
        """[start, end) widened until no such allele crosses its ends, and the alleles inside or touching it."""
        while True:
            candidates = self._settled[bisect_left(self._starts, start - self._longest) : bisect_right(self._starts, end)]
            inside = [item for item in candidates if item[1].end >= start]
            wider = min([start, *(a.start for _, a in inside)]), max([end, *(a.end for _, a in inside)])
            if wider == (start, end):
                return start, end, inside
            start, end = wider
