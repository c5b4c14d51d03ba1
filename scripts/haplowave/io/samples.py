"""The sample sheet: a tab-separated table with one alignment file a row.

Parsing is quick and touches nothing but the sheet, because every step does it; what lies inside the
alignment files is looked at once, by `haplowave.io.checks`.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from haplowave.errors import UserError

PLATFORMS = ("illumina", "hifi", "ont", "10x")
REQUIRED_COLUMNS = ("sample", "reads", "platform")
OPTIONAL_COLUMNS = ("ploidy",)
MAX_PLOIDY = 16
_NAME = re.compile(r"[A-Za-z0-9][^\s/,;\"'\\]*")


@dataclass(frozen=True)
class Sample:
    """One individual. `reads`: its alignment files in the order of the sheet; `ploidy`: copies of each contig."""

    name: str
    platform: str
    ploidy: int
    reads: tuple[Path, ...]


@dataclass(frozen=True)
class Row:
    """One line of the sheet: `line` counts from 1, header and comments included; `values` by column name."""

    line: int
    values: dict[str, str]


def read_samples(path: str | Path) -> list[Sample]:
    """Samples in the order of the sheet; relative paths are taken from the sheet's folder.

    Raises UserError that lists every problem of the sheet: each with line, column, value and what to do.
    """
    samples, problems = parse_samples(path)
    if problems:
        raise UserError("; ".join(problems))
    return samples


def parse_samples(path: str | Path) -> tuple[list[Sample], list[str]]:
    """(samples without a problem, one message a problem)."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        return [], [f"{path}: sample sheet cannot be read ({reason}); give a tab-separated text file"]
    rows, problems = _rows(path, text)
    if problems:
        return [], problems
    return _group(path, rows)


def _rows(path: Path, text: str) -> tuple[list[Row], list[str]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not _is_remark(line)]
    if not lines:
        return [], [f"{path}: sample sheet is empty; begin it with the columns {_columns()}, separated by tabs"]
    header = [column.strip().removeprefix("#").strip() for column in lines[0][1].split("\t")]
    problems = _header_problems(path, lines[0][0], header)
    rows = []
    for number, line in lines[1:]:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) > len(header):
            problems.append(f"{path} line {number}: {len(cells)} values for {len(header)} columns; separate them by single tabs")
        rows.append(Row(number, dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=False))))
    if not rows and not problems:
        problems.append(f"{path}: sample sheet has no samples; add one line for each BAM or CRAM")
    return rows, problems


def _is_remark(line: str) -> bool:
    # "#sample" at the start of a line is a header all the same
    return line.startswith("#") and line[1:].split("\t")[0].strip() != "sample"


def _columns() -> str:
    return ", ".join(REQUIRED_COLUMNS)


def _header_problems(path: Path, line: int, header: list[str]) -> list[str]:
    problems = [
        f"{path} line {line}: column {column} is missing; the sheet needs {_columns()}, separated by tabs"
        for column in REQUIRED_COLUMNS
        if column not in header
    ]
    known = REQUIRED_COLUMNS + OPTIONAL_COLUMNS
    for column in header:
        near = difflib.get_close_matches(column.lower(), known, 1, 0.8)
        if column not in known and near and near[0] not in header:
            problems.append(f"{path} line {line}: column '{column}' is unknown; did you mean {near[0]}?")
    twice = sorted({column for column in header if header.count(column) > 1})
    return problems + [f"{path} line {line}: column '{column}' occurs twice; keep one" for column in twice]


def _group(path: Path, rows: list[Row]) -> tuple[list[Sample], list[str]]:
    problems: list[str] = []
    samples: dict[str, Sample] = {}
    first_line: dict[str, int] = {}
    seen_files: dict[Path, int] = {}
    for row in rows:
        found = list(_row_problems(path, row))
        problems += found
        if found:
            continue
        name, platform, ploidy = row.values["sample"], row.values["platform"], int(row.values.get("ploidy") or 2)
        reads = path.parent / row.values["reads"]
        if reads in seen_files:
            problems.append(f"{path} line {row.line}, column reads: '{row.values['reads']}' is also in line {seen_files[reads]}; keep one")
        seen_files.setdefault(reads, row.line)
        first_line.setdefault(name, row.line)
        known = samples.get(name, Sample(name, platform, ploidy, ()))
        for column, value, before in (("platform", platform, known.platform), ("ploidy", ploidy, known.ploidy)):
            if value != before:
                problems.append(
                    f"{path} line {row.line}, column {column}: {value} for sample {name}, but {before} in line {first_line[name]}; "
                    "all rows of one sample must agree"
                )
        samples[name] = Sample(name, known.platform, known.ploidy, (*known.reads, reads))
    return list(samples.values()), problems


def _row_problems(path: Path, row: Row) -> Iterator[str]:
    where = f"{path} line {row.line}, column"
    name, platform, ploidy = row.values["sample"], row.values["platform"], row.values.get("ploidy", "")
    if not name:
        yield f"{where} sample: is empty; give the sample a name"
    elif not _NAME.fullmatch(name):
        yield f"{where} sample: '{name}' cannot name a sample; begin with a letter or digit, no spaces, slashes, commas or quotes"
    if not row.values["reads"]:
        yield f"{where} reads: is empty; give the path of a BAM or CRAM"
    if platform not in PLATFORMS:
        yield f"{where} platform: '{platform}' is not one of {', '.join(PLATFORMS)}"
    if ploidy and not (ploidy.isascii() and ploidy.isdecimal() and 1 <= int(ploidy) <= MAX_PLOIDY):
        yield f"{where} ploidy: '{ploidy}' is not a whole number from 1 to {MAX_PLOIDY}"
