"""The text forms and scripts/pairhmm.py."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from devices import DEVICE
from haplowave.errors import UserError
from haplowave.pairhmm import log10_likelihoods
from haplowave.pairhmm.text import read_text
from haplowave.progress import Progress

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "pairhmm.py"
READ = b"ACGT IIII NNNN OOOO ++++\n"
TESTCASES = b"# comment\n2 2\n" + READ + b"AC I! NN OO +,\n" + b"ACGTT\nACCTT\n\n1 1\n" + READ + b"GGACGTGG\n"
PAIRS = b"#hap read\nACGTT ACGT IIII NNNN OOOO ++++ -1.5\nACCTT AC I! NN OO +,\n"


def batches(text: bytes, **limits):
    return list(read_text(io.BytesIO(text), "input.txt", **limits))


def test_testcases():
    (batch,) = batches(TESTCASES)
    assert batch.testcases == [(2, 2), (1, 1)]
    assert batch.pairs.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 2]]
    assert batch.reads.bases[1].tobytes() == b"AC"
    assert batch.reads.base_quals[4:6].tolist() == [40, 0]
    assert batch.reads.gap_quals[4:6].tolist() == [10, 11]
    assert batch.haplotypes[2].tobytes() == b"GGACGTGG"
    assert batch.format(np.array([-1, -2.5, -1 / 3, -4, -1e6])) == "2 2\n-1 -2.5\n-0.333333333 -4\n1 1\n-1000000\n"


def test_pairs_and_round_trip():
    (batch,) = batches(PAIRS)
    assert batch.pairs.tolist() == [[0, 0], [1, 1]]
    written = batch.format(np.array([-1.25, -3])).encode()
    assert written == b"ACGTT ACGT IIII NNNN OOOO ++++ -1.25\nACCTT AC I! NN OO +, -3\n"
    (again,) = batches(written + written)
    assert again.columns == batch.columns
    assert again.pairs.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_batches_are_cut_between_records():
    assert [len(batch.pairs) for batch in batches(TESTCASES, batch_pairs=1)] == [4, 1]
    assert [len(batch.pairs) for batch in batches(PAIRS, batch_pairs=1)] == [1, 1]
    assert [len(batch.pairs) for batch in batches(PAIRS, batch_bases=1)] == [1, 1]


def test_testcases_without_reads_or_haplotypes_are_legal():
    (batch,) = batches(b"0 2\nACGT\nACGT\n1 0\n" + READ)
    assert batch.testcases == [(0, 2), (1, 0)]
    assert len(batch.pairs) == 0
    assert batch.format(np.zeros(0)) == "0 2\n1 0\n\n"
    assert batches(b"") == batches(b"# nothing\n\n") == []
    assert len(log10_likelihoods(batch.reads, batch.haplotypes, batch.pairs, device=DEVICE).log10) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"2 x\n", r"line 1: expected 'reads haplotypes'"),
        (b"1 1\nACGT IIII NNNN OOOO\nACGT\n", r"line 2: 4 columns, expected a read"),
        (b"1 1\n" + READ + b"ACGT ACGT\n", r"line 3: 2 columns, expected a haplotype"),
        (b"1 1\nACGT IIII NNN OOOO ++++\nACGT\n", r"line 2: 4 bases but 3 insertion qualities"),
        (b"1 1\nACGT II\x01I NNNN OOOO ++++\nACGT\n", r"line 2: base qualities hold a byte below '!'"),
        (b"1 2\n" + READ + b"ACGT\n", r"ends within the testcase of line 1: 1 of 2 haplotype lines"),
        (b"2 1\n" + READ, r"ends within the testcase of line 1: 1 of 2 read lines"),
        (PAIRS + b"ACGT ACGT IIII\n", r"line 4: 3 columns"),
        (PAIRS + b"ACGT ACGT IIII NNNN OOOO +++\n", r"line 4: 4 bases but 3 gap"),
    ],
)
def test_bad_lines_are_named(text, message):
    with pytest.raises(UserError, match=r"input\.txt.*(" + message + ")"):
        batches(text)


def test_example_of_the_documentation_runs(capsys):
    text = (SCRIPT.parents[1] / "docs" / "pairhmm.md").read_text(encoding="utf-8")
    exec(text.split("```python\n")[1].split("```")[0], {})
    assert "fp32" in capsys.readouterr().out


def command(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(SCRIPT), "--device", DEVICE, *arguments], input=text, capture_output=True, timeout=120)


def test_command_from_file_gz_and_standard_input(tmp_path):
    plain, packed, output = tmp_path / "in.txt", tmp_path / "in.txt.gz", tmp_path / "out.txt"
    plain.write_bytes(TESTCASES)
    packed.write_bytes(gzip.compress(TESTCASES))
    done = command("--text", str(plain), "--output", str(output))
    assert done.returncode == 0, done.stderr
    assert b"5 pairs" in done.stderr
    assert b"\r" not in done.stderr  # progress is for terminals
    assert output.read_text().splitlines()[0] == "2 2"
    assert command("--text", str(packed)).stdout == output.read_bytes()
    assert command("--text", "-", text=TESTCASES).stdout == output.read_bytes()
    assert command("--text", "-", "--batch-size", "1", text=TESTCASES).stdout == output.read_bytes()
    raw = command("--text", "-", "--convention", "raw", "--precision", "fp64", text=TESTCASES)
    values = [float(line.split()[-1]) for line in output.read_text().splitlines()]
    assert float(raw.stdout.decode().splitlines()[1].split()[1]) > values[1] + 0.4  # a mismatch costs e, not e/3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--text", "missing.txt"), "missing.txt: cannot be read"),
        ((), "give either --text"),
        (("--text", "-", "--device", "no such"), "fits none of"),
    ],
)
def test_command_errors_are_one_line(arguments, message):
    done = command(*arguments)
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_bad_line_leaves_no_output(tmp_path):
    output = tmp_path / "out.txt"
    done = command("--text", "-", "--output", str(output), "--batch-size", "1", text=TESTCASES + b"what\n")
    assert done.returncode == 1
    assert b"standard input line 11: " in done.stderr
    assert not output.exists()


def test_tables_need_a_file(tmp_path):
    done = command("--reads", "r.parquet", "--haplotypes", "h.parquet")
    assert b"name a file" in done.stderr


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_only():
    terminal, file = _Terminal(), io.StringIO()
    for stream in (terminal, file):
        with Progress(stream) as progress:
            progress.update(0.5, "10 pairs")
    assert "50% 10 pairs" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert file.getvalue() == ""
