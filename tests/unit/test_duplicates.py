"""Equal sequences, against comparing all with all."""

import numpy as np
import pytest

from haplowave.pairhmm import duplicates
from haplowave.pairhmm.duplicates import representatives


def _lengths_only(begin, lengths, arrays, family, probes):
    """Probes that tell hardly anything apart."""
    return lengths.astype(np.uint64) % 3 + 7 * (family.astype(np.uint64) % 2)


@pytest.mark.parametrize("probe", [duplicates._probe, _lengths_only], ids=["probes", "probes that fail"])
def test_the_first_of_its_family_that_is_the_same(probe, monkeypatch):
    monkeypatch.setattr(duplicates, "_probe", probe)
    monkeypatch.setattr(duplicates, "_BASES", 7)
    rng = np.random.default_rng(1)
    for _ in range(200):
        lengths = rng.integers(1, 4, rng.integers(0, 30))
        begin, family = np.cumsum(lengths) - lengths, rng.integers(0, 2, len(lengths))
        arrays = tuple(rng.integers(0, 2, lengths.sum()).astype(np.uint8) for _ in range(2))
        seen, expected = {}, []
        for index in range(len(lengths)):
            where = slice(begin[index], begin[index] + lengths[index])
            expected.append(seen.setdefault((family[index], *(array[where].tobytes() for array in arrays)), index))
        assert representatives(begin, lengths, arrays, family).tolist() == expected
