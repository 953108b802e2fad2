"""Arithmetic: a table of operations by the kinds of both sides."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.evaluation_errors import raise_clash, raise_overflow, short
from cepheid.matching.moment import Moment, Value
from cepheid.pattern.expr import Binary, Expr, Literal, Unary
from cepheid.pattern.text import expr_text
from cepheid.pattern.values import VERBS, Clash, as_utc, float_power, kind_of, kind_text

_Operation = Callable[[Any, Any], Any]
_Table = dict[tuple[str, str], _Operation]
_EXACT = Context(prec=400)  # sums and products of decimals lose nothing
_QUOTIENT = Context(prec=38)  # what a decimal column holds
_MOST_BITS = 100_000  # of an integer power: beyond it a pattern could stop the machine


def _numbers(plain: _Operation, decimal: _Operation) -> _Table:
    """int and float widen to float, int and Decimal to Decimal, Decimal and float to float."""

    def floats(a: Any, b: Any) -> Any:
        return plain(float(a), float(b))

    table: _Table = {(a, b): plain for a in ("int", "float") for b in ("int", "float")}
    table.update({("decimal", "decimal"): decimal, ("decimal", "int"): decimal, ("int", "decimal"): decimal})
    table.update({("decimal", "float"): floats, ("float", "decimal"): floats})
    return table


def _divide(a: Any, b: Any) -> Any:
    return a / b if b else None


def divide_decimal(a: Any, b: Any) -> Any:
    return _QUOTIENT.divide(a, b) if b else None


def _remainder(a: Any, b: Any) -> Any:
    """With the sign of the dividend, as SQL has it."""
    if not b:
        return None
    if isinstance(a, int) and isinstance(b, int):
        rest = abs(a) % abs(b)
        return -rest if a < 0 else rest
    return None if math.isinf(a) else math.fmod(a, b)


def _remainder_decimal(a: Any, b: Any) -> Any:
    return _EXACT.remainder(a, b) if b else None


def _shift(a: Any, b: Any) -> Any:
    return as_utc(a) + b


def _shift_back(a: Any, b: Any) -> Any:
    return as_utc(a) - b


def _elapsed(a: Any, b: Any) -> Any:
    return as_utc(a) - as_utc(b)


def _scale(a: Any, b: Any) -> Any:
    return a * (float(b) if isinstance(b, Decimal) else b)


def _share(a: Any, b: Any) -> Any:
    return a / (float(b) if isinstance(b, Decimal) else b) if b else None


def _int_power(a: Any, b: Any) -> Any:
    if abs(a) > 1 and abs(a).bit_length() * b > _MOST_BITS:
        raise OverflowError
    return a**b


_DATES = ("timestamp", "date")
_SCALARS = ("int", "float", "decimal")

ADD: _Table = {
    **_numbers(operator.add, _EXACT.add),
    **{(d, "duration"): _shift for d in _DATES},
    **{("duration", d): lambda a, b: _shift(b, a) for d in _DATES},
    ("duration", "duration"): operator.add,
}
_SUBTRACT: _Table = {
    **_numbers(operator.sub, _EXACT.subtract),
    **{(d, "duration"): _shift_back for d in _DATES},
    **{(d, e): _elapsed for d in _DATES for e in _DATES},
    ("duration", "duration"): operator.sub,
}
_MULTIPLY: _Table = {
    **_numbers(operator.mul, _EXACT.multiply),
    **{("duration", n): _scale for n in _SCALARS},
    **{(n, "duration"): lambda a, b: _scale(b, a) for n in _SCALARS},
}
_DIVIDE: _Table = {
    **_numbers(_divide, divide_decimal),
    **{("duration", n): _share for n in _SCALARS},
    ("duration", "duration"): _divide,
}
_POWER: _Table = {(a, b): float_power for a in _SCALARS for b in _SCALARS}
# `x ** 2` keeps the type of x; with an exponent that is not written out the result is a float.
_POWER_OF_LITERAL: _Table = {**_POWER, ("int", "int"): _int_power, ("decimal", "int"): _EXACT.power}

_TABLES: dict[str, _Table] = {
    "+": ADD,
    "-": _SUBTRACT,
    "*": _MULTIPLY,
    "/": _DIVIDE,
    "%": _numbers(_remainder, _remainder_decimal),
    "**": _POWER,
}


def find_operation(table: _Table, a: Any, b: Any) -> _Operation:
    found = table.get((kind_of(a), kind_of(b)))
    if found is None:
        raise Clash(a, b)
    return found


def arithmetic(expr: Binary, left: Value, right: Value) -> Value:
    table = _POWER_OF_LITERAL if expr.op == "**" and _whole_literal(expr.right) else _TABLES[expr.op]
    by_class: dict[tuple[type, type], _Operation] = {}  # kinds follow from classes: found once for each pair

    def calculate(moment: Moment) -> Any:
        a = left(moment)
        if a is None:
            return None
        b = right(moment)
        if b is None:
            return None
        classes = (a.__class__, b.__class__)
        operation = by_class.get(classes)
        try:
            if operation is None:
                operation = by_class[classes] = find_operation(table, a, b)
            result = operation(a, b)
        except Clash as clash:
            raise_clash(expr, clash, VERBS[expr.op], expr.op)
        except InvalidOperation:  # of decimals: 0 ** 0, infinity minus infinity
            return None
        except ArithmeticError:
            raise_overflow(expr)
        return result if result == result else None  # NaN is null

    return calculate


def _whole_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value.__class__ is int and expr.value >= 0


def negative(expr: Unary, operand: Value) -> Value:
    def negative(moment: Moment) -> Any:
        value = operand(moment)
        if value is None:
            return None
        kind = kind_of(value)
        if kind == "decimal":
            return value.copy_negate()  # plain minus would round to the context
        if kind in ("int", "float", "duration"):
            return -value
        raise EvaluationError(
            f"`-{expr_text(expr.operand, 7)}`: {short(value)} is {kind_text(value)}, it has no negative",
            code="type_clash",
            place=expr.place,
            hint="only numbers and durations have one",
        )

    return negative
