"""A condition with the values it met: `80 > 120 is false`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.errors import CepheidError, nearest
from cepheid.explain.event_words import value_text
from cepheid.explain.words import test_text
from cepheid.matching.comparison import TESTS
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Aggregate, Binary, Element, Expr, Field, Key, Length, rewrite


@dataclass(frozen=True)
class Where:
    """How a condition sees the world: the name a step has for itself, the names of the key."""

    alias: str | None = None  # of the step whose condition it is
    repeated: bool = False  # its own name is then the event captured before
    keys: tuple[str, ...] = ()

    @property
    def own(self) -> str | None:
        return self.alias if self.repeated else None


@dataclass(frozen=True)
class Tested:
    """A condition that did not hold. `value` is False, or None: unknown, because something is null."""

    test: str
    value: bool | None
    left: Any = None  # of a comparison
    op: str | None = None
    right: Any = None
    values: tuple[tuple[str, Any], ...] = ()  # of every name in it
    nulls: tuple[str, ...] = ()  # the names that are null
    hint: str | None = None
    expr: Expr | None = field(default=None, repr=False, compare=False)  # as the plan has it
    seen: tuple[Moment, Where] | None = field(default=None, repr=False, compare=False)  # what it looked at

    @property
    def met(self) -> str:
        """
        >>> Tested("b.v > a.v * 2", False, 80, ">", 120).met
        '80 > 120 is false'
        """
        verdict = "false" if self.value is False else "unknown"
        if self.op is not None:
            return f"{value_text(self.left)} {self.op} {value_text(self.right)} is {verdict}"
        listed = ", ".join(f"{n} = {value_text(v)}" for n, v in self.values)
        return f"{verdict} with {listed}" if listed else verdict

    def __str__(self) -> str:
        because = f", because {' and '.join(self.nulls)} is null" if self.value is None and self.nulls else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"`{self.test}`: {self.met}{because}{hint}"


def tested(expr: Expr, moment: Moment, where: Where) -> Tested | None:
    """What came of a condition, or None: it holds."""
    try:
        test = compile_test((expr,), own=where.own, keys=where.keys)
        if test is None or test(moment):
            return None
        return _failed(expr, moment, where)
    except CepheidError as mistake:  # values it cannot work on: the run itself would have failed so
        return Tested(shown_test(expr, where), None, hint=mistake.message, expr=expr)


def _failed(expr: Expr, moment: Moment, where: Where) -> Tested:
    value = compile_value(expr, own=where.own, keys=where.keys)(moment)
    values = tuple((name, _value(node, moment, where)) for name, node in _names(expr, where))
    nulls = tuple(name for name, v in values if v is None)
    found = Tested(
        shown_test(expr, where),
        None if value is None else False,
        values=values,
        nulls=nulls,
        hint=_missing(expr, moment) if nulls else None,
        expr=expr,
        seen=(moment, where),
    )
    if isinstance(expr, Binary) and expr.op in TESTS:
        left, right = (_value(side, moment, where) for side in (expr.left, expr.right))
        return replace(found, left=left, op=expr.op, right=right)
    return found


def _value(expr: Expr, moment: Moment, where: Where) -> Any:
    return compile_value(expr, own=where.own, keys=where.keys)(moment)


def shown_test(expr: Expr, where: Where) -> str:
    """A condition as one reads it away from its step."""
    return test_text(_named(expr, where))


def _named(expr: Expr, where: Where) -> Expr:
    """`amount > 5` of a step called b is `b.amount > 5`, wherever it is shown alone."""
    alias = where.alias
    if alias is None or where.repeated or alias.startswith("$"):
        return expr

    def change(node: Expr) -> Expr | None:
        return replace(node, alias=alias) if isinstance(node, Field) and node.alias is None else None

    return rewrite(expr, change)


def _names(expr: Expr, where: Where) -> Iterator[tuple[str, Expr]]:
    """Every value an expression looks at, once."""
    seen: set[str] = set()
    todo = [expr]
    while todo:
        node = todo.pop(0)
        if isinstance(node, (Field, Element, Length, Aggregate, Key)):
            name = shown_test(node, where)
            if name not in seen:
                seen.add(name)
                yield name, node
        else:
            todo = [*node.children(), *todo]


def _missing(expr: Expr, moment: Moment) -> str | None:
    """A field that the event does not even have is likely to be misspelt."""
    todo = [expr]
    while todo:
        node = todo.pop(0)
        todo += node.children()
        if isinstance(node, Field) and node.path and (event := _event(node, moment)) is not None:
            name = node.path[0]
            if name not in event.fields:
                known = {str(n) for n in event.fields}
                said = f"{event.type} has no field `{name}`"
                return f"{said}: {hint}" if (hint := nearest(name, known)) else said
    return None


def _event(node: Field, moment: Moment) -> Event | None:
    if node.alias is None:
        return moment.event
    binds: Mapping[str, tuple[Event, ...]] = moment.binds
    events = binds.get(node.alias)
    return events[-1] if events else None
