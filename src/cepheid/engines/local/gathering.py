"""Rows to columns: what the row-wise readers give, exactly, for the compiled matcher.

A column is fit if its values are of one kind and come back from Arrow as they were. Rows that are no events are set
aside with what is wrong with them, as the EventMaker says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.present import PRESENT, names_text
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.columnar.spool import Spool
from cepheid.engines.local.events import EventMaker
from cepheid.engines.local.reading import ColumnRows, DictRows, Marks, Numbers, Row
from cepheid.errors import InputMistake

Asked = Sequence[frozenset[str] | None]  # the fields that each stream needs; None: all of them

INSTANT = pa.timestamp("us", "UTC")
_FIT = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime: INSTANT,
    date: pa.date32(),
    timedelta: pa.duration("us"),
}
_TIMES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
_AS_IS = frozenset((str, int, float, bool, type(None)))  # kinds that need no look at each value
_NESTED = frozenset((dict, list))


class NotInColumns(Exception):
    """Why the input cannot be read in columns at all."""


@dataclass(frozen=True)
class BadEvent:
    """A row that is no event."""

    row: Row
    mistake: InputMistake


@dataclass
class Gathered:
    """The events in columns, and what was seen on the way."""

    bad: list[BadEvent] = field(default_factory=list)
    fields: dict[str, set[str]] = field(default_factory=dict)  # of each type


@dataclass(frozen=True)
class _Events:
    """Some events: their fields in plain Python (a time may still be as it was written), their times and types."""

    fields: Sequence[Mapping[str, Any]]
    times: Numbers
    types: Sequence[str]


class Gatherer:
    """Takes rows in batches. `json`: values that lie in others are plain already."""

    def __init__(self, maker: EventMaker, asked: Asked, json: bool = False) -> None:
        self.maker, self.columns = maker, maker.columns
        self.gathered = Gathered()
        self._asked = asked
        self._own = (self.columns.time, self.columns.type, *self.columns.order)
        self._plain = _AS_IS | _NESTED if json else _AS_IS
        self._spool = Spool()
        self._types: dict[str, pa.DataType] = {}
        self._unfit: dict[str, str] = {}
        self._layouts: dict[tuple[str, ...], int] = {}

    def add(self, rows: DictRows | ColumnRows) -> None:
        if isinstance(rows, ColumnRows):
            self._add_columns(rows)
        elif (events := self._at_once(rows) or self._one_by_one(rows)).types:
            self._keep(events)

    def scan(self, done: int) -> Scan:
        """All of it; `done`: how far reading has come."""
        if self.columns.time not in self._types:
            raise NotInColumns("there is no event in it")
        layouts = list(self._layouts)
        types = {name: self._types[name] for name in self._types if name not in self._unfit}
        if len(layouts) == 1:
            return self._spool.scan(types, self._unfit, done)
        texts = pa.array([names_text(layout) for layout in layouts], pa.large_string())
        return self._spool.scan({**types, PRESENT: pa.large_string()}, self._unfit, done, {PRESENT: texts})

    # Rows that are columns already.

    def _add_columns(self, rows: ColumnRows) -> None:
        times, wrong = rows.times
        maker, name = self.maker, self.columns.type
        if maker.typed is None and not wrong.all():
            maker.typed = name in rows.fields
        bad = wrong
        if name not in rows.fields:
            types = pa.repeat(pa.scalar(self.columns.plain_type, pa.string()), len(times))
        else:
            types = rows.fields[name]
            bad = bad | types.is_null().to_numpy(zero_copy_only=False)
        if maker.typed is not (name in rows.fields):
            bad = np.ones(len(times), np.bool_)
        self._set_all_aside(rows, bad)
        good = pa.array(np.flatnonzero(~bad))
        if not len(good):
            return
        for kind in types.take(good).unique().to_pylist():
            self.gathered.fields.setdefault(kind, set()).update(rows.fields)
        layout = self._layouts.setdefault(tuple(rows.fields), len(self._layouts))
        arrays = {n: rows.fields[n].take(good) for n in self._needed(rows.fields) if n in rows.fields}
        arrays[self.columns.time] = pa.array(times).cast(INSTANT).take(good)
        self._store(arrays, pa.repeat(pa.scalar(layout, pa.int32()), len(good)))

    def _set_all_aside(self, rows: ColumnRows, bad: Marks) -> None:
        """The bad rows and the broken ones, in the order they stood in."""
        if not len(rows.broken) and not bad.any():
            return
        broken = dict(rows.broken)
        between = [at for at in range(len(bad) + len(broken)) if at not in broken]
        found = {**broken, **{between[at]: rows.row(at) for at in np.flatnonzero(bad).tolist()}}
        for at in sorted(found):
            self._set_aside(found[at])

    # Rows to events.

    def _at_once(self, rows: DictRows) -> _Events | None:
        """None: some value needs a look of its own."""
        fields = rows.values
        names = dict.fromkeys(name for layout in {tuple(f) for f in fields} for name in layout)
        if any(type(name) is not str for name in names):
            return None
        lists = {name: [f.get(name) for f in fields] for name in names}
        if any(not self._plain.issuperset(map(type, values)) for values in lists.values()):
            return None
        found = _times(lists.get(self.columns.time, [None] * len(fields)), self.columns.time_unit)
        return None if found is None else self._without_bad(rows, *found)

    def _without_bad(self, rows: DictRows, times: Numbers, wrong: Marks) -> _Events:
        """The EventMaker says what is wrong with rows: only those go through it."""
        name, maker, fields = self.columns.type, self.maker, rows.values
        if maker.typed is None and not wrong.all():
            maker.typed = name in fields[int(np.argmin(wrong))]  # the first row with a time says it
        if maker.typed:
            types: list[Any] = [f.get(name) for f in fields]
            bad = wrong | np.fromiter((t is None or t == "" for t in types), np.bool_, len(types))
        else:
            types = [self.columns.plain_type] * len(fields)
            bad = wrong | np.fromiter((name in f for f in fields), np.bool_, len(types))
            bad |= self.columns.plain_type is None
        if bad.any():
            for at in np.flatnonzero(bad).tolist():
                self._set_aside(rows.row(at))
            good = np.flatnonzero(~bad).tolist()
            fields, types, times = [fields[i] for i in good], [types[i] for i in good], times[good]
        if not all(type(t) is str for t in types):
            raise NotInColumns("types of events are not texts")
        return _Events(fields, times, types)

    def _set_aside(self, row: Row) -> None:
        mistake = row.mistake
        try:
            if mistake is None:
                self.maker.make(row.values)
        except InputMistake as found:
            mistake = found
        if mistake is None:
            raise NotInColumns("a row is an event after all")
        self.gathered.bad.append(BadEvent(row, mistake))

    def _one_by_one(self, rows: DictRows) -> _Events:
        events = []
        for row in map(rows.row, range(len(rows.values))):
            try:
                if row.mistake is not None:
                    raise row.mistake
                events.append(self.maker.make(row.values))
            except InputMistake as mistake:
                self.gathered.bad.append(BadEvent(row, mistake))
        times = np.fromiter((event.time for event in events), np.int64, len(events))
        return _Events([event.fields for event in events], times, [event.type for event in events])

    # Events to columns.

    def _keep(self, events: _Events) -> None:
        layouts = [tuple(f) for f in events.fields]
        new = dict.fromkeys(layouts)
        for layout in new:
            self._layouts.setdefault(layout, len(self._layouts))
        for kind, layout in set(zip(events.types, layouts, strict=True)):
            self.gathered.fields.setdefault(kind, set()).update(layout)
        codes = pa.array([self._layouts[layout] for layout in layouts], pa.int32())
        names = self._needed(name for layout in new for name in layout)
        arrays = {name: self._array(name, events) for name in names}
        self._store({name: values for name, values in arrays.items() if values is not None}, codes)

    def _store(self, arrays: dict[str, pa.Array], layouts: pa.Array) -> None:
        for name, values in arrays.items():
            self._settle(name, values.type)
        self._spool.add(pa.RecordBatch.from_pydict({**arrays, PRESENT: layouts}))

    def _needed(self, names: Iterable[str]) -> list[str]:
        """In the order they came in before, new ones at the end."""
        known = [name for name in (*self._types, *names) if name not in self._unfit]
        if PRESENT in known:
            raise NotInColumns("a field has a name of ours")
        if None in self._asked:
            return list(dict.fromkeys(known))
        wanted = frozenset(self._own).union(*(a for a in self._asked if a is not None))
        return [name for name in dict.fromkeys(known) if name in wanted]

    def _array(self, name: str, events: _Events) -> pa.Array | None:
        if name == self.columns.time:
            return pa.array(events.times).cast(INSTANT)
        values = [f.get(name) for f in events.fields]
        kinds = set(map(type, values)) - {type(None)}
        if not kinds:
            return pa.nulls(len(values))
        fit = _FIT.get(kinds.pop()) if len(kinds) == 1 else None
        try:
            if fit is not None:
                # NaN is null in every engine.
                return pa.array(values, fit, from_pandas=pa.types.is_floating(fit))
        except (pa.ArrowException, ValueError, OverflowError):  # too big, or half a surrogate pair
            pass
        self._refuse(name, f"`{name}` holds values of several kinds, or of a kind that no column has")
        return None

    def _settle(self, name: str, kind: pa.DataType) -> None:
        known = self._types.get(name)
        if known is None or pa.types.is_null(known):
            self._types[name] = kind
        elif kind != known and not pa.types.is_null(kind):
            self._refuse(name, f"`{name}` holds values of several kinds")

    def _refuse(self, name: str, reason: str) -> None:
        self._unfit[name] = reason
        if name in self._own or all(
            needs is None or not needs.isdisjoint(self._unfit) for needs in self._asked
        ):
            raise NotInColumns(reason)


def _times(values: list[Any], unit: str) -> tuple[Numbers, Marks] | None:
    """As `to_microseconds` has it, and which are no times. None: they are written in several ways."""
    from cepheid.engines.columnar.instants import read_times  # loads much

    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return np.zeros(len(values), np.int64), np.ones(len(values), np.bool_)
    written = _TIMES.get(kinds.pop()) if len(kinds) == 1 else None
    try:
        return None if written is None else read_times(pa.array(values, written), unit)
    except (pa.ArrowException, ValueError, OverflowError):
        return None
