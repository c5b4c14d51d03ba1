"""Parquet tables that are checked on read and appear complete or not at all."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from haplowave.errors import UserError
from haplowave.files import atomic_path
from haplowave.tables.schemas import FORMAT_VERSION, SCHEMAS

_KIND = b"haplowave_table"
_VERSION = b"haplowave_version"


class TableWriter:
    """Appends row groups to one table. Each group must hold whole regions, in order."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema):
        self._writer = writer
        self.schema = schema
        self.rows = 0

    def append(self, columns: Mapping[str, Any] | pa.Table) -> None:
        """Write `columns` (one sequence or array a column, equal lengths) as one row group."""
        if isinstance(columns, pa.Table):
            table = columns.select(self.schema.names).cast(self.schema)
        else:
            arrays = [_array(columns[field.name], field.type) for field in self.schema]
            table = pa.Table.from_arrays(arrays, schema=self.schema)
        self.rows += table.num_rows
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks().cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def table_schema(name: str) -> pa.Schema:
    """The schema of table `name` with the marks that `open_table` looks for."""
    return SCHEMAS[name].with_metadata({_KIND: name.encode(), _VERSION: FORMAT_VERSION.encode()})


@contextlib.contextmanager
def table_writer(path: str | Path, name: str) -> Iterator[TableWriter]:
    """Write table `name` (a key of SCHEMAS) to `path`; the file appears when the block ends without an error."""
    schema = table_schema(name)
    floats = {field.name for field in schema if pa.types.is_floating(field.type)}
    dictionary = [field.name for field in schema if field.name not in floats] if floats else True  # floats hardly repeat: half the time
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=dictionary) as writer:
        yield TableWriter(writer, schema)


def table_kind(path: str | Path) -> str:
    """Which table `path` holds. Raises UserError where it is no table of ours or of another version."""
    return _kind(path, _open(path))


def _kind(path: str | Path, file: pq.ParquetFile) -> str:
    metadata = file.schema_arrow.metadata or {}
    if _KIND not in metadata:
        raise UserError(f"{path}: is not a haplowave table (no {_KIND.decode()} mark); give a file that haplowave wrote")
    version = metadata.get(_VERSION, b"?").decode()
    if version != FORMAT_VERSION:
        raise UserError(f"{path}: table format version {version}, this haplowave reads {FORMAT_VERSION}; make the table again")
    return metadata[_KIND].decode()


def open_table(path: str | Path, name: str) -> pq.ParquetFile:
    """Open `path` and check that it holds table `name` with every column. Raises UserError that names what is missing."""
    file = _open(path)
    kind = _kind(path, file)
    if kind != name:
        raise UserError(f"{path}: holds table {kind}, expected {name}; check the order of the arguments")
    for field in SCHEMAS[name]:
        index = file.schema_arrow.get_field_index(field.name)
        if index < 0:
            raise UserError(f"{path}: table {name} lacks column {field.name}; make the table again")
        if file.schema_arrow.field(index).type != field.type:
            found = file.schema_arrow.field(index).type
            raise UserError(f"{path}: column {field.name} has type {found}, expected {field.type}; make the table again")
    return file


def _open(path: str | Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]}); make the table again") from error


def read_table(path: str | Path, name: str) -> pa.Table:
    """The whole table in memory."""
    return open_table(path, name).read().combine_chunks()


def iterate_row_groups(path: str | Path, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """One pa.Table a row group, of all columns or of `columns`: memory is bounded by the batch that the writer chose."""
    file = open_table(path, name)
    for index in range(file.num_row_groups):
        yield file.read_row_group(index, columns=None if columns is None else list(columns))


class RowsInStep:
    """Rows of one table, taken region by region in step with another's row groups."""

    def __init__(self, path: str | Path, name: str, columns: Sequence[str]):
        self._groups = iterate_row_groups(path, name, columns)
        self._held = next(self._groups, None)
        self._empty = pa.schema([SCHEMAS[name].field(column) for column in columns]).empty_table()

    def until(self, region: int) -> pa.Table:
        """The rows not taken yet of regions up to `region`."""
        if self._held is None:
            return self._empty
        while self._held.num_rows == 0 or self._held.column("region_id")[-1].as_py() <= region:
            more = next(self._groups, None)
            if more is None:
                break
            self._held = pa.concat_tables([self._held, more])
        count = pc.sum(pc.less_equal(self._held.column("region_id"), region)).as_py() or 0
        taken, self._held = self._held.slice(0, count), self._held.slice(count)
        return taken.combine_chunks()


def iterate_regions(path: str | Path, name: str) -> Iterator[tuple[int, pa.Table]]:
    """(region_id, rows of that region) in order."""
    for group in iterate_row_groups(path, name):
        ids = group.column("region_id").combine_chunks()
        runs = pc.run_end_encode(ids)
        begin = 0
        for region, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield region, group.slice(begin, end - begin)
            begin = end


def join_regions(*tables: Iterable[tuple[int, pa.Table]]) -> Iterator[tuple[int, list[pa.Table | None]]]:
    """Merge several `iterate_regions` streams: (region_id, one table or None a stream) in order of region_id."""
    streams = [iter(table) for table in tables]
    heads = [next(stream, None) for stream in streams]
    while any(head is not None for head in heads):
        region = min(head[0] for head in heads if head is not None)
        row: list[pa.Table | None] = []
        for index, head in enumerate(heads):
            if head is not None and head[0] == region:
                row.append(head[1])
                heads[index] = next(streams[index], None)
            else:
                row.append(None)
        yield region, row


def read_text_schema(name: str) -> list[tuple[str, str, str]]:
    """(column, type, meaning) of table `name`: what docs/tables.md is made from."""
    return [(field.name, str(field.type), (field.metadata or {}).get(b"help", b"").decode()) for field in SCHEMAS[name]]
