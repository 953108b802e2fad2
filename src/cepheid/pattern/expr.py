"""Expressions: one small language for every front end and every engine. Plain data, no behaviour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cepheid.errors import Place


@dataclass(frozen=True)
class Expr:
    """The root of all expressions; `place` never takes part in equality."""

    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Expr]:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Expr):
                yield value
            elif isinstance(value, tuple):
                yield from _expressions_in(value)


def _expressions_in(values: tuple[Any, ...]) -> Iterator[Expr]:
    for value in values:
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from _expressions_in(value)


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    """A constant. `1`, `1.0` and `true` are three, though Python takes them for equal.

    >>> Literal(1) == Literal(True), Literal(1) == Literal(1)
    (False, True)
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.value.__class__ is other.value.__class__ and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Literal, self.value.__class__, self.value))


@dataclass(frozen=True)
class Field(Expr):
    """`alias.f.g`; without an alias, a field of the event at hand. Of a closure: its last event's."""

    alias: str | None
    path: tuple[str, ...]


@dataclass(frozen=True)
class Element(Expr):
    """`b[i].f`, `first(b).f` (index 0), `last(b).f` (index -1, which only this form may use)."""

    alias: str
    index: Expr
    path: tuple[str, ...] = ()
    from_end: bool = False


@dataclass(frozen=True)
class Length(Expr):
    """`b.LEN`, `count(b)`."""

    alias: str


@dataclass(frozen=True)
class Aggregate(Expr):
    """`sum(b.f)`, `collect(b.f)`, ... over the events a closure captured."""

    name: str
    alias: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Key(Expr):
    """A partition column by its name, where the whole match is at hand."""

    name: str


@dataclass(frozen=True)
class Unary(Expr):
    op: str  # "-", "not"
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    op: str  # == != < <= > >= + - * / % ** and or
    left: Expr
    right: Expr


@dataclass(frozen=True)
class In(Expr):
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expr):
    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class Case(Expr):
    """`case when c then x ... else y end`, `if(c, x, y)`."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A scalar function, or a function of the match such as `match_id()` and `count_matches()`."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Opaque(Expr):
    """A Python function no planner can see into; `aliases` is what it is given, by name."""

    function: Callable[..., Any]
    aliases: tuple[str, ...]
    name: str = "lambda"


TRUE = Literal(True)

AGGREGATES = ("sum", "avg", "min", "max", "stddev", "distinct_count", "collect")
MATCH_FUNCTIONS = ("match_id", "match_start", "match_end", "count_matches")


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it."""
    yield expr
    for child in expr.children():
        yield from walk(child)


def aliases_in(expr: Expr) -> frozenset[str]:
    """Every alias an expression names."""
    names: set[str] = set()
    for node in walk(expr):
        if isinstance(node, (Field, Element, Length, Aggregate)) and node.alias is not None:
            names.add(node.alias)
        elif isinstance(node, Opaque):
            names.update(node.aliases)
    return frozenset(names)


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """`p and q and r` as (p, q, r)."""
    if expr is None or expr == TRUE:
        return ()
    if isinstance(expr, Binary) and expr.op == "and":
        return conjuncts(expr.left) + conjuncts(expr.right)
    return (expr,)


def conjunction(parts: tuple[Expr, ...] | list[Expr]) -> Expr | None:
    """The other way round; nothing to test is None."""
    result: Expr | None = None
    for part in parts:
        result = part if result is None else Binary("and", result, part, place=result.place)
    return result


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """A copy with every node for which `change` answers replaced by its answer."""
    changed = change(expr)
    if changed is not None:
        return changed
    updates = {}
    for f in fields(expr):
        value = getattr(expr, f.name)
        new = _rewrite_value(value, change)
        if new is not value:
            updates[f.name] = new
    return replace(expr, **updates) if updates else expr


def _rewrite_value(value: Any, change: Callable[[Expr], Expr | None]) -> Any:
    if isinstance(value, Expr):
        return rewrite(value, change)
    if isinstance(value, tuple):
        new = tuple(_rewrite_value(v, change) for v in value)
        return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
    return value
