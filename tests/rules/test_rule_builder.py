"""Rules built in Python are the rules that the text says."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import Any

import pytest

from cepheid.errors import PatternMistake
from cepheid.lang.rules import parse_rules
from cepheid.pattern.conditions import field, func
from cepheid.pattern.rule_builder import (
    RuleDraft,
    after,
    becomes,
    before,
    bind,
    event_type,
    fact_type,
    rule,
    rule_set,
    this,
    timeof,
    var,
    was,
)

e, a, c, f, v = var("e"), var("a"), var("c"), var("f"), var("v")

PAIRS = [
    (
        rule("R").fact(e, "Equipment", state="ACTIVE").event(a, "Alarm", eqpt=e).retract(a),
        "when { ?e: Equipment(state == ACTIVE); ?a: event Alarm(eqpt == ?e) } then { retract ?a }",
    ),
    (
        rule("R").event(a, "A").event("B", after(this, a, 1, 5) | (field("n") > 3)),
        "when { ?a: event A(); event B(?this after[1,5] ?a or n > 3) } then { }",
    ),
    (
        rule("R").event(a, "A").no_event("B", before(this, a, "-5m", timedelta(hours=1))),
        "when { ?a: event A(); not event B(?this before[-5m,1h] ?a) } then { }",
    ),
    (
        rule("R").event(a, "A").event("B", ~after(this, a, -inf, None)),
        "when { ?a: event A(); event B(not ?this after[-inf,inf] ?a) } then { }",
    ),
    (
        rule("R")
        .change(c, "T", was(state="ON"), becomes(field("n") > field("old", "n"), state="OFF"), fact=f)
        .modify(f, n=field("n") + 1, state=c.old.state),
        "when { ?c: event change ?f: T(state == ON) to (n > old.n; state == OFF) } "
        "then { modify ?f { n = n + 1; state = ?c.old.state } }",
    ),
    (
        rule("R", priority=3).fact(f, "F", bind(v=field("n") * 2)).no_fact("G", func.abs(field("x")) > v),
        "priority 3 when { ?f: F(?v: n * 2); not G(abs(x) > ?v) } then { }",
    ),
    (
        rule("R")
        .event(a, "A", bind(v=timeof(this)))
        .event("B", timeof(this) - a.time > 5, func.timeof(a) == v)
        .fact(f, "F")
        .modify(f, last=timeof("a")),
        "when { ?a: event A(?v: timeof(?this)); event B(timeof(?this) - ?a.time > 5; timeof(?a) == ?v); ?f: F() } "
        "then { modify ?f { last = timeof(?a) } }",
    ),
    (
        rule("R").event(a, "A").emit("X", a, n=a.n + 1).assert_event("Y", why="late").assert_fact("Z", a),
        'when { ?a: event A() } then { emit X(?a, n = ?a.n + 1); assert event Y(why = "late"); assert new Z(?a) }',
    ),
]


@pytest.mark.parametrize(("built", "text"), PAIRS, ids=[text[:60] for _, text in PAIRS])
def test_built_and_written(built: RuleDraft, text: str) -> None:
    head, _, rest = text.partition("when")
    (wanted,) = parse_rules(f"rule R {head} {{ when {rest} }}").rules
    assert built.build() == wanted
    assert parse_rules(str(built)).rules == (wanted,)


def test_types() -> None:
    one = rule("R").fact(f, "F", id="x")
    built = rule_set(
        fact_type("F", {"id": "string", "n": "int"}, key="id"), event_type("A", {"x": "float"}), one
    )
    text = 'fact F(id string key, n int) event A(x float) rule R { when { ?f: F(id == "x") } then { } }'
    assert built == parse_rules(text)
    assert rule_set(built, one).rules == (*built.rules, one.build())


BAD = [
    (lambda: rule("R").fact(e), "bad_argument"),
    (lambda: rule("R").fact(), "bad_argument"),
    (lambda: rule("R").no_fact(e, "F"), "name_of_nothing"),
    (lambda: rule("R").change("T", was()), "bad_argument"),
    (lambda: rule("R").retract(e.state), "bad_argument"),
    (lambda: after(this, a, 1.5, 2), "bad_argument"),
    (lambda: timeof(a.n), "bad_argument"),
    (lambda: timeof(field("a")), "bad_argument"),
    (lambda: rule("R").emit("X", a, a=1), "bad_argument"),
    (lambda: fact_type("F", {"x": "strin"}), "unknown_type"),
    (lambda: rule_set("rule R"), "bad_argument"),  # type: ignore[arg-type]
    (lambda: rule("R").fact("F", 3), "not_a_condition"),
    (lambda: bool(after(this, a, 1, 2)), "truth_value"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
def test_mistakes(make: Any, code: str) -> None:
    with pytest.raises(PatternMistake) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.hint
