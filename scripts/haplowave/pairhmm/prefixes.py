"""Which columns a list of haplotypes can leave out, because the haplotype before began with the same ones.

Haplotypes are sorted, so that those that begin alike stand together. Haplotype e restarts at the first strip in which it differs from
its predecessor; the border in front of that strip was kept by the last haplotype that computed it.
"""

import functools
from dataclasses import dataclass

import numpy as np

from haplowave.sequences import Sequences

_COMPARED = 1 << 16  # bases compared at a time


@dataclass(frozen=True)
class Plan:
    """How to sweep one sorted list of haplotypes; one item a haplotype."""

    first_strip: list[int]
    """Strip that it starts from."""
    border: list[int]
    """Kept border to start from; 0 where first_strip is 0."""
    saves: list[list[tuple[int, int]]]
    """(strip, border number >= 1) to keep behind that strip, by strip."""
    borders: int
    """Highest border number in use."""


def restarts(haplotypes: Sequences, order: np.ndarray, strip: int) -> np.ndarray:
    """int64 (len(order),): for each haplotype of `order` how many whole strips it begins with that its predecessor begins with too."""
    result = np.zeros(len(order), np.int64)
    lengths = haplotypes.lengths[order]
    rows = max(2, _COMPARED // max(int(lengths.max(initial=1)), 1))
    for begin in range(0, len(order) - 1, rows - 1):
        part = slice(begin, begin + rows)
        whole = lengths[part] // strip
        position = np.arange(int(whole.max()) * strip)
        inside = position < (whole * strip)[:, None]
        bases = haplotypes.data[np.where(inside, haplotypes.offsets[order[part]][:, None] + position, 0)]
        equal = ((bases[1:] == bases[:-1]) & inside[1:] & inside[:-1]).reshape(len(whole) - 1, -1, strip).all(axis=2)
        differs = np.concatenate([~equal, np.ones((len(equal), 1), bool)], axis=1)
        result[begin + 1 : begin + rows] = differs.argmax(axis=1)
    return result


@functools.lru_cache(1 << 16)
def plan(first: tuple[int, ...], most_borders: int) -> Plan:
    """The sweep of a sorted list of haplotypes whose strips before `first` equal their predecessor's (`restarts`; the first has 0).

    At most `most_borders` borders are kept at a time.
    """
    keeper, last_use = _keepers(first)
    border_of = {key: number for key, number in _assign(last_use).items() if number <= most_borders}
    saves: list[list[tuple[int, int]]] = [[] for _ in first]
    for (owner, boundary), number in sorted(border_of.items()):
        saves[owner].append((boundary - 1, number))
    border = [border_of.get(key, 0) for key in keeper]
    first_strip = [strip if number else 0 for strip, number in zip(first, border, strict=True)]
    return Plan(first_strip, border, saves, max(border_of.values(), default=0))


def _keepers(first: tuple[int, ...]) -> tuple[list[tuple[int, int] | None], dict[tuple[int, int], int]]:
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
