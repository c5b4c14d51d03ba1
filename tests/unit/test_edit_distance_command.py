"""The command edit_distance.py: tables, PAF, compressed input, and what it says about unusable input."""

import gzip
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from devices import DEVICE
from haplowave.distance.compare import COLUMNS

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "edit_distance.py"


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SCRIPT, "--device", DEVICE, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    queries, targets = tmp_path / "a b.fa", tmp_path / "b.fa.gz"
    queries.write_text(">one first\nACGTACGT\nACGT\n>two\nacgtn\n>empty\n")
    with gzip.open(targets, "wt") as handle:
        handle.write(">x\nACGTACGTACGA\n>y\nACGTN\n>z\nAC\n")
    return queries, targets


def rows(text: str) -> list[dict[str, str]]:
    header, *lines = text.splitlines()
    assert tuple(header.split("\t")) == COLUMNS
    return [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in lines]


def test_records_in_order(files):
    done = run(*files)
    assert done.returncode == 0, done.stderr
    assert [(row["query"], row["target"], row["distance"]) for row in rows(done.stdout)] == [
        ("one", "x", "1"),
        ("two", "y", "5"),
        ("empty", "z", "2"),
    ]
    assert [row["similarity"] for row in rows(done.stdout)] == ["0.916667", "0.000000", "0.000000"]


def test_all_against_all_in_one_case_to_a_bgzipped_file_of_the_other_strategy(files, tmp_path):
    bgzipped = tmp_path / "b.fa.bgz"
    with pysam.BGZFile(str(bgzipped), "w") as handle:
        handle.write(gzip.decompress(files[1].read_bytes()))
    output = tmp_path / "out" / "table.tsv"
    done = run(files[0], bgzipped, "--all-vs-all", "--ignore-case", "--strategy", "diamond", "--output", output)
    assert done.returncode == 0, done.stderr
    table = rows(output.read_text())
    assert [row["distance"] for row in table] == ["1", "8", "10", "8", "0", "3", "12", "5", "2"]
    assert {row["strategy"] for row in table} == {"diamond"}


def test_alignment_as_paf(files, tmp_path):
    paf = tmp_path / "out.paf"
    done = run(*files, "--alignment", paf, "--progress")
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in paf.read_text().splitlines()]
    assert lines[0][-2:] == ["NM:i:1", "cg:Z:11=1X"]
    assert [(line[0], line[5], line[-2]) for line in lines] == [("one", "x", "NM:i:1"), ("two", "y", "NM:i:5"), ("empty", "z", "NM:i:2")]


def test_what_it_says_about_unusable_input(files, tmp_path):
    empty, damaged = tmp_path / "empty.fa", tmp_path / "damaged.fa.gz"
    empty.write_text("")
    damaged.write_bytes(files[1].read_bytes()[:-20])
    single = tmp_path / "single.fa"
    single.write_text(">s\nACGT\n")
    for arguments, message in (
        ((empty, files[1]), "holds no FASTA record"),
        ((tmp_path / "none.fa", files[1]), "no such file"),
        ((single, files[1]), "--all-vs-all"),
        ((*files, "--strategy", "quick"), "strategy 'quick': unknown"),
        ((*files, "--checkpoint", tmp_path / "c"), "belongs to one pair"),
        ((*files, "--alignment", tmp_path / "p", "--maximum", "3"), "leave out"),
        ((*files, "--maximum", "-1"), "never negative"),
        ((damaged, files[1]), "damaged.fa.gz"),
    ):
        done = run(*arguments)
        assert done.returncode == 1, arguments
        assert done.stderr.startswith("haplowave: error: "), done.stderr
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
