"""PairHMM against values that others published or that an independent program made (DESIGN of the test data: its README)."""

import csv
from pathlib import Path

import numpy as np
import pytest

from devices import DEVICE
from haplowave.pairhmm import log10_likelihoods
from haplowave.pairhmm.text import TextBatch, read_text
from haplowave.sequences import Reads

KERNELS = ("reference", "lanes", "skewed", "trees")


def _gatk(folder: Path, name: str) -> tuple[TextBatch, np.ndarray]:
    path = folder / "pairhmm_vectors" / "gatk" / name
    with open(path, "rb") as stream:
        batch = next(read_text(stream, name, batch_pairs=10**9))
    expected = [float(line.split()[6]) for line in path.read_text().splitlines() if not line.startswith("#")]
    reads = batch.reads
    floored = np.maximum(reads.base_quals, 6)  # as GATK's own test does
    batch.reads = Reads(reads.bases, floored, reads.insertion_quals, reads.deletion_quals, reads.gap_quals)
    return batch, np.array(expected)


@pytest.mark.parametrize("name", ["pairhmm-testdata.txt", "expected.Java.hmmresults.txt"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gatk_vectors(shared_data, name, kernel):
    batch, expected = _gatk(shared_data, name)
    assert len(expected) in (104, 284)
    for precision, tolerance in (("fp64", 1e-5), ("auto", 5e-4), ("fp32", 5e-4)):
        result = log10_likelihoods(batch.reads, batch.haplotypes, batch.pairs, kernel=kernel, precision=precision, device=DEVICE)
        assert np.abs(result.log10 - expected).max() < tolerance, precision


def _expected(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with open(path) as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return tuple(np.array([float(row[column]) for row in rows]) for column in ("log10_err_div3", "log10_err"))


@pytest.mark.parametrize(("name", "pairs"), [("tiny", 332), ("10s", 3550)])
def test_benchmark_sets(shared_data, name, pairs):
    folder = shared_data / "pairhmm_vectors" / "mcarneiro"
    gatk, raw = _expected(folder / f"{name}.double.tsv")
    with open(folder / f"{name}.in", "rb") as stream:
        batch = next(read_text(stream, name, batch_pairs=10**9))
    assert len(batch.pairs) == len(gatk) == pairs
    for convention, expected in (("gatk", gatk), ("raw", raw)):
        for precision, tolerance in (("fp64", 1e-5), ("auto", 5e-4)):
            for share in (True, False):
                result = log10_likelihoods(
                    batch.reads,
                    batch.haplotypes,
                    batch.pairs,
                    device=DEVICE,
                    kernel="lanes",
                    precision=precision,
                    convention=convention,
                    share_duplicates=share,
                    share_prefixes=share,
                )
                assert np.abs(result.log10 - expected).max() < tolerance
                if name == "10s" or not share:  # a device of many threads cuts the small set so that nothing is shared
                    assert (result.cells_computed < result.cells) == share
