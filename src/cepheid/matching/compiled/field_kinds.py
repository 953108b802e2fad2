"""What the fields of events hold, where no schema says it: a field is a column if all its values are of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa

from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Aggregate, Element, Expr, Field, Opaque, walk
from cepheid.pattern.types import (
    BOOL,
    BYTES,
    DATE,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Type,
    struct_of,
)
from cepheid.plan.plan import Plan

_FIT: dict[type, tuple[Type, pa.DataType]] = {
    str: (STRING, pa.string()),
    int: (INT, pa.int64()),
    float: (FLOAT, pa.float64()),
    bool: (BOOL, pa.bool_()),
    bytes: (BYTES, pa.binary()),
    datetime: (TIMESTAMP, pa.timestamp("us", "UTC")),
    date: (DATE, pa.date32()),
    timedelta: (DURATION, pa.duration("us")),
}


class FieldKinds:
    """Remembers every field that came, and the classes of its values."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, type]] = set()
        self._kinds: dict[str, type | None] = {}  # None: several, or one that is no column

    def look_at(self, events: Sequence[Event]) -> bool:
        """Is anything new?"""
        new = {(name, type(value)) for e in events for name, value in e.fields.items()} - self._seen
        self._seen |= new
        for name, kind in new:
            if kind is type(None):
                self._kinds.setdefault(name, kind)
            elif self._kinds.get(name, type(None)) is type(None):
                self._kinds[name] = kind if kind in _FIT else None
            else:
                self._kinds[name] = None
        return bool(new)

    def event_type(self) -> Type:
        return struct_of({name: self._type(kind) for name, kind in self._kinds.items()})

    def _type(self, kind: type | None) -> Type:
        if kind is None:
            return UNKNOWN
        return _FIT[kind][0] if kind in _FIT else NULL

    def check(self, plan: Plan) -> None:
        """Raises Unsupported where tests across events read what is no column."""
        for node in (node for test in _across(plan) for node in walk(test)):
            if isinstance(node, (Field, Element, Aggregate)) and node.path:
                if len(node.path) > 1:  # what lies in a field is known only where a schema says it
                    raise Unsupported("it reads what lies in a field")
                if self._kinds.get(node.path[0], str) is None:
                    name = node.path[0]
                    raise Unsupported(f"`{name}` holds values of several kinds, or of one that no column has")
        if any(isinstance(node, Opaque) for test in _all(plan) for node in walk(test)):
            raise Unsupported("it calls a Python function")

    def read_by(self, plan: CompiledPlan) -> list[str]:
        """The fields that are columns of the plan."""
        nodes = (node for column in plan.columns.found.values() for node in walk(column.expr))
        names = dict.fromkeys(node.path[0] for node in nodes if isinstance(node, Field) and node.path)
        return [name for name in names if name in self._kinds]

    def table(self, events: Sequence[Event], names: Sequence[str]) -> pa.Table:
        return pa.table({name: self._array(name, events) for name in names})

    def _array(self, name: str, events: Sequence[Event]) -> Any:
        kind = self._kinds[name]
        arrow = _FIT[kind][1] if kind in _FIT else pa.null()
        return pa.array([e.fields.get(name) for e in events], arrow)


def _across(plan: Plan) -> Iterator[Expr]:
    """The tests that look at several events."""
    automaton = plan.automaton
    for tests in (
        [p.beta for p in automaton.positions],
        [a.beta for a in automaton.absences],
        [g.beta for g in plan.guards],
        [e.tests for e in automaton.edges],
        [a.tests for a in automaton.accepts],
    ):
        yield from (test for own in tests for test in own)
    yield from (c.until for c in automaton.closures if c.until is not None)


def _all(plan: Plan) -> Iterator[Expr]:
    automaton = plan.automaton
    alone = [p.alpha for p in automaton.positions] + [a.alpha for a in automaton.absences]
    alone += [g.alpha for g in plan.guards]
    yield from (test for own in alone for test in own)
    yield from _across(plan)
