"""Events as the kernel reads them: an Arrow table's columns in matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.arrow_terms import Fields, Stays
from cepheid.matching.compiled.arrow_tests import value
from cepheid.matching.compiled.bytecode import Column, Columns
from cepheid.matching.compiled.decimal_words import as_words, words_of
from cepheid.matching.compiled.kernel.words import (
    FIRST_COLUMN,
    PASSED,
    RANK,
    TIME,
    TYPE,
)
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.evaluate import compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.text import expr_text
from cepheid.pattern.types import BOOL, BYTES, DATE, DECIMAL, DURATION, FLOAT, INT, STRING, TIMESTAMP

Numbers = npt.NDArray[np.int64]

_STORED = {
    INT: pa.int64(),
    BOOL: pa.bool_(),
    TIMESTAMP: pa.timestamp("us"),
    DATE: pa.date32(),
    DURATION: pa.duration("us"),
    FLOAT: pa.float64(),
    STRING: pa.large_string(),
    BYTES: pa.large_binary(),
}


class Events(NamedTuple):
    """Rows of events as matrices; a column is a row of a matrix."""

    ints: Numbers  # TIME, PASSED, RANK, TYPE, then the columns
    floats: npt.NDArray[np.float64]
    nulls: npt.NDArray[np.bool_]
    texts: Numbers  # where each text begins in the heap; a column has one number more than rows
    heap: npt.NDArray[np.uint8]
    constants: npt.NDArray[np.float64]


def to_events(
    table: pa.Table,
    columns: Columns,
    times: Numbers,
    passed: Numbers,
    kinds: Numbers,
    ranks: Numbers | None = None,
) -> Events:
    """Matrices of the columns that tests read."""
    rows = len(times)
    ints = np.empty((FIRST_COLUMN + len(columns.of("int")), rows), np.int64)
    ints[TIME], ints[PASSED], ints[TYPE] = times, passed, kinds
    ints[RANK] = -1 if ranks is None else ranks
    floats = np.empty((len(columns.of("float")), rows), np.float64)
    nulls = np.zeros((max(len(columns.found), 1), rows), np.bool_)
    texts = np.zeros((len(columns.of("text")), rows + 1), np.int64)
    heap = [np.frombuffer(bytes(columns.heap), np.uint8)]
    for column in columns.found.values():
        values = _values(table, column)
        nulls[column.number] = pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)
        if column.type == FLOAT:
            floats[column.place] = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)
        elif column.type in (STRING, BYTES):
            texts[column.place] = _spans(values, heap)
        else:
            ints[FIRST_COLUMN + column.place] = _whole(values)
    constants = np.array(columns.constants or [0.0], np.float64)
    return Events(ints, floats, nulls, texts, np.concatenate(heap), constants)


def _values(table: pa.Table, column: Column) -> pa.Array:
    """A field as it is; anything else is worked out once: by Arrow, or where that is not exact row by row."""
    if isinstance(column.expr, Field):
        found: Any = table[column.expr.path[0]]
        for name in column.expr.path[1:]:
            found = pc.struct_field(found, name)
    else:
        if column.type == DECIMAL:
            return as_words(_worked_out(table, column))
        found = _by_arrow(table, column)
        if found is None:
            found = _stored(_worked_out(table, column), column)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
    return _plain(found, column)


def _plain(values: pa.Array, column: Column) -> pa.Array:
    if column.type == TIMESTAMP:
        return values.cast(pa.timestamp("us"))
    if column.type == DECIMAL:
        return words_of(values)
    return values.cast(_STORED[column.type])


def _by_arrow(table: pa.Table, column: Column) -> pa.Array | None:
    fields = {
        name: values.combine_chunks() for name, values in zip(table.column_names, table.columns, strict=True)
    }
    if any(isinstance(values, pa.ChunkedArray) for values in fields.values()):
        return None
    try:
        kind, found = value(column.expr, Fields(fields, table.num_rows))
    except Stays:
        return None
    if kind != column.type.name or kind == "date":
        return None
    return found.cast(_STORED[column.type])


def _worked_out(table: pa.Table, column: Column) -> Sequence[Any]:
    calculate = compile_value(column.expr)
    return [calculate(Moment(Event("", 0, fields), {})) for fields in table.to_pylist()]


def _stored(values: Sequence[Any], column: Column) -> pa.Array:
    try:
        return pa.array(values, _STORED[column.type])
    except (OverflowError, pa.ArrowInvalid):
        raise Unsupported(f"a value of `{expr_text(column.expr)}` does not fit {column.type}") from None


def _whole(values: pa.Array) -> Numbers:
    if pa.types.is_date32(values.type):
        values = values.cast(pa.timestamp("us"))
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
    found: Numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found


def _spans(values: pa.Array, heap: list[Any]) -> Numbers:
    """Where each text begins in the heap, which grows by them."""
    before = sum(map(len, heap))
    offsets = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1, values.offset * 8)
    data = values.buffers()[2]
    body = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    heap.append(body[offsets[0] : offsets[-1]])
    found: Numbers = offsets - offsets[0] + before
    return found
