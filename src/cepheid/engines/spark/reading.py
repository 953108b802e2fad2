"""Prepared rows to events, inside a Spark task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.arrow_values import python_values
from cepheid.engines.local.events import plain
from cepheid.engines.spark.layout import BITS_A_COLUMN, END, SEQUENCE, TIME, TYPE, Layout
from cepheid.errors import InputMistake
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds

# Values of these types are plain already.
_PLAIN = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_timestamp)


def read_events(batch: pa.RecordBatch, layout: Layout) -> list[Event]:
    """The events of a prepared batch, in its order."""
    times, types = batch.column(TIME).to_pylist(), _types(batch, layout)
    _refuse_null(times, layout.columns.time, "time")
    _refuse_null(types, layout.columns.type, "type")
    orders = _rows(batch, layout.order_names(), layout.columns.order)
    fields = _rows(batch, layout.field_names(), layout.fields)
    passed = _passed(batch, layout)
    ends = batch.column(END).to_pylist() if layout.columns.end is not None else [None] * batch.num_rows
    sequence = batch.column(SEQUENCE).to_pylist()
    names, time_name, end_name = layout.fields, layout.columns.time, layout.columns.end
    events = []
    for time, kind, order, values, bits, end, seq in zip(
        times, types, orders, fields, passed, ends, sequence, strict=True
    ):
        named = dict(zip(names, values, strict=True))
        if layout.with_time:
            named[time_name] = from_microseconds(time)
        if end is not None and end_name is not None:
            named[end_name] = from_microseconds(end)
        events.append(Event(kind, time, named, order, seq, end, passed=bits))
    return events


def events_of(table: pa.Table, layout: Layout) -> list[Event]:
    return read_events(one_batch(table), layout) if table.num_rows else []


def one_batch(table: pa.Table) -> pa.RecordBatch:
    table = table.combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=table.schema)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = found.chunk(0) if found.num_chunks == 1 else pa.concat_arrays(found.chunks)
    return found


def refuse_nulls(batch: pa.RecordBatch, layout: Layout) -> None:
    """The reader says what is wrong with a row without a time or a type."""
    bad = batch.column(TIME).null_count
    if TYPE in batch.schema.names:
        types = batch.column(TYPE)
        bad += types.null_count + (pc.sum(pc.equal(types, "")).as_py() or 0)
    if bad:
        read_events(batch, layout)


def read_keys(batch: pa.RecordBatch, layout: Layout) -> list[tuple[Any, ...]]:
    """The partition key of each row, as Spark grouped by it."""
    return list(_rows(batch, layout.key_names(), tuple(layout.key_names())))


def _types(batch: pa.RecordBatch, layout: Layout) -> list[Any]:
    if TYPE in batch.schema.names:
        return list(batch.column(TYPE).to_pylist())
    return [layout.columns.plain_type] * batch.num_rows


def _rows(
    batch: pa.RecordBatch, names: list[str], shown: tuple[str, ...]
) -> Iterator[tuple[Any, ...]] | list[tuple[Any, ...]]:
    if not names:
        return [()] * batch.num_rows
    columns = [_values(batch.column(name), given) for name, given in zip(names, shown, strict=True)]
    return zip(*columns, strict=True)


def _values(column: pa.Array, name: str) -> list[Any]:
    values = python_values(name, column)
    return values if any(is_plain(column.type) for is_plain in _PLAIN) else [plain(v) for v in values]


def _passed(batch: pa.RecordBatch, layout: Layout) -> list[int]:
    columns = [batch.column(name).to_pylist() for name in layout.bit_names()]
    if len(columns) == 1:
        return list(columns[0])
    return [
        sum(bits << (BITS_A_COLUMN * i) for i, bits in enumerate(row)) for row in zip(*columns, strict=True)
    ]


def _refuse_null(values: list[Any], name: str, what: str) -> None:
    for value in values:
        if value is None or value == "":
            raise InputMistake(
                f"a row has no `{name}`",
                code=f"bad_{what}",
                hint=f'every event needs a {what}: filter such rows first, df.where("`{name}` is not null")',
            )
