"""What the Snakefile does before and after its jobs: plan or stop with one line a problem, check the device, say where things are."""

import shutil
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

from haplowave.config import load
from haplowave.errors import UserError
from haplowave.plan import Plan, PlanError, make_plan
from haplowave.report.benchmarks import read_benchmarks
from haplowave.report.text import aligned, read_tsv


def plan_or_exit(config: MutableMapping[str, Any], config_files: Sequence[str | Path], default: Path | None, deep: bool) -> Plan:
    """`make_plan`, on top of the file `default` where no file is given and `config` does not name its own samples and reference.

    Ends the process with exit code 1 where a problem is found: one line each, no traceback.
    """
    files = [Path(file) for file in config_files]
    if not files and default is not None and not {"samples", "reference"} <= config.keys():
        given = dict(config)
        config.update(load(default))
        config.update(given)
        files = [default]
    try:
        plan = make_plan(config, files, deep)
    except PlanError as error:
        sys.exit("\n".join(f"haplowave: error: {problem}" for problem in error.problems))
    for warning in plan.warnings:
        print(f"haplowave: warning: {warning}", file=sys.stderr)
    return plan


def require_device(spec: str) -> None:
    """End the process with one line where no OpenCL device fits `spec`."""
    from haplowave.opencl import select  # loads the OpenCL runtime: only where jobs will run

    try:
        select(spec)
    except UserError as error:
        sys.exit(f"haplowave: error: {error}")


def remove_partial(results: Path) -> None:
    """Remove what killed jobs of an earlier run left beside their outputs; only where no other run writes into `results`."""
    ours = [results / name for name in ("calls", "evaluation", "intervals", "reference", "tables")]
    for left in [*results.glob(".partial-*"), *(left for folder in ours for left in folder.rglob(".partial-*"))]:
        shutil.rmtree(left, ignore_errors=True)


def closing_lines(results: Path, state: str) -> list[str]:
    """What was made, how long each step took and its peak memory, and the evaluation where there is one."""
    if state != "done":
        return [f"haplowave: failed; the logs of the steps are in {results / 'logs'}"]
    lines = [""]
    for name, path in (
        ("calls", "calls/all.vcf.gz"),
        ("tables", "tables"),
        ("evaluation", "evaluation/summary.tsv"),
        ("distances", "edit_distance"),
        ("report", "report.html"),
        ("logs", "logs"),
    ):
        if (results / path).exists():
            lines.append(f"{name:<11}{results / path}")
    steps = read_benchmarks(results / "benchmarks")
    if steps:
        rows = [["step", "jobs", "seconds", "peak MiB"]]
        rows += [[step.name, str(step.jobs), f"{step.seconds:.1f}", f"{step.peak_mib:.0f}"] for step in steps]
        lines += ["", *aligned(rows)]
    evaluation = results / "evaluation" / "summary.tsv"
    if evaluation.exists():
        lines += ["", *aligned(read_tsv(evaluation))]
    return lines
