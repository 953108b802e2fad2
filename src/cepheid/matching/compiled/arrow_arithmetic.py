"""Arithmetic on terms, where it is certain that the result is what Python has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.arrow_terms import (
    EXACT_IN_FLOAT,
    GREATEST,
    LEAST,
    NULL_TERM,
    Fields,
    Stays,
    Term,
    by_numpy,
    number,
    whole,
)

_OPERATIONS = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_INSTANTS = ("timestamp", "date")


def calculate(fields: Fields, op: str, a: Term, b: Term) -> Term:
    kinds = (a.kind, b.kind)
    if "null" in kinds:
        return NULL_TERM
    if set(kinds) <= {"int", "float"}:
        return _numbers(fields, op, a, b)
    return _times(fields, op, a, b)


def negative(a: Term) -> Term:
    if a.kind == "null":
        return a
    if a.kind == "float":
        return Term("float", pc.negate(a.values))
    if a.kind in ("int", "duration"):
        low, high = a.bounds
        return whole(a.kind, pc.negate(a.values), -high, -low)
    raise Stays


def _numbers(fields: Fields, op: str, a: Term, b: Term) -> Term:
    if op in _OPERATIONS:
        if (a.kind, b.kind) == ("int", "int"):
            return _whole_numbers(op, a, b, "int")
        return number(_OPERATIONS[op](a.floats, b.floats))
    if op == "/":
        return _quotient(fields, a, b)
    if op == "%":
        return _remainder(fields, a, b)
    raise Stays  # a power may be too large, which is an error in Python


def _whole_numbers(op: str, a: Term, b: Term, kind: str) -> Term:
    (p, q), (r, s) = a.bounds, b.bounds
    if op == "*":
        ends = [x * y for x in (p, q) for y in (r, s)]
    else:
        ends = [p + r, q + s] if op == "+" else [p - s, q - r]
    if min(ends) < LEAST or max(ends) > GREATEST:
        raise Stays
    return whole(kind, _OPERATIONS[op](a.values, b.values), min(ends), max(ends))


def _quotient(fields: Fields, a: Term, b: Term) -> Term:
    """Of whole numbers Python rounds the exact quotient, and floats do if both of them are exact."""
    if (
        a.kind != "float"
        and b.kind != "float"
        and not all(t.within(-EXACT_IN_FLOAT, EXACT_IN_FLOAT) for t in (a, b))
    ):
        raise Stays
    return number(pc.divide(a.floats, _not_zero(b.floats, pa.float64())))


def _not_zero(divisor: Any, kind: Any) -> Any:
    return pc.if_else(pc.equal(divisor, pa.scalar(0, kind)), pa.scalar(None, kind), divisor)


def _remainder(fields: Fields, a: Term, b: Term) -> Term:
    """With the sign of the dividend."""
    if (a.kind, b.kind) == ("int", "int"):
        if a.bounds[0] == LEAST:
            raise Stays
        divisor = _not_zero(b.values, pa.int64())
        known = fields.one(Term("", pc.and_(pc.is_valid(a.values), pc.is_valid(divisor))))
        return Term("int", by_numpy(fields, np.fmod, a.values, divisor, known))
    divisor = _not_zero(b.floats, pa.float64())
    known = fields.one(Term("", pc.and_(pc.is_finite(pc.fill_null(a.floats, np.inf)), pc.is_valid(divisor))))
    return number(by_numpy(fields, np.fmod, a.floats, divisor, known))


def _times(fields: Fields, op: str, a: Term, b: Term) -> Term:
    """What leaves the years 1 to 9999 is an error in Python."""
    pair = (a.kind, b.kind)
    if op == "-" and a.kind in _INSTANTS and b.kind in _INSTANTS:
        return _whole_numbers(op, a, b, "duration")
    if op in ("+", "-") and pair == ("duration", "duration"):
        return _whole_numbers(op, a, b, "duration")
    shifted = op in ("+", "-") and a.kind in _INSTANTS and b.kind == "duration"
    if shifted or (op == "+" and a.kind == "duration" and b.kind in _INSTANTS):
        return _whole_numbers(op, a, b, "timestamp")
    if op == "*" and set(pair) == {"int", "duration"}:
        return _whole_numbers(op, a, b, "duration")
    if op == "/" and pair == ("duration", "duration"):
        return _quotient(fields, a, b)
    raise Stays
