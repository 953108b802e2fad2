"""A batch of events as columns: their times, their types, which rows are no events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.instants import Marks, Numbers, read_times
from cepheid.engines.columnar.present import own_fields
from cepheid.engines.columnar.scan import Batch
from cepheid.engines.local.arrow_types import plain_arrow
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import Columns, plain
from cepheid.engines.local.times import from_microseconds
from cepheid.matching.compiled.arrow_terms import FIRST_INSTANT, LAST_INSTANT
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.event import Event


@dataclass(frozen=True)
class EventBatch:
    batch: Batch
    columns: Columns
    times: Numbers
    good: Marks
    by_type: Mapping[str, Numbers]  # the good rows of each type

    @classmethod
    def of(cls, batch: Batch, columns: Columns) -> EventBatch:
        times, wrong = read_times(batch.columns[columns.time], columns.time_unit)
        names, codes = _types(batch, columns)
        without = [at for at, name in enumerate(names) if not name]
        good = ~wrong & (codes >= 0)
        if without:
            good &= ~np.isin(codes, without)
        _check_instants(batch)
        return cls(batch, columns, times, good, _rows_by_type(names, codes, good))

    @property
    def bad(self) -> Numbers:
        return np.flatnonzero(~self.good)

    def fields(self, rows: Numbers | None = None) -> Mapping[str, Any]:
        """The columns of some rows, each taken when it is asked for; the time is an instant."""
        return _Taken(self, rows)

    def events(self, kind: str, rows: Numbers) -> list[Event]:
        """Objects, for what Python has to look at."""
        taken = {name: _plain(values.take(rows)) for name, values in self.batch.columns.items()}
        found = []
        for row, values in zip(rows.tolist(), batch_rows(taken), strict=True):
            time = int(self.times[row])
            fields = {name: plain(value) for name, value in own_fields(values).items()}
            fields[self.columns.time] = from_microseconds(time)
            order = tuple(fields.get(name) for name in self.columns.order)
            found.append(Event(kind, time, fields, order, self.batch.first + row))
        return found


def _types(batch: Batch, columns: Columns) -> tuple[list[str], Numbers]:
    """The names of types and each row's number among them; -1: null."""
    column = batch.columns.get(columns.type)
    if column is None:
        return [columns.plain_type or ""], np.zeros(batch.rows, np.int64)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return column.dictionary.cast(pa.large_string()).to_pylist(), codes


def _rows_by_type(names: list[str], codes: Numbers, good: Marks) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {}
    for code, name in enumerate(names):
        rows = np.flatnonzero((codes == code) & good) if len(names) > 1 else np.flatnonzero(good)
        if len(rows):
            found[name] = np.union1d(found[name], rows) if name in found else rows
    return found


def _check_instants(batch: Batch) -> None:
    """Instants that Python has no datetime for are an error; the present reader says it."""
    for values in batch.columns.values():
        kind = values.type
        if pa.types.is_timestamp(kind) and kind.unit != "ns" and len(values):
            micros = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
            ends = pa.compute.min_max(micros).as_py()
            if ends["min"] is not None and (ends["min"] < FIRST_INSTANT or ends["max"] > LAST_INSTANT):
                raise Unsupported("a time lies outside the years 1 to 9999")


def _plain(values: Any) -> Any:
    kind = plain_arrow(values.type)
    return values if kind == values.type else values.cast(kind, safe=False)


class _Taken(Mapping[str, Any]):
    def __init__(self, events: EventBatch, rows: Numbers | None) -> None:
        self._events, self._rows = events, rows
        self._taken: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._taken:
            self._taken[name] = self._take(name)
        return self._taken[name]

    def _take(self, name: str) -> Any:
        values = self._events.batch.columns[name]
        if name == self._events.columns.time:
            values = pa.array(self._events.times).cast(pa.timestamp("us", "UTC"))
        return _plain(values if self._rows is None else values.take(pa.array(self._rows)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._events.batch.columns)

    def __len__(self) -> int:
        return len(self._events.batch.columns)
