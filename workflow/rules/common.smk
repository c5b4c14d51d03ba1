"""The plan of this run, and the few functions that the rules share."""

import shlex
import sys
from pathlib import Path

ROOT = Path(str(workflow.current_basedir)).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from haplowave import __version__ as VERSION
from haplowave.launch import closing_lines, plan_or_exit, remove_partial, require_device

# a workflow that imports this one brings its own configuration
DEFAULT = ROOT / "config" / "config.yaml" if workflow.modifier.is_main_snakefile() else None
PLAN = plan_or_exit(config, workflow.configfiles, DEFAULT, deep=workflow.is_main_process)
CHUNKS = list(PLAN.chunks)
TRUTHS = PLAN.config.evaluation
ENVIRONMENT = "../../envs/haplowave.yaml"


wildcard_constraints:
    chunk=r"\d{5}",
    sample=r"[^/]+",
    pair=r"[^/]+",


def result(name):
    """Path of an output: relative to the working directory where it lies inside, so that a module's `prefix` applies."""
    path = PLAN.config.results / name
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def table(kind):
    """Path of a table with the wildcard {chunk}."""
    return result(f"tables/{kind}/{{chunk}}.parquet")


def every(pattern):
    """`pattern` for each chunk."""
    return expand(pattern, chunk=CHUNKS)


def command(step):
    """Start of the command line of scripts/`step`.py: with this Python, or with that of the environment that Snakemake deploys."""
    python = "python" if workflow.deployment_settings.deployment_method else sys.executable
    text = shlex.join([python, str(ROOT / "scripts" / f"{step}.py")])
    # Snakemake does not record params that depend on threads: an environment or a clone that moved reruns nothing
    return lambda wildcards, threads: text


def flags(*sections):
    """Options of these sections of the configuration as command-line flags."""
    return [flag for section in sections for flag in PLAN.config.flags(section)]


def opencl(name):
    """One value of the section opencl."""
    return getattr(PLAN.config.sections["opencl"], name)


def gpus():
    """GPUs that a job of the OpenCL steps asks a cluster for: 1 where the configuration names one, else profiles decide."""
    return int("gpu" in opencl("device").lower() or "nvidia" in opencl("device").lower())


def reference_files():
    """Input `reference` (what the steps open) and its index files, made under results where the FASTA has none beside it."""
    path = PLAN.config.reference
    if PLAN.reference_indexed:
        return {"reference": str(path), "reference_index": str(path) + ".fai"}
    return {"reference": result(f"reference/{path.name}"), "reference_index": result(f"reference/{path.name}.fai")}


def read_files():
    """Inputs of the steps that look into the alignment files."""
    return {
        **reference_files(),
        "samples": str(PLAN.config.samples),
        "alignments": list(map(str, PLAN.alignments)),
        "indexes": list(map(str, PLAN.alignment_indexes)),
    }


def truth_files(wildcards):
    """Truth and, where it is configured, confident regions of a sample."""
    return {kind: str(path) for kind, path in TRUTHS[wildcards.sample].items() if path is not None}


def pair_files(wildcards):
    """FASTA files of a pair of the table edit_distance.pairs."""
    query, target = PLAN.pairs[wildcards.pair]
    return {"query": str(query), "target": str(target)}


def targets():
    """What a run makes."""
    return [
        result("calls/all.vcf.gz"),
        result("calls/all.vcf.gz.tbi"),
        result("tables/pairs.tsv"),
        *([result("evaluation/summary.tsv")] if TRUTHS else []),
        *(result(f"edit_distance/{pair}.tsv") for pair in PLAN.pairs),
        result("report.html"),
    ]


def check_device():
    """Stop before the first job where this machine is to run the OpenCL steps and cannot."""
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        require_device(opencl("device"))


def print_closing(state):
    """Where things are, how long the steps took, how good the calls are."""
    print("\n".join(closing_lines(PLAN.config.results, state)), file=sys.stderr)
