"""Running a history through a session, and telling what it showed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from random_rules import Step
from rule_parts import plain

from cepheid.errors import InputMistake, LimitReached
from cepheid.pattern.expr import Binary, Call, Expr, Unary, walk
from cepheid.pattern.rule_model import (
    AssertEvent,
    AssertFact,
    ChangeCondition,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    Retract,
    Rule,
    RuleSet,
)
from cepheid.pattern.time_of import is_time_of
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.happenings import Fired, Happening
from cepheid.rules.objects import Event

MOST_FIRINGS = 15


def outcomes(session: Any, steps: Iterable[Step], finish: bool = True) -> Iterator[list[Happening] | str]:
    """What each step tells, then the end; a mistake is the last."""
    calls = [(getattr(session, step.method), step.given) for step in steps]
    for call, given in [*calls, *([(session.finish, ())] if finish else [])]:
        try:
            yield call(*given)
        except (LimitReached, InputMistake) as problem:
            yield type(problem).__name__
            return


def plainly(found: Iterable[list[Happening] | str]) -> list[Any]:
    return [one if isinstance(one, str) else [plain(h) for h in one] for one in found]


def firings_of(found: Iterable[list[Happening] | str], name: str) -> list[Any]:
    """Of one rule, without the numbers that depend on others."""
    fired = [h for one in found if not isinstance(one, str) for h in one if isinstance(h, Fired)]
    return [(h.time, plain(dict(h.objects))) for h in fired if h.rule == name]


def shown(rule: Rule, fired: Fired) -> Iterator[str]:
    """Which constructs a firing has shown."""
    kinds = [type(c) for c in rule.conditions]
    events = [t for t in fired.objects.values() if isinstance(t, Event)]
    yield "firing"
    for kind in (FactCondition, EventCondition, ChangeCondition, NoFact, NoEvent):
        if kind in kinds:
            yield kind.__name__
    if kinds.count(FactCondition) > 1:
        yield "several facts"
    if len(events) > 1:
        yield "several events"
        if events != sorted(events, key=lambda e: e.number):
            yield "events in another order than written"
    if len(events) > 2:
        yield "three events"
    if FactCondition in kinds and events:
        yield "facts and events"
    if kinds and not events:
        yield "facts alone"
    if events and fired.time > max(e.time for e in events):
        yield "waited"
    for action in rule.actions:
        if isinstance(action, (AssertFact, AssertEvent, Modify, Retract)):
            yield type(action).__name__
    yield from _shown_tests(rule)


def _shown_tests(rule: Rule) -> Iterator[str]:
    shapes = [s for c in rule.conditions for s in (getattr(c, n, None) for n in ("shape", "after")) if s]
    for test in (t for s in shapes for t in s.tests):
        timed = [n for n in walk(test) if isinstance(n, TimeTest)]
        if any(isinstance(n, Call) and is_time_of(n) for n in walk(test)):
            yield "time as a value"
        if timed:
            yield "test of time"
            if any(_negative(t) for t in timed):
                yield "negative bound"
            if any(t.low is None or t.high is None for t in timed):
                yield "infinite bound"
            yield from _logic(test)
        elif isinstance(test, Binary) and test.op != "==":
            yield "other join"


def _negative(test: TimeTest) -> bool:
    return any(b is not None and b.amount < 0 for b in (test.low, test.high))


def _logic(test: Expr) -> Iterator[str]:
    for node in walk(test):
        if isinstance(node, Unary) and node.op == "not":
            yield "not around time"
        if isinstance(node, Binary) and node.op in ("and", "or"):
            yield f"{node.op} around time"


def rule_named(rules: RuleSet, name: str) -> Rule:
    return next(r for r in rules.rules if r.name == name)
