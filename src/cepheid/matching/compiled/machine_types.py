"""The types of what the machine holds: how values of two types meet, and which instruction makes one of another."""

from __future__ import annotations

from cepheid.matching.compiled.kernel import machine as m
from cepheid.pattern.types import (
    BOOL,
    BYTES,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
)

INTS = (INT, BOOL, TIMESTAMP, DATE, DURATION)
TEXTS = (STRING, BYTES)
TIMES = (TIMESTAMP, DATE)

# Two of doubles, beside the types of the language.
QUOTIENT = Type(
    "quotient of decimals"
)  # the double nearest to it: the same only to what makes a double of it
NUMBER = Type("int or float")  # of different branches: in a double, which is exactly it

_CONVERSIONS = {
    (INT, FLOAT): m.TO_FLOAT,
    (INT, NUMBER): m.TO_FLOAT_EXACTLY,
    (INT, DECIMAL): m.TO_DECIMAL,
    (DECIMAL, FLOAT): m.DECIMAL_TO_FLOAT,
}


def conversion(kind: Type, to: Type) -> int | None:
    """The instruction that makes one type of another; None if there is nothing to do."""
    return _CONVERSIONS.get((kind, to))


def compared_as(left: Type, right: Type) -> Type | None:
    """The type both are compared in, None if that would not be exact or has no meaning."""
    kinds = {left, right}
    if NULL in kinds:  # as anything: the answer is null
        return NULL
    if FLOAT in kinds and kinds <= {INT, FLOAT, DECIMAL, QUOTIENT, NUMBER}:
        return FLOAT if NUMBER not in kinds else NUMBER
    if kinds == {QUOTIENT}:
        return None
    return one_of(left, right)


def one_of(left: Type, right: Type) -> Type | None:
    """The type of a value that is of the one or of the other, None if there is none."""
    kinds = {left, right} - {NULL}
    if len(kinds) < 2:
        return kinds.pop() if kinds else NULL
    if kinds <= {INT, FLOAT, NUMBER}:
        return NUMBER
    if kinds == {INT, DECIMAL}:  # a whole number is the same as a decimal, in whatever follows
        return DECIMAL
    return TIMESTAMP if kinds == {TIMESTAMP, DATE} else None


def comparison(kind: Type) -> int | None:
    """The instruction that compares two values of a type."""
    if kind in (*INTS, NULL):
        return m.COMPARE_INT
    if kind in TEXTS:
        return m.COMPARE_TEXT
    return {FLOAT: m.COMPARE_FLOAT, NUMBER: m.COMPARE_FLOAT, DECIMAL: m.COMPARE_DECIMAL}.get(kind)
