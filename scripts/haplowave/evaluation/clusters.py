"""Groups of alleles that may be two spellings of the same haplotype."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from haplowave.evaluation.alleles import Allele

_LONGEST_ROLL = 1000

Fetch = Callable[[int, int], str]
"""(start, end) -> upper-case reference bases of the contig at hand."""


@dataclass(frozen=True)
class Member:
    """An allele of one side (0 truth, 1 calls) and the reference [left, right] over which it could be shifted."""

    side: int
    allele: Allele
    left: int
    right: int


def reach(allele: Allele, fetch: Fetch) -> tuple[int, int]:
    """The outermost positions that an indel can be shifted to without a change of the sequence; [start, end) of anything else."""
    start, end = allele.start, allele.end
    if start < end and allele.alt:
        return start, end
    before, after = fetch(max(0, start - _LONGEST_ROLL), start), fetch(end, end + _LONGEST_ROLL)
    moved = allele.alt or fetch(start, end)
    rightwards, leftwards = moved + after, before + moved
    right = next((i for i, base in enumerate(after) if rightwards[i] != base), len(after))
    left = next((i for i, base in enumerate(reversed(before)) if leftwards[-1 - i] != base), len(before))
    return start - left, end + right


def clusters(members: Iterable[Member], distance: int) -> list[list[Member]]:
    """Members by position, split where two neighbours are more than `distance` apart; only groups with members of both sides."""
    groups: list[list[Member]] = []
    edge = 0
    for member in sorted(members, key=lambda item: (item.left, item.right, item.side)):
        if groups and member.left - edge <= distance:
            groups[-1].append(member)
            edge = max(edge, member.right)
        else:
            groups.append([member])
            edge = member.right
    return [group for group in groups if {member.side for member in group} == {0, 1}]


def halves(group: list[Member]) -> list[list[Member]]:
    """`group` cut at its widest gap, parts with members of both sides only; empty where it has no gap."""
    gaps = []
    edge = group[0].right
    for index in range(1, len(group)):
        gaps.append((group[index].left - edge, -index))
        edge = max(edge, group[index].right)
    width, place = max(gaps, default=(0, 0))
    if width <= 0:
        return []
    return [part for part in (group[:-place], group[-place:]) if {member.side for member in part} == {0, 1}]
