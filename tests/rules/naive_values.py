"""Expressions and tests of time for the oracle of rules: looked up in an environment of what is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.evaluate import compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.expr import Binary, Call, Expr, Field, Literal, Unary, conjunction, rewrite
from cepheid.pattern.rule_model import THIS, Shape
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.objects import Event, Thing

# --- expressions: variables are looked up in an environment of what is bound ------------------------------------

IDENTITY, TIME, STAMP = "?id", "?time", "?stamp"  # the time in microseconds, and as rules see it


@dataclass(frozen=True)
class View:
    """A bound thing as expressions see it."""

    fields: dict[str, Any]


Env = dict[str, View]


def view(thing: Thing, tick: int) -> View:
    """An event has a field `time`: its own, or else when it happened, in ticks."""
    ticks = thing.time // tick if thing.time % tick == 0 else thing.time / tick
    time = {"time": ticks, STAMP: ticks} if isinstance(thing, Event) else {}
    return View({**time, **thing.fields, IDENTITY: thing.identity, TIME: thing.time})


@lru_cache(maxsize=10_000)
def compiled(expr: Expr, tick: int) -> Callable[[Moment], Any]:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias is None and node.path[0].startswith("?"):
            return Field(node.path[0][1:], node.path[1:] or (IDENTITY,))
        if isinstance(node, Call) and node.name == "timeof":
            (event,) = node.args
            assert isinstance(event, Field)
            return Field(event.path[0][1:], (STAMP,))
        if isinstance(node, TimeTest):
            distance = Binary("-", Field(node.left, (TIME,)), Field(node.right, (TIME,)))
            low, high = (None if s is None else Literal(s.microseconds(tick)) for s in (node.low, node.high))
            bounds: list[Expr] = [
                Binary(op, distance, b) for op, b in ((">=", low), ("<=", high)) if b is not None
            ]
            return conjunction(bounds) or Literal(True)
        return None

    return compile_value(rewrite(expr, change))


def value(expr: Expr, env: Env, tick: int) -> Any:
    return compiled(expr, tick)(Moment(env.get(THIS), {name: (v,) for name, v in env.items()}))  # type: ignore[arg-type, misc]


def passes(shape: Shape, thing: Thing, own: str | None, env: Env, tick: int) -> Env | None:
    """What is bound if the thing is of this shape (its type aside)."""
    env = {**env, THIS: view(thing, tick)}
    if own is not None:
        env[own] = env[THIS]
    for bound in shape.values:
        env[bound.variable] = View({IDENTITY: value(bound.value, env, tick)})
    return env if all(holds(test, env, tick) for test in shape.tests) else None


def holds(test: Expr, env: Env, tick: int) -> bool:
    try:
        return value(test, env, tick) is True
    except EvaluationError as problem:
        if problem.code == "type_clash" and isinstance(test, Binary) and test.op in ("==", "!="):
            for side in (test.left, test.right):  # values of other kinds are not the identity of an object
                if isinstance(side, Field) and len(side.path) == 1 and TIME in _bound(side, env):
                    return test.op == "!="
        raise


def _bound(expr: Field, env: Env) -> dict[str, Any]:
    return env[expr.path[0][1:]].fields if expr.path[0].startswith("?") else {}


# --- the latest time an event could have by tests of time ---------------------------------------------------------


def could_be(expr: Expr, times: dict[str, int], tick: int) -> set[bool]:
    """Which of true and false a test may be at these times, if all that is no test of time may be either."""
    match expr:
        case TimeTest(left=left, right=right, low=low, high=high):
            distance = times[left] - times[right]
            return {
                (low is None or low.microseconds(tick) <= distance)
                and (high is None or distance <= high.microseconds(tick))
            }
        case Unary(op="not", operand=operand):
            return {not v for v in could_be(operand, times, tick)}
        case Binary(op="and", left=left, right=right):
            return {a and b for a in could_be(left, times, tick) for b in could_be(right, times, tick)}
        case Binary(op="or", left=left, right=right):
            return {a or b for a in could_be(left, times, tick) for b in could_be(right, times, tick)}
    return {True, False}


def latest_time(tests: tuple[Expr, ...], times: dict[str, int], tick: int) -> int | None:
    """Of an event that passes the tests; None if there is no latest, or no time at all."""
    edges = {
        times[other] + sign * bound.microseconds(tick) + step
        for test in tests
        for node in all_parts(test)
        if isinstance(node, TimeTest)
        for other, sign in ((node.right, 1), (node.left, -1))
        if other != THIS
        for bound in (node.low, node.high)
        if bound is not None
        for step in (-1, 0, 1)
    }

    def possible(time: int) -> bool:
        return all(True in could_be(test, {**times, THIS: time}, tick) for test in tests)

    if not edges or possible(max(edges) + 1):
        return None
    return max((time for time in edges if possible(time)), default=None)


def all_parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in expr.children():
        yield from all_parts(child)
