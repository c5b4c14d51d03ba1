"""The simulated data are what they say: the truth gives the haplotypes, the qualities give the errors."""

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pysam
import pysam.bcftools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.errors import UserError
from haplowave.io.samples import read_samples
from haplowave.simulate import bases as b
from haplowave.simulate import dataset, long_reads, short_reads, variants
from haplowave.simulate.alignment import Mapper
from haplowave.simulate.options import SimulationOptions

SMALL = SimulationOptions(seed=11, size=20_000, short_depth=12, long_depth=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "of seed 11"
    dataset.write(path, SMALL)
    return path


@pytest.fixture(scope="module")
def made() -> dataset.Genomes:
    return dataset.genomes(SimulationOptions())


def records(path: Path) -> list[pysam.AlignedSegment]:
    with pysam.AlignmentFile(str(path)) as file:
        return list(file.fetch(until_eof=True))


def test_same_seed_gives_same_bytes_and_another_seed_does_not(folder, tmp_path):
    dataset.write(tmp_path / "again", SMALL)
    dataset.write(tmp_path / "other", SimulationOptions(seed=12, size=20_000, short_depth=1, long_depth=1))
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in names:
        assert hashlib.sha256((folder / name).read_bytes()).digest() == hashlib.sha256((tmp_path / "again" / name).read_bytes()).digest()
    assert (folder / "ref.fa").read_bytes() != (tmp_path / "other" / "ref.fa").read_bytes()


def test_reference_holds_what_makes_calling_hard(made):
    names = [contig.name for contig in made.contigs]
    assert any(":" in name for name in names)
    assert min(len(contig.genome) for contig in made.contigs) < short_reads.LENGTH
    shown = b"".join(contig.shown.tobytes() for contig in made.contigs)
    assert {*b"ACGTacgtNRM"} == {*shown}
    runs = np.concatenate([b.run_lengths(contig.genome) for contig in made.contigs])
    assert runs.max() >= 14
    genome = made.contigs[0].genome
    (first, end), (second, _) = made.contigs[0].ambiguous
    assert (genome[first:end] == genome[second : second + end - first]).all()
    windows = np.convolve(np.isin(genome, b.encode("GC")), np.full(200, 1 / 200), "valid")
    assert windows.max() > 0.7
    assert windows.min() < 0.22


def test_truth_holds_every_kind_of_site(made):
    sites = [site for own in made.sites for site in own]
    assert {site.kind for site in sites} == {"snv", "indel", "repeat", "cluster", "multiallelic", "spanning"}
    lengths = {len(alt) - len(site.ref) for site in sites for alt in site.alts}
    assert min(lengths) < -30
    assert max(lengths) > 30
    assert max(map(abs, lengths)) <= 50
    child = dataset.MEMBERS[0].founders
    genotypes = Counter(tuple(sorted(site.founders[founder] for founder in child)) for site in sites)
    assert genotypes[0, 1] > genotypes[1, 1] > 20
    assert any(0 < low < high for low, high in genotypes)


def test_truth_is_normalised(folder, tmp_path):
    before = pysam.BGZFile(str(folder / "truth.vcf.gz")).read().decode().splitlines()
    result = tmp_path / "normalised.vcf"
    pysam.bcftools.norm("-c", "e", "-f", str(folder / "ref.fa"), "-o", str(result), str(folder / "truth.vcf.gz"), catch_stdout=False)
    after = result.read_text().splitlines()
    body = [line for line in before if not line.startswith("#")]
    assert body == [line for line in after if not line.startswith("#")]
    assert len(body) > 30


def test_truth_applied_to_the_reference_gives_the_haplotypes(folder, tmp_path):
    """bcftools consensus as the oracle; it takes a name with a colon for a region, so the copy has another."""
    odd, plain = "HLA-A*01:01", "hla"
    fasta, vcf = tmp_path / "ref.fa", tmp_path / "truth.vcf.gz"
    fasta.write_text((folder / "ref.fa").read_text().replace(odd, plain))
    with pysam.BGZFile(str(vcf), "wb") as file:
        file.write(pysam.BGZFile(str(folder / "truth.vcf.gz")).read().replace(odd.encode(), plain.encode()))
    pysam.tabix_index(str(vcf), preset="vcf")
    genomes = dataset.genomes(SMALL)
    for member in dataset.MEMBERS:
        for number, founder in enumerate(member.founders, 1):
            result = tmp_path / f"{member.name}{number}.fa"
            pysam.bcftools.consensus(
                "-f", str(fasta), "-s", member.name, "-H", str(number), "-o", str(result), str(vcf), catch_stdout=False
            )
            with pysam.FastaFile(str(result)) as consensus:
                for contig, haplotypes in zip(genomes.contigs, genomes.founders, strict=True):
                    applied = b.encode(consensus.fetch(contig.name.replace(odd, plain)).upper())
                    known = np.isin(applied, b.ACGT)
                    assert len(applied) == len(haplotypes[founder])
                    assert (applied == haplotypes[founder])[known].all()
                    assert known.sum() == len(applied) - (~contig.known).sum()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_left_alignment_keeps_the_sequence_and_cannot_go_further(data):
    genome = data.draw(st.text("AC", min_size=8, max_size=24))
    start = data.draw(st.integers(2, len(genome) - 3))
    ref = genome[start : start + data.draw(st.integers(1, 3))]
    alts = data.draw(st.lists(st.text("AC", min_size=1, max_size=5).filter(lambda alt: alt != ref), min_size=1, max_size=2, unique=True))
    try:
        place, alleles = variants.left_align(b.encode("GT" + genome), start + 2, [ref, *alts])
    except IndexError:
        pytest.fail("ran over the start of the contig")
    text = "GT" + genome
    assert text[place : place + len(alleles[0])] == alleles[0]
    for alt, moved in zip(alts, alleles[1:], strict=True):
        assert text[: start + 2] + alt + text[start + 2 + len(ref) :] == text[:place] + moved + text[place + len(alleles[0]) :]
    assert len({allele[-1] for allele in alleles}) > 1
    assert min(map(len, alleles)) == 1 or len({allele[0] for allele in alleles}) > 1


def test_haplotype_refuses_alleles_that_overlap():
    genome = b.encode("ACGTACGTAC")
    sites = [
        variants.Site(2, "GTA", ("G",), (1, 0, 0, 0), "indel"),
        variants.Site(3, "T", ("C",), (1, 1, 0, 0), "snv"),
    ]
    assert b.decode(variants.haplotype(genome, sites, 1)) == "ACGCACGTAC"
    with pytest.raises(ValueError, match="does not fit"):
        variants.haplotype(genome, sites, 0)


@pytest.mark.parametrize("quality", [3, 10, 20, 30])
def test_errors_of_short_reads_follow_their_qualities(quality):
    rng = np.random.default_rng(quality)
    bases = b.random_bases(rng, 400_000)
    quals = np.full(bases.shape, quality, np.uint8)
    errors = (short_reads.add_errors(rng, bases, quals) != bases).sum()
    expected = len(bases) * 10 ** (-quality / 10)
    assert abs(errors - expected) < 5 * np.sqrt(expected)


def test_short_reads_come_from_the_haplotype_with_the_stated_errors():
    rng = np.random.default_rng(5)
    haplotype = b.random_bases(rng, 30_000)
    pairs = short_reads.draw(rng, haplotype, 40)
    own = np.flatnonzero((pairs.starts >= 0) & (pairs.sizes >= short_reads.LENGTH))
    assert len(own) > 0.9 * len(pairs)
    wrong = expected = 0.0
    for mate in (0, 1):
        for row in own:
            fragment = haplotype[pairs.starts[row] : pairs.starts[row] + pairs.sizes[row]]
            template = b.reverse_complement(fragment) if pairs.reverse[row] != bool(mate) else fragment
            wrong += (pairs.bases[mate, row] != template[: short_reads.LENGTH]).sum()
        expected += b.error_probability(pairs.quals[mate, own]).sum()
    assert abs(wrong - expected) < 5 * np.sqrt(expected)
    assert pairs.bases.nbytes / len(haplotype) == pytest.approx(40 * 1.02, rel=0.02)


def test_short_read_qualities_look_like_an_instrument_s():
    pairs = short_reads.draw(np.random.default_rng(6), b.random_bases(np.random.default_rng(7), 20_000), 60)
    quals = pairs.quals[:, ~pairs.failed].astype(float)
    curve = quals.mean(axis=1)
    assert curve[0, 0] < curve[0, 30] > curve[0, 149]
    assert curve[1, 100] < curve[0, 100]
    assert quals.min() == 2
    assert quals.max() <= 41
    inner = quals[0, :, 20:60] - quals[0, :, 20:60].mean(axis=0)
    neighbours = np.corrcoef(inner[:, :-1].ravel(), inner[:, 1:].ravel())[0, 1]
    assert 0.4 < neighbours < 0.98
    assert quals[:, pairs.failed[~pairs.failed]].size == 0
    assert pairs.quals[:, pairs.failed].mean() < quals.mean() - 10


def test_short_fragments_end_in_the_adapter():
    rng = np.random.default_rng(8)
    pairs = short_reads.draw(rng, b.random_bases(rng, 20_000), 60)
    short = np.flatnonzero((pairs.sizes < 115) & (pairs.starts >= 0))
    assert len(short) > 3
    starts = [b.decode(pairs.bases[0, row, pairs.sizes[row] :][:13]) for row in short]
    assert sum(start == "AGATCGGAAGAGC" for start in starts) > len(starts) / 2


@pytest.mark.parametrize("platform", ["hifi", "ont"])
def test_errors_of_long_reads_follow_their_qualities(platform, tmp_path):
    rng = np.random.default_rng(9)
    haplotype = np.concatenate([np.concatenate([b.random_bases(rng, 400), np.repeat(b.random_bases(rng, 1), 9)]) for _ in range(120)])
    fasta = tmp_path / "haplotype.fa"
    fasta.write_text(f">h\n{b.decode(haplotype)}\n")
    profile = long_reads.PROFILES[platform]
    mapper = Mapper(fasta, profile.preset)
    wrong = expected = 0.0
    for _ in range(25):
        start = int(rng.integers(0, len(haplotype) - 9000))
        read, quals = long_reads.read_out(rng, haplotype[start : start + 9000], profile)
        hit = mapper.map(b.decode(read))[0][0]
        assert abs(hit.start - start) < 40
        wrong += hit.mismatches + max(0, hit.left + hit.right)
        expected += b.error_probability(quals).sum()
    assert wrong == pytest.approx(expected, rel=0.12)


def test_long_reads_fail_mostly_in_homopolymers():
    profile = long_reads.PROFILES["hifi"]
    template = np.tile(b.encode("ACGTCAGT" + "A" * 10 + "CTGATCGA"), 2000)
    read, _ = long_reads.read_out(np.random.default_rng(3), template, profile)
    runs = Counter(int(run) for run in b.run_lengths(read) if run > 5)
    right = runs[10] // 10
    changed = sum(count // length for length, count in runs.items() if length != 10)
    assert 0.02 < changed / (right + changed) < 0.6


def test_alignments_are_consistent(folder):
    fasta = pysam.FastaFile(str(folder / "ref.fa"))
    for path in sorted(folder.glob("*.bam")):
        reads = records(path)
        with pysam.AlignmentFile(str(path)) as file:
            assert file.has_index()
            assert file.header.to_dict()["RG"][0]["SM"] == path.name.split(".")[0]
            assert sum(row.total for row in file.get_index_statistics()) == sum(read.reference_id >= 0 for read in reads)
        placed = [(read.reference_id, read.reference_start) for read in reads if read.reference_id >= 0]
        assert placed == sorted(placed)
        for read in reads[::7]:
            assert read.get_tag("RG") == f"{path.name.split('.')[0]}.1"
            if not read.is_unmapped:
                sequence = fasta.fetch(read.reference_name).upper()
                differing = sum(read.query_sequence[i] != sequence[j] for i, j in read.get_aligned_pairs(matches_only=True))
                gaps = sum(length for operation, length in read.cigartuples if operation in (1, 2))
                assert read.get_tag("NM") == differing + gaps
                assert read.infer_query_length() == len(read.query_sequence) == len(read.query_qualities)


def test_pairs_agree_about_each_other(folder):
    reads = records(folder / "child.illumina.bam")
    pairs: dict[str, list] = {}
    for read in reads:
        pairs.setdefault(read.query_name, []).append(read)
    assert all(len(pair) == 2 for pair in pairs.values())
    for one, other in pairs.values():
        assert {one.is_read1, other.is_read1} == {True, False}
        assert (one.next_reference_id, one.next_reference_start) == (other.reference_id, other.reference_start)
        assert (one.mate_is_unmapped, one.mate_is_reverse) == (other.is_unmapped, other.is_reverse)
        assert one.template_length == -other.template_length
        if not other.is_unmapped:
            assert (one.get_tag("MC"), one.get_tag("MQ")) == (other.cigarstring, other.mapping_quality)
    share = Counter()
    for read in reads:
        share.update(
            proper=read.is_proper_pair,
            duplicate=read.is_duplicate,
            unmapped=read.is_unmapped,
            failed=read.is_qcfail,
            clipped="S" in (read.cigarstring or ""),
        )
    total = len(reads)
    assert share["proper"] > 0.9 * total
    assert 0.01 < share["duplicate"] / total < 0.04
    assert 0 < share["failed"] < 0.02 * total
    assert 0 < share["unmapped"] < 0.06 * total
    assert 0.01 < share["clipped"] / total < 0.15


def test_duplicates_share_the_fragment_of_an_unflagged_pair(folder):
    firsts = [
        read for read in records(folder / "mother.illumina.bam") if read.is_read1 and read.is_proper_pair and "S" not in read.cigarstring
    ]
    kept = {(read.reference_id, read.reference_start, read.template_length) for read in firsts if not read.is_duplicate}
    copies = [(read.reference_id, read.reference_start, read.template_length) for read in firsts if read.is_duplicate]
    assert len(copies) > 5
    assert sum(copy in kept for copy in copies) > 0.8 * len(copies)


def test_chimeras_are_supplementary_alignments_that_point_at_each_other(tmp_path):
    dataset.write(tmp_path, SimulationOptions(seed=4, size=20_000, short_depth=0, long_depth=60))
    reads = records(tmp_path / "father.hifi.bam")
    extra = [read for read in reads if read.is_supplementary]
    assert extra
    primary = {read.query_name: read for read in reads if not read.is_supplementary}
    for read in extra:
        entry = read.get_tag("SA").split(";")[0].split(",")
        main = primary[read.query_name]
        assert (entry[0], int(entry[1])) == (main.reference_name, main.reference_start + 1)
        assert "H" in read.cigarstring
        assert "H" not in main.cigarstring
    assert records(tmp_path / "child.illumina.bam") == []


def test_confident_regions_leave_out_what_reads_cannot_decide(made):
    for contig in made.contigs:
        inside = np.zeros(len(contig.genome), bool)
        for start, end in dataset.confident_regions(contig):
            assert 0 <= start < end <= len(inside)
            inside[start:end] = True
        assert contig.known[inside].all()
        assert not any(inside[start:end].any() for start, end in contig.ambiguous)
    assert dataset.confident_regions(made.contigs[-1]) == []


def test_sheet_and_configuration_point_at_the_files(folder):
    samples = read_samples(folder / "samples.tsv")
    assert [(sample.name, sample.platform) for sample in samples] == [("child", "illumina"), ("mother", "illumina"), ("father", "hifi")]
    assert all(path.is_file() for sample in samples for path in sample.reads)
    values = dict(
        line.strip().split(": ") for line in (folder / "config.yaml").read_text().splitlines() if ": " in line and "#" not in line
    )
    for key in ("samples", "reference", "truth", "confident"):
        assert (folder / values[key]).is_file()


def test_options_below_their_minimum_are_refused(tmp_path):
    with pytest.raises(UserError, match="--size 500: is below the minimum; give 20000 or more"):
        dataset.write(tmp_path, SimulationOptions(size=500))


def test_command_says_what_is_wrong_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    script = Path(__file__).resolve().parents[2] / "scripts" / "simulate.py"
    done = subprocess.run(
        [sys.executable, str(script), "--output", str(tmp_path / "file"), "--size", "20000"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("haplowave: error: ")
    assert len(done.stderr.splitlines()) == 1
