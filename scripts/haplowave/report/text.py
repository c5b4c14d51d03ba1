"""Small tables as text."""

from collections.abc import Sequence
from pathlib import Path


def read_tsv(path: str | Path) -> list[list[str]]:
    """Rows of a tab-separated file, the header first."""
    return [line.split("\t") for line in Path(path).read_text(encoding="utf-8").splitlines() if line]


def records(path: str | Path) -> list[dict[str, str]]:
    """The same as one dict a row, keyed by the header."""
    rows = read_tsv(path)
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the columns under each other; columns of numbers are right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numeric = [all(is_number(row[column]) for row in rows[1:]) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]


def is_number(cell: str) -> bool:
    """Whether `cell` reads as a number or stands for a missing one."""
    if cell in ("", ".", "-", "nan"):
        return True
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True
