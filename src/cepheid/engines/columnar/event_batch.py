"""A batch of events as columns: their times, their types, which rows are no events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.columnar.instants import Marks, Numbers, filled, read_times
from cepheid.engines.columnar.picking import places
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
_FEW = 8  # types: for each of them all rows are looked at
_SOME = 1 << 12


@dataclass(frozen=True)
class EventBatch:
    """A batch, and those of its events that somebody looks at: most are often of other types."""

    batch: Batch
    columns: Columns
    times: Numbers  # of all rows
    good: Marks  # of all rows
    types: frozenset[str]  # of all good rows
    rows: Numbers  # the good rows that are looked at
    kinds: Kinds  # of these

    @classmethod
    def of(cls, batch: Batch, columns: Columns, types: frozenset[str] | None) -> EventBatch:
        """`types`: those that are looked at; None: all of them."""
        times, wrong = read_times(batch.columns[columns.time], columns.time_unit)
        names, codes = _types(batch, columns)
        without = [at for at, name in enumerate(names) if not name]
        good = ~wrong & (codes >= 0)
        if without:
            good &= ~_are(codes, without, len(names))
        _check_instants(batch, columns.time if not wrong.any() else None)
        looked_at = good
        if types is not None:
            looked_at = good & _are(codes, [at for at, name in enumerate(names) if name in types], len(names))
        rows = places(looked_at)
        kinds = Kinds(names, codes.take(rows))
        return cls(batch, columns, times, good, _present(names, codes, good), rows, kinds)

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


def _are(codes: Codes, numbers: list[int], count: int) -> Marks:
    """Is a code, of so many, one of these numbers? One comparison is quicker than a table, many are not."""
    if len(numbers) > _FEW:
        table = np.zeros(count + 1, np.bool_)  # the last one: null
        table[numbers] = True
        return table.take(codes)
    found = np.zeros(len(codes), np.bool_)
    for number in numbers:
        found |= codes == number
    return found


def _present(names: list[str], codes: Codes, good: Marks) -> frozenset[str]:
    """The types that there are. The first rows tell of most of them: only for the others all rows are looked at."""
    own = codes if good.all() else codes[good]
    seen = np.zeros(len(names), np.bool_)
    seen[own[:_SOME]] = True
    rest = np.flatnonzero(~seen).tolist()
    if len(rest) > _FEW:
        seen[own] = True
    else:
        seen[rest] = [bool((own == number).any()) for number in rest]
    return frozenset(names[number] for number in np.flatnonzero(seen).tolist())


class Kinds:
    """The types of some rows, which all have one."""

    def __init__(self, names: list[str], codes: Codes) -> None:
        self._names, self._codes = names, codes
        self._numbers: dict[str, list[int]] = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(name, []).append(number)
        self._places: dict[str, Numbers] = {}

    def places(self, name: str) -> Numbers:
        """Where a type is."""
        if name not in self._places:
            own = _are(self._codes, self._numbers.get(name, []), len(self._names))
            self._places[name] = places(own)
        return self._places[name]

    def numbers(self, types: Sequence[str]) -> Codes:
        """The number of each row's type among some; -1: it is none of them."""
        known = {name: number for number, name in enumerate(types)}
        return np.array([known.get(name, -1) for name in self._names], np.int32).take(self._codes)


def _check_instants(batch: Batch, known: str | None) -> None:
    """Instants that Python has no datetime for are an error; the present reader says it. One column may be known."""
    for name, values in batch.columns.items():
        kind = values.type
        if name != known and pa.types.is_timestamp(kind) and kind.unit != "ns" and len(values):
            micros = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
            ends = pc.min_max(micros).as_py()
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
        if self._rows is not None:
            values = pc.take(values, pa.array(self._rows), boundscheck=False)
        return _plain(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._events.batch.columns)

    def __len__(self) -> int:
        return len(self._events.batch.columns)
