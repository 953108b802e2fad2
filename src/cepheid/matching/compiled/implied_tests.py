"""Tests of one event that follow from those of several: `b.v > a.v`, and `a.v > 7`, say that `b.v > 7`.

An event that does not pass them is taken by no run, so it need not be kept. Both sides are the same field, so they are
of one type, and what is above (below) a value is above (below) all that the value is, whatever the constant is widened
to. A null is never above anything, and an alias without an event is null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from cepheid.matching.compiled.failing_tests import cannot_fail
from cepheid.matching.constants import is_constant
from cepheid.pattern.expr import Binary, Expr, Field
from cepheid.pattern.types import DATE, FLOAT, INT, STRING, TIMESTAMP, Type
from cepheid.plan.automaton import Position
from cepheid.plan.event_tests import EventTest, tests_of
from cepheid.plan.plan import Plan

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_UP, _DOWN = (">", ">="), ("<", "<=")
_PASSED_ON = {">": _UP, ">=": _UP, "<": _DOWN, "<=": _DOWN, "==": tuple(_TURNED)}
# What Arrow compares: what Python has to compare would cost more than it saves.
_IN_COLUMNS = (INT, FLOAT, STRING, TIMESTAMP, DATE)


def narrowed_tests(plan: Plan, event: Type) -> tuple[EventTest, ...]:
    """As `tests_of`; those of steps with all that follows for them."""
    tests = list(tests_of(plan))
    if not cannot_fail(plan):  # an event that is left out might have been the one to fail
        return tuple(tests)
    positions = plan.automaton.positions
    named = Counter(p.step.alias for p in positions)
    once = {p.step.alias: p.index for p in positions if not p.repeated and named[p.step.alias] == 1}
    for position in positions:
        sources = {alias: tests[at].alpha for alias, at in once.items() if at != position.index}
        own = tests[position.index]
        more = dict.fromkeys(t for t in _implied(position, sources, event) if t not in own.alpha)
        tests[position.index] = replace(own, alpha=(*own.alpha, *more))
    return tuple(tests)


def _implied(position: Position, sources: dict[str | None, tuple[Expr, ...]], event: Type) -> Iterator[Expr]:
    for op, own, other in (sides for test in position.beta for sides in _both_ways(test)):
        if isinstance(other, Field) and own == Field(None, other.path) and _is_column(other, event):
            yield from (t for t in sources.get(other.alias, ()) if _bounds(t, own, _PASSED_ON[op]))


def _both_ways(test: Expr) -> Iterator[tuple[str, Expr, Expr]]:
    """A comparison, read from either side."""
    if isinstance(test, Binary) and test.op in _TURNED:
        yield test.op, test.left, test.right
        yield _TURNED[test.op], test.right, test.left


def _is_column(field: Field, event: Type) -> bool:
    return len(field.path) == 1 and event.field(field.path[0]) in _IN_COLUMNS


def _bounds(test: Expr, field: Expr, ops: tuple[str, ...]) -> bool:
    return any(op in ops and left == field and is_constant(right) for op, left, right in _both_ways(test))
