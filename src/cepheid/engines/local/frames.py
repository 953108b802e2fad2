"""The answer as a frame of the kind the events came in, with typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from typing import Any

import pyarrow as pa

from cepheid.engines.local.events import plain
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
    common,
    list_of,
    struct_of,
    type_of,
)

Row = dict[str, Any]

SCALARS = {
    BOOL: pa.bool_(),
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    BYTES: pa.binary(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    DURATION: pa.duration("us"),
    DATE: pa.date32(),
    NULL: pa.null(),
}
_INT64 = range(-(2**63), 2**63)


def build_frame(rows: list[Row], schema: list[tuple[str, Type]], kind: str) -> Any:
    """Rows as a frame of a source's kind: the schema's columns in its order, `arrow` for a path."""
    if kind == "dicts":
        return [{name: plain(row.get(name)) for name, _ in schema} for row in rows]
    return frame_of(build_table(rows, schema), kind)


def build_table(rows: list[Row], schema: list[tuple[str, Type]]) -> pa.Table:
    """Rows as an Arrow table. Where the schema does not know a type, the values say it."""
    columns = {name: _column(name, kind, [plain(row.get(name)) for row in rows]) for name, kind in schema}
    return pa.table(columns)


def frame_of(table: pa.Table, kind: str) -> Any:
    """An Arrow table as a frame of the kind."""
    return _FRAMES.get(kind, lambda same: same)(table)


def arrow_type(kind: Type, values: Sequence[Any] = (), column: str = "") -> pa.DataType:
    """The Arrow type of a settled type. The values give decimals a scale, and may be too big for 64 bits.

    >>> str(arrow_type(struct_of({"n": INT, "at": TIMESTAMP})))
    'struct<n: int64, at: timestamp[us, tz=UTC]>'
    """
    if kind.item is not None:
        inner = list(chain.from_iterable(value for value in values if value is not None))
        return pa.list_(arrow_type(kind.item, inner, column))
    if kind.name == "struct":
        present = [value for value in values if value is not None]
        return pa.struct(
            [(name, arrow_type(t, [v.get(name) for v in present], column)) for name, t in kind.fields]
        )
    if kind == DECIMAL or (kind == INT and any(v is not None and v not in _INT64 for v in values)):
        return _decimal_type(column, values)
    return SCALARS[kind]


def settle(column: str, kind: Type, values: Iterable[Any]) -> Type:
    """The type that holds the declared one and every value."""
    settled = _without_unknown(kind)
    seen: set[type] = set()
    for value in values:
        if type(value) in seen:
            continue
        found = type_of(value)
        joint = common(settled, found)
        if joint is None:
            raise _mixed(column, settled, found)
        settled = joint
        if not isinstance(value, (list, dict)):  # one scalar of a class stands for all of them
            seen.add(type(value))
    return settled


def _column(name: str, kind: Type, values: list[Any]) -> pa.Array:
    settled = settle(name, kind, values)
    try:
        if _is_unknown(settled):  # values without a type of ours: Arrow may know one
            return pa.array(values)
        target = arrow_type(settled, values, name)
        return pa.array([fit(value, target) for value in values], type=target)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as clash:
        raise InputMistake(
            f"the values of column `{name}` do not fit into one type: {clash}",
            code="mixed_types",
            hint="give the column values of one kind, for example by casting them in `.emit`",
        ) from None


def fit(value: Any, target: pa.DataType) -> Any:
    """A value as Arrow takes it for the type: the widenings of `common`, done."""
    if value is None:
        return None
    if pa.types.is_list(target):
        return [fit(item, target.value_type) for item in value]
    if pa.types.is_struct(target):
        return {field.name: fit(value.get(field.name), field.type) for field in target}
    if pa.types.is_floating(target):
        return float(value)
    if pa.types.is_decimal(target):
        return Decimal(value)
    if pa.types.is_timestamp(target) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else value
    return value


def _decimal_type(column: str, values: Sequence[Any]) -> pa.DataType:
    numbers = [Decimal(value) for value in values if value is not None]
    if not all(number.is_finite() for number in numbers):
        raise InputMistake(f"column `{column}` holds an infinite decimal", code="too_big")
    scale = max((-_exponent(number) for number in numbers), default=0)
    scale = max(scale, 0)
    digits = scale + max((number.adjusted() + 1 for number in numbers), default=0)
    if digits <= 38:
        return pa.decimal128(38, scale)
    if digits <= 76:
        return pa.decimal256(76, scale)
    raise InputMistake(
        f"column `{column}` holds a number of more than 76 digits", code="too_big", hint="make it a float"
    )


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _without_unknown(kind: Type) -> Type:
    """Unknown as null, at every depth: the values will say what it is."""
    if kind == UNKNOWN:
        return NULL
    if kind.item is not None:
        return list_of(_without_unknown(kind.item))
    if kind.name == "struct":
        return struct_of({name: _without_unknown(inner) for name, inner in kind.fields})
    return kind


def _is_unknown(kind: Type) -> bool:
    inner = [kind.item] if kind.item is not None else [inner for _, inner in kind.fields]
    return kind == UNKNOWN or any(_is_unknown(part) for part in inner)


def _mixed(column: str, left: Type, right: Type) -> InputMistake:
    return InputMistake(
        f"column `{column}` holds both {left} and {right}",
        code="mixed_types",
        hint="give the column values of one kind, for example by casting them in `.emit`",
    )


def _to_pandas(table: pa.Table) -> Any:
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_nested(column.type):
            columns[name] = pd.Series(column.to_pylist(), dtype=object)
        elif column.null_count:  # plain pandas would turn these integers into floats
            columns[name] = column.to_pandas(types_mapper=nullable.get)
        else:
            columns[name] = column.to_pandas()
    return pd.DataFrame(columns, columns=table.column_names)


def _to_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)


_FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": _to_pandas,
    "polars": _to_polars,
    "duckdb": _to_duckdb,
}
