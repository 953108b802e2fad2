"""Every case, by DuckDB and the matcher: the rows that were worked out by hand, or the error."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from cases import Case, Table, differences, load_cases

from cepheid.engines.sql.entrance import sql
from cepheid.errors import CepheidError

TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


def arrow(table: Table) -> pa.Table:
    columns = {}
    for i, (name, kind) in enumerate(table.columns.items()):
        columns[name] = pa.array([row[i] for row in table.rows], TYPES.get(kind) or _decimal(kind))
    return pa.table(columns)


def _decimal(kind: str) -> pa.DataType:
    precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
    return pa.decimal128(int(precision), int(scale))


@pytest.mark.parametrize(
    "case", [c for c in load_cases() if c.only != "spark"], ids=lambda c: f"{c.file}-{c.name}"
)
def test_case(case: Case) -> None:
    frames = {name: arrow(table) for name, table in case.tables.items()}
    if case.error is not None:
        _fails(case, frames)
        return
    found = sql(case.query, **frames)
    assert not differences(case, found.column_names, [tuple(row.values()) for row in found.to_pylist()])


def _fails(case: Case, frames: dict[str, Any]) -> None:
    assert case.error is not None
    with pytest.raises(CepheidError) as caught:
        sql(case.query, **frames)
    said = str(caught.value).lower()
    parts = case.error.get("contains", [])
    parts = [parts] if isinstance(parts, str) else parts
    assert not parts or any(part.lower() in said for part in parts), said
    assert str(case.error.get("code", "")) in (caught.value.code or "")
