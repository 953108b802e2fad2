"""Rows to events: which columns mean what, plain Python values, and the types found on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cepheid.engines.local.times import PER_SECOND, aware, from_microseconds, to_microseconds
from cepheid.errors import InputMistake, nearest
from cepheid.pattern.event import Event
from cepheid.pattern.types import NULL, TIMESTAMP, UNKNOWN, Schema, Type, common, struct_of, type_of


@dataclass(frozen=True)
class Columns:
    """Which columns hold an event's time, type, order and end."""

    time: str = "time"  # "": rows that are no events need none
    type: str = "type"
    order: tuple[str, ...] = ()
    end: str | None = None
    time_unit: str = "s"
    plain_type: str | None = None  # the type of every row where there is no type column

    def __post_init__(self) -> None:
        if self.time_unit not in PER_SECOND:
            raise InputMistake(
                f"{self.time_unit!r} is not a time_unit", code="bad_option", hint="use s, ms, us or ns"
            )

    def times(self) -> tuple[str, ...]:
        """The columns that hold instants, whatever they are written as."""
        return (self.time,) if self.end is None else (self.time, self.end)


def check_columns(names: Iterable[str], columns: Columns) -> None:
    """Are all columns there that the user, or a default, named?"""
    known = list(names)
    if columns.time and columns.time not in known:
        raise _no_time(known, columns)
    if columns.type not in known and columns.plain_type is None:
        raise _no_type(known, columns)
    for role, name in [("order", name) for name in columns.order] + [("end", columns.end)]:
        if name is not None and name not in known:
            raise InputMistake(
                f"there is no column `{name}`, named by `{role}`",
                code=f"no_{role}_column",
                hint=nearest(name, known) or _listed(known),
            )


class EventMaker:
    """Makes events of rows and numbers them. The first row says whether there is a type column."""

    def __init__(self, columns: Columns, typed: bool | None = None) -> None:
        self.columns = columns
        self.typed = typed
        self.made = 0

    def make(self, row: Mapping[str, Any]) -> Event:
        """The event of a row; the InputMistake it raises knows no place, its caller does."""
        columns = self.columns
        fields = {name if type(name) is str else str(name): plain(value) for name, value in row.items()}
        time = self._time(fields)
        kind = self._type(fields)
        event = Event(
            kind,
            time,
            fields,
            tuple([fields.get(name) for name in columns.order]) if columns.order else (),
            self.made,
            self._end(fields) if columns.end is not None else None,
        )
        self.made += 1
        return event

    def continue_from(self, made: int) -> None:
        """Number the next event as if so many had been made before (after a restart)."""
        self.made = made

    def _time(self, fields: dict[str, Any]) -> int:
        name = self.columns.time
        if name not in fields:
            raise _no_time(list(fields), self.columns)
        time = self._instant(fields, name)
        if time is None:
            raise InputMistake(f"`{name}` is null", code="bad_time", hint="every event needs a time")
        return time

    def _end(self, fields: dict[str, Any]) -> int | None:
        return self._instant(fields, self.columns.end or "")

    def _instant(self, fields: dict[str, Any], name: str) -> int | None:
        value = fields.get(name)
        if value is None:
            return None
        time = to_microseconds(value, self.columns.time_unit)
        fields[name] = from_microseconds(time)
        return time

    def _type(self, fields: dict[str, Any]) -> str:
        name = self.columns.type
        there = name in fields
        if self.typed is None:
            self.typed = there
        if there != self.typed:
            raise _mixed_typing(name, there)
        if not there:
            if self.columns.plain_type is None:
                raise _no_type(list(fields), self.columns)
            return self.columns.plain_type
        value = fields[name]
        if value is None or value == "":
            raise InputMistake(f"`{name}` is null", code="bad_type", hint="every event needs a type")
        return value if type(value) is str else str(value)


class SchemaScan:
    """Collects the fields of each event type and the narrowest types that hold their values."""

    def __init__(self, columns: Columns) -> None:
        self._instants = columns.times()
        self._found: dict[str, dict[str, Type]] = {}
        self._seen: set[tuple[str, str, type]] = set()  # one scalar of a class stands for all of them

    def add(self, kind: str, fields: Mapping[str, Any]) -> None:
        found = self._found.setdefault(kind, {})
        for name, value in fields.items():
            seen = (kind, name, type(value))
            if seen in self._seen:
                continue
            found[name] = widen(found.get(name, NULL), value)
            if not isinstance(value, (list, dict)):
                self._seen.add(seen)

    def schema(self) -> Schema:
        return Schema(types=tuple((kind, self._struct(found)) for kind, found in self._found.items()))

    def _struct(self, found: dict[str, Type]) -> Type:
        return struct_of({n: TIMESTAMP if n in self._instants else t for n, t in found.items()})


def scan_schema(batches: Iterable[list[Event]], columns: Columns) -> Schema:
    """The schema of events without a declared one, such as JSON lines: reads them all, keeps none."""
    scan = SchemaScan(columns)
    for batch in batches:
        for event in batch:
            scan.add(event.type, event.fields)
    return scan.schema()


def widen(known: Type, value: Any) -> Type:
    """The type that holds what is known and a value; unknown where there is none."""
    return common(known, type_of(value)) or UNKNOWN


_AS_IS = (str, int, bool, type(None), bytes)


def plain(value: Any) -> Any:
    """A value in plain Python: NaN, NaT and NA are None, datetimes are aware and in UTC, no numpy, no pandas.

    >>> plain(float("nan")) is None
    True
    """
    kind = type(value)
    if kind in _AS_IS:
        return value
    if kind is float:
        return value if value == value else None
    if kind is datetime:
        return aware(value)
    if isinstance(value, (Mapping, list, tuple)):
        return _plain_nested(value)
    if kind.__module__.partition(".")[0] in ("numpy", "pandas"):
        return _plain_scalar(value)
    if isinstance(value, datetime):
        return aware(value)
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    return value


def _plain_nested(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    return [plain(item) for item in value]


def _plain_scalar(value: Any) -> Any:
    """numpy and pandas scalars and arrays, known by what they can do: neither library is imported."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, datetime):  # pandas.Timestamp
        return aware(value.to_pydatetime(warn=False))  # type: ignore[attr-defined]
    if isinstance(value, timedelta):  # pandas.Timedelta
        return value.to_pytimedelta()  # type: ignore[attr-defined]
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if getattr(value, "ndim", None):  # an array, not a scalar
        return plain(value.tolist())
    if kind in ("M", "m"):
        return _plain_numpy_time(value, kind)
    return plain(value.item()) if hasattr(value, "item") else value


def _plain_numpy_time(value: Any, kind: str) -> datetime | date | timedelta | None:
    if str(value) == "NaT":
        return None
    microseconds = value.astype("datetime64[us]" if kind == "M" else "timedelta64[us]").astype("int64").item()
    return from_microseconds(microseconds) if kind == "M" else timedelta(microseconds=microseconds)


def _no_time(known: list[str], columns: Columns) -> InputMistake:
    return InputMistake(
        f"there is no time column `{columns.time}`",
        code="no_time_column",
        hint=f"{nearest(columns.time, known) or _listed(known)}; name it with `time=` or `--time`",
    )


def _no_type(known: list[str], columns: Columns) -> InputMistake:
    return InputMistake(
        f"there is no type column `{columns.type}`, and the query does not say what type the events are",
        code="no_type_column",
        hint=f"{nearest(columns.type, known) or _listed(known)}; name it with `type=` or `--type`",
    )


def _mixed_typing(name: str, there: bool) -> InputMistake:
    message = f"it has a `{name}`, the rows before have none" if there else f"there is no `{name}`"
    return InputMistake(message, code="bad_type", hint="every event needs a type, or none of them has one")


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:12]) + (", ..." if len(names) > 12 else "")
    return f"the columns are {shown}" if names else "there are no columns"
