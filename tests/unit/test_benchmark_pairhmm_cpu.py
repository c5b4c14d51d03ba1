"""The suite pairhmm_cpu at a small size: records are complete, sets survive the way through a text file."""

import argparse

import numpy as np
import pytest

from haplowave.benchmark import pairhmm_cpu, pairhmm_cpu_sets
from haplowave.errors import UserError


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(pairhmm_cpu_sets, "_CELLS", 1e6)


def _arguments(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    pairhmm_cpu.add_arguments(parser)
    return argparse.Namespace(device="auto", threads=None, quick=True, plots=None, **vars(parser.parse_args(flags)))


def test_records(small, capsys, tmp_path):
    made = pairhmm_cpu_sets.synthetic(20, 30)
    path = tmp_path / "set.txt"
    pairhmm_cpu_sets.write_testcases(path, made, 1)
    records = pairhmm_cpu.run(_arguments("--size", "152x304", "--text", str(path)))
    assert {record["experiment"] for record in records} == {"152 x 304", "set.txt"}
    assert {record["precision"] for record in records} == {"fp32", "fp64"}
    keys = {"experiment", "device", "kernel", "precision", "read_length", "haplotype_length", "pairs", "seconds", "gcups"}
    assert all(keys <= set(record) and record["gcups"] > 0 for record in records)
    assert capsys.readouterr().out.count("\n") == len(records) + 1


def test_sets_survive_a_text_file(small, tmp_path):
    made = pairhmm_cpu_sets.synthetic(20, 30)
    path = tmp_path / "set.txt"
    pairhmm_cpu_sets.write_testcases(path, made, 1)
    again = pairhmm_cpu_sets.testcases(str(path))
    assert (again.pairs == made.pairs).all()
    assert again.testcases == made.testcases
    assert (again.reads.bases.data == made.reads.bases.data).all()
    assert (again.reads.base_quals == made.reads.base_quals).all()
    assert again.cells == made.cells == int(np.prod([20, 30])) * len(made.pairs)


def test_gkl_that_is_missing_is_told(small, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UserError, match="no java"):
        pairhmm_cpu.run(_arguments("--gkl"))
