"""Times, rows and sources: everything events may come in."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.engines.local.bad_rows import BadRow
from cepheid.engines.local.events import Columns, EventMaker, plain, scan_schema
from cepheid.engines.local.sources import Source, open_source
from cepheid.engines.local.times import from_microseconds, to_microseconds
from cepheid.errors import InputMistake
from cepheid.pattern.event import Event
from cepheid.pattern.types import FLOAT, INT, STRING, TIMESTAMP, UNKNOWN

T0 = 1_714_557_600_000_000  # 2024-05-01T10:00:00Z
AT = datetime(2024, 5, 1, 10, tzinfo=UTC)


def events_of(source: Source) -> list[Event]:
    return [event for batch in source.batches() for event in batch]


def write_lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def a(time: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "A", "time": time, **fields}


def mistake(code: str, action: Any) -> InputMistake:
    with pytest.raises(InputMistake) as caught:
        action()
    assert caught.value.code == code
    return caught.value


# --- times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01T10:00:00Z",
        "2024-05-01T10:00:00",
        " 2024-05-01 10:00 ",
        "2024-05-01T12:00:00+02:00",
        "2024-05-01T04:30:00.000000-0530",
        "2024-05-01T10:00:00.000000999Z",  # nanoseconds are cut off
        datetime(2024, 5, 1, 10),
        datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("2024-05-01T10:00:00.000000999"),
        pd.Timestamp("2024-05-01T12:00:00", tz="Europe/Berlin"),
        np.datetime64("2024-05-01T10:00:00"),
        np.datetime64("2024-05-01T10:00:00.000000999", "ns"),
        1_714_557_600,
        1_714_557_600.0,
        Decimal(1_714_557_600),
        np.int64(1_714_557_600),
        np.float64(1_714_557_600),
    ],
)
def test_every_way_to_write_a_time(value: Any) -> None:
    assert to_microseconds(value) == T0


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (date(1970, 1, 2), "s", 86_400_000_000),
        ("1970-01-02", "s", 86_400_000_000),
        ("1969-12-31T23:59:59.5Z", "s", -500_000),
        (1.5, "ms", 1_500),
        (1_500, "ms", 1_500_000),
        (7, "us", 7),
        (1_999, "ns", 1),
        (0.0000014, "s", 1),
        (Decimal("1714557600.123456"), "s", T0 + 123_456),
        (1714557600.123457, "s", T0 + 123_457),
        (2**60, "ns", 2**60 // 1000),
    ],
)
def test_units_and_fractions(value: Any, unit: str, expected: int) -> None:
    assert to_microseconds(value, unit) == expected


@pytest.mark.parametrize(
    "value", ["yesterday", "", None, True, float("nan"), float("inf"), pd.NaT, [1], "17"]
)
def test_not_a_time_shows_the_value(value: Any) -> None:
    assert repr(value) in mistake("bad_time", lambda: to_microseconds(value)).message


def test_milliseconds_taken_for_seconds_are_explained() -> None:
    found = mistake("bad_time", lambda: from_microseconds(to_microseconds(1_714_557_600_000)))
    assert "time_unit" in str(found.hint)
    mistake("bad_time", lambda: from_microseconds(10**5000))


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_round_trip(value: datetime) -> None:
    assert from_microseconds(to_microseconds(value)) == value
    assert to_microseconds(value.isoformat()) == to_microseconds(value)


# --- rows ---------------------------------------------------------------------------------------------------


def test_a_row_becomes_an_event() -> None:
    columns = Columns(time="at", type="kind", order=("n",), end="until")
    maker = EventMaker(columns)
    event = maker.make(
        {"at": "2024-05-01T12:00:00+02:00", "kind": "A", "n": np.int64(3), "until": T0 // 10**6 + 1}
    )
    assert (event.type, event.time, event.order, event.seq, event.end) == ("A", T0, (3,), 0, T0 + 10**6)
    assert event.fields == {"at": AT, "kind": "A", "n": 3, "until": AT + timedelta(seconds=1)}
    second = maker.make({"at": 0, "kind": 7, "n": float("nan"), "until": None})
    assert (second.type, second.order, second.seq, second.end) == ("7", (None,), 1, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (np.float64("nan"), None),
        (Decimal("NaN"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (np.int32(4), 4),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([1.0, float("nan")]), [1.0, None]),
        (np.timedelta64(5, "s"), timedelta(seconds=5)),
        (pd.Timedelta("5s"), timedelta(seconds=5)),
        (pd.Timestamp("2024-05-01T10:00:00"), AT),
        (datetime(2024, 5, 1, 10), AT),
        (date(2024, 5, 1), date(2024, 5, 1)),
        (Decimal("1.10"), Decimal("1.10")),
        ({"a": (1, float("nan")), 2: {"b": pd.NaT}}, {"a": [1, None], "2": {"b": None}}),
    ],
)
def test_values_become_plain_python(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


def test_missing_time_column_suggests_the_nearest() -> None:
    found = mistake("no_time_column", lambda: open_source(pd.DataFrame({"tme": [1], "type": ["A"]})))
    assert "`tme`" in str(found.hint)
    assert "`time=`" in str(found.hint)


def test_missing_type_column_needs_a_plain_type() -> None:
    frame = pd.DataFrame({"time": [1], "v": [2]})
    mistake("no_type_column", lambda: open_source(frame))
    (event,) = events_of(open_source(frame, Columns(plain_type="Reading")))
    assert event.type == "Reading"
    assert "type" not in event.fields


def test_null_times_and_types_name_the_row() -> None:
    found = mistake("bad_time", lambda: events_of(open_source([a(1), a(None)])))
    assert found.message.startswith("row 2 ")
    frame = pl.DataFrame({"time": [1, 2], "type": ["A", None]})
    assert mistake("bad_type", lambda: events_of(open_source(frame))).message.startswith("row 2 ")


def test_a_list_in_which_one_row_lacks_its_type() -> None:
    rows = [{"time": 1}, a(2)]
    mistake("bad_type", lambda: events_of(open_source(rows, Columns(plain_type="A"))))
    untyped = open_source([{"time": 1}, {"time": 2}], Columns(plain_type="A"))
    assert [e.type for e in events_of(untyped)] == ["A", "A"]


def test_unknown_order_and_end_columns() -> None:
    frame = pa.table({"time": [1], "type": ["A"], "rank": [1]})
    assert "`rank`" in str(
        mistake("no_order_column", lambda: open_source(frame, Columns(order=("rnk",)))).hint
    )
    mistake("no_end_column", lambda: open_source(frame, Columns(end="until")))
    mistake("bad_option", lambda: Columns(time_unit="minutes"))


# --- frames -------------------------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "time": pa.array([AT, AT + timedelta(seconds=1)], pa.timestamp("ns", "Europe/Berlin")),
        "type": pa.array(["A", "B"]).dictionary_encode(),
        "v": pa.array([1.5, float("nan")]),
        "n": pa.array([1, None], pa.int32()),
        "at": pa.array([datetime(2024, 5, 1, 10), None], pa.timestamp("ms")),
        "tags": pa.array([["x"], []]),
        "who": pa.array([{"id": 1}, None]),
    }
)


def reader_of(table: pa.Table) -> Any:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def lazy_of(table: pa.Table) -> Any:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda table: table, "arrow"),
        (lambda table: table.to_batches()[0], "arrow"),
        (reader_of, "arrow"),
        (lambda table: table.to_pandas(), "pandas"),
        (pl.from_arrow, "polars"),
        (lazy_of, "polars"),
        (duckdb.from_arrow, "duckdb"),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy", "duckdb"],
)
def test_every_frame_gives_the_same_events(make: Callable[[pa.Table], Any], kind: str) -> None:
    source = open_source(make(TABLE))
    assert source.kind == kind
    assert source.schema is not None
    fields = source.schema.common_fields
    assert fields is not None
    assert [str(fields.field(name)) for name in ("time", "type", "v", "at", "tags", "who")] == [
        "timestamp",
        "string",
        "float",
        "timestamp",
        "list<string>",
        "struct<id: int>",
    ]
    first, second = events_of(source)
    assert (first.type, first.time, second.type, second.time) == ("A", T0, "B", T0 + 10**6)
    assert first.fields == {
        "time": AT,
        "type": "A",
        "v": 1.5,
        "n": 1,
        "at": AT,
        "tags": ["x"],
        "who": {"id": 1},
    }
    assert [second.fields[name] for name in ("v", "n", "at", "tags", "who")] == [None, None, None, [], None]
    assert source.progress.done == 2


def test_pandas_columns_of_several_kinds_and_a_time_index() -> None:
    index = pd.DatetimeIndex(["2024-05-01T10:00:00"] * 3, name="time", tz="UTC")
    frame = pd.DataFrame({"type": "A", "x": [1, "one", 2**70], "s": ["a", None, float("nan")]}, index=index)
    source = open_source(frame)
    assert source.schema is not None
    assert source.schema.common_fields is not None
    assert source.schema.common_fields.field("x") == UNKNOWN
    assert [(e.time, e.fields["x"], e.fields["s"]) for e in events_of(source)] == [
        (T0, 1, "a"),
        (T0, "one", None),
        (T0, 2**70, None),
    ]


def test_epoch_columns_by_unit() -> None:
    frame = pl.DataFrame({"time": [1500], "type": ["A"]})
    (event,) = events_of(open_source(frame, Columns(time_unit="ms")))
    assert (event.time, event.fields["time"]) == (1_500_000, datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC))


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[1, "A", 2, 3]], columns=["time", "type", "v", "v"])
    mistake("duplicate_column", lambda: open_source(frame))


def test_maps_are_structs() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"time": [1], "type": ["A"], "m": pa.array([[("a", 1)]], kind)})
    assert events_of(open_source(table))[0].fields["m"] == {"a": 1}


def test_dicts_have_a_schema_by_type() -> None:
    rows = [a(1, v=1), a(2, v=2.5, w="x"), {"type": "B", "time": "2024-05-01", "v": "text"}, a(3, w=4)]
    schema = open_source(rows).schema
    assert schema is not None
    assert schema.names() == ["A", "B"]
    found, other = schema.event("A"), schema.event("B")
    assert found is not None
    assert other is not None
    assert dict(found.fields) == {"type": STRING, "time": TIMESTAMP, "v": FLOAT, "w": UNKNOWN}
    assert dict(other.fields) == {"type": STRING, "time": TIMESTAMP, "v": STRING}


def test_any_iterable_of_dicts_is_read_in_batches() -> None:
    source = open_source((a(n) for n in range(5)), batch_size=2)
    assert source.schema is None
    assert [[e.seq for e in batch] for batch in source.batches()] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("events", [{"time": [1]}, 7, None, b"x"])
def test_what_is_no_source(events: Any) -> None:
    mistake("bad_input", lambda: open_source(events))


def test_rows_that_are_no_dicts() -> None:
    assert "row 1 " in mistake("bad_row", lambda: events_of(open_source([[1, 2]]))).message


# --- JSON lines ---------------------------------------------------------------------------------------------


def test_json_lines_with_blank_lines(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1, v=1), "", "  ", a("2024-05-01T10:00:00Z", v=None))
    source = open_source(path)
    assert source.kind == "path"
    assert source.schema is None
    assert [e.time for e in events_of(source)] == [10**6, T0]
    assert source.progress.done == source.progress.total == path.stat().st_size
    assert source.progress.fraction == 1.0


def test_the_schema_of_json_lines_is_found_by_reading(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1, v=1), {"type": "B", "time": 2, "v": 2.5})
    schema = scan_schema(open_source(path).batches(), Columns())
    a_type, b_type = schema.event("A"), schema.event("B")
    assert a_type is not None
    assert b_type is not None
    assert (a_type.field("v"), b_type.field("v")) == (INT, FLOAT)


BAD_LINES = [
    ('{"type": "A", "time":', "not JSON"),
    ("[1, 2]", "one object a line"),
    ('{"type": "A"}', "no time column `time`"),
    ('{"type": "A", "time": "noon"}', "'noon' is not a time"),
    ('{"type": null, "time": 1}', "`type` is null"),
    ('{"time": 1}', "there is no `type`"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES)
def test_a_corrupt_line_fails_with_its_number(tmp_path: Path, line: str, reason: str) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1), "", line, a(2))
    found = mistake("bad_row", lambda: events_of(open_source(str(path))))
    assert found.message.startswith(f"{path}, line 3: ")
    assert reason in found.message
    assert found.message.endswith(line)
    assert "--bad-rows skip|dead-letter" in str(found.hint)


def test_corrupt_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1), *(line for line, _ in BAD_LINES), a(2))
    source = open_source(path, bad_rows="skip")
    assert [(e.time, e.seq) for e in events_of(source)] == [(10**6, 0), (2 * 10**6, 1)]
    assert source.bad.count == 6
    assert [row["line"] for row in source.bad.examples] == [2, 3, 4, 5, 6, 7]
    assert source.bad.letters == []


def test_corrupt_lines_become_dead_letters_in_order(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1), a("noon"), "{", a(2))
    letters: list[BadRow] = []
    source = open_source(path, bad_rows="dead-letter", on_bad=letters.append)
    assert len(events_of(source)) == 2
    assert [(row["source"], row["line"], row["text"]) for row in letters] == [
        (str(path), 2, json.dumps(a("noon"))),
        (str(path), 3, "{"),
    ]
    assert letters[0]["reason"] == "'noon' is not a time"
    collected = open_source(path, bad_rows="dead_letter")
    events_of(collected)
    assert collected.bad.letters == letters


def test_examples_are_few_and_the_count_is_full(tmp_path: Path) -> None:
    source = open_source(write_lines(tmp_path / "e.jsonl", *["{"] * 50), bad_rows="skip")
    assert events_of(source) == []
    assert (source.bad.count, len(source.bad.examples)) == (50, 20)


def test_the_shown_text_is_short(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", "x" * 10_000)
    assert len(mistake("bad_row", lambda: events_of(open_source(path))).message) < 300 + len(str(path))


def test_bytes_that_are_no_text_are_one_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"type":"A","time":1}\n\xff\xfe\n{"type":"A","time":2}')
    source = open_source(path, bad_rows="skip")
    assert [e.time for e in events_of(source)] == [10**6, 2 * 10**6]
    assert source.bad.examples == [
        {"source": str(path), "line": 2, "text": "\\xff\\xfe", "reason": "not UTF-8 text"}
    ]


def test_unreadable_numbers_and_depths_are_bad_lines(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "e.jsonl", '{"time": 1' + "0" * 5000 + "}", "[" * 100_000, a(10**400), a(1e300)
    )
    source = open_source(path, bad_rows="skip")
    assert events_of(source) == []
    assert source.bad.count == 4


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(json.dumps(a(n)).encode() + b"\n" for n in range(100))))
    source = open_source(path)
    assert len(events_of(source)) == 100
    assert source.progress.done == source.progress.total == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-20])
    assert str(path) in mistake("bad_file", lambda: events_of(open_source(path))).message


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"type":"A","time":1}\n{\n')))
    found = mistake("bad_row", lambda: events_of(open_source("-")))
    assert found.message.startswith("<stdin>, line 2: ")


def test_an_open_file_is_json_lines(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.txt", a(1), a(2))
    with path.open() as file:
        source = open_source(file)
        assert len(events_of(source)) == 2
    assert (source.kind, source.progress.total, source.progress.fraction) == ("path", None, None)
    assert len(events_of(open_source(io.StringIO('{"type":"A","time":1}')))) == 1


# --- directories and names ----------------------------------------------------------------------------------


def test_a_directory_is_read_in_name_order(tmp_path: Path) -> None:
    write_lines(tmp_path / "b.jsonl", a(2))
    write_lines(tmp_path / "a.csv", "type,time", "A,1")
    pq.write_table(pa.table({"type": ["A"], "time": [3]}), tmp_path / "c.parquet")
    write_lines(tmp_path / ".hidden", "x")
    write_lines(tmp_path / "_SUCCESS", "x")
    source = open_source(tmp_path)
    assert [(e.time, e.seq) for e in events_of(source)] == [(10**6, 0), (2 * 10**6, 1), (3 * 10**6, 2)]
    assert source.progress.fraction == 1.0
    assert [e.time for e in events_of(open_source(str(tmp_path / "*.[jp]*")))] == [2 * 10**6, 3 * 10**6]


def test_files_of_one_directory_share_a_schema(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.csv", "type,time,v,w", "A,1,1,x")
    write_lines(tmp_path / "b.csv", "type,time,v,w", "A,1,1.5,2")
    schema = open_source(tmp_path).schema
    assert schema is not None
    assert schema.common_fields is not None
    assert dict(schema.common_fields.fields) == {"type": STRING, "time": TIMESTAMP, "v": FLOAT, "w": UNKNOWN}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "nope.jsonl" in mistake("no_such_file", lambda: open_source(tmp_path / "nope.jsonl")).message
    mistake("no_such_file", lambda: open_source(tmp_path))
    mistake("no_such_file", lambda: open_source(str(tmp_path / "*.csv")))
    text = write_lines(tmp_path / "events.xlsx", "x")
    assert ".parquet" in str(mistake("unknown_format", lambda: open_source(text)).hint)
    mistake("unknown_format", lambda: open_source(write_lines(tmp_path / "e.parquet.gz", "x")))
    mistake("bad_file", lambda: open_source(write_lines(tmp_path / "e.parquet", "x")))
    mistake("bad_file", lambda: open_source(write_lines(tmp_path / "e.csv")))
    mistake("bad_option", lambda: open_source([], bad_rows="ignore"))


# --- CSV and Parquet ----------------------------------------------------------------------------------------


def test_csv_values_are_typed(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "e.csv",
        "type,time,i,f,b,s,d,at,id,nothing,country",
        "A,1.5,1,1.5,true,x,2024-05-01,2024-05-01T10:00:00Z,12345678901234567890,,NA",
        'A,2024-05-01T10:00:00Z,,NaN,false,"y, z",,,98765432109876543210,,DE',
        "A,3,3,2,,,2024-05-02,2024-05-01T12:00:00+02:00,1,,",
    )
    source = open_source(path)
    assert source.schema is not None
    assert source.schema.common_fields is not None
    assert {name: str(kind) for name, kind in source.schema.common_fields.fields} == {
        "type": "string",
        "time": "timestamp",
        "i": "int",
        "f": "float",
        "b": "bool",
        "s": "string",
        "d": "date",
        "at": "timestamp",
        "id": "string",  # a float would lose its last digits
        "nothing": "null",
        "country": "string",
    }
    first, second, third = events_of(source)
    assert [e.time for e in (first, second, third)] == [1_500_000, T0, 3_000_000]
    values = ("i", "f", "b", "s", "d", "at", "nothing", "country")
    assert [first.fields[n] for n in values] == [1, 1.5, True, "x", date(2024, 5, 1), AT, None, "NA"]
    assert [second.fields[n] for n in values] == [None, None, False, "y, z", None, None, None, "DE"]
    assert [third.fields[n] for n in values] == [3, 2.0, None, None, date(2024, 5, 2), AT, None, None]


def test_a_csv_column_is_typed_by_all_of_its_values(tmp_path: Path) -> None:
    rows = [f"A,{n},{n}" for n in range(20_000)]
    path = write_lines(tmp_path / "e.csv", "type,time,v", *rows, "A,20000,0.5")
    source = open_source(path)
    assert {type(e.fields["v"]) for e in events_of(source)} == {float}


def test_bad_csv_rows_have_line_numbers_and_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(
        b'type,time,v\nA,1,"two\nlines"\n\nA,noon,2\nA,3\nA,4,\xff\nA,5,5,5\n,6,6\nA,7,7\n'
        # line: 1        2-3          4    5        6     7         8       9      10
    )
    source = open_source(path, bad_rows="dead-letter")
    assert [e.time for e in events_of(source)] == [10**6, 7 * 10**6]
    assert [(row["line"], row["text"], row["reason"]) for row in source.bad.letters] == [
        (5, "A,noon,2", "'noon' is not a time"),
        (6, "A,3", "2 values for 3 columns"),
        (7, "A,4,\\xff", "not UTF-8 text"),
        (8, "A,5,5,5", "4 values for 3 columns"),
        (9, ",6,6", "`type` is null"),
    ]
    found = mistake("bad_row", lambda: events_of(open_source(path)))
    assert found.message.startswith(f"{path}, line 5: ")


def test_csv_gz_and_headers(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf time,v\r\n1,2\r\n"))
    (event,) = events_of(open_source(path, Columns(plain_type="A")))
    assert (event.time, event.fields["v"]) == (10**6, 2)
    mistake("no_time_column", lambda: open_source(write_lines(tmp_path / "t.csv", "type,v", "A,1")))
    mistake("duplicate_column", lambda: open_source(write_lines(tmp_path / "d.csv", "time,type,v,v")))


def test_parquet_by_batches(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"time": list(range(20_000)), "type": ["A"] * 20_000}), path, row_group_size=3000)
    source = open_source(path, batch_size=5000)
    assert source.schema is not None
    sizes, fractions = [], []
    for batch in source.batches():
        sizes.append(len(batch))
        fractions.append(source.progress.fraction or 0)
    assert sizes == [5000] * 4
    assert fractions == sorted(fractions)
    assert source.progress.fraction == 1.0
    pq.write_table(pa.table({"time": [1, None], "type": ["A", "A"]}), path)
    assert mistake("bad_row", lambda: events_of(open_source(path))).message.startswith(f"{path}, row 2: ")


def test_reading_json_lines_imports_no_frame_library(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "e.jsonl", a(1))
    code = (
        "import sys; from cepheid.engines.local import frames, writers\n"
        "from cepheid.engines.local.sources import open_source\n"
        f"assert sum(map(len, open_source({str(path)!r}).batches())) == 1\n"
        "assert not {'pandas', 'polars', 'duckdb'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(allow_nan=True) | st.none() | st.integers())))
def test_json_lines_round_trip(rows: list[tuple[int, Any]]) -> None:
    text = "\n".join(json.dumps(a(time, v=value)) for time, value in rows)
    found = events_of(open_source(io.StringIO(text)))
    assert [(e.time, e.fields["v"]) for e in found] == [(t * 10**6, None if v != v else v) for t, v in rows]
