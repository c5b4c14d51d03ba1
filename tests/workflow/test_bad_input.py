"""Input that cannot work stops before the first job, with one line a problem."""

import shutil
from pathlib import Path

import pysam
import pytest
from launch import errors, snakemake, succeed, write_config, write_sheet


@pytest.fixture
def data(simulated: Path, tmp_path: Path) -> Path:
    """A copy of the simulated data that a test may spoil."""
    return Path(shutil.copytree(simulated, tmp_path / "data"))


def error_of(data: Path, **change: object) -> str:
    config = {"samples": data / "samples.tsv", "reference": data / "ref.fa", "results": "results"} | change
    found = errors("--configfile", write_config(data / "x.yaml", **config), "--directory", data, "-n", cwd=data)
    assert len(found) == 1, found
    return found[0]


def test_unknown_keys_and_bad_values_all_at_once(data: Path) -> None:
    config = write_config(data / "x.yaml", sample="samples.tsv", reference=data / "ref.fa", opencl={"precision": "half"})
    assert errors("--configfile", config, "-n", cwd=data) == [
        "config key sample: is unknown; did you mean samples?",
        "config key samples: is missing; give the sample sheet (TSV): columns sample, reads, platform, optionally ploidy",
        "config key opencl.precision: 'half' is not one of auto, fp32, fp64",
    ]


def test_bad_rows_of_the_sheet_all_at_once(data: Path) -> None:
    sheet = write_sheet(data / "s.tsv", ("a", "child.illumina.bam", "pacbio"), ("", "x.bam", "ont"))
    found = errors("--configfile", write_config(data / "x.yaml", samples=sheet, reference=data / "ref.fa"), "-n", cwd=data)
    assert [line.split(":")[0].rsplit("/", 1)[1] for line in found] == ["s.tsv line 2, column platform", "s.tsv line 3, column sample"]


def test_missing_files_are_named_by_their_key(data: Path) -> None:
    truth = {"child": {"truth": data / "none.vcf.gz"}, "nobody": {"truth": data / "truth.vcf.gz"}}
    config = write_config(data / "x.yaml", samples=data / "samples.tsv", reference="none.fa", regions="none.bed", evaluation=truth)
    assert [line.split(":")[0] for line in errors("--configfile", config, "-n", cwd=data)] == [
        "config key evaluation.nobody",
        "config key reference",
        "config key regions",
        "config key evaluation.child.truth",
    ]


def test_results_that_are_no_folder(data: Path) -> None:
    assert error_of(data, results="ref.fa/x") == f"config key results: {data}/ref.fa is not a folder; choose another folder"


def test_a_path_that_snakemake_takes_for_a_pattern(data: Path) -> None:
    assert error_of(data, results="out{x}").startswith(f"config key results: {data}/out{{x}} holds a brace")


def test_a_cram_of_another_reference(data: Path) -> None:
    pysam.view("-C", "-T", str(data / "ref.fa"), "-o", str(data / "x.cram"), str(data / "child.illumina.bam"), catch_stdout=False)
    pysam.index(str(data / "x.cram"))
    shift = str.maketrans("ACGTacgt", "CGTAcgta")
    lines = (data / "ref.fa").read_text().splitlines()
    (data / "other.fa").write_text("".join((line if line.startswith(">") else line.translate(shift)) + "\n" for line in lines))
    sheet = write_sheet(data / "s.tsv", ("child", "x.cram", "illumina"))
    done = snakemake("--configfile", write_config(data / "x.yaml", samples=sheet, reference=data / "other.fa"), "--cores", "1", cwd=data)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert "or the reference is not the one that the CRAM was written with" in done.stdout


def test_missing_index(data: Path) -> None:
    (data / "father.hifi.bam.bai").unlink()
    assert "father.hifi.bam: has no index; run 'samtools index" in error_of(data)


def test_truncated_bam(data: Path) -> None:
    bam = data / "father.hifi.bam"
    bam.write_bytes(bam.read_bytes()[:5000])
    assert "father.hifi.bam: is truncated" in error_of(data)


def test_dictionary_lengths_that_differ(data: Path) -> None:
    fasta = (data / "ref.fa").read_text()
    (data / "ref.fa").write_text(fasta + "ACGT\n")
    pysam.faidx(str(data / "ref.fa"))
    message = errors("--configfile", data / "config.yaml", "-n", cwd=data)
    assert len(message) == 3  # one a file
    assert "contig lengths differ from the reference (tiny: 120 here, 124 there)" in message[0]


def test_contig_of_the_bam_that_the_reference_lacks(data: Path) -> None:
    fasta = (data / "ref.fa").read_text()
    (data / "ref.fa").write_text(fasta[: fasta.index(">chr2")])
    pysam.faidx(str(data / "ref.fa"))
    message = errors("--configfile", data / "config.yaml", "-n", cwd=data)
    assert "that the reference lacks (chr2" in message[0]


def test_index_of_another_reference(data: Path) -> None:
    fasta = (data / "ref.fa").read_text()
    (data / "ref.fa").write_text(fasta.replace(">chr1", ">chr1 with a longer name"))
    assert "ref.fa.fai: does not fit ref.fa at contig chr1" in error_of(data)


def test_reversed_bed(data: Path) -> None:
    (data / "x.bed").write_text("chr1\t10\t20\nchr1\t300\t200\n")
    assert "x.bed line 2, columns 2-3: start 300 is after end 200" in error_of(data, regions=data / "x.bed")


def test_unknown_contig(data: Path) -> None:
    assert "config key contigs: 'chr9' is not in the reference" in error_of(data, contigs=["chr9"])


def test_no_opencl_device_stops_before_the_first_job(data: Path) -> None:
    done = snakemake("--configfile", data / "config.yaml", "--cores", "1", cwd=data, environment={"OCL_ICD_VENDORS": "/nonexistent"})
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert "haplowave: error: no OpenCL device found; for a CPU run 'pip install pyopencl[pocl]'" in done.stdout
    assert not (data / "results" / "tables").exists()


def test_a_device_that_does_not_exist_is_named(data: Path) -> None:
    config = write_config(data / "x.yaml", samples=data / "samples.tsv", reference=data / "ref.fa", opencl={"device": "quantum"})
    done = snakemake("--configfile", config, "--cores", "1", cwd=data)
    assert done.returncode == 1
    assert "haplowave: error: device 'quantum': fits none of 0 = " in done.stdout


def test_a_dictionary_that_is_only_known_later_is_checked_before_the_steps(data: Path) -> None:
    """Without .fai the lengths are known once the reference is indexed: the first job says what is wrong."""
    (data / "ref.fa.fai").unlink()
    fasta = (data / "ref.fa").read_text()
    (data / "ref.fa").write_text(fasta + "ACGT\n")
    done = snakemake("--configfile", data / "config.yaml", "--cores", "1", cwd=data)
    assert done.returncode == 1
    assert "contig lengths differ from the reference (tiny: 120 here, 124 there)" in done.stdout
    assert not (data / "results" / "tables").exists()
    assert not (data / "ref.fa.fai").exists()


def test_reads_without_qualities_are_named_with_the_remedy(data: Path) -> None:
    with (
        pysam.AlignmentFile(str(data / "father.hifi.bam")) as source,
        pysam.AlignmentFile(str(data / "x.bam"), "wb", template=source) as bare,
    ):
        for read in source:
            read.query_qualities = None
            bare.write(read)
    pysam.index(str(data / "x.bam"))
    sheet = write_sheet(data / "s.tsv", ("father", "x.bam", "hifi"))
    done = snakemake("--configfile", write_config(data / "x.yaml", samples=sheet, reference=data / "ref.fa"), "--cores", "1", cwd=data)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert "has no base qualities; give reads with qualities or set default_base_quality" in done.stdout


def test_damage_inside_a_bam_is_told_by_the_step_that_meets_it(data: Path) -> None:
    bam = data / "child.illumina.bam"
    content = bytearray(bam.read_bytes())
    place = len(content) * 8 // 10
    content[place : place + 200] = bytes(200)
    bam.write_bytes(content)
    (data / "child.illumina.bam.bai").touch()
    sheet = write_sheet(data / "s.tsv", ("child", bam, "illumina"))
    done = snakemake("--configfile", write_config(data / "x.yaml", samples=sheet, reference=data / "ref.fa"), "--cores", "1", cwd=data)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert f"haplowave: error: {bam}: cannot be read at chr" in done.stdout
    assert not list((data / "results").rglob("*.parquet"))


def test_warnings_do_not_stop(data: Path) -> None:
    (data / "x.bed").write_text("chr1\t10\t10\nchr1\t300\t400\n")
    config = write_config(data / "x.yaml", samples=data / "samples.tsv", reference=data / "ref.fa", regions=data / "x.bed")
    assert "haplowave: warning: " + str(data / "x.bed") + " line 1: chr1 10 10 is empty and left out" in succeed(
        "--configfile", config, "-n", cwd=data
    )
