"""Expressions of rules as functions of a tuple of objects.

In them the alias of a field is the place of an object in the tuple: `"2"` is the object as it was matched, `"2!"` the
same fact as it is now. An empty path is the identity. All else means what it means everywhere in the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from cepheid.errors import PatternMistake
from cepheid.matching.arithmetic import arithmetic, negative
from cepheid.matching.calls import call
from cepheid.matching.comparison import TESTS, comparison, membership
from cepheid.matching.fields import literal, reader
from cepheid.matching.keys import lookup_key as coarse_key
from cepheid.matching.logic import both, case, condition, either, is_null, negation
from cepheid.matching.moment import Moment, Names
from cepheid.matching.python_function import opaque
from cepheid.pattern.expr import (
    Binary,
    Call,
    Case,
    Expr,
    Field,
    In,
    IsNull,
    Literal,
    Opaque,
    Unary,
    rewrite,
    walk,
)
from cepheid.pattern.functions import check_literals, find_function
from cepheid.pattern.text import Verbatim, expr_text
from cepheid.pattern.time_of import TIME
from cepheid.pattern.time_test import TimeTest
from cepheid.pattern.values import Clash, clean, equal
from cepheid.rules.changed_fact import FactField
from cepheid.rules.stamps import Stamp

Value = Callable[[Any], Any]  # of a tuple of objects, or of two: as matched, and as they are now
Test = Callable[[Any], bool]
NOW = "!"


def place(alias: str) -> int:
    """
    >>> place("2"), place("2!")
    (2, 2)
    """
    return int(alias.removesuffix(NOW))


def places(expr: Expr) -> frozenset[int]:
    """Of all objects that an expression looks at."""
    return frozenset(map(place, aliases(expr)))


def aliases(expr: Expr) -> Iterable[str]:
    for node in walk(expr):
        if isinstance(node, Field) and node.alias is not None:
            yield node.alias
        elif isinstance(node, TimeTest):
            yield from (node.left, node.right)
        elif isinstance(node, Opaque):
            yield from node.aliases


def value_of(expr: Expr) -> Value:
    """Of one tuple: facts are now as they were matched."""
    return _compile(expr, _get_matched)


def test_of(exprs: Sequence[Expr]) -> Test | None:
    """Are all of them true? None if there are none."""
    return _all([_condition(e, _get_matched) for e in exprs])


def value_in_two_worlds(expr: Expr) -> Value:
    """Of a pair of tuples."""
    return _compile(expr, _get_of_pair)


def test_in_two_worlds(exprs: Sequence[Expr]) -> Test | None:
    return _all([_condition(e, _get_of_pair) for e in exprs])


def _all(tests: list[Value]) -> Test | None:
    if not tests:
        return None
    if len(tests) == 1:
        only = tests[0]
        return lambda objects: only(objects) is True
    if len(tests) == 2:
        first, second = tests
        return lambda objects: first(objects) is True and second(objects) is True
    return lambda objects: all(test(objects) is True for test in tests)


# How an object is found.

_Get = Callable[[str], Callable[[Any], Any]]


def _get_matched(alias: str) -> Callable[[Any], Any]:
    at = place(alias)
    return lambda objects: objects[at]


def _get_of_pair(alias: str) -> Callable[[Any], Any]:
    at = place(alias)
    world = 1 if alias.endswith(NOW) else 0
    return lambda pair: pair[world][at]


def _field(expr: Field, get: _Get) -> Value:
    assert expr.alias is not None
    if get is _get_matched:
        return _matched_field(place(expr.alias), expr.path)
    find = get(expr.alias)
    if not expr.path:
        return lambda objects: find(objects).identity
    read: Callable[[Any], Any] = reader(expr.path)
    return lambda objects: read(find(objects))


def _matched_field(at: int, path: tuple[str, ...]) -> Value:
    if not path:
        return lambda objects: objects[at].identity
    if len(path) > 1:
        read: Callable[[Any], Any] = reader(path)
        return lambda objects: read(objects[at])
    name = path[0]

    def field(objects: Any) -> Any:
        value = objects[at].fields.get(name)
        return value if value == value else None  # NaN is null

    return field


def _stamp(expr: Stamp, get: _Get) -> Value:
    find, shown = get(str(expr.event.alias)), expr.shown
    if not expr.named:
        return lambda objects: shown(find(objects).time)

    def named(objects: Any) -> Any:
        event = find(objects)
        return clean(event.fields[TIME]) if TIME in event.fields else shown(event.time)

    return named


def _fact_field(expr: FactField, get: _Get) -> Value:
    find = get(str(expr.event.alias))
    read: Callable[[Any], Any] = reader(expr.path)
    return lambda objects: read(find(objects).fact)


# Each kind of expression.


def _compile(expr: Expr, get: _Get) -> Value:
    match expr:
        case Literal():
            return literal(expr)
        case Field():
            return _field(expr, get)
        case TimeTest():
            return _time_test(expr, get)
        case Stamp():
            return _stamp(expr, get)
        case FactField():
            return _fact_field(expr, get)
        case Unary(op="not", operand=operand):
            return negation(_condition(operand, get))
        case Unary(operand=operand):
            return negative(in_words(expr), _compile(operand, get))
        case Binary():
            return _binary(expr, get)
        case In(operand=operand, items=items):
            return membership(in_words(expr), _compile(operand, get), [_compile(i, get) for i in items])
        case IsNull(operand=operand):
            return is_null(expr, _compile(operand, get))
        case Case(branches=branches, default=default):
            pairs = [(_condition(test, get), _compile(value, get)) for test, value in branches]
            return case(pairs, _compile(default, get))
        case Call(args=args):
            function = find_function(expr)
            check_literals(expr)
            return call(in_words(expr), function, [_compile(a, get) for a in args])
        case Opaque():
            return _opaque(expr, get)
    raise PatternMistake(
        f"`{expr_text(expr)}` has no meaning in a rule",
        code="unsupported_in_rules",
        place=expr.place,
        hint="rules look at fields of single facts and events",
    )


def _condition(expr: Expr, get: _Get) -> Value:
    compiled = _compile(expr, get)
    return compiled if isinstance(expr, TimeTest) else condition(in_words(expr), compiled)


Words = TypeVar("Words", bound=Expr)


def in_words(expr: Words) -> Words:
    """For messages: the objects of a node have other names in each rule, so fields go without."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field):
            return Verbatim(".".join(node.path) or "?", place=node.place)
        if isinstance(node, FactField):
            return Verbatim(".".join(node.path), place=node.place)
        if isinstance(node, Stamp):
            return Verbatim(TIME if node.named else "timeof(?)", place=node.place)
        return None

    return rewrite(expr, change)  # type: ignore[return-value]


def _binary(expr: Binary, get: _Get) -> Value:
    if expr.op in ("and", "or"):
        combine = both if expr.op == "and" else either
        return combine(_condition(expr.left, get), _condition(expr.right, get))
    left, right = _compile(expr.left, get), _compile(expr.right, get)
    if expr.op in ("==", "!=") and (is_identity(expr.left) or is_identity(expr.right)):
        return _same_identity(left, right, expr.op == "==")
    return (comparison if expr.op in TESTS else arithmetic)(in_words(expr), left, right)


def is_identity(expr: Expr) -> bool:
    return isinstance(expr, Field) and expr.path == ()


def _same_identity(left: Value, right: Value, wanted: bool) -> Value:
    """A value of another kind is not the identity of an object: no clash, just another one."""

    def same(objects: Any) -> bool | None:
        a, b = left(objects), right(objects)
        if a is None or b is None:
            return None
        if a.__class__ is b.__class__ and a.__class__ in (int, str):
            return (a == b) is wanted
        try:
            found = equal(a, b)
        except Clash:
            found = False
        return found if found is None else found is wanted

    return same


def _time_test(expr: TimeTest, get: _Get) -> Value:
    low, high = bounds(expr)
    if get is _get_matched:
        a, b = place(expr.left), place(expr.right)
        if low == -INF:
            return lambda objects: objects[a].time - objects[b].time <= high
        if high == INF:
            return lambda objects: low <= objects[a].time - objects[b].time
        return lambda objects: low <= objects[a].time - objects[b].time <= high
    left, right = get(expr.left), get(expr.right)
    return lambda objects: low <= left(objects).time - right(objects).time <= high


INF = float("inf")


def bounds(expr: TimeTest) -> tuple[float, float]:
    """Both bounds in microseconds; they were made so when the rule was resolved."""
    low = -INF if expr.low is None else expr.low.amount
    return low, INF if expr.high is None else expr.high.amount


def _opaque(expr: Opaque, get: _Get) -> Value:
    finders = {alias: get(alias) for alias in expr.aliases}
    function = opaque(expr, Names(None, ()))

    def called(objects: Any) -> Any:
        return function(Moment(None, {alias: (find(objects),) for alias, find in finders.items()}))

    return called


# Keys of indexes.

EXACT = 2**53  # smaller whole numbers are floats, too


def lookup_key(value: Any) -> Any:
    """Equal wherever the language finds values equal. Coarser is safe: the test itself is asked afterwards.

    >>> lookup_key(1) == lookup_key(1.0), lookup_key(1) == lookup_key(True)
    (True, False)
    """
    kind = value.__class__
    if kind is str or (kind is int and -EXACT < value < EXACT):
        return value
    key = coarse_key((value,), inferred=True)[0]
    return (key,) if key.__class__ is str else key  # no text that a user may have
