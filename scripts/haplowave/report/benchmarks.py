"""Time and memory of the steps, from the files that Snakemake's `benchmark:` writes and from the steps' logs."""

import re
from dataclasses import dataclass
from pathlib import Path

from haplowave.report.text import records

# the order in which the workflow runs them; others follow by name
_ORDER = (
    "index_reference",
    "scatter_intervals",
    "find_regions",
    "extract_pairs",
    "summarize_pairs",
    "compute_distances",
    "compute_likelihoods",
    "genotype_regions",
    "gather_calls",
    "evaluate_calls",
    "collect_evaluations",
)


# how every command of haplowave ends its log: Snakemake samples memory too rarely to see short jobs
_PEAK = re.compile(r"peak memory (\d+) MiB")


@dataclass(frozen=True)
class Step:
    """A rule over all of its jobs: `seconds` of wall clock summed, `cpu_seconds` summed, `peak_mib` of the largest job."""

    name: str
    jobs: int
    seconds: float
    longest: float
    cpu_seconds: float
    peak_mib: float


def read_benchmarks(folder: str | Path) -> list[Step]:
    """One Step a rule, in the order of the workflow: FOLDER/rule.tsv and FOLDER/rule/*.tsv, with the logs of FOLDER/../logs."""
    folder = Path(folder)
    steps = []
    for name in {path.stem if path.is_file() else path.name for path in folder.glob("*")}:
        files = [folder / f"{name}.tsv"] if (folder / f"{name}.tsv").is_file() else sorted((folder / name).glob("*.tsv"))
        rows = [row for file in files for row in records(file)]
        if rows:
            seconds = [_number(row["s"]) for row in rows]
            cpu = sum(_number(row.get("cpu_time", "")) for row in rows)
            peaks = [_number(row["max_rss"]) for row in rows] + [_logged_peak(_log_of(file, folder)) for file in files]
            steps.append(Step(name, len(rows), sum(seconds), max(seconds), cpu, max(peaks)))
    return sorted(steps, key=lambda step: (_ORDER.index(step.name) if step.name in _ORDER else len(_ORDER), step.name))


def _number(cell: str) -> float:
    # a job shorter than the sampling interval has no figure
    return float(cell) if cell not in ("", "-", "NA") else 0.0


def _log_of(file: Path, folder: Path) -> Path:
    return folder.parent / "logs" / file.relative_to(folder).with_suffix(".log")


def _logged_peak(log: Path) -> float:
    if not log.is_file():
        return 0.0
    found = _PEAK.findall(log.read_text(encoding="utf-8", errors="replace"))
    return float(found[-1]) if found else 0.0
