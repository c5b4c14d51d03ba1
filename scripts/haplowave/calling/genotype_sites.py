"""From the events of haplotypes to the alleles of sites: one site for each position at which some event starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

SPANNING = "*"


class Event(NamedTuple):
    """A difference from the reference as VCF writes it; `pos` 0-based."""

    pos: int
    ref: str
    alt: str

    @property
    def end(self) -> int:
        """Reference position after the last that the event replaces."""
        return self.pos + len(self.ref)

    @property
    def is_snv(self) -> bool:
        return len(self.ref) == len(self.alt) == 1


@dataclass(frozen=True)
class Site:
    """Alleles at one position; `alleles[0]` is the reference. `of_haplotype`: allele number of each haplotype, int (haplotypes,)."""

    pos: int
    alleles: tuple[str, ...]
    of_haplotype: np.ndarray

    @property
    def is_variant(self) -> np.ndarray:
        """bool (alleles,): neither the reference nor a spanning deletion."""
        return np.array([number > 0 and allele != SPANNING for number, allele in enumerate(self.alleles)])

    def is_snv(self, allele: int) -> bool:
        return len(self.alleles[0]) == 1 and len(self.alleles[allele]) == 1 and self.alleles[allele] != SPANNING

    def keep(self, wanted: Sequence[int]) -> "Site":
        """The site with alleles `wanted` only (ascending, 0 first), bases that all share at the end removed.

        Haplotypes of other alleles get -1.
        """
        number_of = np.full(len(self.alleles), -1)
        number_of[list(wanted)] = np.arange(len(wanted))
        kept = [self.alleles[allele] for allele in wanted]
        written = [allele for allele in kept if allele != SPANNING]
        common = 0
        while all(len(allele) > common + 1 for allele in written) and len({allele[-1 - common] for allele in written}) == 1:
            common += 1
        trimmed = tuple(allele if allele == SPANNING else allele[: len(allele) - common] for allele in kept)
        return replace(self, alleles=trimmed, of_haplotype=number_of[self.of_haplotype])


def combine(events: Sequence[Event]) -> Event:
    """One event out of those that start at one position of one haplotype: an SNV of the anchor base and an indel behind it."""
    result = events[0]
    for event in events[1:]:
        ref = max(result.ref, event.ref, key=len)
        # An indel's allele begins with the anchor as the reference has it: the changed anchor is the other event's.
        first = result.alt[0] if result.alt[0] != ref[0] else event.alt[0]
        tails = [one.alt[1:] + ref[len(one.ref) :] for one in (result, event)]
        tail = tails[0] if tails[0] != ref[1:] else tails[1]
        result = Event(result.pos, ref, first + tail)
    return result


def site_positions(haplotypes: Sequence[Sequence[Event]]) -> list[int]:
    """Positions of all events, ascending."""
    return sorted({event.pos for events in haplotypes for event in events})


def build_site(pos: int, haplotypes: Sequence[Sequence[Event]], called: frozenset[tuple[int, str, str]] | set[Event]) -> Site:
    """Alleles of all haplotypes at `pos`.

    A haplotype whose event starts earlier and covers `pos` has the allele `*`, if that event is in `called`: an event that
    no sample carries leaves nothing to span.
    """
    at_site: list[Event | str | None] = []
    for events in haplotypes:
        here = [event for event in events if event.pos == pos]
        if here:
            at_site.append(combine(here))
        else:
            spanning = any(event.pos < pos < event.end and event in called for event in events)
            at_site.append(SPANNING if spanning else None)
    ref = max((event.ref for event in at_site if isinstance(event, Event)), key=len)
    texts = [ref if event is None else event if isinstance(event, str) else event.alt + ref[len(event.ref) :] for event in at_site]
    others = sorted({text for text in texts if text not in (ref, SPANNING)}, key=lambda text: (len(text), text))
    alleles = (ref, *others, *([SPANNING] if SPANNING in texts else []))
    number_of = {allele: number for number, allele in enumerate(alleles)}
    return Site(pos, alleles, np.array([number_of[text] for text in texts], np.int64))


def carried_events(site: Site, haplotypes: Sequence[Sequence[Event]], alleles: set[int]) -> set[Event]:
    """The events at the site on haplotypes whose allele is one of `alleles`."""
    found = set()
    for allele, events in zip(site.of_haplotype, haplotypes, strict=True):
        if int(allele) in alleles:
            found |= {event for event in events if event.pos == site.pos}
    return found
