"""Records of measurements: a table on the terminal, a JSON file."""

import json
from collections.abc import Iterable, Sequence

from haplowave.files import atomic_path

Record = dict[str, str | int | float]


def print_table(records: Iterable[Record], columns: Sequence[str]) -> None:
    """Print `columns` of the records, aligned, numbers with four significant digits."""
    rows = [list(columns)] + [[_shown(record.get(column, "")) for column in columns] for record in records]
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), flush=True)


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_json(path: str, records: Sequence[Record]) -> None:
    """Write the records as one JSON list, a record a line."""
    with atomic_path(path) as temporary, open(temporary, "w") as handle:
        handle.write("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n")
