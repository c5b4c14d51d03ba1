"""The documented, versioned tables that the steps hand on (docs/tables.md)."""

from haplowave.tables.io import (
    RowsInStep,
    TableRows,
    TableWriter,
    flat_values,
    iterate_regions,
    iterate_row_groups,
    join_regions,
    open_table,
    read_table,
    table_kind,
    table_schema,
    table_writer,
)
from haplowave.tables.schemas import FORMAT_VERSION, SCHEMAS

__all__ = [
    "FORMAT_VERSION",
    "SCHEMAS",
    "RowsInStep",
    "TableRows",
    "TableWriter",
    "flat_values",
    "iterate_regions",
    "iterate_row_groups",
    "join_regions",
    "open_table",
    "read_table",
    "table_kind",
    "table_schema",
    "table_writer",
]
