import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from haplowave.calling.vcf import header_text, vcf_writer
from haplowave.calling.vcf_gather import gather
from haplowave.errors import UserError
from haplowave.options import GenotypeOptions

SCRIPT = Path(__file__).parents[2] / "scripts" / "gather.py"
CONTIGS = {"10": 5000, "2": 5000, "HLA-A*01:01": 900}


def chunk(path, places, samples=("a",), contigs=CONTIGS):
    with vcf_writer(path, header_text(contigs, samples, GenotypeOptions())) as file:
        for contig, pos in places:
            columns = [contig, str(pos), ".", "A", "C", "50.00", "PASS", "DP=9", "GT", *["0/1"] * len(samples)]
            file.write(("\t".join(columns) + "\n").encode())
    return path


def places(path):
    with pysam.VariantFile(str(path)) as file:
        return [(record.chrom, record.pos) for record in file]


def test_chunks_in_any_order_come_out_in_the_order_of_the_reference(tmp_path):
    chunks = [
        chunk(tmp_path / "c.vcf.gz", [("2", 5), ("2", 9), ("HLA-A*01:01", 3)]),
        chunk(tmp_path / "a.vcf.gz", [("10", 100), ("10", 100), ("10", 2000)]),
        chunk(tmp_path / "empty.vcf.gz", []),
        chunk(tmp_path / "b.vcf.gz", [("10", 2001)]),
    ]
    output = tmp_path / "all.vcf.gz"
    assert gather(chunks, output) == 7
    expected = [("10", 100), ("10", 100), ("10", 2000), ("10", 2001), ("2", 5), ("2", 9), ("HLA-A*01:01", 3)]
    assert places(output) == expected
    other = tmp_path / "again.vcf.gz"
    gather(chunks[::-1], other)
    assert other.read_bytes() == output.read_bytes()


def test_result_is_indexed(tmp_path):
    chunks = [chunk(tmp_path / "a.vcf.gz", [("10", 100), ("2", 7), ("HLA-A*01:01", 3)])]
    output = tmp_path / "all.vcf.gz"
    gather(chunks, output)
    with pysam.VariantFile(str(output)) as file:
        assert [record.pos for record in file.fetch("2", 0, 5000)] == [7]
    assert (tmp_path / "all.vcf.gz.tbi").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_one_chunk_alone_is_copied_byte_by_byte(tmp_path):
    path = chunk(tmp_path / "a.vcf.gz", [("10", number) for number in range(1, 4000)])
    gather([path], tmp_path / "all.vcf.gz")
    assert (tmp_path / "all.vcf.gz").read_bytes() == path.read_bytes()


def test_only_empty_chunks(tmp_path):
    chunks = [chunk(tmp_path / f"{number}.vcf.gz", []) for number in range(2)]
    assert gather(chunks, tmp_path / "all.vcf.gz") == 0
    assert places(tmp_path / "all.vcf.gz") == []
    assert (tmp_path / "all.vcf.gz.tbi").exists()


@pytest.mark.parametrize(("samples", "contigs"), [(("b",), CONTIGS), (("a",), {"10": 5000})])
def test_chunks_of_different_runs_are_refused(tmp_path, samples, contigs):
    chunks = [chunk(tmp_path / "a.vcf.gz", []), chunk(tmp_path / "b.vcf.gz", [], samples, contigs)]
    with pytest.raises(UserError, match=r"b\.vcf\.gz: its header differs from that of .*a\.vcf\.gz"):
        gather(chunks, tmp_path / "all.vcf.gz")


@pytest.mark.parametrize("second", [[("10", 50), ("10", 150)], [("2", 4), ("10", 500)]])
def test_overlapping_and_unsorted_chunks_are_refused(tmp_path, second):
    chunks = [chunk(tmp_path / "a.vcf.gz", [("10", 10), ("10", 100)]), chunk(tmp_path / "b.vcf.gz", second)]
    with pytest.raises(UserError, match="lies before one already written"):
        gather(chunks, tmp_path / "all.vcf.gz")
    assert not (tmp_path / "all.vcf.gz").exists()


def test_missing_foreign_and_truncated_files_are_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.vcf\.gz: no such file"):
        gather([tmp_path / "none.vcf.gz"], tmp_path / "all.vcf.gz")
    (tmp_path / "text.vcf.gz").write_text("nothing of a VCF\n")
    with pytest.raises(UserError, match=r"text\.vcf\.gz: cannot be read as bgzipped VCF"):
        gather([tmp_path / "text.vcf.gz"], tmp_path / "all.vcf.gz")
    with pysam.BGZFile(str(tmp_path / "other.vcf.gz"), "wb") as file:
        file.write(b"nothing of a VCF\n")
    with pytest.raises(UserError, match=r"other\.vcf\.gz: has no VCF header"):
        gather([tmp_path / "other.vcf.gz"], tmp_path / "all.vcf.gz")


@pytest.mark.parametrize("missing", [1, 28, 40, 5000])
def test_a_chunk_that_was_cut_short_is_refused(tmp_path, missing):
    path = chunk(tmp_path / "cut.vcf.gz", [("10", number) for number in range(1, 4000)])
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(UserError, match=r"cut\.vcf\.gz: (lacks the last block|cannot be read)"):
        gather([path], tmp_path / "all.vcf.gz")


def test_command(tmp_path):
    chunks = [chunk(tmp_path / "b.vcf.gz", [("2", 5)]), chunk(tmp_path / "a.vcf.gz", [("10", 5)])]
    output = tmp_path / "all.vcf.gz"
    result = subprocess.run([sys.executable, SCRIPT, "--output", output, *chunks], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert places(output) == [("10", 5), ("2", 5)]
    chunk(tmp_path / "a.vcf.gz", [], ("other",))
    result = subprocess.run([sys.executable, SCRIPT, "--output", output, *chunks], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("haplowave: error: ")
    assert result.stderr.count("\n") == 1
