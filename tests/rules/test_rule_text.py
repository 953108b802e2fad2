"""Rules as text: what can be written, and that what is shown is read back to the same model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.lang.rules import parse_rules
from cepheid.pattern.expr import Binary, Call, Case, Expr, Field, In, IsNull, Literal, Unary
from cepheid.pattern.rule_model import (
    AssertEvent,
    AssertFact,
    Assignment,
    BoundValue,
    ChangeCondition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    ObjectType,
    Retract,
    Rule,
    RuleSet,
    Shape,
)
from cepheid.pattern.rule_text import rule_set_text, rule_text
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.pattern.types import INT, STRING, TIMESTAMP, list_of
from cepheid.rules.checking import check_rules

GOLDEN = yaml.safe_load((Path(__file__).parent / "golden_rules.yaml").read_text(encoding="utf-8"))


def _whole(entry: dict[str, Any]) -> tuple[str, str]:
    if "text" in entry:
        return entry["text"], entry["is"]
    when, then = entry.get("when", ""), entry.get("then", "")
    text = f"rule R {{ when {{ ?f: F(); ?a: event A(); {when} }} then {{ {then} }} }}"
    return text, entry["is"]


@pytest.mark.parametrize("entry", GOLDEN, ids=[str(next(iter(e.values())))[:50] for e in GOLDEN])
def test_golden(entry: dict[str, Any]) -> None:
    text, shown = _whole(entry)
    rules = parse_rules(text)
    check_rules(rules)
    if "text" in entry:
        assert rule_set_text(rules) == shown
    else:
        lines = rule_text(rules.rules[0]).split("\n")
        middle = lines.index("  } then {")
        part = lines[4:middle] if "when" in entry else lines[middle + 1 : -2]
        assert " ".join(line.strip() for line in part).removesuffix(";") == shown.removesuffix(";")
    assert parse_rules(rule_set_text(rules)) == rules


# Any rule at all, also such as mean nothing.

names = st.sampled_from(
    ["e", "a", "state", "STATE", "event", "Change", "new", "my field", "after", "to", "inf", "ä"]
)
literals = st.sampled_from([Literal(v) for v in ("ON", 'a"b', 3, -2, 2.5, None, True)])
fields = st.one_of(
    names.map(lambda n: Field(None, (n,))),
    st.tuples(names, names).map(lambda p: Field(None, (f"?{p[0]}", p[1]))),
    names.map(lambda n: Field(None, (f"?{n}",))),
)
spans = st.one_of(
    st.none(),
    st.builds(Span, st.integers(-100, 100), st.just(True)),
    st.sampled_from([0, 1, -90_000_000, 3_600_000_000]).map(Span),
)


@st.composite
def time_tests(draw: st.DrawFn) -> TimeTest:
    low, high = draw(spans), draw(spans)
    if low is not None and high is not None and low.ticks == high.ticks and low.amount > high.amount:
        low, high = high, low
    return TimeTest(draw(names), draw(st.one_of(st.just("this"), names)), low, high)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    signs = ["==", "!=", "<", ">=", "+", "-", "*", "/", "%", "**", "and", "or"]
    return st.one_of(
        st.builds(Binary, st.sampled_from(signs), inner, inner),
        inner.map(lambda e: Unary("not", e)),
        st.builds(In, inner, st.tuples(inner, inner), st.booleans()),
        st.builds(IsNull, inner, st.booleans()),
        st.builds(Case, st.tuples(st.tuples(inner, inner)), inner),
        st.tuples(inner, inner).map(lambda args: Call("coalesce", args)),
    )


expressions = st.recursive(st.one_of(literals, fields, time_tests()), _larger, max_leaves=6)
shapes = st.builds(
    Shape,
    names,
    st.lists(expressions, max_size=2).map(tuple),
    st.lists(st.builds(BoundValue, names, expressions), max_size=1).map(tuple),
)
variables = st.one_of(st.none(), names)


@st.composite
def changes(draw: st.DrawFn) -> ChangeCondition:
    before = draw(shapes)
    after = replace(draw(shapes), type=before.type)
    return ChangeCondition(before, after, draw(variables), draw(variables))


conditions = st.one_of(
    st.builds(FactCondition, shapes, variables),
    st.builds(EventCondition, shapes, variables),
    changes(),
    st.builds(NoFact, shapes),
    st.builds(NoEvent, shapes),
)


def _assignments(least: int) -> st.SearchStrategy[Any]:
    values = st.dictionaries(names, expressions, min_size=least, max_size=3)
    return values.map(lambda d: tuple(Assignment(n, v) for n, v in d.items()))


def _hanging(action: Modify) -> Modify:
    """Bare names in `modify` are fields of the fact, so there are none in the model."""
    from cepheid.pattern.rule_fields import of_object

    return replace(
        action, fields=tuple(replace(f, value=of_object(f.value, action.variable)) for f in action.fields)
    )


actions = st.one_of(
    st.builds(AssertFact, names, _assignments(0)),
    st.builds(AssertEvent, names, _assignments(0)),
    st.builds(Emit, names, _assignments(0)),
    st.builds(Modify, names, _assignments(1)).map(_hanging),
    st.builds(Retract, names),
)
rules = st.builds(
    Rule,
    names,
    st.lists(conditions, max_size=3).map(tuple),
    st.lists(actions, max_size=3).map(tuple),
    st.integers(-3, 3),
)
TYPES = (
    ObjectType("T", (("id", INT), ("state", STRING), ("STATE", list_of(STRING))), "id"),
    ObjectType("my field", (("at", TIMESTAMP),), event=True),
)


@given(rules, st.sampled_from([(), TYPES]))
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
def test_round_trip(rule: Rule, types: tuple[ObjectType, ...]) -> None:
    whole = RuleSet((rule,), types)
    assert parse_rules(rule_set_text(whole)) == whole
