"""Real reads of a trio: what no truth set is needed for. A child has one allele of each parent; a mixture has the sum."""

import subprocess
import sys
from pathlib import Path

import pysam
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
INTERVAL = ("20", 9_998_000, 10_013_000)


@pytest.fixture(scope="module")
def trio(shared_data) -> Path:
    return shared_data / "hg001_trio_tiny_chr20_grch37"


def call(trio: Path, folder: Path, rows: list[tuple[str, str, int]]) -> list[pysam.VariantRecord]:
    """Records of all steps from the alignments on; `rows`: sample, file, ploidy."""
    folder.mkdir()
    sheet = ["sample\treads\tplatform\tploidy", *(f"{name}\t{trio / file}\tillumina\t{ploidy}" for name, file, ploidy in rows), ""]
    (folder / "samples.tsv").write_text("\n".join(sheet))
    (folder / "chunk.bed").write_text("\t".join(map(str, INTERVAL)) + "\n")
    tables = "--haplotypes haplotypes.parquet --reads reads.parquet"
    source = f"--reference={trio / 'ref.fa.gz'} --samples samples.tsv"
    for command in (
        f"find_regions.py {source} --intervals chunk.bed --output regions.parquet --counts counts.tsv",
        f"extract_pairs.py {source} --regions regions.parquet {tables}",
        f"likelihoods.py {tables} --no-prune --device cpu --output likelihoods.parquet",
        f"genotype.py {source} --regions regions.parquet {tables} --likelihoods likelihoods.parquet --output calls.vcf.gz",
    ):
        script, *arguments = command.split(" ")
        subprocess.run([sys.executable, str(SCRIPTS / script), *arguments], cwd=folder, check=True, capture_output=True)
    with pysam.VariantFile(str(folder / "calls.vcf.gz")) as file:
        return list(file)


@pytest.fixture(scope="module")
def joint(trio, tmp_path_factory) -> list[pysam.VariantRecord]:
    rows = [("child", "reads.bam", 2), ("one", "NA12891.bam", 2), ("other", "NA12892.bam", 2)]
    return call(trio, tmp_path_factory.mktemp("trio") / "joint", rows)


def test_children_inherit_one_allele_of_each_parent(joint):
    complete = [[record.samples[name]["GT"] for name in ("child", "one", "other")] for record in joint]
    complete = [genotypes for genotypes in complete if all(None not in genotype for genotype in genotypes)]
    assert len(complete) >= 60

    def inherited(child, one, other):
        return (child[0] in one and child[1] in other) or (child[1] in one and child[0] in other)

    assert sum(not inherited(*genotypes) for genotypes in complete) <= 1


def dosages(records, names):
    """Copies of each alternative allele, all named samples together; position and alleles as written in the record."""
    counts = {}
    for record in records:
        called = [allele for name in names for allele in record.samples[name]["GT"] if allele]
        for number, allele in enumerate(record.alleles):
            if number in called and allele != "*":
                counts[record.pos, record.ref, allele] = called.count(number)
    return counts


def test_two_people_pooled_as_one_tetraploid_have_the_sum_of_their_alleles(trio, joint, tmp_path):
    pool = call(trio, tmp_path / "pool", [("pool", "NA12891.bam", 4), ("pool", "NA12892.bam", 4)])
    expected, found = dosages(joint, ("one", "other")), dosages(pool, ("pool",))
    assert len(expected) >= 60
    assert len(set(expected) ^ set(found)) <= 0.03 * len(expected)
    assert sum(expected[key] != found.get(key) for key in expected) <= 0.06 * len(expected)
