"""Any table as tab-separated text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from haplowave.tables.io import iterate_row_groups, table_kind
from haplowave.tables.schemas import SCHEMAS

_PHRED = bytes(min(value + 33, 126) for value in range(256))


def write_text(path: str | Path, out: TextIO) -> None:
    """Write table `path` to `out`: a header of the column names, then one line a row; one row group in memory at a time.

    Events read pos:ref>alt with the 0-based pos of the table; qualities are Phred + 33; truth values are true and false.
    Raises UserError where `path` is no table of ours.
    """
    kind = table_kind(path)
    schema = SCHEMAS[kind]
    out.write("\t".join(schema.names) + "\n")
    for group in iterate_row_groups(path, kind):
        columns = [map(_converter(field.type), group.column(field.name).to_pylist()) for field in schema]
        out.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))


def _converter(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_list(kind):
        return lambda events: ",".join(f"{event['pos']}:{event['ref']}>{event['alt']}" for event in events) or "."
    if pa.types.is_binary(kind):
        return lambda quals: quals.translate(_PHRED).decode("ascii")
    if pa.types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if pa.types.is_floating(kind):
        return repr
    return str
