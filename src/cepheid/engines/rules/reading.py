"""Facts and events from tables and files, as operations.

Facts are rows with an interval in which they are so (`valid_from`, `valid_to`), or a log of what is done to them
(`time`, and `op`: assert, update or retract). Events are rows with a time.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from cepheid.engines.graph.clock import Clock
from cepheid.engines.local.events import Columns, plain
from cepheid.engines.local.reading import Row
from cepheid.engines.local.sources import reader_of
from cepheid.engines.rules.operations import (
    ASSERT,
    BEGIN,
    BEGINNING,
    END,
    EVENT,
    FACT_OPERATIONS,
    UPDATE,
    Operation,
)
from cepheid.errors import InputMistake, nearest
from cepheid.pattern.rule_model import RuleSet
from cepheid.rules.operating import hashable

_Fields = dict[str, Any]


@dataclass(frozen=True)
class RuleColumns:
    """Which columns of facts and events hold what."""

    type: str = "type"
    time: str = "time"
    id: str = "id"
    valid_from: str = "valid_from"
    valid_to: str = "valid_to"
    op: str = "op"

    def of_facts(self) -> tuple[str, ...]:
        """What is said of a fact and is no field of it."""
        return (self.type, self.time, self.valid_from, self.valid_to, self.op)


def rule_columns(names: Mapping[str, str]) -> RuleColumns:
    """As they are named in a call."""
    known = [f.name for f in fields(RuleColumns)]
    for name in names:
        if name not in known:
            raise InputMistake(
                f"there is no option `{name}`",
                code="bad_option",
                hint=nearest(name, known) or f"columns are named by {', '.join(known)}",
            )
    return RuleColumns(**names)


class OperationMaker:
    """Makes operations of rows; `keys` says which field is the identity of a declared type."""

    def __init__(self, rules: RuleSet, columns: RuleColumns, clock: Clock) -> None:
        self.columns, self.clock = columns, clock
        self.keys = {(t.name, t.event): t.key for t in rules.types}
        self.place = 0
        self.unnamed: dict[str, int] = {}

    def event(self, values: Mapping[str, Any], type: str | None) -> Operation:
        fields = self._own({n: v for n, v in values.items() if n != self.columns.type}, type)
        kind = self._type(values, type)
        time = self._time(values, self.columns.time)
        if time is None:
            raise InputMistake(
                f"`{self.columns.time}` is null", code="bad_time", hint="every event needs one"
            )
        fields[self.columns.time] = self.clock.time(time)
        identity = self._identity(kind, True, fields)
        return Operation(EVENT, kind, time, fields, identity, self._next(), stamped=self.columns.time)

    def fact(self, values: Mapping[str, Any], type: str | None) -> Iterator[Operation]:
        """A row with the interval in which a fact is so: it is asserted, and it ends."""
        kind = self._type(values, type)
        start = self._time(values, self.columns.valid_from)
        end = self._time(values, self.columns.valid_to)
        fields = self._own(self._fields(values), type)
        identity = self._identity(kind, False, fields)
        if identity is None:
            self.unnamed[kind] = self.unnamed.get(kind, 0) + 1
            identity = self.unnamed[kind]
        if end is not None and start is not None and end <= start:
            raise InputMistake(
                f"the fact ends at {self.clock.time(end)}, before it begins",
                code="bad_interval",
                hint=f"`{self.columns.valid_to}` is the first moment at which it is no longer so",
            )
        always, begins = start is None, BEGINNING if start is None else start
        yield Operation(BEGIN, kind, begins, fields, identity, self._next(), always)
        if end is not None:
            yield Operation(END, kind, end, fields, identity, self._next())

    def change(self, values: Mapping[str, Any], type: str | None) -> Operation:
        """A row of a log of facts."""
        kind = self._type(values, type)
        given = plain(values.get(self.columns.op))
        op = ASSERT if given is None else str(given).lower()
        if op not in FACT_OPERATIONS:
            raise InputMistake(
                f"`{given}` is nothing that is done to a fact",
                code="bad_op",
                hint=nearest(op, list(FACT_OPERATIONS)) or "write assert, update or retract",
            )
        time = self._time(values, self.columns.time)
        if time is None:
            raise InputMistake(
                f"`{self.columns.time}` is null", code="bad_time", hint="every change needs one"
            )
        fields = self._own(self._fields(values), type)
        identity = self._identity(kind, False, fields)
        if op != ASSERT and identity is None:
            raise InputMistake(
                f"which `{kind}` is to be {'updated' if op == UPDATE else 'retracted'}?",
                code="no_identity",
                hint=f"declare a key: fact {kind}(name string key, ...), or give a column `{self.columns.id}`",
            )
        if op == UPDATE:
            fields = {name: value for name, value in fields.items() if value is not None}
        return Operation(op, kind, time, fields, identity, self._next())

    # Parts of rows.

    def _next(self) -> int:
        self.place += 1
        return self.place

    def _fields(self, values: Mapping[str, Any]) -> _Fields:
        left_out = self.columns.of_facts()
        return {name: value for name, value in values.items() if name not in left_out}

    def _own(self, values: _Fields, type: str | None) -> _Fields:
        """In a table of several types a column that is null is one of another type."""
        return values if type is not None else {n: v for n, v in values.items() if v is not None}

    def _identity(self, kind: str, event: bool, fields: Mapping[str, Any]) -> Any:
        key = self.keys.get((kind, event))
        if key is None:
            return hashable(fields.get(self.columns.id))
        identity = fields.get(key)
        if identity is None:
            raise InputMistake(
                f"a `{kind}` without its key `{key}`",
                code="no_identity",
                hint=nearest(key, list(fields)) or "the key of a declared type must have a value",
            )
        return hashable(identity)

    def _type(self, values: Mapping[str, Any], type: str | None) -> str:
        if type is not None:
            return type
        found = plain(values.get(self.columns.type))
        if found is None:
            raise InputMistake(
                "of which type is this?",
                code="no_type",
                hint=f"give a column `{self.columns.type}`, or tables by type: {{'Alarm': table}}",
            )
        return str(found)

    def _time(self, values: Mapping[str, Any], column: str) -> int | None:
        value = plain(values.get(column))
        return None if value is None else self.clock.microseconds(value)


# Tables.


def read_events(given: Any, maker: OperationMaker) -> Iterator[Operation]:
    for type, table in _by_type(given):
        for row in _rows(table, maker, (maker.columns.time,)):
            yield _at(row, partial(_swapped, maker.event, type))


def read_facts(given: Any, maker: OperationMaker) -> Iterator[Operation]:
    """Tables of intervals and logs; a log is a table that has a time and no `valid_from`."""
    for type, table in _by_type(given):
        for row in _rows(table, maker, ()):
            if is_log(row.values, maker.columns):
                yield _at(row, partial(_swapped, maker.change, type))
            else:
                yield from _at(row, partial(_each, maker.fact, type))


def _each(make: Callable[[_Fields, str | None], Any], type: str | None, values: _Fields) -> list[Operation]:
    return list(make(values, type))


def _swapped(make: Callable[[_Fields, str | None], Any], type: str | None, values: _Fields) -> Any:
    return make(values, type)


def is_log(values: Container[str], columns: RuleColumns) -> bool:
    return (columns.time in values or columns.op in values) and columns.valid_from not in values


def _by_type(given: Any) -> Iterator[tuple[str | None, Any]]:
    if given is None:
        return
    if isinstance(given, Mapping):
        yield from given.items()
    else:
        yield None, given


def _rows(table: Any, maker: OperationMaker, needed: tuple[str, ...]) -> Iterator[Row]:
    # The readers speak of events: what they call the time is only looked at where there must be one.
    shape = Columns(needed[0] if needed else "", "", time_unit=maker.clock.unit, plain_type="row")
    _, reader, progress = reader_of(table, shape)
    return reader.rows(progress)


def _plain(values: Mapping[str, Any]) -> _Fields:
    return {str(name): plain(value) for name, value in values.items()}


def _at(row: Row, make: Callable[[_Fields], Any]) -> Any:
    """What a row gives; what is wrong with it is told with its place."""
    try:
        if row.mistake is not None:
            raise row.mistake
        return make(_plain(row.values))
    except InputMistake as mistake:
        raise InputMistake(f"{row.place}: {mistake.message}", code=mistake.code, hint=mistake.hint) from None
