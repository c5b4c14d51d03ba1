"""Parquet tables that are checked on read and appear complete or not at all."""

import contextlib
import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from haplowave.errors import UserError
from haplowave.files import atomic_path
from haplowave.tables.schemas import FORMAT_VERSION, SCHEMAS

_KIND = b"haplowave_table"
_VERSION = b"haplowave_version"
_A_ROW_A_PAIR = ("distances", "likelihoods")
_ROWS = 1 << 17  # of such a table in a row group, or more
_TOGETHER = 1 << 17  # rows of a single column that are read at once
_FEW_BYTES = 4  # a row group with fewer bytes a row of a column repeats a few values


class TableWriter:
    """Appends rows to one table: each time whole regions, in order, which become a row group of `least` rows or more."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema, least: int = 1):
        self._writer, self._least = writer, least
        self._waiting: list[pa.Table] = []
        self.schema = schema
        self.rows = 0

    def append(self, columns: Mapping[str, Any] | pa.Table) -> None:
        """Write `columns` (one sequence or array a column, equal lengths)."""
        if isinstance(columns, pa.Table):
            table = columns if columns.schema.equals(self.schema) else columns.select(self.schema.names).cast(self.schema)
        else:
            arrays = [_array(columns[field.name], field.type) for field in self.schema]
            table = pa.Table.from_arrays(arrays, schema=self.schema)
        self.rows += table.num_rows
        self._waiting.append(table)
        if sum(waiting.num_rows for waiting in self._waiting) >= self._least:
            self.flush()

    def flush(self) -> None:
        """Write what waits for its row group to be large enough."""
        table = pa.concat_tables(self._waiting) if self._waiting else self.schema.empty_table()
        self._waiting = []
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
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, **_encoding(name)) as writer:
        target = TableWriter(writer, schema, _ROWS if name in _A_ROW_A_PAIR else 1)
        yield target
        target.flush()


def _encoding(name: str) -> dict[str, Any]:
    """How table `name` is written. Those with a row a pair take as long to write as their values take to compute: no look at what is
    known to be in order or not to repeat, no hashing of it, no statistics but those of regions. Integers as streams of
    bytes would be quicker than a dictionary, but are of Parquet 2.11, which not every reader knows (DuckDB before 2.0 does not)."""
    if name not in _A_ROW_A_PAIR:
        return {"compression": "zstd"}
    return {
        "compression": "lz4",
        "use_dictionary": [column for column in ("edit_distance", "how") if column in SCHEMAS[name].names],
        "column_encoding": {"log10_likelihood": "BYTE_STREAM_SPLIT"} if "log10_likelihood" in SCHEMAS[name].names else None,
        "write_statistics": ["region_id"],
        "write_batch_size": 1 << 15,
    }


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
    with _reading(path):
        return pq.ParquetFile(path)


@contextlib.contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Tells of a file that is missing or damaged, as UserError."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]}); make the table again") from error


def read_table(path: str | Path, name: str) -> pa.Table:
    """The whole table in memory."""
    file = open_table(path, name)
    with _reading(path):
        return file.read().combine_chunks()


def iterate_row_groups(path: str | Path, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """One pa.Table a row group, of all columns or of `columns`: memory is bounded by the batch that the writer chose."""
    file = open_table(path, name)
    for index in range(file.num_row_groups):
        with _reading(path):
            group = file.read_row_group(index, columns=None if columns is None else list(columns))
        yield group


class TableRows:
    """Rows of one table by their numbers, for several threads: each opens the file for itself.

    few: columns that may hold few different values; those that do, by the size of the first row group, are read as dictionaries.
    """

    def __init__(self, path: str | Path, name: str, columns: Sequence[str], few: Sequence[str] = ()):
        self._path, self._columns, self._local = path, list(columns), threading.local()
        self._metadata = open_table(path, name).metadata
        groups = [self._metadata.row_group(index) for index in range(self._metadata.num_row_groups)]
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)])
        sizes = {part.path_in_schema: part.total_uncompressed_size for part in _parts(groups[0])} if groups else {}
        self._few = [column for column in few if sizes.get(column, 0) < _FEW_BYTES * max(1, int(self._starts[1:2].sum()))]

    def _groups(self, which: range, columns: list[str]) -> pa.Table:
        with _reading(self._path):
            return self._file().read_row_groups(which, columns=columns)

    def _file(self) -> pq.ParquetFile:
        if not hasattr(self._local, "file"):
            self._local.file = pq.ParquetFile(self._path, metadata=self._metadata, read_dictionary=self._few, pre_buffer=False)
        return self._local.file

    def groups(self, column: str) -> Iterator[np.ndarray]:
        """One column, a row group at a time (several are read together); row groups without rows are left out."""
        first, most = 0, 1
        while first < len(self._starts) - 1:
            last = max(first + 1, int(np.searchsorted(self._starts, self._starts[first] + _TOGETHER, side="right")) - 1)
            last, most = min(last, first + most), 2 * most  # the first are wanted soon
            values = flat_values(self._groups(range(first, last), [column]).column(column))
            for begin, end in itertools.pairwise((self._starts[first : last + 1] - self._starts[first]).tolist()):
                if end > begin:
                    yield values[begin:end]
            first = last

    def read(self, rows: slice) -> pa.Table:
        """The rows start..stop."""
        first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        last = int(np.searchsorted(self._starts, rows.stop, side="left"))
        table = self._groups(range(first, max(first, last)), self._columns)
        return table.slice(rows.start - int(self._starts[first]), rows.stop - rows.start)


def _parts(group: pq.RowGroupMetaData) -> list[pq.ColumnChunkMetaData]:
    return [group.column(index) for index in range(group.num_columns)]


def flat_values(column: pa.ChunkedArray) -> np.ndarray:
    """A numeric column without nulls, not copied where it is one chunk. Its own `to_numpy` would import pandas, which takes longer than
    many a run."""
    kind = column.type.to_pandas_dtype()
    parts = [
        np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * column.type.byte_width) for chunk in column.chunks if len(chunk)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, kind), *parts])


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
        count = int(np.searchsorted(flat_values(self._held.column("region_id")), region, side="right"))
        taken, self._held = self._held.slice(0, count), self._held.slice(count)
        return taken.combine_chunks()


def iterate_regions(path: str | Path, name: str) -> Iterator[tuple[int, pa.Table]]:
    """(region_id, rows of that region) in order."""
    for group in iterate_row_groups(path, name):
        ids = flat_values(group.column("region_id"))
        first = np.flatnonzero(np.diff(ids, prepend=ids[:1] - 1)).tolist()
        for begin, end in itertools.pairwise([*first, len(ids)]):
            yield int(ids[begin]), group.slice(begin, end - begin)


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
