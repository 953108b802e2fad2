"""A batch of events as columns: their times, their types, which rows are no events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.columnar.instants import Marks, Numbers, filled, read_times
from cepheid.engines.columnar.present import own_fields
from cepheid.engines.columnar.scan import Batch
from cepheid.engines.local.arrow_types import plain_arrow
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import Columns, plain
from cepheid.engines.local.times import from_microseconds
from cepheid.matching.compiled.arrow_terms import FIRST_INSTANT, LAST_INSTANT
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.event import Event

Codes = npt.NDArray[np.int32]


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
        return cls(batch, columns, times, good, _RowsByType(names, codes, good))

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


def _types(batch: Batch, columns: Columns) -> tuple[list[str], Codes]:
    """The names of types and each row's number among them; -1: null."""
    column = batch.columns.get(columns.type)
    if column is None:
        return [columns.plain_type or ""], np.zeros(batch.rows, np.int32)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    codes = filled(column.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    return column.dictionary.cast(pa.large_string()).to_pylist(), codes


class _RowsByType(Mapping[str, Numbers]):
    """Only types that somebody asks for are looked for: most events are often of others."""

    def __init__(self, names: list[str], codes: Codes, good: Marks) -> None:
        own = codes if good.all() else codes[good]
        counts = np.bincount(own, minlength=len(names)) if len(own) else np.zeros(len(names), np.int64)
        self._codes, self._good, self._every = codes, good, len(own) == len(codes)
        self._numbers: dict[str, list[int]] = {}
        for code in np.flatnonzero(counts).tolist():
            self._numbers.setdefault(names[code], []).append(code)
        self._rows: dict[str, Numbers] = {}

    def __getitem__(self, name: str) -> Numbers:
        if name not in self._rows:
            self._rows[name] = np.flatnonzero(self._are(self._numbers[name]))
        return self._rows[name]

    def _are(self, numbers: list[int]) -> Marks:
        same: Marks = self._codes == numbers[0] if len(numbers) == 1 else np.isin(self._codes, numbers)
        return same if self._every else same & self._good

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


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
