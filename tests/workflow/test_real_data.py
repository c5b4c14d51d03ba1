"""Published truth sets of GIAB samples: the figures that the project promises, and CRAM against BAM."""

import shutil
import time
from pathlib import Path

import pysam
import pysam.bcftools
import pytest
from launch import succeed, write_config, write_sheet

from haplowave.report.text import records


def call(tmp_path: Path, folder: Path, rows: list[tuple[str, Path, str]], truth: str | None, **more: object) -> Path:
    """Run the workflow; the folder of results."""
    sheet = write_sheet(tmp_path / "samples.tsv", *rows)
    evaluation = {truth: {"truth": folder / "truth.vcf.gz", "confident": folder / "conf.bed"}} if truth else {}
    fasta = next(folder.glob("ref.fa*"))
    reference = folder / "ref.fa" if fasta.name == "ref.fa" else folder / "ref.fa.gz"
    config = write_config(tmp_path / "c.yaml", samples=sheet, reference=reference, evaluation=evaluation, **more)
    succeed("--configfile", config, "--directory", tmp_path, "--cores", "2", cwd=tmp_path)
    return tmp_path / "results"


def scores(results: Path) -> dict[str, dict[str, str]]:
    """Rows of the summary that compare genotypes, by type."""
    return {row["type"]: row for row in records(results / "evaluation/summary.tsv") if row["matching"] == "genotype"}


@pytest.mark.parametrize(
    ("name", "platform", "snv", "indel"),
    [
        ("hg002_illumina_chr20_grch37", "illumina", 0.985, 0.95),
        ("hg002_hifi_revio_chr20_grch38", "hifi", 0.985, 0.85),
        ("hg002_ont_r10_chr20_grch38", "ont", 0.97, None),
    ],
)
def test_hg002(shared_data: Path, tmp_path: Path, name: str, platform: str, snv: float, indel: float | None) -> None:
    folder = shared_data / name
    began = time.monotonic()
    results = call(tmp_path, folder, [("HG002", folder / "reads.bam", platform)], "HG002", regions=folder / "conf.bed")
    assert time.monotonic() - began < 60, "100 kb from reads to VCF and report, Snakemake's start included"
    found = scores(results)
    assert float(found["SNV"]["F1"]) >= snv, found["SNV"]
    if indel is not None:
        assert float(found["indel"]["F1"]) >= indel, found["indel"]


def test_trio(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "hg001_trio_tiny_chr20_grch37"
    rows = [("HG001", "reads.bam"), ("NA12891", "NA12891.bam"), ("NA12892", "NA12892.bam")]
    results = call(tmp_path, folder, [(name, folder / file, "illumina") for name, file in rows], "HG001")
    assert int(scores(results)["SNV"]["FN"]) <= 2, scores(results)["SNV"]


def test_cram_gives_the_calls_of_its_bam(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "na12878_tiny_chr22"
    shutil.copy(folder / "upstream.cram", tmp_path)
    pysam.index(str(tmp_path / "upstream.cram"))
    made = []
    for name, reads in (("bam", folder / "reads.bam"), ("cram", tmp_path / "upstream.cram")):
        (tmp_path / name).mkdir()
        results = call(tmp_path / name, folder, [("NA12878", reads, "illumina")], None)
        made.append((results / "calls/all.vcf.gz").read_bytes())
    assert made[0] == made[1]
    assert pysam.bcftools.view("-H", str(tmp_path / "cram/results/calls/all.vcf.gz")).count("\n") >= 14
