"""Expressions to Python closures. Every node is specialised once, at compile time; null is None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cepheid.matching.aggregates import aggregate
from cepheid.matching.arithmetic import arithmetic, negative
from cepheid.matching.calls import call, match_function
from cepheid.matching.comparison import TESTS, comparison, membership
from cepheid.matching.fields import element, field, key, last_element, length, literal
from cepheid.matching.logic import both, case, condition, either, is_null, negation
from cepheid.matching.moment import Moment, Names, Test, Value
from cepheid.matching.own_name import where_own_is_known
from cepheid.matching.python_function import opaque
from cepheid.pattern.expr import (
    MATCH_FUNCTIONS,
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Key,
    Length,
    Literal,
    Opaque,
    Unary,
)
from cepheid.pattern.functions import check_literals, find_function


def compile_value(expr: Expr, *, own: str | None = None, keys: tuple[str, ...] = ()) -> Value:
    """The expression as a function of the moment."""
    return _compile(expr, Names(own, keys))


def compile_test(exprs: Sequence[Expr], *, own: str | None = None, keys: tuple[str, ...] = ()) -> Test | None:
    """True where all conjuncts are true (not false, not unknown); None if there is nothing to test."""
    names = Names(own, keys)
    tests = [_conjunct(expr, names) for expr in exprs]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda moment: first(moment) and second(moment)
    return lambda moment: all(test(moment) for test in tests)


def _conjunct(expr: Expr, names: Names) -> Test:
    value = _condition(expr, names)

    def test(moment: Moment) -> bool:
        return value(moment) is True

    return test if names.own is None else where_own_is_known(expr, names.own, test)


def _condition(expr: Expr, names: Names) -> Value:
    return condition(expr, _compile(expr, names))


def _compile(expr: Expr, names: Names) -> Value:
    return _COMPILERS[type(expr)](expr, names)


# Each compiles the operands and leaves the rest to the file of its topic.


def _element(expr: Element, names: Names) -> Value:
    return last_element(expr) if expr.from_end else element(expr, _compile(expr.index, names))


def _unary(expr: Unary, names: Names) -> Value:
    if expr.op == "not":
        return negation(_condition(expr.operand, names))
    return negative(expr, _compile(expr.operand, names))


def _binary(expr: Binary, names: Names) -> Value:
    if expr.op in ("and", "or"):
        combine = both if expr.op == "and" else either
        return combine(_condition(expr.left, names), _condition(expr.right, names))
    calculate = comparison if expr.op in TESTS else arithmetic
    return calculate(expr, _compile(expr.left, names), _compile(expr.right, names))


def _in(expr: In, names: Names) -> Value:
    return membership(expr, _compile(expr.operand, names), [_compile(item, names) for item in expr.items])


def _is_null(expr: IsNull, names: Names) -> Value:
    return is_null(expr, _compile(expr.operand, names))


def _case(expr: Case, names: Names) -> Value:
    branches = [(_condition(test, names), _compile(value, names)) for test, value in expr.branches]
    return case(branches, _compile(expr.default, names))


def _call(expr: Call, names: Names) -> Value:
    if expr.name in MATCH_FUNCTIONS:
        return match_function(expr)
    function = find_function(expr)
    check_literals(expr)
    return call(expr, function, [_compile(arg, names) for arg in expr.args])


_COMPILERS: dict[type[Expr], Callable[[Any, Names], Value]] = {
    Literal: lambda expr, names: literal(expr),
    Field: field,
    Element: _element,
    Length: lambda expr, names: length(expr),
    Aggregate: lambda expr, names: aggregate(expr),
    Key: key,
    Unary: _unary,
    Binary: _binary,
    In: _in,
    IsNull: _is_null,
    Case: _case,
    Call: _call,
    Opaque: opaque,
}
