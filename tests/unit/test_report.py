"""What the report counts, against counts made by hand."""

from pathlib import Path

import pysam
import pytest

from haplowave.errors import UserError
from haplowave.report import plots
from haplowave.report.benchmarks import read_benchmarks
from haplowave.report.calls import allele_kind, count_calls
from haplowave.report.page import duration, short, table
from haplowave.report.text import aligned

HEADER = """##fileformat=VCFv4.3
##source=haplowave test
##haplowave_genotyping=a=1;b=x
##FILTER=<ID=PASS,Description="x">
##FILTER=<ID=LowQual,Description="x">
##contig=<ID=1,length=1000>
##FORMAT=<ID=GT,Number=1,Type=String,Description="x">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="x">
##FORMAT=<ID=GQ,Number=1,Type=Integer,Description="x">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb
"""
RECORDS = [
    ("10", "A", "G", "PASS", "0/1:20:50", "1/1:10:99"),  # transition
    ("20", "A", "C", "PASS", "0|1:21:50", "0/0:10:99"),  # transversion
    ("30", "A", "G,T", "PASS", "1/2:22:50", "./.:.:."),  # one of each
    ("40", "ACG", "A", "PASS", "1/1:23:50", "0/1:999:3"),  # two deleted
    ("50", "A", "ACGT,*", "PASS", "1/2:24:50", "0/0:1:1"),  # three inserted, and a spanning deletion
    ("60", "AC", "GT", "PASS", "0/1:25:50", "0/0:1:1"),
    ("70", "A", "G", "LowQual", "0/1:26:5", "0/1:1:1"),
]


@pytest.fixture
def vcf(tmp_path: Path) -> Path:
    path = tmp_path / "x.vcf"
    lines = ["\t".join(["1", pos, ".", ref, alt, "50", filters, ".", "GT:DP:GQ", a, b]) for pos, ref, alt, filters, a, b in RECORDS]
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return path


def test_counts(vcf: Path) -> None:
    counts = count_calls(vcf)
    assert (counts.source, counts.records, counts.multiallelic) == ("haplowave test", 7, 2)
    assert counts.settings == {"a": "1", "b": "x"}
    assert dict(counts.filters) == {"PASS": 6, "LowQual": 1}
    a, b = counts.samples["a"], counts.samples["b"]
    assert dict(a.kinds) == {"snv": 4, "deletion": 1, "insertion": 1, "other": 1, "mnv": 1}
    assert (a.heterozygous, a.homozygous, a.missing) == (5, 1, 0)
    assert (a.transitions, a.transversions) == (2, 2)
    assert dict(a.indel_lengths) == {-2: 1, 3: 1}
    assert sorted(a.depths.elements()) == [20, 21, 22, 23, 24, 25]
    assert dict(b.kinds) == {"snv": 1, "deletion": 1}
    assert (b.heterozygous, b.homozygous, b.missing) == (1, 1, 1)
    assert dict(b.depths) == {10: 1, 200: 1}  # the last bin holds what is deeper
    assert dict(b.qualities) == {99: 1, 3: 1}


def test_not_a_vcf(tmp_path: Path) -> None:
    (tmp_path / "x.vcf").write_text("nothing")
    verbosity = pysam.set_verbosity(0)
    with pytest.raises(UserError, match="cannot be read as VCF"):
        count_calls(tmp_path / "x.vcf")
    pysam.set_verbosity(verbosity)


@pytest.mark.parametrize(
    ("ref", "alt", "kind"),
    [("A", "C", "snv"), ("AC", "GT", "mnv"), ("A", "AC", "insertion"), ("AC", "A", "deletion"), ("A", "<DEL>", "other")],
)
def test_kinds(ref: str, alt: str, kind: str) -> None:
    assert allele_kind(ref, alt) == kind


def test_benchmarks_over_jobs(tmp_path: Path) -> None:
    header = "s\th:m:s\tmax_rss\tcpu_time\n"
    (tmp_path / "benchmarks/find_regions").mkdir(parents=True)
    (tmp_path / "logs/find_regions").mkdir(parents=True)
    (tmp_path / "benchmarks/find_regions/00001.tsv").write_text(header + "1.5\t0:00:01\t100.5\t1.0\n")
    (tmp_path / "benchmarks/find_regions/00002.tsv").write_text(header + "0.5\t0:00:00\t-\tNA\n")
    (tmp_path / "logs/find_regions/00002.log").write_text("find_regions.py: 0.4 s, peak memory 128 MiB\n")
    (tmp_path / "benchmarks/gather_calls.tsv").write_text(header + "3\t0:00:03\t5\t2\n")
    regions, gather = read_benchmarks(tmp_path / "benchmarks")
    assert (regions.name, regions.jobs, regions.seconds, regions.longest, regions.cpu_seconds, regions.peak_mib) == (
        "find_regions",
        2,
        2.0,
        1.5,
        1.0,
        128.0,
    )
    assert (gather.name, gather.jobs, gather.peak_mib) == ("gather_calls", 1, 5.0)
    assert read_benchmarks(tmp_path / "none") == []


def test_plots_follow_the_page(vcf: Path) -> None:
    counts = count_calls(vcf)
    for svg in (
        plots.indel_lengths({name: own.indel_lengths for name, own in counts.samples.items()}),
        plots.histogram({name: own.depths for name, own in counts.samples.items()}, "DP", 2),
        plots.histogram({"a": plots.Counter()}, "empty"),
        plots.stacked(["x"], {"wall": [1.0]}, "seconds"),
    ):
        assert svg.startswith("<svg")
        assert "currentColor" in svg
        assert plots._INK not in svg


def test_numbers_for_people() -> None:
    assert [short(value) for value in (0, 9999, 59_123, 1_160_000_000, 2.5e12)] == ["0", "9,999", "59.1 k", "1.16 G", "2.5 T"]
    assert [duration(value) for value in (5.4, 119, 600, 9000)] == ["5 s", "119 s", "10 min", "2 h 30 min"]
    assert table([["a", "b"], ["x", "1,000"], ["y", "-"]])["numeric"] == [False, True]
    assert aligned([["a", "b"], ["xyz", "10"], ["y", "5"]]) == ["a     b", "xyz  10", "y     5"]
