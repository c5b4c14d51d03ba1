"""The whole workflow on real reads with truth: how good the calls are, how long it takes, how much memory."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pysam
import yaml

from haplowave.benchmark.records import Record, print_table
from haplowave.errors import UserError
from haplowave.report.benchmarks import read_benchmarks
from haplowave.report.text import records

_SNAKEFILE = Path(__file__).resolve().parents[3] / "Snakefile"
_COLUMNS = ("set", "sample", "type", "truth", "FN", "FP", "recall", "precision", "F1", "seconds", "peak_mib")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of this suite."""
    parser.add_argument(
        "sets",
        nargs="+",
        metavar="FOLDER:PLATFORM",
        help="folder with reads.bam, ref.fa or ref.fa.gz, truth.vcf.gz and conf.bed, and the platform of its reads",
    )
    parser.add_argument("--cores", type=int, default=2, help="cores for Snakemake (default: 2)")


def run(arguments: argparse.Namespace) -> list[Record]:
    """Call each set inside its confident regions; one record a set and type of variant, genotypes compared."""
    results: list[Record] = []
    for entry in arguments.sets:
        folder, _, platform = entry.rpartition(":")
        with tempfile.TemporaryDirectory() as work:
            results += _call(Path(folder), platform, Path(work), arguments)
    print_table(results, _COLUMNS)
    return results


def _call(folder: Path, platform: str, work: Path, arguments: argparse.Namespace) -> list[Record]:
    folder = folder.absolute()
    with pysam.AlignmentFile(str(folder / "reads.bam")) as file:
        sample = file.header.to_dict()["RG"][0]["SM"]
    reference = next((folder / name for name in ("ref.fa", "ref.fa.gz") if (folder / name).exists()), None)
    if reference is None:
        raise UserError(f"{folder}: has neither ref.fa nor ref.fa.gz; give a folder as --help describes it")
    (work / "samples.tsv").write_text(f"sample\treads\tplatform\n{sample}\t{folder}/reads.bam\t{platform}\n")
    config = {
        "samples": "samples.tsv",
        "reference": str(reference),
        "regions": str(folder / "conf.bed"),
        "evaluation": {sample: {"truth": str(folder / "truth.vcf.gz"), "confident": str(folder / "conf.bed")}},
        "opencl": {"device": arguments.device},
    }
    (work / "config.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake", "-s", str(_SNAKEFILE), "--configfile", "config.yaml", "--cores", str(arguments.cores)]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise UserError(f"{folder}: the workflow failed: {done.stdout.strip().splitlines()[-1]}")
    peak = max(step.peak_mib for step in read_benchmarks(work / "results" / "benchmarks"))
    return [
        {
            "set": folder.name,
            **{key: row[key] for key in ("sample", "type")},
            **{key: int(row[key]) for key in ("truth", "FN", "FP")},
            **{key: float(row[key]) for key in ("recall", "precision", "F1")},
            "seconds": seconds,
            "peak_mib": peak,
        }
        for row in records(work / "results" / "evaluation" / "summary.tsv")
        if row["matching"] == "genotype"
    ]
