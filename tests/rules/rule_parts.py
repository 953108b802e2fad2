"""Short ways to write rules as data, and happenings as values that can be compared."""

from __future__ import annotations

from typing import Any

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.pattern.rule_model import THIS, Assignment, BoundValue, Shape, object_field
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.rules.happenings import Happening
from cepheid.rules.objects import Event, Fact


def own(name: str) -> Field:
    """A field of the object at hand."""
    return Field(None, (name,))


def eq(left: Expr | str, right: Any) -> Binary:
    return compare("==", left, right)


def compare(op: str, left: Expr | str, right: Any) -> Binary:
    left = own(left) if isinstance(left, str) else left
    return Binary(op, left, right if isinstance(right, Expr) else Literal(right))


def var(name: str, *path: str) -> Field:
    return object_field(name, *path)


def after(low: int | None, high: int | None, right: str, left: str = THIS) -> TimeTest:
    """`left after[low, high] right`, in ticks."""
    return TimeTest(left, right, *(None if b is None else Span(b, ticks=True) for b in (low, high)))


def shape(type: str, *tests: Expr, **values: Expr) -> Shape:
    return Shape(type, tests, tuple(BoundValue(name, value) for name, value in values.items()))


def assigned(**values: Any) -> tuple[Assignment, ...]:
    return tuple(Assignment(n, v if isinstance(v, Expr) else Literal(v)) for n, v in values.items())


def plain(value: Any) -> Any:
    """A happening with all that it holds as plain values."""
    if isinstance(value, Fact):
        return ("fact", value.type, value.identity, dict(value.fields), value.number, value.time)
    if isinstance(value, Event):
        return ("event", value.type, value.identity, plain(dict(value.fields)), value.number, value.time)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, Happening):
        names = value.__dataclass_fields__
        return (type(value).__name__, {n: plain(getattr(value, n)) for n in names})
    return value
