"""Which columns a list of haplotypes can leave out, because the haplotype before began with the same ones.

Haplotypes are sorted, so that those that begin alike stand together. Haplotype e restarts at the first strip in which it differs from
its predecessor; the border in front of that strip was kept by the last haplotype that computed it.
"""

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass
class Plan:
    """How to sweep one list of haplotypes, in the order given by `order` (indices into the list)."""

    order: list[int]
    first_strip: list[int]
    """Strip that each haplotype, in order, starts from."""
    border: list[int]
    """Kept border to start from; 0 where first_strip is 0."""
    saves: list[list[tuple[int, int]]]
    """(strip, border number >= 1) to keep behind it, for each haplotype in order, by strip."""
    borders: int
    """Highest border number in use."""


def plan(haplotypes: list[bytes], strip: int, most_borders: int) -> Plan:
    """The sweep of `haplotypes` in strips of `strip` columns, with at most `most_borders` borders kept at a time (0: share nothing)."""
    count = len(haplotypes)
    order = sorted(range(count), key=haplotypes.__getitem__)
    if most_borders < 1 or count < 2:
        return Plan(order, [0] * count, [0] * count, [[] for _ in order], 0)
    ordered = [haplotypes[index] for index in order]
    first = [0] + [_common_prefix(before, after) // strip for before, after in itertools.pairwise(ordered)]
    keeper, last_use = _keepers(first)
    border_of = _assign(last_use)
    result = Plan(order, first, [0] * count, [[] for _ in order], 0)
    for (owner, boundary), number in border_of.items():
        if number <= most_borders:
            result.saves[owner].append((boundary - 1, number))
            result.borders = max(result.borders, number)
    for saves in result.saves:
        saves.sort()
    for index, key in enumerate(keeper):
        if key is not None and border_of[key] <= most_borders:
            result.border[index] = border_of[key]
        else:
            result.first_strip[index] = 0
    return result


def _common_prefix(a: bytes, b: bytes) -> int:
    length = min(len(a), len(b))
    differs = np.frombuffer(a, np.uint8, length) != np.frombuffer(b, np.uint8, length)
    first = int(differs.argmax())
    return first if differs[first] else length


def _keepers(first: list[int]) -> tuple[list[tuple[int, int] | None], dict[tuple[int, int], int]]:
    """For each haplotype the (owner, boundary) it restarts from, and for each of those the last haplotype that needs it."""
    path: list[tuple[int, int]] = []  # (first strip, haplotype) that computed the strips from there on
    keeper: list[tuple[int, int] | None] = []
    last_use: dict[tuple[int, int], int] = {}
    for index, start in enumerate(first):
        while path and path[-1][0] >= start:
            path.pop()
        key = (path[-1][1], start) if start else None
        keeper.append(key)
        if key:
            last_use[key] = index
        path.append((start, index))
    return keeper, last_use


def _assign(last_use: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Number the borders from 1 so that two that are needed at the same time differ."""
    busy_until: list[int] = []
    numbers = {}
    for key in sorted(last_use):
        owner = key[0]
        number = next((index for index, until in enumerate(busy_until) if until <= owner), len(busy_until))
        if number == len(busy_until):
            busy_until.append(0)
        busy_until[number] = last_use[key]
        numbers[key] = number + 1
    return numbers
