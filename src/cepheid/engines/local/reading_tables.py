"""Events from frames: pandas, polars, Arrow, DuckDB. All come as batches of Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from cepheid.engines.columnar.scan import Scan, scan_arrays
from cepheid.engines.local.arrow_types import as_declared, refuse_twins, struct_of_arrow
from cepheid.engines.local.arrow_values import Column, batch_rows, column_type, named, slices
from cepheid.engines.local.events import Columns, check_columns, plain
from cepheid.engines.local.reading import BATCH, Kind, Place, Progress, Repeatable, Row
from cepheid.pattern.types import Schema, Type, struct_of


class TableReader:
    """Batches of columns. `open` starts anew each time it is called, where the frame allows it."""

    def __init__(
        self,
        open: Callable[[], Iterator[Mapping[str, Column]]],
        struct: Type,
        columns: Columns,
        scan: Callable[[], Scan | None] = lambda: None,
    ) -> None:
        self._scan = scan  # where the frame has all its columns at hand
        check_columns([name for name, _ in struct.fields], columns)
        self._open = open
        self._struct = as_declared(struct, columns)
        self.typed: bool | None = struct.field(columns.type) is not None

    def schema(self) -> Schema:
        return Schema(common_fields=self._struct)

    def scan(self) -> Scan | None:
        return self._scan()

    def repeatable(self) -> Repeatable | None:
        return None

    def rows(self, progress: Progress) -> Iterator[Row]:
        number = 0
        for batch in self._open():
            for values in batch_rows(batch):
                number += 1
                yield Row(Place("", number, "row"), values)
            progress.done = number


def frame_reader(events: Any, kind: Kind, columns: Columns) -> tuple[TableReader, Progress]:
    if kind == "pandas":
        arrays = _pandas_columns(events, columns)
        struct = struct_of({name: column_type(values) for name, values in arrays.items()})
        reader = TableReader(
            lambda: slices(arrays, len(events)), struct, columns, lambda: scan_arrays(arrays, len(events))
        )
        return reader, Progress(total=len(events))
    if kind == "duckdb":
        struct = struct_of_arrow(_duckdb_reader(events.limit(0)).schema)
        return TableReader(lambda: named(_duckdb_reader(events)), struct, columns), Progress()
    table = _arrow_table(events)
    struct = struct_of_arrow(table.schema)
    if isinstance(table, pa.RecordBatchReader):
        return TableReader(lambda: named(table), struct, columns), Progress()
    whole = dict(zip(table.column_names, table.columns, strict=True))
    reader = TableReader(
        lambda: named(table.to_batches(BATCH)), struct, columns, lambda: scan_arrays(whole, table.num_rows)
    )
    return reader, Progress(total=table.num_rows)


def _arrow_table(events: Any) -> Any:
    if type(events).__name__ == "LazyFrame":
        events = events.collect()
    if isinstance(events, (pa.Table, pa.RecordBatchReader)):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    return events.to_arrow() if hasattr(events, "to_arrow") else pa.RecordBatchReader.from_stream(events)


def _duckdb_reader(relation: Any) -> Any:
    """Its name differs between DuckDB versions."""
    for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
        if hasattr(relation, name):
            return getattr(relation, name)(BATCH)
    return pa.RecordBatchReader.from_stream(relation)


def _pandas_columns(frame: Any, columns: Columns) -> dict[str, Column]:
    wanted = {columns.time, columns.type, columns.end, *columns.order}
    if wanted & set(frame.index.names) - {None}:  # a time index is as good as a time column
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    refuse_twins(names)
    return {name: _pandas_column(frame.iloc[:, at]) for at, name in enumerate(names)}


def _pandas_column(series: Any) -> Column:
    try:
        array = pa.array(series, from_pandas=True)
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
        OverflowError,
    ):  # values of several kinds, huge integers
        return [plain(value) for value in series.tolist()]
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
