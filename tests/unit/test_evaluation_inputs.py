"""What a truth set's header and BED show before any call is made."""

from pathlib import Path

import pytest

from haplowave.evaluation.inputs import check_truth

CONTIGS = {"chr1": 1000}
HEADER = '##fileformat=VCFv4.3\n##FORMAT=<ID=GT,Number=1,Type=String,Description="G">\n'


def write(folder: Path, contig: str = "chr1", samples: str = "a", bed: str = "chr1\t1\t9\n", declared: bool = True) -> tuple[Path, Path]:
    truth, confident = folder / "t.vcf", folder / "c.bed"
    columns = "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples.split()])
    genotypes = "\t".join("0/1" for _ in samples.split())
    contigs = f"##contig=<ID={contig},length=1000>\n##contig=<ID=decoy>\n" if declared else ""
    truth.write_text(f"{HEADER}{contigs}{columns}\n{contig}\t5\t.\tA\tC\t.\t.\t.\tGT\t{genotypes}\n")
    confident.write_text(bed)
    return truth, confident


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"contig": "1"}, "t.vcf: none of its contigs is in the reference"),
        ({"samples": "b c"}, "t.vcf: has no sample 'a'; it has b, c"),
        ({"bed": "chr1\t9\t1\n"}, "c.bed line 1, columns 2-3: start 9 is after end 1"),
        ({"bed": "decoy\t1\t9\n"}, "c.bed: names contig decoy, which is not in ref.fa"),
    ],
)
def test_one_error_for_what_cannot_work(tmp_path: Path, change: dict[str, str], expected: str) -> None:
    found = check_truth("a", *write(tmp_path, **change), CONTIGS, Path("ref.fa"))
    (message,) = found.errors
    assert message.removeprefix(f"{tmp_path}/").startswith(expected)
    assert found.warnings == []


def test_what_is_no_vcf_is_told(tmp_path: Path) -> None:
    truth, _ = write(tmp_path)
    truth.write_text("hello\n")
    (message,) = check_truth("a", truth, None, CONTIGS, Path("ref.fa")).errors
    assert message.startswith(f"{truth}: cannot be read as VCF")


@pytest.mark.parametrize("declared", [True, False])
def test_the_only_sample_may_have_another_name(tmp_path: Path, declared: bool) -> None:
    found = check_truth("NA24385", *write(tmp_path, samples="HG002", declared=declared), CONTIGS, Path("ref.fa"))
    assert found.errors == []
    (message,) = found.warnings
    assert message.endswith("t.vcf: has only sample HG002, which is taken as the truth of NA24385")


def test_nothing_to_say(tmp_path: Path) -> None:
    found = check_truth("a", *write(tmp_path, samples="b a", bed="chr1\t0\t9\ndecoy\t0\t9\n"), CONTIGS, Path("ref.fa"))
    assert (found.errors, found.warnings) == ([], [])
