"""The report: one HTML file that needs nothing else to be looked at."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from haplowave import __version__
from haplowave.files import atomic_path
from haplowave.io.samples import Sample
from haplowave.report import plots
from haplowave.report.alignments import alignment_paths
from haplowave.report.benchmarks import Step, read_benchmarks
from haplowave.report.calls import CallCounts, count_calls, ratio
from haplowave.report.text import is_number, read_tsv, records

_HERE = Path(__file__).parent
_KINDS = ("snv", "insertion", "deletion", "mnv", "other")
_PLOTTED_SAMPLES = 8


def write_report(
    output: str | Path,
    *,
    calls: str | Path,
    samples: Sequence[Sample],
    pairs: str | Path,
    read_filters: Sequence[str | Path],
    benchmarks: str | Path,
    evaluation: str | Path | None,
    edit_distances: Sequence[str | Path] = (),
) -> None:
    """Write the report of one run to `output`. `read_filters`: the counts of find_regions.py, one file a chunk.

    `edit_distances`: tables of edit_distance.py; alignments lie beside them as .paf.
    """
    counts = count_calls(calls)
    steps = read_benchmarks(benchmarks)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.get_template("report.html").render(
        version=__version__,
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        cards=_cards(counts, samples, records(pairs), steps),
        sections=[
            _evaluation(evaluation),
            _samples(counts, samples),
            _distributions(counts),
            _filters(counts),
            _reads(read_filters),
            _pairs(read_tsv(pairs)),
            _strings(edit_distances),
            _time(steps),
            _run(counts, len(read_filters)),
        ],
    )
    with atomic_path(output) as temporary:
        temporary.write_text(page, encoding="utf-8")


def table(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What the template makes a table of: header, rows, and which columns hold numbers."""
    numeric = [all(is_number(row[column]) for row in rows[1:]) for column in range(len(rows[0]))]
    return {"header": rows[0], "rows": rows[1:], "numeric": numeric}


def thousands(value: float | None, digits: int = 0) -> str:
    """1234567 -> 1,234,567; a missing value is a dash."""
    return "-" if value is None else f"{value:,.{digits}f}"


def short(value: float) -> str:
    """1234567 -> 1.23 M."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g} {unit}"
    return f"{value:,.0f}"


def _cards(counts: CallCounts, samples: Sequence[Sample], pairs: Sequence[dict[str, str]], steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [
        (str(len(samples)), "sample" if len(samples) == 1 else "samples"),
        (short(counts.filters["PASS"]), "records that pass"),
        (short(sum(int(row["pairs"]) for row in pairs)), "read-haplotype pairs"),
        (short(sum(int(row["cells"]) for row in pairs)), "PairHMM cells"),
        (duration(sum(step.seconds for step in steps)), "time of all jobs"),
        (f"{max((step.peak_mib for step in steps), default=0):,.0f} MiB", "largest job"),
    ]


def duration(seconds: float) -> str:
    """3725 -> 1 h 2 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _evaluation(path: str | Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    return {"title": "Evaluation against the truth", "tables": [table(_shares_in_percent(read_tsv(path)))]}


def _shares_in_percent(rows: list[list[str]]) -> list[list[str]]:
    shares = [index for index, name in enumerate(rows[0]) if name.lower() in ("recall", "precision", "f1")]
    for row in rows[1:]:
        for index in shares:
            if row[index] and is_number(row[index]) and row[index] not in (".", "-", "nan"):
                row[index] = f"{float(row[index]):.4f}"
    return rows


def _samples(counts: CallCounts, samples: Sequence[Sample]) -> dict[str, Any]:
    header = [
        "sample",
        "platform",
        "ploidy",
        "SNVs",
        "insertions",
        "deletions",
        "MNVs",
        "other",
        "het",
        "hom",
        "het/hom",
        "Ti/Tv",
        "no call",
    ]
    rows = [header]
    for sample in samples:
        own = counts.samples.get(sample.name)
        if own is None:
            continue
        kinds = [thousands(own.kinds[kind]) for kind in _KINDS]
        zygosity = [thousands(own.heterozygous), thousands(own.homozygous), thousands(ratio(own.heterozygous, own.homozygous), 2)]
        titv = thousands(ratio(own.transitions, own.transversions), 2)
        rows.append([sample.name, sample.platform, str(sample.ploidy), *kinds, *zygosity, titv, thousands(own.missing)])
    note = "Alternative alleles that a sample carries, in records whose FILTER is PASS."
    return {"title": "Calls by sample", "note": note, "tables": [table(rows)]}


def _distributions(counts: CallCounts) -> dict[str, Any]:
    shown = dict(list(counts.samples.items())[:_PLOTTED_SAMPLES])
    figures = [
        ("Indel lengths", plots.indel_lengths({name: own.indel_lengths for name, own in shown.items()})),
        ("Depth at variants", plots.histogram({name: own.depths for name, own in shown.items()}, "DP, fragments", 2)),
        ("Genotype quality at variants", plots.histogram({name: own.qualities for name, own in shown.items()}, "GQ, Phred", 3)),
    ]
    left_out = len(counts.samples) - len(shown)
    note = f"The first {_PLOTTED_SAMPLES} of {len(counts.samples)} samples." if left_out else None
    return {"title": "Distributions", "note": note, "figures": figures}


def _filters(counts: CallCounts) -> dict[str, Any]:
    rows = [["FILTER", "records"]] + [[name, thousands(number)] for name, number in counts.filters.most_common()]
    note = (
        f"{thousands(counts.records)} records, {thousands(counts.multiallelic)} of those that pass with more than one alternative allele."
    )
    return {"title": "Filters of the calls", "note": note, "tables": [table(rows)] if counts.records else []}


def _reads(paths: Sequence[str | Path]) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {}
    for path in paths:
        for row in records(path):
            counts.setdefault(row["sample"], Counter())[row["reason"]] += int(row["records"])
    reasons = list(dict.fromkeys(reason for own in counts.values() for reason in own))
    rows = [["sample", *(reason.replace("_", " ") for reason in reasons)]]
    rows += [[name, *(thousands(own[reason]) for reason in reasons)] for name, own in counts.items()]
    return {"title": "Reads by filter", "note": "Alignment records by the first reason to leave them out.", "tables": [table(rows)]}


def _pairs(rows: list[list[str]]) -> dict[str, Any]:
    shown = [[cell.replace("_", " ") for cell in rows[0]]]
    shown += [[thousands(int(cell)) if cell.isdecimal() else cell for cell in row] for row in rows[1:]]
    note = "What PairHMM is asked for: every read of an active region against every haplotype of it; lengths over pairs, in bp."
    return {"title": "Read-haplotype pairs", "note": note, "tables": [table(shown)]}


def _strings(paths: Sequence[str | Path]) -> dict[str, Any] | None:
    if not paths:
        return None
    rows = [["pair", "query", "target", "query length", "target length", "distance", "similarity %", "strategy", "seconds"]]
    for path in paths:
        for row in records(path):
            numbers = [thousands(int(row[name])) for name in ("query_length", "target_length", "distance")]
            rate = (f"{100 * float(row['similarity']):.3f}", row["strategy"], f"{float(row['seconds']):,.3f}")
            rows.append([Path(path).stem, row["query"], row["target"], *numbers, *rate])
    drawn = alignment_paths([file for file in (Path(path).with_suffix(".paf") for path in paths) if file.is_file()])
    figures = []
    if drawn:
        dots = {name: path.points() for name, path in drawn.items()}
        identity = {name: path.identity() for name, path in drawn.items()}
        figures = [
            ("Paths of the alignments", plots.lines(dots, "target", "query", downwards=True)),
            ("Identity along the query", plots.lines(identity, "query", "matches, %")),
        ]
    return {"title": "Edit distances of long strings", "figures": figures, "tables": [table(rows)]}


def _time(steps: Sequence[Step]) -> dict[str, Any] | None:
    if not steps:
        return None
    rows = [["step", "jobs", "wall s", "longest job s", "CPU s", "peak MiB"]]
    for step in steps:
        figures = [f"{step.seconds:,.1f}", f"{step.longest:,.1f}", f"{step.cpu_seconds:,.1f}", f"{step.peak_mib:,.0f}"]
        rows.append([step.name.replace("_", " "), str(step.jobs), *figures])
    figure = plots.stacked([step.name.replace("_", " ") for step in steps], {"wall": [step.seconds for step in steps]}, "seconds, all jobs")
    return {"title": "Time and memory by step", "figures": [("Wall clock", figure)], "tables": [table(rows)]}


def _run(counts: CallCounts, chunks: int) -> dict[str, Any]:
    rows = [["", ""], ["made by", counts.source], ["contigs of the reference", thousands(counts.contigs)], ["chunks", thousands(chunks)]]
    rows += [[key.replace("_", " "), value] for key, value in counts.settings.items()]
    return {"title": "Run", "tables": [table(rows)]}
