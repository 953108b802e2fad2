"""Arrow types: which of ours each of them is, and the plain type its values are read as."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from cepheid.engines.local.events import Columns
from cepheid.errors import InputMistake
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
    UNKNOWN,
    Type,
    list_of,
    struct_of,
)

_ARROW_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Type], ...] = (
    (pa.types.is_boolean, BOOL),
    (pa.types.is_integer, INT),
    (pa.types.is_floating, FLOAT),
    (pa.types.is_decimal, DECIMAL),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_binary, BYTES),
    (pa.types.is_large_binary, BYTES),
    (pa.types.is_fixed_size_binary, BYTES),
    (pa.types.is_timestamp, TIMESTAMP),
    (pa.types.is_duration, DURATION),
    (pa.types.is_date, DATE),
    (pa.types.is_null, NULL),
)


def type_from_arrow(kind: pa.DataType) -> Type:
    """Our type of an Arrow type; unknown where we have none."""
    if pa.types.is_dictionary(kind):
        return type_from_arrow(kind.value_type)
    if _is_list(kind):
        return list_of(type_from_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return struct_of({inner.name: type_from_arrow(inner.type) for inner in kind})
    return next((ours for test, ours in _ARROW_KINDS if test(kind)), UNKNOWN)


def struct_of_arrow(schema: pa.Schema) -> Type:
    refuse_twins(schema.names)
    return struct_of({column.name: type_from_arrow(column.type) for column in schema})


def as_declared(struct: Type, columns: Columns) -> Type:
    """Time columns are instants in events, whatever they are written as."""
    instants = columns.times()
    return struct_of({name: TIMESTAMP if name in instants else kind for name, kind in struct.fields})


def refuse_twins(names: list[str]) -> None:
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise InputMistake(
            f"there are several columns `{twins[0]}`", code="duplicate_column", hint="rename all but one"
        )


def plain_arrow(kind: pa.DataType) -> pa.DataType:
    """The same type with times in microseconds, in UTC, and without dictionaries."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_dictionary(kind):
        return plain_arrow(kind.value_type)
    if _is_list(kind):
        return pa.list_(plain_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(inner.name, plain_arrow(inner.type)) for inner in kind])
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
