"""Edges from tables and files, by the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cepheid.engines.graph.clock import Clock
from cepheid.engines.local.events import Columns, plain
from cepheid.engines.local.reading import Row
from cepheid.engines.local.sources import reader_of
from cepheid.errors import InputMistake, nearest


@dataclass(frozen=True)
class EdgeColumns:
    """Which columns hold what. Of several targets, one has a value in each row; `end` is read if there is one."""

    source: str = "source"
    label: str = "label"
    target: tuple[str, ...] = ("target",)
    start: str = "start"
    end: str | None = None
    tick: str | None = None

    def named(self) -> tuple[str, ...]:
        optional = tuple(name for name in (self.end, self.tick) if name is not None)
        return (self.source, self.label, *self.target, self.start, *optional)


@dataclass(frozen=True)
class EventColumns:
    """Of rows that are events: when each was, until when, and the node it is; without that, it is the row's number."""

    time: str = "time"
    node: str | None = None
    end: str | None = None

    def named(self) -> tuple[str, ...]:
        return tuple(name for name in (self.time, self.node, self.end) if name is not None)


@dataclass(frozen=True)
class RawEdge:
    """An edge as it stands in a row."""

    source: Any
    label: str
    target: Any
    start: Any
    end: Any
    tick: int


Take = Callable[[RawEdge], None]


def edge_columns(
    source: str, label: str, target: str | Sequence[str], start: str, end: str | None, tick: str | None
) -> EdgeColumns:
    targets = (target,) if isinstance(target, str) else tuple(target)
    return EdgeColumns(source, label, targets, start, end, tick)


def take_edges(rows: Any, columns: EdgeColumns, time_unit: str, take: Take) -> None:
    """Gives each row's edge to a function; what is wrong with one is told with its place."""
    shape = Columns(columns.start, columns.label, end=columns.end, time_unit=time_unit)
    for row in _edge_rows(rows, shape):
        with _told_where(row):
            take(_raw(row.values, columns))


def take_events(rows: Any, columns: EventColumns, clock: Clock, take: Take) -> None:
    """The same for rows that are events: an edge for each column that has a value."""
    shape = Columns(columns.time, "", end=columns.end, time_unit=clock.unit, plain_type="event")
    for number, row in enumerate(_rows(rows, shape), 1):
        with _told_where(row):
            for edge in _edges_of_event(row.values, columns, f"#{number}", clock):
                take(edge)


def _edge_rows(rows: Any, shape: Columns) -> Iterator[Row]:
    """The readers speak of events, and these are edges."""
    try:
        return _rows(rows, shape)
    except InputMistake as mistake:
        missing = {"no_time_column": shape.time, "no_type_column": shape.type}.get(mistake.code)
        if missing is None:
            raise
        known, _, _ = str(mistake.hint).partition("; name it")
        hint = f"{known}; name the ones that are meant: start=, label=, ...; or read a log: read_events(..., time=)"
        raise InputMistake(f"there is no column `{missing}`", code="no_column", hint=hint) from None


def _rows(rows: Any, shape: Columns) -> Iterator[Row]:
    _, reader, progress = reader_of(rows, shape)
    return reader.rows(progress)


@contextmanager
def _told_where(row: Row) -> Iterator[None]:
    try:
        if row.mistake is not None:
            raise row.mistake
        yield
    except InputMistake as mistake:
        raise InputMistake(f"{row.place}: {mistake.message}", code=mistake.code, hint=mistake.hint) from None


def _edges_of_event(
    values: Mapping[str, Any], columns: EventColumns, number: str, clock: Clock
) -> Iterator[RawEdge]:
    """Without an end an event is a moment."""
    for name in columns.named():
        if name not in values:
            raise _no_column(name, values)
    start = clock.time(clock.microseconds(values[columns.time]))
    end = start if columns.end is None else plain(values[columns.end])
    node = number if columns.node is None else values[columns.node]
    for name, value in values.items():
        if name in (columns.node, columns.end) or plain(value) is None:
            continue
        yield RawEdge(node, str(name), start if name == columns.time else value, start, end, 0)


def _raw(values: Mapping[str, Any], columns: EdgeColumns) -> RawEdge:
    for name in columns.named():
        if name not in values:
            raise _no_column(name, values)
    end = values.get("end") if columns.end is None else values[columns.end]
    label, tick = plain(values[columns.label]), 0 if columns.tick is None else plain(values[columns.tick])
    if label is None:
        raise InputMistake("an edge without a label", code="bad_row")
    if not isinstance(tick, int) or isinstance(tick, bool):
        raise InputMistake(f"{tick!r} is no tick", code="bad_row", hint="ticks are whole numbers from 0 on")
    return RawEdge(
        values[columns.source],
        str(label),
        _target(values, columns.target),
        values[columns.start],
        plain(end),
        tick,
    )


def _target(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    found = [(name, values[name]) for name in names if plain(values[name]) is not None]
    if len(found) > 1:
        raise InputMistake(
            f"an edge with two targets: {' and '.join(f'{name} {value!r}' for name, value in found)}",
            code="two_targets",
            hint="of the columns of targets one has a value in each row",
        )
    return found[0][1] if found else None


def _no_column(name: str, values: Mapping[str, Any]) -> InputMistake:
    known = [str(n) for n in values]
    return InputMistake(
        f"there is no column `{name}`",
        code="no_column",
        hint=nearest(name, known)
        or f"the columns are {', '.join(known)}; name the one that is meant: source=...",
    )
