"""Calls against truth: the same variants in other words agree, and nothing else does."""

import random
import subprocess
import sys
from pathlib import Path

import pysam
import pysam.bcftools
import pytest

from haplowave.errors import UserError
from haplowave.evaluation.evaluate import evaluate
from haplowave.evaluation.options import EvaluationOptions
from haplowave.evaluation.summary import Count, Tally

REAL = ("hg002_illumina_chr20_grch37", "hg002_hifi_revio_chr20_grch38", "hg002_ont_r10_chr20_grch38", "hg001_trio_tiny_chr20_grch37")
CONTIG = "q:1"
Records = list[tuple[int, str, str, str]]
"""(1-based position, REF, ALT, GT)."""


def write_vcf(path: Path, rows: Records, length: int = 1000, sample: str = "s", contig: str = CONTIG, **columns: str) -> Path:
    head = ["##fileformat=VCFv4.3", f"##contig=<ID={contig},length={length}>", '##FILTER=<ID=Bad,Description="bad">']
    head += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="GT">', '##ALT=<ID=DEL,Description="deletion">']
    head += ["\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", sample])]
    quality, status = columns.get("quality", "50"), columns.get("status", "PASS")
    body = ["\t".join([contig, str(pos), ".", ref, alt, quality, status, ".", "GT", gt]) for pos, ref, alt, gt in sorted(rows)]
    path.write_text("\n".join([*head, *body]) + "\n")
    return path


class Case:
    """A reference of one contig and a way to compare two lists of records on it."""

    def __init__(self, folder: Path, sequence: str):
        self.folder, self.sequence = folder, sequence
        self.fasta = folder / "ref.fa"
        self.fasta.write_text(f">{CONTIG}\n{sequence}\n")
        pysam.faidx(str(self.fasta))

    def compare(self, truth: Records, calls: Records, options: EvaluationOptions | None = None, **columns: str) -> Tally:
        one = write_vcf(self.folder / "truth.vcf", truth, len(self.sequence))
        two = write_vcf(self.folder / "calls.vcf", calls, len(self.sequence), **columns)
        return evaluate(two, one, None, "s", self.fasta, self.folder / "out", options or EvaluationOptions())


def numbers(tally: Tally, kind: str = "all", how: str = "genotype") -> tuple[int, int, int, int]:
    """(true positives of the truth, false negatives, true positives of the calls, false positives)."""
    count = tally.counts[kind, how]
    return count.found, count.truth - count.found, count.right, count.calls - count.right


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path, "GATTACAGATCCCCCCCCTGAATAATAATAATGCGTACGATCGTTTTTTACGGACTTGACCATTGAC" + "ACGTTGCA" * 20)


@pytest.mark.parametrize(
    ("truth", "calls"),
    [
        pytest.param([(10, "TC", "T", "0/1")], [(17, "CC", "C", "0/1")], id="deletion shifted to the right"),
        pytest.param([(20, "G", "GAAT", "1|1")], [(32, "T", "TAAT", "1/1")], id="insertion shifted to the right"),
        pytest.param([(2, "AT", "CG", "0/1")], [(2, "A", "C", "0/1"), (3, "T", "G", "0/1")], id="two bases in one record"),
        pytest.param([(2, "A", "C,G", "1/2")], [(2, "A", "G", "0/1"), (2, "A", "C", "0/1")], id="two alternatives in two records"),
        pytest.param(
            [(37, "A", "C", "0/1"), (38, "C", "CG", "0/1")],
            [(36, "T", "TC", "0/1"), (37, "A", "C", "0/1"), (38, "C", "G", "0/1")],
            id="insertion elsewhere",
        ),
        pytest.param([(43, "GTT", "G", "1/1")], [(43, "GT", "G", "1/1"), (45, "TT", "T", "1/1")], id="one deletion as two"),
        pytest.param([(43, "GTT", "G,GT", "1/2")], [(43, "GT", "G", "1/1"), (45, "TT", "T", "0/1")], id="two lengths as one and one more"),
        pytest.param([(44, "TTTTTTA", "TTTTTC", "0/1")], [(44, "TT", "T", "0/1"), (50, "A", "C", "0/1")], id="complex against parts"),
        pytest.param([(51, "CGGA", "TCGGGA", "1/1")], [(50, "A", "AT", "1/1"), (53, "G", "GG", "1/1")], id="block against insertions"),
        pytest.param([(5, "A", "T", "1")], [(5, "A", "T", "1/1")], id="haploid is homozygous"),
        pytest.param(
            [(4, "TAC", "T", "0|1"), (5, "A", "G", "1|0")], [(4, "TAC", "T", "0/1"), (5, "A", "G,*", "1/2")], id="spanning deletion"
        ),
    ],
)
def test_the_same_haplotypes_agree(case, truth, calls):
    for first, second in ((truth, calls), (calls, truth)):
        tally = case.compare(first, second)
        for how in ("genotype", "allele"):
            found, missed, right, wrong = numbers(tally, how=how)
            assert (missed, wrong) == (0, 0)
            assert found > 0
            assert right > 0


@pytest.mark.parametrize(
    ("truth", "calls", "by_genotype", "by_allele"),
    [
        pytest.param([(5, "A", "T", "0/1")], [(5, "A", "T", "1/1")], (0, 1, 0, 1), (1, 0, 1, 0), id="genotype"),
        pytest.param([(5, "A", "T", "0/1")], [(5, "A", "G", "0/1")], (0, 1, 0, 1), (0, 1, 0, 1), id="other base"),
        pytest.param([(10, "TC", "T", "0/1")], [(10, "TCC", "T", "0/1")], (0, 1, 0, 1), (0, 1, 0, 1), id="other length"),
        pytest.param(
            [(43, "GTT", "G", "1/1")], [(43, "GT", "G", "1/1"), (45, "TT", "T", "0/1")], (0, 1, 0, 1), (1, 0, 1, 0), id="one length of two"
        ),
        pytest.param([(5, "A", "T", "0/1")], [(5, "A", "T", "0/1"), (9, "A", "C", "0/1")], (1, 0, 1, 1), (1, 0, 1, 1), id="one too many"),
        pytest.param([(5, "A", "T", "0/1"), (9, "A", "C", "0/1")], [(5, "A", "T", "0/1")], (1, 1, 1, 0), (1, 1, 1, 0), id="one missed"),
        pytest.param([(2, "A", "C,G", "1/2")], [(2, "A", "G", "0/1")], (1, 1, 1, 0), (1, 1, 1, 0), id="one of two alternatives"),
    ],
)
def test_other_haplotypes_do_not_agree(case, truth, calls, by_genotype, by_allele):
    tally = case.compare(truth, calls)
    assert numbers(tally) == by_genotype
    assert numbers(tally, how="allele") == by_allele


def test_variants_that_cancel_out_are_no_match_for_nothing(case):
    tally = case.compare([], [(43, "GT", "G", "1/1"), (49, "T", "TT", "1/1")])
    assert numbers(tally) == (0, 0, 0, 2)


def test_genotypes_that_name_nothing_make_no_calls(case):
    rows = [(5, "A", "T", "0/0"), (9, "A", "C", "./."), (15, "C", "<DEL>", "0/1"), (20, "G", "*", "0/1")]
    assert numbers(case.compare([], rows)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("options", "columns", "counted"),
    [
        (EvaluationOptions(), {"status": "Bad"}, 0),
        (EvaluationOptions(all_filters=True), {"status": "Bad"}, 1),
        (EvaluationOptions(), {"status": "."}, 1),
        (EvaluationOptions(min_quality=50), {}, 1),
        (EvaluationOptions(min_quality=50.5), {}, 0),
        (EvaluationOptions(min_quality=1), {"quality": "."}, 0),
    ],
)
def test_filters_and_quality_choose_the_calls(case, options, columns, counted):
    row = [(5, "A", "T", "0/1")]
    assert numbers(case.compare(row, row, options, **columns)) == (counted, 1 - counted, counted, 0)


def test_regions_count_by_position(case, tmp_path):
    rows = [(5, "A", "T", "0/1"), (9, "A", "C", "0/1"), (43, "GTT", "G", "1/1")]
    paths = [write_vcf(tmp_path / name, rows, len(case.sequence)) for name in ("t.vcf", "c.vcf")]
    bed = tmp_path / "conf.bed"
    for text, expected in ((f"{CONTIG}\t4\t8\n", 1), (f"{CONTIG}\t3\t4\n{CONTIG}\t5\t9\n", 1), (f"{CONTIG}\t42\t43\n", 1), ("", 0)):
        bed.write_text(text)
        tally = evaluate(*paths, bed, "s", case.fasta, tmp_path / "out", EvaluationOptions())
        assert numbers(tally) == (expected, 0, expected, 0)


def test_a_neighbourhood_too_complex_keeps_its_exact_matches(case, capsys):
    truth = [(pos, case.sequence[pos - 1], "A" if case.sequence[pos - 1] != "A" else "C", "0/1") for pos in range(80, 104, 3)]
    calls = [*truth[:4], (79, case.sequence[78:103], "T", "0/1")]
    tally = case.compare(truth, calls, EvaluationOptions(max_states=16))
    assert numbers(tally)[0] == 4
    assert "too complex" in capsys.readouterr().err


def test_empty_sets_are_legal(case):
    tally = case.compare([], [])
    assert numbers(tally) == (0, 0, 0, 0)
    rows = [line.split("\t") for line in (case.folder / "out" / "summary.tsv").read_text().splitlines()]
    assert rows[1][-3:] == ["nan", "nan", "nan"]
    assert list(pysam.VariantFile(str(case.folder / "out" / "fp.vcf.gz")).fetch(CONTIG)) == []
    tally = case.compare([(5, "A", "T", "0/1")], [])
    assert next(row["F1"] for row in tally.rows()) == "0.000000"


def test_rates():
    count = Count(truth=10, found=8, calls=9, right=6)
    assert (count.recall, count.precision) == (0.8, pytest.approx(2 / 3))
    assert count.f1 == pytest.approx(2 * 0.8 * (2 / 3) / (0.8 + 2 / 3))


def test_error_lists_say_what_is_wrong(case):
    case.compare([(5, "A", "T", "0/1"), (9, "A", "C", "0/1")], [(5, "A", "T", "1/1"), (49, "TA", "T", "0/1")])
    errors = {}
    for name in ("fp", "fn"):
        with pysam.VariantFile(str(case.folder / "out" / f"{name}.vcf.gz")) as file:
            errors[name] = [(r.pos, r.ref, r.alts[0], r.info["REASON"], r.samples["s"]["GT"]) for r in file.fetch(CONTIG)]
    assert errors["fn"] == [(5, "A", "T", "genotype", (0, 1)), (9, "A", "C", "allele", (0, 1))]
    assert errors["fp"] == [(5, "A", "T", "genotype", (1, 1)), (49, "TA", "T", "allele", (0, 1))]


def test_what_does_not_fit_is_a_user_error(case, tmp_path):
    good = write_vcf(tmp_path / "good.vcf", [(5, "A", "T", "0/1")])

    def run(calls: Path = good, truth: Path = good, sample: str = "s", bed: Path | None = None) -> None:
        evaluate(calls, truth, bed, sample, case.fasta, tmp_path / "out", EvaluationOptions())

    run()
    with pytest.raises(UserError, match=r"good\.vcf: has no sample 'x'; it has s"):
        run(sample="x")
    with pytest.raises(UserError, match=r"wrong\.vcf: does not fit the reference \(Reference allele mismatch at q:1:5 "):
        run(calls=write_vcf(tmp_path / "wrong.vcf", [(5, "C", "T", "0/1")]))
    with pytest.raises(UserError, match="none of its contigs is in the reference"):
        run(truth=write_vcf(tmp_path / "chr.vcf", [(5, "A", "T", "0/1")], contig="chrq"))
    with pytest.raises(UserError, match="cannot be read as VCF"):
        run(calls=case.fasta)
    with pytest.raises(UserError, match=r"none\.vcf: cannot be read as VCF"):
        run(truth=tmp_path / "none.vcf", bed=tmp_path / "x.bed")
    text = (
        good.read_text()
        .replace("\tGT\t0/1", "\tDP\t4")
        .replace("FORMAT=<ID=GT,Number=1,Type=String", "FORMAT=<ID=DP,Number=1,Type=Integer")
    )
    (tmp_path / "bare.vcf").write_text(text)
    with pytest.raises(UserError, match="record at q:1:5 has no GT"):
        run(calls=tmp_path / "bare.vcf")
    packed = tmp_path / "cut.vcf.gz"
    with pysam.BGZFile(str(packed), "wb") as file:
        file.write((good.read_text() + f"{CONTIG}\t9\t.\tA\tC\t9\t.\t.\tGT\t0/1\n" * 9000).encode())
    packed.write_bytes(packed.read_bytes()[:-600])
    with pytest.raises(UserError, match=r"cut\.vcf\.gz: cannot be read as VCF"):
        run(calls=packed)
    bed = tmp_path / "x.bed"
    bed.write_text("other\t1\t5\n")
    with pytest.raises(UserError, match="contig 'other' is not in the reference"):
        run(bed=bed)


def records(path: Path) -> list[pysam.VariantRecord]:
    with pysam.VariantFile(str(path)) as file:
        return list(file)


def normalised(path: Path, folder: Path, fasta: Path, bed: Path, out: Path) -> set[tuple]:
    """What `bcftools norm -a -m -both` and the targets leave of a file: the oracle of exact matching."""
    step = out / f"{path.name}.norm.vcf"
    pysam.bcftools.norm("-a", "-m", "-both", "-f", str(fasta), "-o", str(step), str(path), catch_stdout=False)
    kept = out / f"{path.name}.kept.vcf"
    pysam.bcftools.view("-c1", "-T", str(bed), "-o", str(kept), str(step), catch_stdout=False)
    return {(record.pos, record.ref, record.alts[0]) for record in records(kept)}


@pytest.mark.parametrize("name", REAL)
def test_real_truth_agrees_with_itself(shared_data, name, tmp_path):
    data = shared_data / name
    vcf = data / "truth.vcf.gz"
    sample = pysam.VariantFile(str(vcf)).header.samples[0]
    tally = evaluate(vcf, vcf, data / "conf.bed", sample, data / "ref.fa.gz", tmp_path / "out", EvaluationOptions())
    oracle = normalised(vcf, data, data / "ref.fa.gz", data / "conf.bed", tmp_path)
    for how in ("genotype", "allele"):
        assert numbers(tally, how=how) == (len(oracle), 0, len(oracle), 0)
        assert tally.counts["SNV", how].truth == sum(len(ref) == len(alt) == 1 for _, ref, alt in oracle)


@pytest.mark.parametrize("name", REAL)
def test_real_sets_count_as_exact_intersection_does(shared_data, name, tmp_path):
    """Records dropped, genotypes changed, false SNVs far from others: here isec is right, and the counts must be its own."""
    data = shared_data / name
    source = pysam.VariantFile(str(data / "truth.vcf.gz"))
    genome = pysam.FastaFile(str(data / "ref.fa.gz"))
    calls = tmp_path / "calls.vcf"
    rows = list(source)
    taken = {position for record in rows for position in range(record.pos - 60, record.pos + 60)}
    changed = 0
    with calls.open("w") as output:
        output.write(str(source.header))
        lines = []
        for index, record in enumerate(rows):
            if index % 6 == 3:
                continue
            if index % 5 == 2:
                genotype = record.samples[0]["GT"]
                record.samples[0]["GT"] = (1, 1) if set(genotype) == {0, 1} else (0, 1)
                changed += 1
            lines.append((record.pos, str(record)))
        for position in range(rows[0].pos, rows[-1].pos, 1501):
            base = genome.fetch(rows[0].contig, position - 1, position).upper()
            if position not in taken and base in "ACGT":
                other = "ACGT"["ACGT".index(base) - 1]
                lines.append((position, f"{rows[0].contig}\t{position}\t.\t{base}\t{other}\t9\tPASS\t.\tGT\t0/1\n"))
        output.writelines(line for _, line in sorted(lines))
    sample = source.header.samples[0]
    tally = evaluate(calls, data / "truth.vcf.gz", data / "conf.bed", sample, data / "ref.fa.gz", tmp_path / "out", EvaluationOptions())
    mine = normalised(calls, data, data / "ref.fa.gz", data / "conf.bed", tmp_path)
    true = normalised(data / "truth.vcf.gz", data, data / "ref.fa.gz", data / "conf.bed", tmp_path)
    assert numbers(tally, how="allele") == (len(mine & true), len(true - mine), len(mine & true), len(mine - true))
    assert min(len(true - mine), len(mine - true)) > 0
    errors = [record for record in records(tmp_path / "out" / "fp.vcf.gz") if record.info["REASON"] == "genotype"]
    assert 0 < len(errors) <= changed + 2


@pytest.mark.parametrize("name", REAL)
def test_real_truth_shifted_to_the_right_agrees(shared_data, name, tmp_path):
    data = shared_data / name
    source = pysam.VariantFile(str(data / "truth.vcf.gz"))
    genome = pysam.FastaFile(str(data / "ref.fa.gz"))
    lines, shifted = [], 0
    for record in source:
        ref, alts, pos = record.ref, list(record.alts), record.pos
        while len(alts) == 1 and (len(ref) == 1) != (len(alts[0]) == 1):
            following = genome.fetch(record.contig, pos - 1 + len(ref), pos + len(ref)).upper()
            longer_ref, longer_alt = ref + following, alts[0] + following
            if longer_ref[1] != longer_alt[1]:
                break
            ref, alts, pos = longer_ref[1:], [longer_alt[1:]], pos + 1
        shifted += pos != record.pos
        genotype = "/".join("." if allele is None else str(allele) for allele in record.samples[0]["GT"])
        lines.append((pos, f"{record.contig}\t{pos}\t.\t{ref}\t{','.join(alts)}\t9\t.\t.\tGT\t{genotype}\n"))
    assert shifted > 5
    calls = tmp_path / "calls.vcf"
    calls.write_text(str(source.header) + "".join(line for _, line in sorted(lines)))
    sample = source.header.samples[0]
    tally = evaluate(calls, data / "truth.vcf.gz", data / "conf.bed", sample, data / "ref.fa.gz", tmp_path / "out", EvaluationOptions())
    assert numbers(tally)[1::2] == (0, 0)


def blocks(vcf: Path, fasta: Path, sample: str, distance: int) -> list[str]:
    """The phased truth with everything within `distance` bp written as one record of two whole haplotypes."""
    genome = pysam.FastaFile(str(fasta))
    groups: list[list[pysam.VariantRecord]] = []
    for record in records(vcf):
        if not any(record.samples[sample]["GT"]):
            continue
        if groups and groups[-1][-1].contig == record.contig and record.start - max(r.stop for r in groups[-1]) <= distance:
            groups[-1].append(record)
        else:
            groups.append([record])
    lines = []
    for group in groups:
        start, end, contig = group[0].start, max(record.stop for record in group), group[0].contig
        window = genome.fetch(contig, start, end).upper()
        haplotypes = []
        for side in (0, 1):
            bases, used = "", start
            for record in group:
                allele = record.samples[sample]["GT"][side]
                if allele:
                    bases += window[used - start : record.start - start] + record.alleles[allele]
                    used = record.stop
            haplotypes.append(bases + window[used - start :])
        alts = sorted({*haplotypes} - {window})
        genotype = "/".join(str(([window, *alts]).index(haplotype)) for haplotype in haplotypes)
        lines.append(f"{contig}\t{start + 1}\t.\t{window}\t{','.join(alts)}\t9\tPASS\t.\tGT\t{genotype}\n")
    return lines


@pytest.mark.parametrize("distance", [5, 25])
def test_whole_haplotype_blocks_agree_with_their_parts(simulated, tmp_path, distance):
    fasta, vcf = simulated / "ref.fa", simulated / "truth.vcf.gz"
    header = [line + "\n" for line in pysam.BGZFile(str(vcf)).read().decode().splitlines() if line.startswith("##")]
    for sample in ("child", "father"):
        lines = blocks(vcf, fasta, sample, distance)
        calls = tmp_path / "calls.vcf"
        columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", sample]
        calls.write_text("".join([*header, "\t".join(columns) + "\n", *lines]))
        tally = evaluate(calls, vcf, None, sample, fasta, tmp_path / "out", EvaluationOptions())
        found, missed, right, wrong = numbers(tally)
        assert (missed, wrong) == (0, 0)
        assert found > 20
        assert right > 20


def test_output_does_not_depend_on_order_or_phase(simulated, tmp_path):
    vcf = simulated / "truth.vcf.gz"
    text = pysam.BGZFile(str(vcf)).read().decode().splitlines(keepends=True)
    body = [line for line in text if not line.startswith("#")][::2]
    first, second = tmp_path / "first.vcf", tmp_path / "second.vcf"
    head = [line for line in text if line.startswith("#")]
    first.write_text("".join(head + body))
    swapped = [line.replace("|", "/") for line in body]
    random.Random(3).shuffle(swapped)
    second.write_text("".join(head + swapped))
    for path in (first, second):
        bed = simulated / "confident.bed"
        evaluate(path, vcf, bed, "mother", simulated / "ref.fa", tmp_path / path.stem, EvaluationOptions())
    for name in ("summary.tsv", "fp.vcf.gz", "fn.vcf.gz", "fn.vcf.gz.tbi"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_command_writes_the_summary(case):
    row = [(5, "A", "T", "0/1")]
    case.compare(row, row)
    script = Path(__file__).resolve().parents[2] / "scripts" / "evaluate.py"
    folder = case.folder
    flags = ["--calls", folder / "calls.vcf", "--truth", folder / "truth.vcf", "--sample", "s", "--reference", case.fasta]
    subprocess.run([sys.executable, str(script), *map(str, flags), "--output", str(folder / "cli")], check=True)
    assert (folder / "cli" / "summary.tsv").read_bytes() == (folder / "out" / "summary.tsv").read_bytes()
