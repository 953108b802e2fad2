"""Conditions in Python: `b.user == a.user` builds the expression that the text `b.user == a.user` is read as.

A `Value` wraps an expression of the model and knows Python's operators; nothing is computed, only written
down. Methods win over fields of the same name: fields called `where` or `like` are `a["where"]`, `a["like"]`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any, NoReturn

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import (
    AGGREGATES,
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Length,
    Literal,
    Opaque,
    Unary,
)
from cepheid.pattern.text import expr_text


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """An expression being written. `& | ~` are and, or, not.

    >>> (field("amount") * 2 > 5000) & field("user").is_not_null()
    <amount * 2 > 5000 and user is not null>
    """

    _expr: Expr

    # Python asks for a truth value in `if`, `and`, `or`, `not` and chained comparisons; there is none yet.
    def __bool__(self) -> NoReturn:
        raise PatternMistake(
            f"`{expr_text(self._expr)}` is still to be tested; Python cannot take its truth value",
            code="truth_value",
            hint="write (p) & (q), (p) | (q), ~(p) for and, or, not; and (x < y) & (y < z) for x < y < z",
        )

    def __repr__(self) -> str:
        return f"<{expr_text(self._expr)}>"

    # A value is no container; without this Python would try `x[0]`, `x[1]`, ... without an end.
    __iter__: None = None
    __contains__: None = None

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return _compare("==", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return _compare("!=", self, other)

    def __lt__(self, other: object) -> Value:
        return _compare("<", self, other)

    def __le__(self, other: object) -> Value:
        return _compare("<=", self, other)

    def __gt__(self, other: object) -> Value:
        return _compare(">", self, other)

    def __ge__(self, other: object) -> Value:
        return _compare(">=", self, other)

    def __add__(self, other: object) -> Value:
        return _binary("+", self, other)

    def __radd__(self, other: object) -> Value:
        return _binary("+", other, self)

    def __sub__(self, other: object) -> Value:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Value:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Value:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Value:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Value:
        return _binary("/", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return _binary("/", other, self)

    def __mod__(self, other: object) -> Value:
        return _binary("%", self, other)

    def __rmod__(self, other: object) -> Value:
        return _binary("%", other, self)

    def __pow__(self, other: object) -> Value:
        return _binary("**", self, other)

    def __rpow__(self, other: object) -> Value:
        return _binary("**", other, self)

    def __neg__(self) -> Value:
        return Computed(_negative(self._expr))

    def __and__(self, other: Condition) -> Value:
        return Computed(Binary("and", self._expr, condition(other)))

    def __rand__(self, other: Condition) -> Value:
        return Computed(Binary("and", condition(other), self._expr))

    def __or__(self, other: Condition) -> Value:
        return Computed(Binary("or", self._expr, condition(other)))

    def __ror__(self, other: Condition) -> Value:
        return Computed(Binary("or", condition(other), self._expr))

    def __invert__(self) -> Value:
        return Computed(Unary("not", self._expr))

    def is_null(self) -> Value:
        return Computed(IsNull(self._expr))

    def is_not_null(self) -> Value:
        return Computed(IsNull(self._expr, negated=True))

    def is_in(self, items: Iterable[object]) -> Value:
        """`x in (1, 2)`.

        >>> field("state").is_in(["new", "open"])
        <state in ("new", "open")>
        """
        return Computed(In(self._expr, _items(items)))

    def not_in(self, items: Iterable[object]) -> Value:
        return Computed(In(self._expr, _items(items), negated=True))

    def like(self, pattern: object) -> Value:
        """SQL's `like`: `%` is any text, `_` any one character."""
        return Computed(Call("like", (self._expr, expression(pattern))))

    def not_like(self, pattern: object) -> Value:
        return ~self.like(pattern)


@dataclass(frozen=True, eq=False, repr=False)
class Computed(Value):
    """Any value but a path. No base of `Path`: Python asks a subclass first and would turn `x < y` round."""


@dataclass(frozen=True, eq=False, repr=False)
class Path(Value):
    """A field, also of an element: `a.user`, `a.address.city`, `first(b).id`; `x["where"]` for any name."""

    _expr: Field | Element

    def __getattr__(self, name: str) -> Path:
        if name.startswith("_"):  # Python's own questions (copying, pickling, display) are no fields
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Path:
        if not isinstance(name, str):
            raise PatternMistake(
                f"`{expr_text(self._expr)}[{name!r}]`: a field holds no numbered elements",
                code="bad_argument",
                hint="only events of a closure are, b[0].id; a field inside a field is x.name or x['name']",
            )
        path = (*self._expr.path, check_name(name))
        if isinstance(self._expr, Field):
            return Path(Field(self._expr.alias, path))
        return Path(Element(self._expr.alias, self._expr.index, path, self._expr.from_end))

    def __call__(self, *arguments: object, **named: object) -> NoReturn:
        raise PatternMistake(
            f"`{self._expr.path[-1] if self._expr.path else expr_text(self._expr)}` is read as a field here, "
            "and a field cannot be called",
            code="unknown_operator",
            hint="a misspelt method? Scalar functions are written func.lower(a.name)",
        )


class Aliased(ABC):
    """What has a name that conditions can use: a step. `a.user` is a field, `b[0]` an event of a closure."""

    @abstractmethod
    def _alias(self) -> str | None:
        """The name, if it has one."""

    def __getattr__(self, name: str) -> Path:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, key: str | int | Value) -> Path:
        alias = alias_of(self)
        if isinstance(key, str):
            return Path(Field(alias, (_no_length(check_name(key)),)))
        if isinstance(key, int) and key == -1:
            return last(self)
        if isinstance(key, int) and key < 0:
            raise PatternMistake(
                f"`{alias}[{key}]`: the events of a closure are numbered from 0",
                code="bad_argument",
                hint=f"the last is last({alias}), the one before it {alias}[{alias}.LEN - 2]",
            )
        return Path(Element(alias, expression(key)))

    @property
    def LEN(self) -> Value:
        """How many events a closure holds, as `b.LEN` in the text."""
        return count(self)

    __iter__: None = None
    __contains__: None = None

    # Comparing steps would give Python's False, and the condition would silently never hold.
    def __eq__(self, other: object) -> bool:
        return self is other or whole_event(self)

    def __ne__(self, other: object) -> bool:
        return self is not other and whole_event(self)

    def __lt__(self, other: object) -> NoReturn:
        whole_event(self)

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = object.__hash__


Condition = Value | Expr | Callable[..., object]
"""What `where` takes: an expression, or a Python function that no planner can look into."""


# From Python values to expressions.


def field(name: str, *inner: str) -> Path:
    """A field of the event at hand; where the whole match is at hand, a partition column.

    Args:
        name: The field.
        inner: Fields inside it, one by one.

    >>> field("amount"), field("address", "city"), field("login.failed")
    (<amount>, <address.city>, <`login.failed`>)
    """
    return Path(Field(None, tuple(check_name(n) for n in (name, *inner))))


def lit(value: object) -> Value:
    """A constant, where Python would otherwise compute before the expression begins.

    >>> lit(2) ** 10 < field("size")
    <2 ** 10 < size>
    """
    return Computed(expression(value))


def expression(value: object) -> Expr:
    """The expression of a `Value`, or a constant."""
    if isinstance(value, Value):
        return value._expr
    if isinstance(value, Expr):
        return value
    if isinstance(value, Aliased):
        whole_event(value)
    if value is None or isinstance(value, (bool, str)):
        return Literal(str(value) if isinstance(value, str) else value)
    if isinstance(value, timedelta):
        return Literal(value) if value >= timedelta(0) else Unary("-", Literal(-value))
    if isinstance(value, date):  # a datetime is one, too; the language has no literals for either
        return Call("timestamp", (Literal(value.isoformat()),))
    if isinstance(value, Integral):
        return Literal(int(value))
    if isinstance(value, Real):
        number = float(value)
        return Literal(number if number == number else None)  # NaN is null, everywhere
    raise _not_a_value(value)


def condition(value: object) -> Expr:
    """The expression of a condition; a function becomes an opaque one."""
    if isinstance(value, (Value, Expr, Aliased)):
        return expression(value)
    if callable(value) and not inspect.ismethod(value):
        return _opaque(value)
    raise PatternMistake(
        f"the condition is the Python value {value!r}, not an expression",
        code="not_a_condition",
        hint="compare fields, in parentheses beside & and |: (a.x == 1) & (a.y == 2); "
        'a constant is lit(True), a field called like a method a["limit"]',
    )


def _opaque(function: Callable[..., object]) -> Opaque:
    """All parameters without a default; which of them name steps is seen when all steps are known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise _bad_function(function) from None
    names = tuple(p.name for p in parameters if p.default is p.empty)
    kinds = {p.kind for p in parameters if p.default is p.empty}
    # Engines give the arguments by position.
    if not names or not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        raise _bad_function(function)
    name = getattr(function, "__name__", type(function).__name__)
    return Opaque(function, names, "lambda" if name == "<lambda>" else name)


def _bad_function(function: object) -> PatternMistake:
    return PatternMistake(
        f"{function!r} does not say by its parameters what it needs",
        code="bad_argument",
        hint="name the parameters like the steps: lambda a, b: ...; or take the event: lambda event: ...",
    )


def _not_a_value(value: object) -> PatternMistake:
    if inspect.ismethod(value):
        name = value.__name__
        return PatternMistake(
            f"`{name}` is a method here, not a field",
            code="not_a_value",
            hint=f'the field is written a["{name}"]',
        )
    return PatternMistake(
        f"a {type(value).__name__} cannot stand in an expression",
        code="not_a_value",
        hint="numbers, strings, bools, None, times (datetime) and durations (timedelta) can",
    )


def check_name(name: object) -> str:
    """A name the text language can write, in back quotes if need be."""
    if isinstance(name, str) and name and not set(name) & {"`", "\n"}:
        return str(name)
    raise PatternMistake(
        f"{name!r} cannot be a name", code="bad_name", hint="a name is text without back quotes and line ends"
    )


def _no_length(name: str) -> str:
    if name == "LEN":
        raise PatternMistake(
            "a field of a step cannot be called `LEN`", code="bad_name", hint="b.LEN is its length"
        )
    return name


def alias_of(step: Aliased | str) -> str:
    """The name of a step; that it has one is checked."""
    if isinstance(step, str):
        return check_name(step)
    if not isinstance(step, Aliased):
        raise PatternMistake(
            f"{step!r} is not a step", code="bad_argument", hint='a step is event("A").as_("a")'
        )
    alias = step._alias()
    if alias is None:
        raise PatternMistake(
            "this step has no name yet, so nothing can refer to it",
            code="unnamed_step",
            hint='name it first: a = event("A").as_("a"); in its own condition field("x") needs no name',
        )
    return alias


def whole_event(step: Aliased) -> NoReturn:
    alias = step._alias() or "a"
    raise PatternMistake(
        f"`{alias}` is a whole event, not a value",
        code="whole_event",
        hint=f"name a field of it, for example {alias}.user",
    )


def _items(items: Iterable[object]) -> tuple[Expr, ...]:
    if isinstance(items, (str, Value)):
        raise PatternMistake("`is_in` takes a list", code="bad_argument", hint='write x.is_in(["a", "b"])')
    return tuple(expression(item) for item in items)


def _binary(op: str, left: object, right: object) -> Value:
    return Computed(Binary(op, expression(left), expression(right)))


def _compare(op: str, left: Value, right: object) -> Value:
    if right is None:
        raise PatternMistake(
            "a comparison with None is never true",
            code="compare_with_null",
            hint="write x.is_null() or x.is_not_null(); if unknown is really meant, compare with lit(None)",
        )
    return _binary(op, left, right)


def _negative(expr: Expr) -> Expr:
    """As in the text, a minus before a number belongs to the number."""
    if (
        isinstance(expr, Literal)
        and isinstance(expr.value, (int, float))
        and not isinstance(expr.value, bool)
    ):
        return Literal(-expr.value)
    return Unary("-", expr)


# Functions.


def count(step: Aliased | str) -> Value:
    """How many events a closure holds.

    Args:
        step: The step, or its name.
    """
    return Computed(Length(alias_of(step)))


def first(step: Aliased | str) -> Path:
    """The first event of a closure.

    Args:
        step: The step, or its name.

    >>> first("b").id, last("b").id, sum_(field("b", "price"))
    (<b[0].id>, <last(b).id>, <sum(b.price)>)
    """
    return Path(Element(alias_of(step), Literal(0)))


def last(step: Aliased | str) -> Path:
    """The last event of a closure.

    Args:
        step: The step, or its name.
    """
    return Path(Element(alias_of(step), Literal(0), from_end=True))


def aggregate(name: str, *values: object) -> Value:
    """`sum(b.price)` and the like, over the events a closure holds."""
    found = values[0]._expr if len(values) == 1 and isinstance(values[0], Path) else None
    if isinstance(found, Field):
        alias, *path = (found.alias, *found.path) if found.alias is not None else found.path
        if path:
            return Computed(Aggregate(name, alias, tuple(path)))
    hint = f"write {name}(b.price), where b is the name of a step"
    if name in ("min", "max") and len(values) > 1:
        hint = f"for several values use func.{'least' if name == 'min' else 'greatest'}(...)"
    raise PatternMistake(f"`{name}` takes one field of a named step", code="bad_aggregate", hint=hint)


def sum_(values: Path) -> Value:
    return aggregate("sum", values)


def avg(values: Path) -> Value:
    return aggregate("avg", values)


def min_(values: Path) -> Value:
    return aggregate("min", values)


def max_(values: Path) -> Value:
    return aggregate("max", values)


def stddev(values: Path) -> Value:
    return aggregate("stddev", values)


def distinct_count(values: Path) -> Value:
    return aggregate("distinct_count", values)


def collect(values: Path) -> Value:
    return aggregate("collect", values)


def if_(test: Condition, then: object, otherwise: object = None) -> Value:
    """One of two values.

    >>> if_(field("amount") > 100, "high", "low")
    <case when amount > 100 then "high" else "low" end>
    """
    return case((test, then), otherwise=otherwise)


def case(*branches: tuple[Condition, object], otherwise: object = None) -> Value:
    """The value of the first branch whose condition holds."""
    if not branches:
        raise PatternMistake(
            "`case` without branches", code="bad_argument", hint="write case((x > 1, 'big'))"
        )
    return Computed(Case(tuple((condition(c), expression(v)) for c, v in branches), expression(otherwise)))


class Functions:
    """Scalar functions by name: `func.lower(a.name)`, `func.coalesce(a.x, 0)`, `func.match_id()`.

    >>> func.lower(field("name")) == "eve"
    <lower(name) == "eve">
    """

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *values: _call(name.lower(), values)


func = Functions()


def _call(name: str, values: tuple[Any, ...]) -> Value:
    """The names that mean more than a scalar function mean the same here as in the text."""
    only = values[0] if len(values) == 1 and isinstance(values[0], Aliased) else None
    special = {"count": count, "first": first, "last": last}.get(name)
    if special is not None and only is not None:
        return special(only)
    if name in AGGREGATES:
        return aggregate(name, *values)
    if name == "if" and len(values) == 3:
        return if_(*values)
    return Computed(Call(name, tuple(expression(v) for v in values)))
