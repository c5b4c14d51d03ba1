"""Public GIAB reads of resources/giab.tsv, for those who ask: a workflow of its own, because the main one needs its inputs in place.

    snakemake -s REPO/workflow/fetch.smk --cores 2 --directory REPO giab/na12878_illumina.bam.bai

Without a target it fetches all seven, some hundred GB each: look first with -n.
"""

import shlex
import sys
from pathlib import Path

ROOT = Path(str(workflow.current_basedir)).parent
sys.path.insert(0, str(ROOT / "scripts"))

from haplowave import __version__ as VERSION
from haplowave.report.text import records

GIAB = {row["name"]: row for row in records(ROOT / "resources" / "giab.tsv")}


wildcard_constraints:
    name="|".join(GIAB),


def command(step):
    """Start of the command line of scripts/`step`.py."""
    return shlex.join([sys.executable, str(ROOT / "scripts" / f"{step}.py")])


rule all:
    default_target: True
    input:
        expand("giab/{name}.bam.bai", name=list(GIAB)),


rule fetch_alignments:
    output:
        "giab/{name}.bam",
    log:
        "giab/logs/fetch_alignments/{name}.log",
    benchmark:
        "giab/benchmarks/fetch_alignments/{name}.tsv"
    conda:
        "../envs/haplowave.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=2880,
    params:
        command=command("fetch"),
        url=lambda wildcards: GIAB[wildcards.name]["url"],
        md5=lambda wildcards: ["--md5", GIAB[wildcards.name]["md5"]] if GIAB[wildcards.name]["md5"] else [],
        version=VERSION,
    message:
        "Fetch {params.url}"
    shell:
        "{params.command} {params.url:q} --output {output:q} {params.md5:q} > {log:q} 2>&1"


rule index_alignments:
    input:
        "giab/{name}.bam",
    output:
        "giab/{name}.bam.bai",
    log:
        "giab/logs/index_alignments/{name}.log",
    benchmark:
        "giab/benchmarks/index_alignments/{name}.tsv"
    conda:
        "../envs/haplowave.yaml"
    threads: 2
    resources:
        mem_mb=1000,
        runtime=480,
    params:
        command=command("index_alignments"),
        version=VERSION,
    message:
        "Index {input}"
    shell:
        "{params.command} {input:q} --output {output:q} --threads {threads} > {log:q} 2>&1"
