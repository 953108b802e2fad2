"""What the fields of events hold, where no schema says it: a field is a column if all its values are of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeGuard

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
        self._read: list[str] = []  # by the plan at hand

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

    def check(self, plan: CompiledPlan) -> None:
        """Raises Unsupported where the plan's tests read what is no column."""
        names = dict.fromkeys(n.path[0] for e in plan.columns.found for n in walk(e) if _is_field(n))
        for name in names:
            if self._kinds.get(name, str) is None:
                raise Unsupported(f"`{name}` holds values of several kinds, or of a kind that no column has")
        self._read = [name for name in names if name in self._kinds]

    def table(self, events: Sequence[Event]) -> pa.Table:
        """The fields that the plan's tests read."""
        return pa.table({name: self._array(name, events) for name in self._read})

    def _array(self, name: str, events: Sequence[Event]) -> Any:
        kind = self._kinds[name]
        arrow = _FIT[kind][1] if kind in _FIT else pa.null()
        return pa.array([e.fields.get(name) for e in events], arrow)


def check_tests(plan: Plan) -> None:
    """Raises Unsupported for what no kinds of values make fit."""
    for node in (node for test in _tests(plan) for node in walk(test)):
        if isinstance(node, Opaque):
            raise Unsupported("it calls a Python function")
        # What lies in a field is known only where a schema says it.
        if isinstance(node, (Field, Element, Aggregate)) and len(node.path) > 1:
            raise Unsupported("it reads what lies in a field")


def _tests(plan: Plan) -> Iterator[Expr]:
    """Everything a matcher asks of events."""
    automaton = plan.automaton
    alone = [(p.alpha, p.beta) for p in automaton.positions] + [(a.alpha, a.beta) for a in automaton.absences]
    alone += [(g.alpha, g.beta) for g in plan.guards]
    for alpha, beta in alone:
        yield from (*alpha, *beta)
    for tests in ([e.tests for e in automaton.edges], [a.tests for a in automaton.accepts]):
        yield from (test for own in tests for test in own)
    yield from (c.until for c in automaton.closures if c.until is not None)


def _is_field(node: Expr) -> TypeGuard[Field]:
    return isinstance(node, Field) and bool(node.path)
