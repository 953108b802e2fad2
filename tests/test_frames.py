"""The answer as a frame of the same kind with typed columns, and as files."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.engines.local.frames import arrow_type, build_frame, build_table
from cepheid.engines.local.writers import write_table
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

AT = datetime(2024, 5, 1, 10, tzinfo=UTC)
EVENT = struct_of({"time": TIMESTAMP, "v": INT})

SCHEMA: list[tuple[str, Type]] = [
    ("match_id", STRING),
    ("start", TIMESTAMP),
    ("n", INT),
    ("x", FLOAT),
    ("ok", BOOL),
    ("price", DECIMAL),
    ("took", DURATION),
    ("day", DATE),
    ("raw", BYTES),
    ("a", EVENT),
    ("all", list_of(EVENT)),
]
ROWS: list[dict[str, Any]] = [
    {
        "match_id": "m1",
        "start": AT,
        "n": 2**53 + 1,
        "x": 1,
        "ok": True,
        "price": Decimal("1.25"),
        "took": timedelta(seconds=90),
        "day": date(2024, 5, 1),
        "raw": b"\x00\xff",
        "a": {"time": AT, "v": 1},
        "all": [{"time": AT, "v": 1}, {"time": AT, "v": None}],
    },
    {"match_id": "m2", "start": AT, "x": float("nan"), "all": []},
]


def column(name: str, kind: Type, values: list[Any]) -> pa.ChunkedArray:
    return build_table([{name: value} for value in values], [(name, kind)])[name]


def mistake(code: str, action: Any) -> InputMistake:
    with pytest.raises(InputMistake) as caught:
        action()
    assert caught.value.code == code
    return caught.value


# --- types --------------------------------------------------------------------------------------------------


def test_arrow_types_of_a_whole_answer() -> None:
    table = build_table(ROWS, SCHEMA)
    event = "struct<time: timestamp[us, tz=UTC], v: int64>"
    assert [str(kind) for kind in table.schema.types] == [
        "string",
        "timestamp[us, tz=UTC]",
        "int64",
        "double",
        "bool",
        "decimal128(38, 2)",
        "duration[us]",
        "date32[day]",
        "binary",
        event,
        f"list<item: {event}>",
    ]
    assert table["n"].to_pylist() == [2**53 + 1, None]
    assert table["x"].to_pylist() == [1.0, None]


def test_an_empty_answer_keeps_its_types() -> None:
    table = build_table([], SCHEMA)
    assert table.num_rows == 0
    assert table.schema.field("a").type == arrow_type(EVENT)
    assert table.schema.field("price").type == pa.decimal128(38, 0)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (UNKNOWN, [1, None], pa.int64()),
        (UNKNOWN, [1, 2.5], pa.float64()),
        (UNKNOWN, [None, None], pa.null()),
        (NULL, ["x"], pa.string()),
        (INT, [1, 2.5], pa.float64()),
        (INT, [2**63, 1], pa.decimal128(38, 0)),
        (INT, [10**50], pa.decimal256(76, 0)),
        (DECIMAL, [Decimal("1.5"), Decimal("2.125"), 3], pa.decimal128(38, 3)),
        (DECIMAL, [Decimal("1E+5")], pa.decimal128(38, 0)),
        (FLOAT, [Decimal("1.5"), 2], pa.float64()),
        (TIMESTAMP, [AT, date(2024, 5, 1), datetime(2024, 5, 1)], pa.timestamp("us", "UTC")),
        (UNKNOWN, [[1], [2.5], []], pa.list_(pa.float64())),
        (UNKNOWN, [{"a": 1}, {"b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        (struct_of({"a": UNKNOWN}), [{"a": AT}], pa.struct([("a", pa.timestamp("us", "UTC"))])),
        (
            list_of(UNKNOWN),
            [[{"a": None}], [{"a": 2**64}]],
            pa.list_(pa.struct([("a", pa.decimal128(38, 0))])),
        ),
    ],
)
def test_types_follow_the_values(kind: Type, values: list[Any], expected: pa.DataType) -> None:
    assert column("x", kind, values).type == expected


def test_values_survive_their_widening() -> None:
    assert column("x", INT, [2**63, None]).to_pylist() == [Decimal(2**63), None]
    assert column("x", DECIMAL, [Decimal("1E+5"), 3]).to_pylist() == [Decimal(100000), Decimal(3)]
    midnight = datetime(2024, 5, 1, tzinfo=UTC)
    assert column("x", UNKNOWN, [AT, date(2024, 5, 1)]).to_pylist() == [AT, midnight]


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (UNKNOWN, [1, "x"], ["`x`", "int", "string"]),
        (BOOL, [True, 1], ["`x`", "bool", "int"]),
        (EVENT, [{"v": "text"}], ["`x`", "v: int", "v: string"]),
        (UNKNOWN, [[1, "x"]], ["`x`"]),
    ],
)
def test_values_of_several_kinds_are_refused(kind: Type, values: list[Any], words: list[str]) -> None:
    found = mistake("mixed_types", lambda: column("x", kind, values))
    assert all(word in found.message for word in words)


def test_numbers_no_type_can_hold() -> None:
    assert "`x`" in mistake("too_big", lambda: column("x", INT, [10**80])).message
    mistake("too_big", lambda: column("x", DECIMAL, [Decimal("Infinity")]))


# --- frames -------------------------------------------------------------------------------------------------


def test_dicts_for_dicts() -> None:
    rows = build_frame(ROWS, SCHEMA, "dicts")
    assert list(rows[1]) == [name for name, _ in SCHEMA]
    assert rows[0] == ROWS[0]
    assert (rows[1]["x"], rows[1]["n"], rows[1]["all"]) == (None, None, [])


@pytest.mark.parametrize("kind", ["arrow", "path"])
def test_arrow_for_arrow_and_paths(kind: str) -> None:
    assert isinstance(build_frame(ROWS, SCHEMA, kind), pa.Table)


def test_pandas_for_pandas() -> None:
    frame = build_frame(ROWS, SCHEMA, "pandas")
    assert isinstance(frame, pd.DataFrame)
    kinds = {name: str(frame[name].dtype) for name in ("start", "n", "x", "ok", "took", "a", "all")}
    assert kinds == {
        "start": "datetime64[us, UTC]",
        "n": "Int64",
        "x": "float64",
        "ok": "boolean",
        "took": "timedelta64[us]",
        "a": "object",
        "all": "object",
    }
    assert frame["n"][0] == 2**53 + 1
    assert frame["all"][0] == ROWS[0]["all"]
    assert (frame["a"][0], frame["a"][1]) == (ROWS[0]["a"], None)


def test_pandas_without_nulls_has_plain_types_and_empty_ones_too() -> None:
    frame = build_frame([{"n": 1, "ok": True}], [("n", INT), ("ok", BOOL)], "pandas")
    assert [str(kind) for kind in frame.dtypes] == ["int64", "bool"]
    empty = build_frame([], SCHEMA, "pandas")
    assert list(empty.columns) == [name for name, _ in SCHEMA]
    assert str(empty["start"].dtype) == "datetime64[us, UTC]"


def test_polars_for_polars() -> None:
    frame = build_frame(ROWS, SCHEMA, "polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema["start"] == pl.Datetime("us", "UTC")
    assert frame.schema["all"] == pl.List(pl.Struct({"time": pl.Datetime("us", "UTC"), "v": pl.Int64}))
    assert frame["n"].to_list() == [2**53 + 1, None]


def test_a_relation_for_a_relation() -> None:
    relation = build_frame([{"n": 1}, {"n": 2}], [("n", INT)], "duckdb")
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert relation.aggregate("sum(n)").fetchall() == [(3,)]


# --- files --------------------------------------------------------------------------------------------------


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_table(build_table(ROWS, SCHEMA), path, "json")
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {
        "match_id": "m1",
        "start": "2024-05-01T10:00:00Z",
        "n": 2**53 + 1,
        "x": 1.0,
        "ok": True,
        "price": 1.25,
        "took": "90s",
        "day": "2024-05-01",
        "raw": "AP8=",
        "a": {"time": "2024-05-01T10:00:00Z", "v": 1},
        "all": [{"time": "2024-05-01T10:00:00Z", "v": 1}, {"time": "2024-05-01T10:00:00Z", "v": None}],
    }
    assert second["x"] is None


def test_json_numbers_that_would_lose_digits_are_text() -> None:
    out = io.StringIO()
    table = pa.table({"d": [Decimal("1.00000000000000000001")], "f": [float("-inf")]})
    write_table(table, out, "json")
    assert json.loads(out.getvalue()) == {"d": "1.00000000000000000001", "f": "-inf"}


def test_csv() -> None:
    out = io.StringIO()
    schema = [("who", STRING), ("start", TIMESTAMP), ("ok", BOOL), ("a", struct_of({"v": INT}))]
    write_table(
        build_table([{"who": 'a "b", c', "start": AT, "ok": True, "a": {"v": 1}}, {}], schema), out, "csv"
    )
    assert out.getvalue() == ('who,start,ok,a\n"a ""b"", c",2024-05-01T10:00:00Z,true,"{""v"": 1}"\n,,,\n')


def test_parquet_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    table = build_table(ROWS, SCHEMA)
    write_table(table, path, "parquet")
    assert pq.read_table(path).equals(table)


def test_a_table_to_look_at_cuts_nothing_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"name": ["[red]" + "x" * 300], "n": [1]})
    write_table(table)
    shown = capsys.readouterr().out
    assert "[red]" + "x" * 300 in shown  # not taken for a colour
    assert max(map(len, shown.splitlines())) < 400


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    table = pa.table({"n": [1]})
    found = mistake("cannot_write", lambda: write_table(table, tmp_path / "no" / "out.csv", "csv"))
    assert "out.csv" in found.message
    mistake("bad_option", lambda: write_table(table, None, "xml"))
