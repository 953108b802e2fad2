"""Edges from tables and files, by the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    for row in _rows(rows, columns, time_unit):
        try:
            if row.mistake is not None:
                raise row.mistake
            take(_raw(row.values, columns))
        except InputMistake as mistake:
            raise InputMistake(
                f"{row.place}: {mistake.message}", code=mistake.code, hint=mistake.hint
            ) from None


def _rows(rows: Any, columns: EdgeColumns, time_unit: str) -> Iterator[Row]:
    shape = Columns(columns.start, columns.label, end=columns.end, time_unit=time_unit)
    _, reader, progress = reader_of(rows, shape)
    return reader.rows(progress)


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
