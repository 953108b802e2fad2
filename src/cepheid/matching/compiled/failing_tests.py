"""Whether the tests of a plan that look at several events can fail: where they can, who looks at them matters."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.pattern.expr import Binary, Expr, Field, In, IsNull, Literal, Unary, walk
from cepheid.plan.plan import Plan

_CANNOT_FAIL = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


def cannot_fail(plan: Plan) -> bool:
    return all(_is_safe(node) for test in tests_across(plan) for node in walk(test))


def tests_across(plan: Plan) -> Iterator[Expr]:
    """All tests that look at several events."""
    automaton = plan.automaton
    yield from (test for p in automaton.positions for test in p.beta)
    yield from (test for a in automaton.absences for test in a.beta)
    yield from (test for g in plan.guards for test in g.beta)
    yield from (c.until for c in automaton.closures if c.until is not None)
    yield from (test for e in automaton.edges for test in e.tests)
    yield from (test for a in automaton.accepts for test in a.tests)


def _is_safe(node: Expr) -> bool:
    if isinstance(node, Binary):
        elapsed = node.op == "-" and isinstance(node.left, Field) and isinstance(node.right, Field)
        return node.op in _CANNOT_FAIL or elapsed
    return isinstance(node, (Field, Literal, In, IsNull)) or (isinstance(node, Unary) and node.op == "not")
