"""NaN is null, and a comparison with null is not true, `!=` neither: in the code that is written out for the entrance,
on the long way through the network, where constants are looked up, in joins, and by the oracle."""

from __future__ import annotations

import operator
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cepheid.errors import EvaluationError
from cepheid.pattern.expr import Binary, Unary
from cepheid.pattern.rule_model import (
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    NoFact,
    Rule,
    RuleSet,
    Shape,
)
from cepheid.rules.dispatch import FEW_VALUES, MOST_NODES
from cepheid.rules.happenings import Emitted, Fired
from cepheid.rules.session import RuleSession

sys.path.insert(0, str(Path(__file__).parent))

from naive_rules import NaiveRules
from rule_parts import assigned, compare, own, var

NAN, INF = float("nan"), float("inf")
OPS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NULLS = (NAN, -NAN, INF - INF, None, Decimal("NaN"))
NUMBERS = (1.5, 1, 2, -0.0, 0, INF, -INF, Decimal("1.5"), 2**60)
CONSTANTS = (1.5, 1, 0.0, -2.5, 2**60)


def rule(name: str, *conditions: Condition, **values: Any) -> Rule:
    return Rule(name, conditions, (Emit("out", assigned(**values)),))


def events(*tests: Any) -> EventCondition:
    return EventCondition(Shape("A", tests), "a")


def sessions(rules: RuleSet) -> list[Any]:
    """The code that is written out, the long way, and the oracle."""
    return [
        RuleSession(rules, tick=1),
        RuleSession(rules, tick=1, tell_released=True),
        NaiveRules(rules, tick=1),
    ]


def fired(happened: Any) -> list[str]:
    return [h.rule for h in happened if isinstance(h, Fired)]


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_field_and_a_constant(constant: Any) -> None:
    """All six comparisons and their opposites, of each value with one constant."""
    tests = {op: compare(op, "x", constant) for op in OPS}
    rules = RuleSet(
        (
            *(rule(op, events(test)) for op, test in tests.items()),
            *(rule(f"not {op}", events(Unary("not", test))) for op, test in tests.items()),
        )
    )
    for session in sessions(rules):
        for value in (*NULLS, *NUMBERS):
            known = value is not None and value == value
            true = [op for op, holds in OPS.items() if known and holds(value, constant)]
            false = [f"not {op}" for op in OPS if known and op not in true]
            assert fired(session.assert_event("A", {"x": value}, 1)) == true + false, (type(session), value)
        assert fired(session.assert_event("A", {}, 1)) == []
        if not getattr(session, "tell_released", True):
            assert session._handlers["A"] is not None  # the code was there


def test_many_constants_of_a_field() -> None:
    """They are looked up by value, whatever else is asked; what is of another kind is compared with each of them."""
    constants = range(FEW_VALUES + 1)
    rules = RuleSet(
        (
            *(rule(f"R{n}", events(compare("==", "x", n), compare(">", "y", n))) for n in constants),
            rule("Again", events(compare("==", "x", 2))),
            rule("Any", events(compare(">", "y", 3))),
            rule("Text", events(compare("==", "z", "a"))),
        )
    )
    expected: list[tuple[Any, list[str]]] = [
        (2, ["R2", "Again", "Any", "Text"]),
        (2.0, ["R2", "Again", "Any", "Text"]),
        (Decimal(1), ["R1", "Any", "Text"]),
        (3, ["R3", "Any", "Text"]),
        *((value, ["Any", "Text"]) for value in (7, 2**60, None, NAN)),
    ]
    for session in sessions(rules):
        for value, names in expected:
            assert fired(session.assert_event("A", {"x": value, "y": 5, "z": "a"}, 1)) == names, value
        assert fired(session.assert_event("A", {"x": 2, "y": 2}, 1)) == ["Again"]
        for wrong in ("2", True):
            with pytest.raises(EvaluationError, match="x == "):
                session.assert_event("A", {"x": wrong}, 1)
        if not getattr(session, "tell_released", True):
            assert session._handlers["A"] is not None  # the code was there


def test_more_tests_than_are_written_out() -> None:
    """Then all are asked on the long way through the network."""
    rules = RuleSet(tuple(rule(f"R{n}", events(compare(">", "x", n))) for n in range(MOST_NODES + 1)))
    for session in sessions(rules):
        for value in NULLS:
            assert fired(session.assert_event("A", {"x": value}, 1)) == []
        assert fired(session.assert_event("A", {"x": 1.5}, 1)) == ["R0", "R1"]
        if not getattr(session, "tell_released", True):
            assert session._handlers["A"] is None  # no code


JOINS = {
    "event and event": lambda test: (events(), EventCondition(Shape("B", (test,)), "b")),
    "event and fact": lambda test: (events(), FactCondition(Shape("F", (test,)), "f")),
    "event and no fact": lambda test: (events(), NoFact(Shape("F", (test,)))),
}


@pytest.mark.parametrize("kind", JOINS)
@pytest.mark.parametrize("op", OPS)
def test_a_join(op: str, kind: str) -> None:
    """Two nulls are neither equal nor unequal. For a fact that must not be, unknown is not true: it is not there."""
    rules = RuleSet((rule("R", *JOINS[kind](Binary(op, own("x"), var("a", "x")))),))
    for left in (NAN, None, 1.5, 1):
        for right in (NAN, None, 1.5, 1):
            known = left == left and right == right and None not in (left, right)
            holds = known and OPS[op](right, left)
            for session in sessions(rules):
                if "fact" in kind:
                    session.assert_fact("F", {"x": right}, "f", 1)
                told = session.assert_event("A", {"x": left}, 1)
                if kind == "event and event":
                    told = session.assert_event("B", {"x": right}, 1)
                assert bool(fired(told)) is (holds if "no" not in kind else not holds), (left, right)


def test_what_is_told_of_it() -> None:
    """As a value of an action it is null."""
    rules = RuleSet((rule("R", events(), x=var("a", "x"), more=Binary("+", var("a", "x"), var("a", "y"))),))
    for session in sessions(rules):
        for x, y in ((NAN, 1), (INF, -INF)):
            (told,) = [h for h in session.assert_event("A", {"x": x, "y": y}, 1) if isinstance(h, Emitted)]
            assert told.fields == {"x": None if x is NAN else x, "more": None}
