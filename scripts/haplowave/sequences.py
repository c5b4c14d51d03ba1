"""Many sequences in one flat array: the form in which the engines take their input."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


def members(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """int64: first[i], first[i] + 1 and so on, count[i] of them for each i, one after another."""
    return np.arange(int(count.sum())) + np.repeat(first - (np.cumsum(count) - count), count)


@dataclass(frozen=True)
class Sequences:
    """`data`: uint8, all sequences one after another; `offsets`: int64, shape (n + 1,), data[offsets[i]:offsets[i+1]] is sequence i."""

    data: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_list(cls, items: Iterable[bytes]) -> "Sequences":
        items = list(items)
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum([len(item) for item in items], out=offsets[1:])
        return cls(np.frombuffer(b"".join(items), np.uint8), offsets)

    @property
    def lengths(self) -> np.ndarray:
        """int64, shape (n,)."""
        return np.diff(self.offsets)

    def places(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(places in `data` of the sequences `which`, one after another, their offsets), int64."""
        first = self.offsets[which]
        lengths = self.offsets[which + 1] - first
        return members(first, lengths), np.append(0, np.cumsum(lengths))

    def take(self, which: np.ndarray) -> "Sequences":
        """The sequences with indices `which`, copied."""
        places, offsets = self.places(which)
        return Sequences(self.data[places], offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """uint8 view of sequence `index`."""
        return self.data[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class Reads:
    """Reads with the four PairHMM qualities a base; all arrays uint8 and parallel to `bases.data`, Phred, no +33."""

    bases: Sequences
    base_quals: np.ndarray
    insertion_quals: np.ndarray
    deletion_quals: np.ndarray
    gap_quals: np.ndarray

    @property
    def qualities(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The four arrays of qualities."""
        return self.base_quals, self.insertion_quals, self.deletion_quals, self.gap_quals

    def __len__(self) -> int:
        return len(self.bases)
