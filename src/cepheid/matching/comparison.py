"""Comparisons and `in`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from cepheid.matching.evaluation_errors import raise_clash
from cepheid.matching.moment import Moment, Value, constant
from cepheid.pattern.expr import Binary, In, Literal
from cepheid.pattern.values import VERBS, Clash, clean, equal, ordered_pair

# Of one class, these compare as Python compares them. (Of datetimes the time zones may differ.)
_PLAIN = frozenset({int, str, bool, float, timedelta, bytes, Decimal})
TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def comparison(expr: Binary, left: Value, right: Value) -> Value:
    test = TESTS[expr.op]
    if isinstance(expr.right, Literal):
        return _comparison_with(expr, left, clean(expr.right.value), test)

    def compare(moment: Moment) -> bool | None:
        a = left(moment)
        if a is None:
            return None
        b = right(moment)
        if b is None:
            return None
        kind = a.__class__
        if kind is b.__class__ and kind in _PLAIN:
            return test(a, b)
        return _compare_mixed(expr, a, b, test)

    return compare


def _comparison_with(expr: Binary, left: Value, constant: Any, test: Callable[[Any, Any], bool]) -> Value:
    """The commonest test: a field against a literal, and `price > 100` where the price is a float."""
    if constant is None:
        return lambda moment: None
    plain = constant.__class__ if constant.__class__ in _PLAIN else None
    widened = float(constant) if plain is int and abs(constant) < 2**53 else None

    def compare(moment: Moment) -> bool | None:
        a = left(moment)
        if a is None:
            return None
        if a.__class__ is plain:
            return test(a, constant)
        if widened is not None and a.__class__ is float:
            return test(a, widened)
        return _compare_mixed(expr, a, constant, test)

    return compare


def _compare_mixed(expr: Binary, a: Any, b: Any, test: Callable[[Any, Any], bool]) -> bool | None:
    try:
        if expr.op in ("==", "!="):
            same = equal(a, b)
            return same if same is None or expr.op == "==" else not same
        return test(*ordered_pair(a, b))
    except Clash as clash:
        raise_clash(expr, clash, VERBS[expr.op], expr.op)


def membership(expr: In, operand: Value, items: list[Value]) -> Value:
    members = _literal_members(expr)
    return _in_any(expr, operand, items) if members is None else _in_literals(expr, operand, members)


def _literal_members(expr: In) -> frozenset[Any] | None:
    """The items as a set if they are literals of one class that compares by hash."""
    values = [clean(item.value) for item in expr.items if isinstance(item, Literal)]
    if not values or len(values) < len(expr.items) or None in values:
        return None
    kinds = {value.__class__ for value in values}
    return frozenset(values) if len(kinds) == 1 and kinds <= {int, str} else None


def _in_literals(expr: In, operand: Value, members: frozenset[Any]) -> Value:
    negated = expr.negated
    kind = next(iter(members)).__class__
    slow = _among(expr, [constant(value) for value in members])

    def among(moment: Moment) -> bool | None:
        value = operand(moment)
        if value is None:
            return None
        if value.__class__ is kind:
            return (value in members) is not negated
        return slow(moment, value)

    return among


def _in_any(expr: In, operand: Value, items: list[Value]) -> Value:
    among = _among(expr, items)
    empty = expr.negated if not expr.items else None
    return lambda moment: empty if (value := operand(moment)) is None else among(moment, value)


def _among(expr: In, items: list[Value]) -> Callable[[Moment, Any], bool | None]:
    def among(moment: Moment, value: Any) -> bool | None:
        unknown = False
        for item in items:
            other = item(moment)
            same = None if other is None else _same(expr, value, other)
            if same:
                return not expr.negated
            unknown = unknown or same is None
        return None if unknown else expr.negated

    return among


def _same(expr: In, value: Any, other: Any) -> bool | None:
    try:
        return equal(value, other)
    except Clash as clash:
        raise_clash(expr, clash, VERBS["=="], "==")
