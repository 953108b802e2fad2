"""The types of values: few, SQL-like, with one widening (int to float)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Type:
    """A scalar type by name, or `list`/`struct` with what is inside."""

    name: str
    item: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        if self.item is not None:
            return f"list<{self.item}>"
        if self.name == "struct":
            return "struct<" + ", ".join(f"{n}: {t}" for n, t in self.fields) + ">"
        return self.name

    def field(self, name: str) -> Type | None:
        return dict(self.fields).get(name)


BOOL = Type("bool")
INT = Type("int")
FLOAT = Type("float")
DECIMAL = Type("decimal")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
DATE = Type("date")
NULL = Type("null")
UNKNOWN = Type("unknown")  # nothing is known: every check passes, the value decides when it comes

NUMBERS = (INT, FLOAT, DECIMAL)

# How types are written in `event` declarations.
BY_NAME = {
    "bool": BOOL,
    "boolean": BOOL,
    "int": INT,
    "integer": INT,
    "long": INT,
    "bigint": INT,
    "float": FLOAT,
    "double": FLOAT,
    "real": FLOAT,
    "number": FLOAT,
    "decimal": DECIMAL,
    "string": STRING,
    "str": STRING,
    "text": STRING,
    "bytes": BYTES,
    "binary": BYTES,
    "timestamp": TIMESTAMP,
    "datetime": TIMESTAMP,
    "time": TIMESTAMP,
    "duration": DURATION,
    "date": DATE,
}


def list_of(item: Type) -> Type:
    return Type("list", item=item)


def struct_of(fields: dict[str, Type]) -> Type:
    return Type("struct", fields=tuple(fields.items()))


def type_of(value: Any) -> Type:
    """The type of a Python value.

    >>> str(type_of([1, 2.5]))
    'list<float>'
    """
    if value is None:
        return NULL
    for kind, result in _PYTHON:
        if isinstance(value, kind):
            return result
    if isinstance(value, (list, tuple)):
        item = NULL
        for element in value:
            item = common(item, type_of(element)) or UNKNOWN
        return list_of(item)
    if isinstance(value, dict):
        return struct_of({str(k): type_of(v) for k, v in value.items()})
    return UNKNOWN


_PYTHON = (
    (bool, BOOL),  # before int: a bool is an int in Python
    (int, INT),
    (float, FLOAT),
    (Decimal, DECIMAL),
    (str, STRING),
    (bytes, BYTES),
    (datetime, TIMESTAMP),
    (date, DATE),
    (timedelta, DURATION),
)


def common(left: Type, right: Type) -> Type | None:
    """The narrowest type that holds both, or None if there is none."""
    if left == right or right in (NULL,):
        return left
    if left == NULL:
        return right
    if UNKNOWN in (left, right):
        return UNKNOWN
    if left in NUMBERS and right in NUMBERS:
        return FLOAT if FLOAT in (left, right) else DECIMAL
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if left.item is not None and right.item is not None:
        item = common(left.item, right.item)
        return None if item is None else list_of(item)
    if left.name == right.name == "struct":
        return _common_struct(left, right)
    return None


def _common_struct(left: Type, right: Type) -> Type | None:
    merged = dict(left.fields)
    for name, kind in right.fields:
        joint = common(merged.get(name, NULL), kind)
        if joint is None:
            return None
        merged[name] = joint
    return struct_of(merged)


def comparable(left: Type, right: Type) -> bool:
    """May `left < right` be written?"""
    return common(left, right) is not None


@dataclass(frozen=True)
class Schema:
    """What is known of the fields of each event type. `None` for a type: anything may be there."""

    types: tuple[tuple[str, Type], ...] = ()
    closed: bool = False  # True: only these event types exist (from declarations)
    common_fields: Type | None = None  # a table: every event type has these columns

    def event(self, name: str) -> Type | None:
        found = dict(self.types).get(name)
        return found if found is not None else self.common_fields

    def names(self) -> list[str]:
        return [name for name, _ in self.types]


NO_SCHEMA = Schema()
