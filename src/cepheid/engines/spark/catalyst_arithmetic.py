"""Arithmetic on terms. Never an operation that could raise in ANSI mode, or wrap around without it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from cepheid.engines.spark.catalyst_terms import (
    Stays,
    Term,
    as_double,
    as_micros,
    as_wide,
    decimal,
    digits,
    null,
    number,
    of_value,
    whole,
)
from cepheid.pattern.values import NUMBERS, TIMES

if TYPE_CHECKING:
    from pyspark.sql import Column

_OPERATIONS: dict[str, Callable[..., Column]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_EXACT_IN_DOUBLE = 2**53


def calculate(op: str, a: Term, b: Term) -> Term:
    kinds = {a.kind, b.kind}
    if "null" in kinds:
        return null()
    if op == "-" and kinds <= set(TIMES):
        return _elapsed(a, b)
    # A time plus a duration may leave the years 1 to 9999, a power may be too large: those are errors in Python.
    if op not in _OPERATIONS or not kinds <= set(NUMBERS):
        raise Stays
    if "float" in kinds:
        return _doubles(op, as_double(a), as_double(b))
    if op == "/":
        return _quotient(a, b)
    return _decimals(op, a, b) if "decimal" in kinds else _whole_numbers(op, a, b)


def negative(a: Term) -> Term:
    if a.kind == "null":
        return null()
    if a.kind == "int":
        return _whole_numbers("-", of_value(0), a)
    if a.kind == "float":
        return number(-a.column)
    if a.kind == "decimal":
        return decimal(-a.column, a.precision, a.scale)
    raise Stays


def _elapsed(a: Term, b: Term) -> Term:
    from pyspark.sql import functions as F

    return Term("duration", F.try_subtract(as_micros(a), as_micros(b)), in_micros=True)


def _doubles(op: str, a: Column, b: Column) -> Term:
    return number(_OPERATIONS[op](a, _not_zero(b) if op in "/%" else b))


def _not_zero(divisor: Column) -> Column:
    """Null in its place, which every Spark divides by without an error."""
    from pyspark.sql import functions as F

    return F.when(divisor != F.lit(0), divisor)


def _quotient(a: Term, b: Term) -> Term:
    """Of ints: Python rounds the exact quotient, and doubles do if both of them are exact."""
    if not all(t.kind == "int" and -_EXACT_IN_DOUBLE <= t.low <= t.high <= _EXACT_IN_DOUBLE for t in (a, b)):
        raise Stays
    return _doubles("/", as_double(a), as_double(b))


def _whole_numbers(op: str, a: Term, b: Term) -> Term:
    if op == "%":
        return _remainder(a, b)
    calculate = _OPERATIONS[op]
    if op == "*":
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif op == "-":
        ends = [a.low - b.high, a.high - b.low]
    else:
        ends = [a.low + b.low, a.high + b.high]
    result = Term("int", a.column, min(ends), max(ends))
    fits = a.narrow and b.narrow and result.narrow
    column = calculate(a.column, b.column) if fits else calculate(as_wide(a), as_wide(b))
    return whole(column, result.low, result.high)


def _remainder(a: Term, b: Term) -> Term:
    if not (a.narrow and b.narrow):
        raise Stays
    return whole(a.column % _not_zero(b.column), min(a.low, 0), max(a.high, 0))


def _decimals(op: str, a: Term, b: Term) -> Term:
    """Exact as long as the type Spark gives the result needs no more than 38 digits."""
    (p, s), (q, t) = digits(a), digits(b)
    if op == "*":
        precision, scale = p + q + 1, s + t
    elif op in "+-":
        scale = max(s, t)
        precision = max(p - s, q - t) + scale + 1
    else:
        raise Stays
    left, right = decimal(a.column, p, s).column, decimal(b.column, q, t).column
    return decimal(_OPERATIONS[op](left, right), precision, scale)
