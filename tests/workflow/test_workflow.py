"""The whole workflow on a small simulated family: what it makes, and that nothing that must not matter does."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pysam
import pysam.bcftools
import pytest
import yaml
from launch import ROOT, succeed, write_config, write_sheet

from haplowave.config import load, resolve
from haplowave.io.samples import read_samples
from haplowave.report.text import records
from haplowave.tables import SCHEMAS, read_table, table_kind


@pytest.fixture(scope="session")
def finished(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run on two cores: a copy of the data with results/ in it."""
    folder = Path(shutil.copytree(simulated, tmp_path_factory.mktemp("finished") / "data of ours"))
    config = yaml.safe_load((folder / "config.yaml").read_text()) | {"chunk_size": 12000}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    printed = succeed("--configfile", folder / "config.yaml", "--directory", folder, "--cores", "2", cwd=folder.parent)
    (folder / "printed.txt").write_text(printed)
    return folder


def test_outputs_are_where_the_documentation_says(finished: Path) -> None:
    results = finished / "results"
    for name in ("calls/all.vcf.gz", "calls/all.vcf.gz.tbi", "tables/pairs.tsv", "evaluation/summary.tsv", "report.html"):
        assert (results / name).stat().st_size > 0, name
    chunks = {path.stem for path in (results / "intervals").iterdir()}
    assert len(chunks) >= 3
    for kind, schema in SCHEMAS.items():
        assert {path.stem for path in (results / "tables" / kind).iterdir()} == chunks
        for path in (results / "tables" / kind).iterdir():
            assert table_kind(path) == kind
            assert read_table(path, kind).schema.equals(schema)
    for step in ("find_regions", "extract_pairs", "compute_distances", "compute_likelihoods", "genotype_regions"):
        assert {path.stem for path in (results / "logs" / step).iterdir()} == chunks
        assert {path.stem for path in (results / "benchmarks" / step).iterdir()} == chunks
    assert not list(results.rglob(".partial-*"))


def test_every_pair_has_a_distance_and_a_likelihood(finished: Path) -> None:
    tables = finished / "results" / "tables"
    for path in sorted((tables / "likelihoods").iterdir()):
        reads, haplotypes = (pq.read_table(tables / kind / path.name).to_pandas() for kind in ("reads", "haplotypes"))
        pairs = reads[["region_id", "read_id"]].merge(haplotypes[["region_id", "hap_id"]], on="region_id")
        pairs = pairs.sort_values(["region_id", "read_id", "hap_id"]).reset_index(drop=True)
        for kind in ("distances", "likelihoods"):
            rows = pq.read_table(tables / kind / path.name, columns=["region_id", "read_id", "hap_id"]).to_pandas()
            assert rows.equals(pairs.astype(rows.dtypes)), f"{kind} {path.name}"


def test_the_vcf_can_be_read_and_queried(finished: Path) -> None:
    with pysam.VariantFile(str(finished / "results/calls/all.vcf.gz")) as calls:
        assert list(calls.header.samples) == ["child", "mother", "father"]
        contigs = dict(line.split("\t")[:2] for line in (finished / "ref.fa.fai").read_text().splitlines())
        assert {name: str(contig.length) for name, contig in calls.header.contigs.items()} == contigs
        odd = next(name for name in contigs if ":" in name)
        assert len(list(calls.fetch(odd))) > 0
    normalised = pysam.bcftools.norm("-c", "e", "-f", str(finished / "ref.fa"), str(finished / "results/calls/all.vcf.gz"))
    assert normalised.count("\n") > 50


def test_calls_are_those_of_the_truth(finished: Path) -> None:
    rows = records(finished / "results/evaluation/summary.tsv")
    assert {row["sample"] for row in rows} == {"child", "mother", "father"}
    for row in rows:
        if row["matching"] == "genotype" and row["sample"] != "father":
            assert float(row["F1"]) >= {"SNV": 0.95, "indel": 0.85, "all": 0.92}[row["type"]], row


def test_pairs_are_counted(finished: Path) -> None:
    rows = {row["sample"]: row for row in records(finished / "results/tables/pairs.tsv")}
    assert [(name, row["technology"]) for name, row in rows.items()] == [("child", "illumina"), ("mother", "illumina"), ("father", "hifi")]
    number = sum(pq.read_metadata(path).num_rows for path in (finished / "results/tables/likelihoods").iterdir())
    assert sum(int(row["pairs"]) for row in rows.values()) == number
    for row in rows.values():
        assert 0 < int(row["min_read_length"]) <= int(row["median_read_length"]) <= int(row["max_read_length"])


def test_the_report_needs_nothing_else(finished: Path) -> None:
    page = (finished / "results/report.html").read_text()
    for address in ("src=", 'href="http', "@import", "url(http", "<script"):
        assert address not in page
    for title in (
        "Evaluation against the truth",
        "Calls by sample",
        "Indel lengths",
        "Genotype quality",
        "Reads by filter",
        "Time and memory by step",
    ):
        assert title in page
    assert page.count("<svg") == 4
    assert "compute likelihoods" in page


def test_the_end_says_where_things_are(finished: Path) -> None:
    printed = (finished / "printed.txt").read_text()
    for text in (str(finished / "results/calls/all.vcf.gz"), str(finished / "results/report.html"), "compute_likelihoods", "F1"):
        assert text in printed


def test_a_second_run_has_nothing_to_do(finished: Path) -> None:
    assert "Nothing to be done" in succeed("--configfile", finished / "config.yaml", "--directory", finished, "--cores", "2", cwd=finished)


def test_another_cut_leaves_no_tables_of_the_old_one(finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "data", symlinks=True))
    assert len(list((folder / "results/tables/likelihoods").iterdir())) > 1
    config = yaml.safe_load((folder / "config.yaml").read_text()) | {"chunk_size": 50_000}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    succeed("--configfile", folder / "config.yaml", "--directory", folder, "--cores", "2", "scatter_intervals", cwd=folder)
    left = [path for path in (folder / "results").rglob("0000*") if path.parent.name != "chunks"]
    assert {path.name.split(".")[0] for path in left} == {"00001"}


def test_a_genotyping_threshold_reruns_the_genotyper_only(finished: Path) -> None:
    config = yaml.safe_load((finished / "config.yaml").read_text()) | {"genotyping": {"emit_quality": 11.5}}
    config["results"] = str(finished / "results")
    changed = write_config(finished / "changed.yaml", **config)
    printed = succeed("--configfile", changed, "--directory", finished, "--cores", "1", "-n", "--quiet", "progress", cwd=finished)
    assert "Genotype chunk" in printed
    assert "Compute PairHMM likelihoods" not in printed


def test_a_run_clears_away_what_killed_jobs_left(simulated: Path, tmp_path: Path) -> None:
    left = [tmp_path / "results" / place / ".partial-abcdefgh" for place in ("", "tables/reads", "calls/chunks", "evaluation/child")]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "00001.parquet").write_text("half")
    (tmp_path / "results/mine").mkdir()
    theirs = tmp_path / "results/mine/.partial-x"
    theirs.mkdir()
    run = ("--configfile", simulated / "config.yaml", "--cores", "1", "--config", f"results={tmp_path}/results")
    succeed(*run, "--until", "scatter_intervals", cwd=tmp_path)
    assert not any(folder.exists() for folder in left)
    assert theirs.exists()


def test_calls_do_not_depend_on_cores_chunks_batches_or_pruning(finished: Path, tmp_path: Path) -> None:
    wanted = (finished / "results/calls/all.vcf.gz").read_bytes()
    truth_free = {"samples": finished / "samples.tsv", "reference": finished / "ref.fa", "results": tmp_path / "out"}
    config = write_config(tmp_path / "c.yaml", **truth_free, chunk_size=50_000)
    run = ("--configfile", config, "--directory", tmp_path, "--cores", "1", "gather_calls")
    succeed(*run, cwd=tmp_path)
    assert len(list((tmp_path / "out/intervals").iterdir())) == 1
    assert (tmp_path / "out/calls/all.vcf.gz").read_bytes() == wanted
    write_config(config, **truth_free, chunk_size=50_000, opencl={"batch_size": 997})
    printed = succeed(*run, cwd=tmp_path)
    assert "Compute PairHMM likelihoods" in printed
    assert "Find active regions" not in printed
    assert (tmp_path / "out/calls/all.vcf.gz").read_bytes() == wanted
    write_config(config, **truth_free, chunk_size=50_000, pruning={"prune": False})
    succeed(*run, cwd=tmp_path)
    likelihoods = pq.read_table(tmp_path / "out/tables/likelihoods/00001.parquet", columns=["how"])
    assert "pruned" not in set(likelihoods["how"].to_pylist())
    assert (tmp_path / "out/calls/all.vcf.gz").read_bytes() == wanted


def test_several_files_of_a_sample_are_as_one(simulated: Path, tmp_path: Path) -> None:
    whole = simulated / "child.illumina.bam"
    parts = [tmp_path / "one.bam", tmp_path / "two.bam"]
    with pysam.AlignmentFile(str(whole)) as source:
        files = [pysam.AlignmentFile(str(part), "wb", template=source) for part in parts]
        for read in source:
            files[sum(read.query_name.encode()) % 2].write(read)  # mates stay together
        for file in files:
            file.close()
    for part in parts:
        pysam.index(str(part))
    made = []
    for name, reads in (("whole", [whole]), ("parts", parts)):
        (tmp_path / name).mkdir()
        sheet = write_sheet(tmp_path / name / "s.tsv", *(("child", path, "illumina") for path in reads))
        config = write_config(tmp_path / name / "c.yaml", samples=sheet, reference=simulated / "ref.fa", contigs=["chr2"])
        succeed("--configfile", config, "--directory", tmp_path / name, "--cores", "2", "gather_calls", cwd=tmp_path)
        made.append((tmp_path / name / "results/calls/all.vcf.gz").read_bytes())
    assert made[0] == made[1]


def test_as_a_module_with_a_prefix(simulated: Path, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        f"""
configfile: "host.yaml"

module haplowave:
    snakefile: "{ROOT / "Snakefile"}"
    config: config["calling"]
    prefix: "below"

use rule * from haplowave as called_*

rule all:
    default_target: True
    input: rules.called_gather_calls.output.calls
"""
    )
    (tmp_path / "samples.tsv").write_text(f"sample\treads\tplatform\nchild\t{simulated}/child.illumina.bam\tillumina\n")
    write_config(tmp_path / "host.yaml", calling={"samples": "samples.tsv", "reference": simulated / "ref.fa", "contigs": ["tiny", "chr2"]})
    succeed("--cores", "2", cwd=tmp_path, snakefile=tmp_path / "Snakefile")
    assert (tmp_path / "below/results/calls/all.vcf.gz").exists()
    with pysam.VariantFile(str(tmp_path / "below/results/calls/all.vcf.gz")) as calls:
        assert {record.contig for record in calls} == {"chr2"}


def test_keys_of_the_command_line_replace_those_of_the_default(simulated: Path, tmp_path: Path) -> None:
    paths = [f"samples={simulated}/samples.tsv", f"reference={simulated}/ref.fa"]
    printed = succeed("-n", "-p", "--config", *paths, "results=mine", cwd=tmp_path)
    assert "mine/calls/all.vcf.gz" in printed
    assert "evaluate_calls" not in printed  # as it would with the default's truth
    one = succeed("-n", "-p", "--config", *paths, "contigs=['chr2']", "opencl={batch_size: 77}", cwd=tmp_path)
    assert "--batch-size 77 " in one
    assert "--contigs chr2 " in one


def test_the_catalogue_finds_the_workflow(simulated: Path, tmp_path: Path) -> None:
    printed = succeed("--configfile", simulated / "config.yaml", "-n", cwd=tmp_path, snakefile=ROOT / "workflow/Snakefile")
    assert "genotype_regions" in printed


def test_inputs_that_say_little_give_calls_all_the_same(simulated: Path, tmp_path: Path) -> None:
    """A reference without index that is bgzipped, a BAM without reads, one without qualities and read group, a region without reads."""
    read_only = tmp_path / "reference"
    read_only.mkdir()
    pysam.tabix_compress(str(simulated / "ref.fa"), str(read_only / "ref.fa.gz"))
    with pysam.AlignmentFile(str(simulated / "child.illumina.bam")) as source:
        header = source.header.to_dict()
        with pysam.AlignmentFile(str(tmp_path / "empty.bam"), "wb", header=header):
            pass
        del header["RG"]
        with pysam.AlignmentFile(str(tmp_path / "bare.bam"), "wb", header=header) as bare:
            for read in source:
                read.set_tag("RG", None)
                read.query_qualities = None
                bare.write(read)
    for name in ("empty.bam", "bare.bam"):
        pysam.index(str(tmp_path / name))
    sheet = write_sheet(
        tmp_path / "s.tsv",
        ("child", simulated / "child.illumina.bam", "illumina"),
        ("nothing", "empty.bam", "ont"),
        ("bare", "bare.bam", "illumina", 1),
    )
    (tmp_path / "x.bed").write_text("chr1\t0\t9000\nchr2\t5\t5\ntiny\t0\t3\n")
    config = write_config(
        tmp_path / "c.yaml",
        samples=sheet,
        reference=read_only / "ref.fa.gz",
        regions=tmp_path / "x.bed",
        reads={"default_base_quality": 30},
    )
    printed = succeed("--configfile", config, "--cores", "2", cwd=tmp_path)
    assert "empty.bam: holds no mapped reads" in printed
    assert "bare.bam: has no read group with SM; all its reads are taken as sample bare" in printed
    assert [path.name for path in read_only.iterdir()] == ["ref.fa.gz"]
    with pysam.VariantFile(str(tmp_path / "results/calls/all.vcf.gz")) as calls:
        found = list(calls)
    assert len(found) > 5
    assert all(record.samples["nothing"]["GT"] == (None, None) for record in found)
    assert all(len(record.samples["bare"]["GT"]) == 1 for record in found)
    assert any(record.samples["bare"]["GT"] == (1,) for record in found)


def test_no_reads_at_all_is_an_empty_vcf(simulated: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bed").write_text("")
    config = write_config(
        tmp_path / "c.yaml", samples=simulated / "samples.tsv", reference=simulated / "ref.fa", regions=tmp_path / "x.bed"
    )
    assert "holds no interval; the VCF will have no records" in succeed("--configfile", config, "--cores", "2", cwd=tmp_path)
    with pysam.VariantFile(str(tmp_path / "results/calls/all.vcf.gz")) as calls:
        assert list(calls) == []
        assert len(calls.header.contigs) == 4
    assert "Calls by sample" in (tmp_path / "results/report.html").read_text()


def test_profiles_name_rules_that_exist(simulated: Path, tmp_path: Path) -> None:
    rules = set(succeed("--configfile", simulated / "config.yaml", "--list-rules", "--quiet", "host", cwd=tmp_path).split())
    text = (ROOT / "profiles/slurm/config.yaml").read_text()
    commented = text[text.index("#set-threads") :]
    shown = yaml.safe_load("\n".join(line.removeprefix("#") for line in commented.splitlines()))
    assert set(shown["set-resources"]) | set(shown["set-threads"]) <= rules
    assert {"find_regions", "extract_pairs", "compute_distances", "compute_likelihoods", "genotype_regions"} <= set(shown["set-resources"])
    for name in ("default", "slurm"):
        assert yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text())


def test_public_reads_are_fetched_when_asked_for(tmp_path: Path) -> None:
    fetch = ROOT / "workflow/fetch.smk"
    printed = succeed("-n", "-p", cwd=tmp_path, snakefile=fetch)
    rows = records(ROOT / "resources/giab.tsv")
    assert len(rows) == 7
    for row in rows:
        assert f"fetch.py {row['url']} --output giab/{row['name']}.bam" in printed
        assert f"giab/{row['name']}.bam.bai" in printed
    one = succeed("-n", "giab/na12878_illumina.bam.bai", cwd=tmp_path, snakefile=fetch)
    assert "na24695_ont" not in one


def test_the_example_for_public_reads_names_its_files() -> None:
    path = ROOT / "config/giab.yaml"
    checked, problems = resolve(load(path), [path])
    assert problems == []
    names = {row["name"]: row["platform"] for row in records(ROOT / "resources/giab.tsv") if row["build"] == "GRCh37"}
    assert {file.stem: sample.platform for sample in read_samples(checked.samples) for file in sample.reads} == names
