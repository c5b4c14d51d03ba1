"""Which alleles of two sets give the same haplotypes?

Both sets are applied to one window of the reference in every way that their genotypes allow; sequences in common say
which alleles agree, however each set writes them. This is the idea of vcfeval (Cleary et al. 2015, doi 10.1101/023754),
for one bounded window.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass


class TooComplexError(Exception):
    """A window has more partial haplotypes than the limit."""


@dataclass(frozen=True)
class Choice:
    """An allele in the search: [start, end) of the window replaced by `alt` on `copies` haplotypes.

    `required`: it is not left out; `gain`: what it is worth to explain it.
    """

    start: int
    end: int
    alt: str
    copies: int
    required: bool
    gain: int


Included = tuple[int, ...]
_Partial = tuple[tuple[str, int, bool], ...]  # of each haplotype: bases so far, reference used so far, ends in an insertion


def outcomes(window: str, choices: Sequence[Choice], ploidy: int, limit: int) -> dict[tuple[str, ...], tuple[int, Included]]:
    """Every set of `ploidy` haplotypes that a selection of `choices` can give: sorted sequences -> (gain, indices of the selection).

    Among selections that give the same, the one with the largest gain, then the first. On one haplotype alleles do not overlap.
    Raises TooComplexError with more than `limit` partial results.
    """
    states: dict[_Partial, tuple[int, Included]] = {(("", 0, False),) * ploidy: (0, ())}
    order = sorted(range(len(choices)), key=lambda index: (choices[index].start, choices[index].end, choices[index].alt))
    for index in order:
        choice = choices[index]
        following: dict[_Partial, tuple[int, Included]] = {}
        for state, (gain, included) in states.items():
            if not choice.required:
                _keep(following, state, gain, included)
            for places in itertools.combinations(range(ploidy), min(choice.copies, ploidy)):
                placed = _place(window, state, choice, places)
                if placed:
                    _keep(following, placed, gain + choice.gain, (*included, index))
        if len(following) > limit:
            raise TooComplexError
        states = following
    finished: dict[tuple[str, ...], tuple[int, Included]] = {}
    for state, (gain, included) in states.items():
        _keep(finished, tuple(sorted(bases + window[used:] for bases, used, _ in state)), gain, included)
    return finished


def _keep(results: dict, key: tuple, gain: int, included: Included) -> None:
    known = results.get(key)
    if known is None or (-gain, included) < (-known[0], known[1]):
        results[key] = (gain, included)


def _place(window: str, state: _Partial, choice: Choice, places: tuple[int, ...]) -> _Partial | None:
    """`state` with the allele on the haplotypes `places`; None where another allele is in its way."""
    result = list(state)
    inserts = choice.start == choice.end
    for place in places:
        bases, used, inserted = state[place]
        if choice.start < used or (inserts and inserted and used == choice.start):
            return None
        result[place] = (bases + window[used : choice.start] + choice.alt, choice.end, inserts)
    return tuple(sorted(result))


def agreement(window: str, first: Sequence[Choice], second: Sequence[Choice], ploidy: int, limit: int) -> tuple[Included, Included]:
    """The selections of both sets that give the same haplotypes and explain most; empty where none explains a part of both."""
    left, right = (outcomes(window, choices, ploidy, limit) for choices in (first, second))
    best: tuple[int, tuple[str, ...]] | None = None
    for key in left.keys() & right.keys():
        gains = left[key][0], right[key][0]
        if min(gains) > 0 and (best is None or (-sum(gains), key) < best):
            best = (-sum(gains), key)
    return (left[best[1]][1], right[best[1]][1]) if best else ((), ())
