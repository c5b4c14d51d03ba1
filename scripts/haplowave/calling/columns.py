"""Columns of the tables as the flat arrays that the engines take."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from haplowave.sequences import Sequences
from haplowave.tables import flat_values


def column_sequences(column: pa.ChunkedArray | pa.Array) -> Sequences:
    """A string or binary column as Sequences: a view of Arrow's buffers where it is one chunk, offsets from 0."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # combine_chunks keeps chunks that one 32-bit offset array cannot hold
        array = pa.concat_arrays([chunk.cast(pa.large_binary()) for chunk in array.chunks])
    if len(array) == 0:
        return Sequences(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    begin = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return Sequences(text[begin[0] : begin[-1]], begin - begin[0])


def repeated_bytes(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """(length of each row, int64; all bytes one after another, uint8) of a binary column, which may be dictionary-encoded.

    Where a dictionary holds one byte value only, the bytes are that value with stride 0: nothing is copied.
    """
    if not pa.types.is_dictionary(column.type):
        sequences = column_sequences(column)
        return sequences.lengths, sequences.data
    lengths, values = [], set()
    for chunk in column.chunks:
        dictionary = column_sequences(chunk.dictionary)
        values.update(set(dictionary.data.tobytes()) if len(dictionary.data) < 1 << 16 else (0, 1))
        lengths.append(dictionary.lengths[flat_values(pa.chunked_array([chunk.indices]))])
    if len(values) == 1:
        length = np.concatenate(lengths)
        return length, np.broadcast_to(np.array(values.pop(), np.uint8), int(length.sum()))
    return repeated_bytes(column.cast(column.type.value_type))


def numbers(values: np.ndarray) -> pa.Array:
    """A numeric array without nulls as a column, not copied. `pa.array` would import pandas, which takes longer than many a run."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def texts(values: Sequence[str]) -> pa.Array:
    """Strings as a column."""
    sequences = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, sequences)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(sequences))])


def choices(index: np.ndarray, values: pa.Array) -> pa.DictionaryArray:
    """A column of some of `values` by index (int32)."""
    return pa.DictionaryArray.from_arrays(numbers(index), values)
