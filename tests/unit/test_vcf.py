import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pysam
import pysam.bcftools
import pytest
from genotype_data import region, sample, write_tables

from haplowave.calling.genotype import genotype
from haplowave.calling.genotype_sites import Event
from haplowave.calling.vcf import header_text
from haplowave.errors import UserError
from haplowave.io.reference import open_reference
from haplowave.options import GenotypeOptions

SCRIPT = Path(__file__).parents[2] / "scripts" / "genotype.py"
OPTIONS = GenotypeOptions()
# A line of 60 bases, without N, so that events below can take their reference alleles from it.
BASES = "ACGTTGCACCGATTTTTTTTACGACGACGACTGAGCATCGGTCAACCCATTGACAGTGCA" * 40
SNV = Event(1050, BASES[1050], "ACGT"["ACGT".index(BASES[1050]) - 1])
DELETION = Event(1095, BASES[1095:1105], BASES[1095])
UNDER = Event(1100, BASES[1100], "ACGT"["ACGT".index(BASES[1100]) - 1])
SAMPLES = [sample("NA-1"), sample("haploid", 1), sample("no_reads", 3)]


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "ref one.fa"
    path.write_text(f">chr0\n{BASES}\n>chr1\n{BASES}\n>HLA-A*01:01\n{BASES}\n")
    pysam.faidx(str(path))
    return path


def a_region(start=1000, end=1200, **how):
    truth = [[(SNV, DELETION), (UNDER,)], [(SNV,)], []]
    return region(truth, [(SNV,), (DELETION,), (UNDER,), (SNV, DELETION)], depth=[30, 30, 0], start=start, end=end, **how)


def run(fasta, folder, regions, options=OPTIONS, samples=SAMPLES):
    paths = write_tables(folder, regions, samples)
    genotype(open_reference(fasta), samples, *paths.values(), folder / "calls.vcf.gz", options)
    return folder / "calls.vcf.gz"


def records(path):
    with pysam.VariantFile(str(path)) as file:
        return list(file)


def test_records_read_back_through_pysam(fasta, tmp_path):
    path = run(fasta, tmp_path / "out", [a_region()])
    with pysam.VariantFile(str(path)) as file:
        assert file.header.version == "VCFv4.3"
        assert list(file.header.samples) == ["NA-1", "haploid", "no_reads"]
        assert list(file.header.contigs) == ["chr0", "chr1", "HLA-A*01:01"]
        assert file.header.contigs["chr1"].length == len(BASES)
        snv, deletion, under = file
    assert (snv.chrom, snv.start, snv.alleles) == ("chr1", 1050, (SNV.ref, SNV.alt))
    assert [one["GT"] for one in snv.samples.values()] == [(0, 1), (1,), (None, None, None)]
    assert [one["DP"] for one in snv.samples.values()][2] == 0
    assert len(snv.samples["haploid"]["PL"]) == 2
    assert snv.info["AN"] == 3
    assert snv.info["AC"] == (2,)
    assert list(snv.filter) == ["PASS"]
    assert deletion.alleles == (DELETION.ref, DELETION.alt)
    assert under.alleles == (UNDER.ref, UNDER.alt, "*")
    assert under.samples["NA-1"].phased
    assert under.samples["NA-1"]["PS"] == snv.samples["NA-1"]["PS"] == 1051


def test_bcftools_accepts_it_and_its_reference_alleles(fasta, tmp_path):
    path = run(fasta, tmp_path / "out", [a_region()])
    text = pysam.bcftools.view(str(path))
    assert text.count("\nchr1\t") == 3
    checked = pysam.bcftools.norm("-c", "e", "-f", str(fasta), str(path))
    assert checked.count("\nchr1\t") == 3


def test_no_variants_and_no_regions_give_a_header_alone(fasta, tmp_path):
    nothing = run(fasta, tmp_path / "a", [])
    reference_only = run(fasta, tmp_path / "b", [region([[()], [()], []], [], depth=[5, 5, 0])])
    no_reads = run(fasta, tmp_path / "c", [region([[()], [()], []], [(SNV,)], depth=0)])
    assert records(nothing) == records(reference_only) == records(no_reads) == []
    assert nothing.read_bytes() == reference_only.read_bytes() == no_reads.read_bytes()


def test_bytes_do_not_depend_on_how_regions_lie_in_row_groups_or_files(fasta, tmp_path):
    regions = [a_region(), replace(a_region(1300, 1500, seed=2), events=a_region().events)]
    whole = run(fasta, tmp_path / "whole", regions)
    again = run(fasta, tmp_path / "again", regions)
    assert whole.read_bytes() == again.read_bytes()
    parts = [run(fasta, tmp_path / f"part{number}", [one]) for number, one in enumerate(regions)]
    assert [str(record) for record in records(whole)] == [str(record) for part in parts for record in records(part)]


def test_header_names_each_filter_with_its_threshold():
    text = header_text({"chr1": 5}, ["a"], replace(OPTIONS, low_quality=33.0))
    assert '##FILTER=<ID=LowQual,Description="QUAL below 33">' in text
    for name in ("LowQD", "StrandBias", "LowMQ", "MQRankSum", "ReadPosRankSum"):
        assert f"##FILTER=<ID={name}," in text
    assert "low_quality=33.0" in text


def test_unknown_sample_and_contig_are_named(fasta, tmp_path):
    paths = write_tables(tmp_path / "x", [a_region()], SAMPLES)
    with pytest.raises(UserError, match="sample NA-1 is not in the sample sheet"):
        genotype(open_reference(fasta), [sample("other")], *paths.values(), tmp_path / "x.vcf.gz", OPTIONS)
    with pytest.raises(UserError, match="contig chrX is not in"):
        run(fasta, tmp_path / "y", [a_region(contig="chrX")])
    assert not (tmp_path / "x.vcf.gz").exists()


def test_tables_of_different_runs_are_refused(fasta, tmp_path):
    _, haplotypes, reads, likelihoods = write_tables(tmp_path / "one", [a_region()], SAMPLES).values()
    regions = write_tables(tmp_path / "none", [], SAMPLES)["regions"]
    with pytest.raises(UserError, match="region 1000 is missing"):
        genotype(open_reference(fasta), SAMPLES, regions, haplotypes, reads, likelihoods, tmp_path / "x.vcf.gz", OPTIONS)
    fewer = replace(a_region(), events=((), (SNV,)), log10=a_region().log10[:, :2])
    regions, haplotypes, *_ = write_tables(tmp_path / "fewer", [fewer], SAMPLES).values()
    with pytest.raises(UserError, match="region 1000 has a hap_id that its own table lacks"):
        genotype(open_reference(fasta), SAMPLES, regions, haplotypes, reads, likelihoods, tmp_path / "x.vcf.gz", OPTIONS)


def test_command(fasta, tmp_path):
    paths = write_tables(tmp_path / "tables", [a_region()], SAMPLES)
    sheet = tmp_path / "samples.tsv"
    rows = [f"{one.name}\t{one.name}.bam\t{one.platform}\t{one.ploidy}" for one in SAMPLES]
    sheet.write_text("\n".join(["sample\treads\tplatform\tploidy", *rows, ""]))
    output = tmp_path / "calls.vcf.gz"
    arguments = [f"--{name}={path}" for name, path in paths.items()]
    command = [sys.executable, SCRIPT, f"--reference={fasta}", f"--samples={sheet}", *arguments, f"--output={output}", "--low-quality=25"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(records(output)) == 3
    with pysam.VariantFile(str(output)) as file:
        assert file.header.filters["LowQual"].description == "QUAL below 25"
