"""How values of different kinds meet: the same for types, for evaluation and for every engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from cepheid.pattern.types import type_of


class Clash(ValueError):
    """Values that have no common type, or that a function does not take."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.values = values

    @property
    def left(self) -> Any:
        return self.values[0]

    @property
    def right(self) -> Any:
        return self.values[-1]


class BadArgument(ValueError):
    """A value of the right type that means nothing: a broken regular expression, an unknown unit."""

    def __init__(self, message: str, code: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    Decimal: "decimal",
    str: "string",
    bytes: "bytes",
    datetime: "timestamp",
    date: "date",
    timedelta: "duration",
}
NUMBERS = ("int", "float", "decimal")
TIMES = ("timestamp", "date")
_SAME_ORDER = ("bool", "int", "float", "decimal", "string", "bytes", "date", "duration")


def kind_of(value: Any) -> str:
    """The name of a value's type.

    >>> kind_of(True), kind_of(1), kind_of([1])
    ('bool', 'int', 'list')
    """
    return _KINDS.get(value.__class__) or type_of(value).name


def article(kind: str) -> str:
    """
    >>> article("int"), article("string")
    ('an int', 'a string')
    """
    return f"{'an' if kind[0] in 'aeiou' and kind != 'unknown' else 'a'} {kind}"


def kind_text(value: Any) -> str:
    return article(kind_of(value))


def clean(value: Any) -> Any:
    """NaN is null, everywhere."""
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, Decimal) and value.is_nan():
        return None
    return value


def as_utc(value: date) -> datetime:
    """A time in UTC; without a zone it is UTC already, and a date is its midnight."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    if value.tzinfo is UTC:
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def ordered_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Both in one type, ready for `<`; a Clash if there is no such type."""
    left, right = kind_of(a), kind_of(b)
    if left == right and left in _SAME_ORDER:
        return a, b
    if left in TIMES and right in TIMES:
        return as_utc(a), as_utc(b)
    if {left, right} == {"int", "decimal"}:
        return a, b
    if left in NUMBERS and right in NUMBERS:
        return _as_floats(a, b)
    if left == right == "unknown" and type(a) is type(b) and hasattr(type(a), "__lt__"):
        return a, b
    raise Clash(a, b)


def _as_floats(a: Any, b: Any) -> tuple[Any, Any]:
    try:
        return float(a), float(b)
    except OverflowError:  # an integer beyond every float: Python compares it exactly
        return a, b


def equal(a: Any, b: Any) -> bool | None:
    """`a == b` for values that are not null; lists and structs may hold nulls, then it may be unknown."""
    left, right = kind_of(a), kind_of(b)
    if left == right == "list":
        return _all_equal(list(zip(a, b, strict=False)), len(a) == len(b))
    if left == right == "struct":
        return _all_equal([(a[name], b[name]) for name in a if name in b], set(a) == set(b))
    if left == right == "unknown" and type(a) is type(b):
        return bool(a == b)
    first, second = ordered_pair(a, b)
    return bool(first == second)


def _all_equal(pairs: list[tuple[Any, Any]], same_shape: bool) -> bool | None:
    results = [None if a is None or b is None else equal(a, b) for a, b in pairs]
    if not same_shape or False in results:
        return False
    return None if None in results else True


def identity(value: Any) -> Any:
    """A key that is equal where the values are: for counting what is distinct."""
    kind = kind_of(value)
    if kind in NUMBERS:
        return "number", value
    if kind in TIMES:
        return "time", as_utc(value)
    if kind == "list":
        return kind, tuple(identity(item) for item in value)
    if kind == "struct":
        return kind, frozenset((name, identity(item)) for name, item in value.items())
    try:
        hash(value)
    except TypeError:
        return kind, repr(value)
    return kind, value


def extreme(values: Sequence[Any], largest: bool) -> Any:
    """The least or the greatest of what is not null."""
    found = [value for value in values if value is not None]
    best = found[0] if found else None
    for value in found[1:]:
        a, b = ordered_pair(value, best)
        if a > b if largest else a < b:
            best = value
    return best


def float_power(a: Any, b: Any) -> float | None:
    try:
        return math.pow(a, b)
    except ValueError:  # 0 ** -1, (-8) ** 0.5
        return None


VERBS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), "cannot be compared"),
    "+": "cannot be added",
    "-": "cannot be subtracted",
    "*": "cannot be multiplied",
    "/": "cannot be divided",
    "%": "have no remainder",
    "**": "have no power",
}


def clash_hint(op: str, left: str, right: str) -> str | None:
    """What a user probably wants who wrote `op` between these types."""
    kinds = {left, right}
    if op == "+" and "string" in kinds:
        return "strings are joined by concat(a, b)" + ("" if kinds == {"string"} else "; string(x) makes one")
    if "string" in kinds and kinds & set(TIMES):
        return 'timestamp("2024-05-01T12:00:00Z") makes a timestamp of a string'
    if "string" in kinds and kinds & set(NUMBERS):
        return "convert one of them: float(x), int(x) or string(x)"
    if kinds == {"string", "duration"}:
        return "write durations without quotes and with a unit: 5s, 30m"
    if "bool" in kinds:
        return "a bool is not a number: use it as a condition, or write if(x, 1, 0)"
    if "duration" in kinds and kinds & set(NUMBERS):
        return "write durations with a unit (5s, 30m); d / 1s is a number of seconds"
    if kinds & set(TIMES) and kinds & set(NUMBERS):
        return "epoch(t) is a number of seconds, timestamp(x) makes a timestamp of one"
    return None
