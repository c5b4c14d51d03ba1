"""What the checks before a run say about bad alignment files, one kind a test."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pysam
import pytest

from haplowave.errors import UserError
from haplowave.io.checks import Findings, Scope, check_samples, find_index
from haplowave.io.coverage import covered_spans
from haplowave.io.samples import Sample

CONTIGS = {"chr1": 1000, "HLA:1*1": 500}
READS = [(0, 10), (0, 20), (1, 5)]
GROUP = [{"ID": "g", "SM": "a"}]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a sorted, indexed BAM or CRAM."""

    def write(
        name: str = "a.bam",
        contigs: dict[str, int] = CONTIGS,
        reads: list[tuple[int, int]] = READS,
        groups: list[dict[str, str]] = GROUP,
        order: str = "coordinate",
        index: bool = True,
    ) -> Path:
        path = tmp_path / name
        header: dict[str, Any] = {"HD": {"VN": "1.6", "SO": order}, "SQ": [{"SN": key, "LN": length} for key, length in contigs.items()]}
        if groups:
            header["RG"] = groups
        options = {}
        if name.endswith(".cram"):
            fasta = tmp_path / "ref.fa"
            fasta.write_text("".join(f">{key}\n{'A' * length}\n" for key, length in contigs.items()))
            options["reference_filename"] = str(fasta)
        with pysam.AlignmentFile(str(path), "wc" if name.endswith(".cram") else "wb", header=header, **options) as file:
            for number, (contig, start) in enumerate(reads):
                read = pysam.AlignedSegment(file.header)
                read.query_name, read.reference_id, read.reference_start = f"r{number}", contig, start
                read.query_sequence, read.cigarstring, read.mapping_quality, read.flag = "A" * 30, "30M", 60, 0
                read.query_qualities = pysam.qualitystring_to_array("I" * 30)
                file.write(read)
        if index:
            pysam.index(str(path))
        return path

    return write


def check(path: Path, contigs: dict[str, int] | None = CONTIGS, restricted: bool = False) -> Findings:
    findings = check_samples([Sample("a", "illumina", 2, (path,))], Scope(contigs, restricted))
    assert all("\n" not in message and message.startswith(f"sample a: {path}") for message in findings.errors + findings.warnings)
    return findings


def only_error(findings: Findings) -> str:
    assert len(findings.errors) == 1, findings
    return findings.errors[0]


@pytest.mark.parametrize("name", ["a.bam", "a.cram"])
def test_a_good_file_says_nothing(make: Callable[..., Path], name: str) -> None:
    path = make(name)
    assert check(path) == Findings()
    assert set(covered_spans(path)) == {"chr1", "HLA:1*1"}


def test_missing_file(tmp_path: Path) -> None:
    assert "no such file" in only_error(check(tmp_path / "none.bam"))


@pytest.mark.parametrize("name", ["a.bam", "a.cram"])
def test_missing_index(make: Callable[..., Path], name: str) -> None:
    path = make(name, index=False)
    assert f"has no index; run 'samtools index {path}'" in only_error(check(path))


def test_index_names_that_samtools_knows(make: Callable[..., Path]) -> None:
    path = make()
    assert find_index(path) == path.with_name("a.bam.bai")
    os.rename(path.with_name("a.bam.bai"), path.with_name("a.bai"))
    assert find_index(path) == path.with_name("a.bai")
    assert check(path) == Findings()


def test_an_older_index_that_fits_is_a_warning(make: Callable[..., Path]) -> None:
    path = make()
    os.utime(path.with_name("a.bam.bai"), (1, 1))
    findings = check(path)
    assert findings.errors == []
    assert "newer than its index a.bam.bai, which still fits" in findings.warnings[0]


def test_the_index_of_another_file_is_an_error(make: Callable[..., Path]) -> None:
    path = make(reads=[(1, 5)] * 3000)
    index = path.with_name("a.bam.bai").read_bytes()
    make(reads=[(0, 5)] * 3000)
    path.with_name("a.bam.bai").write_bytes(index)
    os.utime(path.with_name("a.bam.bai"), (1, 1))
    assert "which does not fit; run 'samtools index" in only_error(check(path))


def test_a_damaged_index(make: Callable[..., Path]) -> None:
    path = make()
    path.with_name("a.bam.bai").write_bytes(b"BAI\1junk")
    assert "cannot be opened with index a.bam.bai" in only_error(check(path))


@pytest.mark.parametrize("name", ["a.bam", "a.cram"])
def test_truncated(make: Callable[..., Path], name: str) -> None:
    path = make(name)
    path.write_bytes(path.read_bytes()[:-40])
    assert "is truncated (no end-of-file block)" in only_error(check(path))


def test_not_alignments(tmp_path: Path) -> None:
    path = tmp_path / "a.bam"
    for content in (b"", b"@HD\tVN:1.6\n", b"\x1f\x8b\x08broken"):
        path.write_bytes(content)
        assert "is neither BAM nor CRAM" in only_error(check(path))


def test_unsorted(make: Callable[..., Path]) -> None:
    assert "is sorted by queryname" in only_error(check(make(order="queryname")))


def test_no_read_group_is_a_warning(make: Callable[..., Path]) -> None:
    findings = check(make(groups=[]))
    assert findings.errors == []
    assert "has no read group with SM; all its reads are taken as sample a" in findings.warnings[0]


def test_another_sample_in_the_read_group_is_a_warning(make: Callable[..., Path]) -> None:
    findings = check(make(groups=[{"ID": "g", "SM": "b"}]))
    assert findings.errors == []
    assert "its read groups say sample b; the sheet's name a is used" in findings.warnings[0]


def test_several_samples_in_one_file(make: Callable[..., Path]) -> None:
    path = make(groups=[{"ID": "g", "SM": "a"}, {"ID": "h", "SM": "b"}])
    assert "holds reads of 2 samples (a, b); split it" in only_error(check(path))


def test_lengths_that_differ(make: Callable[..., Path]) -> None:
    message = only_error(check(make(), {"chr1": 999, "HLA:1*1": 500}))
    assert "contig lengths differ from the reference (chr1: 1,000 here, 999 there)" in message


def test_reads_on_a_contig_that_the_reference_lacks(make: Callable[..., Path]) -> None:
    message = only_error(check(make(), {"chr1": 1000}))
    assert "has reads on 1 contig(s) that the reference lacks (HLA:1*1)" in message


def test_such_a_contig_does_not_matter_without_reads_or_with_regions(make: Callable[..., Path]) -> None:
    path = make()
    assert check(path, {"chr1": 1000}, restricted=True) == Findings()
    assert check(make("b.bam", reads=[(0, 10)]), {"chr1": 1000}) == Findings()


def test_no_contig_in_common(make: Callable[..., Path]) -> None:
    message = only_error(check(make(), {"1": 1000, "2": 5}))
    assert "shares no contig with the reference (here chr1, HLA:1*1; there 1, 2)" in message


@pytest.mark.parametrize("name", ["a.bam", "a.cram"])
def test_empty_file_is_a_warning(make: Callable[..., Path], name: str) -> None:
    path = make(name, reads=[])
    findings = check(path)
    assert findings.errors == []
    assert "holds no mapped reads" in findings.warnings[0]
    assert covered_spans(path) == {}


def test_an_unknown_dictionary_is_not_compared(make: Callable[..., Path]) -> None:
    assert check(make(), None) == Findings()


@pytest.mark.parametrize("name", ["a.bam", "a.cram"])
def test_spans_hold_all_reads_and_little_more(make: Callable[..., Path], name: str) -> None:
    path = make(name, {"chr1": 900_000, "HLA:1*1": 500}, [(0, 100_000), (0, 130_000), (0, 250_000)])
    ((contig, (start, end)),) = covered_spans(path).items()
    assert contig == "chr1"
    assert 98_000 < start <= 100_000
    assert 250_030 <= end < 270_000


def test_spans_of_a_csi_index_are_whole_contigs(make: Callable[..., Path]) -> None:
    path = make(index=False)
    pysam.index("-c", str(path))
    assert covered_spans(path) == {"chr1": (0, 1000), "HLA:1*1": (0, 500)}
    assert check(path) == Findings()


def test_a_damaged_file_whose_index_is_new_is_told_in_one_line(make: Callable[..., Path]) -> None:
    path = make()
    data = bytearray(path.read_bytes())
    reads = int.from_bytes(data[16:18], "little") + 1  # where the second BGZF block begins
    data[reads + 20 : reads + 40] = bytes(20)
    path.write_bytes(data)
    os.utime(path, (1, 1))
    with pytest.raises(UserError, match=r"a\.bam: its index a\.bam\.bai leads to no intact reads; .* 'samtools index"):
        covered_spans(path)
    os.utime(path.with_name("a.bam.bai"), (0, 0))
    (message,) = check(path).errors
    assert "does not fit" in message
