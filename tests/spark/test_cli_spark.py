"""`cepheid run --engine spark` and `cepheid explain --engine spark` as their users meet them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import cepheid
from cepheid.cli import main
from cepheid.cli.streaming import trigger_of
from cepheid.engines.local.events import Columns
from cepheid.engines.program import declarations_of
from cepheid.engines.session import Found
from cepheid.engines.spark.evidence import evidence, found_by
from cepheid.engines.spark.sources import Reading, declared_schema, format_of, read_source
from cepheid.errors import InputMistake
from cepheid.matching.found import Match
from cepheid.pattern.event import Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

QUERY = """\
event A { v: int, k: string }
event B { v: int, k: string }
stream Pair = A as a -> B[v > a.v] as b .within(10s) .partition_by(k) .emit(k: a.k, v: b.v, at: b.time)
stream Alone = A as a -> NOT B within 10s .partition_by(k) .emit(k)
"""
EVENTS = [
    {"type": "A", "time": 1, "v": 1, "k": "x"},
    {"type": "B", "time": 2, "v": 5, "k": "x"},
    {"type": "A", "time": 3, "v": 2, "k": "y"},
    {"type": "A", "time": 20, "v": 2, "k": "z"},
    {"type": "B", "time": 21, "v": 7, "k": "z"},
    {"type": "A", "time": 25, "v": 2, "k": "w"},
]
PAIRS = [{"k": "x", "v": 5, "at": "1970-01-01T00:00:02Z"}, {"k": "z", "v": 7, "at": "1970-01-01T00:00:21Z"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CEPHEID_DEBUG", raising=False)
    Path("q.cep").write_text(QUERY)
    write_lines("events.jsonl", EVENTS)
    return tmp_path


def write_lines(name: str, events: list[Any]) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events))


def run(*args: str) -> Result:
    result = CliRunner().invoke(main, ["run", *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def on_spark(*args: str) -> Result:
    return run(*args, "--engine", "spark")


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def by_stream(rows: list[dict[str, Any]], stream: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "stream"} for row in rows if row["stream"] == stream]


# --- bounded input ------------------------------------------------------------------------------------------


def test_the_same_tables_report_and_rest_as_the_local_engine(folder: Path) -> None:
    here = run("q.cep", "events.jsonl", "--unfinished", "u1.jsonl", "--report", "r1.html")
    there = on_spark("q.cep", "events.jsonl", "--unfinished", "u2.jsonl", "--report", "r2.html")
    assert there.exit_code == 0, there.output
    assert there.stdout == here.stdout
    assert "Pair  2 matches" in there.stdout
    assert _open("u1.jsonl") == _open("u2.jsonl") != []
    assert "6 events in" in there.stderr
    assert "pending (not certain when the input ended): Alone 1" in there.stderr
    page = Path("r2.html").read_text()
    for text in ("x", "A(k=x v=1)", "B(k=x v=5)"):
        assert text in page


def _open(name: str) -> list[Any]:
    rows = objects(Path(name).read_text())
    return [[r["stream"], r["kind"], r["start"], r["deadline"], r["k"], r["a"]["v"]] for r in rows]


def test_json_of_one_stream(folder: Path) -> None:
    result = on_spark("q.cep", "events.jsonl", "--stream", "Pair", "--format", "json", "--quiet")
    assert objects(result.stdout) == PAIRS
    assert result.stderr == ""


def test_joins_and_one_partition_give_the_same_rows_and_advice(folder: Path) -> None:
    """Patterns without a key: the first is matched by joins, the second by one core."""
    write_lines("events.jsonl", [{**e, "j": e["k"].upper() if e["type"] == "A" else e["k"]} for e in EVENTS])
    Path("q.cep").write_text(
        "stream Tied = A as a -> B[k == lower(a.j) and j == a.k] as b .within(10s) .emit(v: b.v)\n"
        "stream Loose = A as a -> first B[v > a.v] as b .within(10s) .emit(v: b.v)\n"
    )
    here, there = run("q.cep", "events.jsonl", "--report", "1.html"), on_spark("q.cep", "events.jsonl")
    assert there.stdout == here.stdout
    assert "Tied  2 matches" in there.stdout
    assert "warning: `Loose`: no key" in there.stderr
    assert "`Tied`" not in there.stderr


def test_spark_writes_a_directory_for_each_stream(folder: Path) -> None:
    args = ("q.cep", "events.jsonl", "--out", "found", "--unfinished", "open")
    result = on_spark(*args)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "matches: Pair 2, Alone 1" in result.stderr
    rows = pq.read_table("found/Pair").to_pylist()
    assert sorted((r["k"], r["v"]) for r in rows) == [("x", 5), ("z", 7)]
    left = "".join(p.read_text() for p in Path("open/pending/Alone").glob("*.json"))
    assert [row["k"] for row in objects(left)] == ["w"]
    again = on_spark(*args)
    assert again.exit_code == 1
    assert "found/Pair is there already" in again.stderr


def test_csv_holds_events_as_text(folder: Path) -> None:
    query = "stream S = A as a -> B as b .within(1s) .partition_by(k)"
    args = ("-e", query, "events.jsonl", "--out", "found", "--format", "csv")
    assert on_spark(*args).exit_code == 0
    text = "".join(p.read_text() for p in sorted(Path("found/S").glob("*.csv")))
    assert text.startswith("match_id,start,end,k,a,b\n")
    assert '\\"v\\":5' in text


# --- what events come in ------------------------------------------------------------------------------------


def pairs_of(*args: str) -> list[dict[str, Any]]:
    result = on_spark("q.cep", *args, "--stream", "Pair", "--format", "json", "--quiet")
    assert result.exit_code == 0, result.output
    return objects(result.stdout)


def test_csv_with_times_as_text(folder: Path) -> None:
    rows = [f"{e['type']},1970-01-01 00:00:{e['time']:02},{e['v']},{e['k']}" for e in EVENTS]
    write_lines("events.csv", ["type,at,v,k", *rows])
    text = QUERY.replace("b.time", "b.at")
    Path("q.cep").write_text(text)
    assert pairs_of("events.csv", "--time", "at") == PAIRS


def test_a_directory_of_parquet(folder: Path) -> None:
    Path("table/day=1").mkdir(parents=True)
    Path("table/_SUCCESS").touch()
    rows = [{**e, "time": e["time"] * 1000} for e in EVENTS]
    pq.write_table(pa.Table.from_pylist(rows), "table/day=1/part.parquet")
    assert pairs_of("table", "--time-unit", "ms") == PAIRS


def test_a_format_by_its_name(folder: Path, spark: SparkSession) -> None:
    spark.read.json(str(folder / "events.jsonl")).write.orc(str(folder / "data"))
    assert pairs_of("data", "--source-format", "orc") == PAIRS
    # Where it cannot be an output, --format is the source's.
    result = on_spark("q.cep", "data", "--format", "orc", "--stream", "Pair")
    assert "Pair  2 matches" in result.stdout


@pytest.mark.parametrize(
    ("values", "unit", "wanted"),
    [
        ([1, 1_700_000_000], "s", [1_000_000, 1_700_000_000_000_000]),
        ([-1, 1_700_000_000_123], "ms", [-1000, 1_700_000_000_123_000]),
        ([-1, 1999], "ns", [-1, 1]),
        ([1.5, -0.25], "s", [1_500_000, -250_000]),
        (
            ["1970-01-01T01:00:00+01:00", "1970-01-01 00:00:01.5", "1970-01-02"],
            "s",
            [0, 1_500_000, 86_400_000_000],
        ),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times(
    folder: Path, spark: SparkSession, values: list[Any], unit: str, wanted: list[int], zone: str
) -> None:
    """As the local engine reads them, whatever the session's zone."""
    from pyspark.sql import functions as F

    write_lines("t.json", [{"type": "A", "time": v} for v in values])
    columns = Columns(time_unit=unit)
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = read_source(spark, Reading("t.json"), columns, declarations_of(QUERY))
        assert [r[0] for r in rows.select(F.unix_micros("time")).collect()] == wanted
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_bad_rows(folder: Path) -> None:
    events = [{**e, "time": f"1970-01-01T00:00:{e['time']:02}Z"} for e in EVENTS]
    bad_time = {"type": "A", "time": "soon", "k": "x"}
    write_lines("bad.jsonl", [*events, bad_time])
    result = on_spark("q.cep", "bad.jsonl")
    assert (result.exit_code, "'soon'" in result.stderr) == (1, True)
    assert len(result.stderr.splitlines()) <= 2
    write_lines("bad.jsonl", [*events, '{"type": "A", "time'])
    result = on_spark("q.cep", "bad.jsonl")
    assert (result.exit_code, "Malformed records" in result.stderr) == (1, True)
    write_lines("bad.jsonl", [*events, bad_time, '{"type": "A", "time'])
    assert pairs_of("bad.jsonl", "--bad-rows", "skip") == PAIRS


def test_an_error_of_a_task_is_one_message(folder: Path) -> None:
    write_lines("events.jsonl", [*EVENTS, {"time": 30, "v": 1, "k": "x"}])
    result = on_spark("q.cep", "events.jsonl")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: a row has no `type`\n  hint: ")
    assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere.jsonl"], "there is no file nowhere.jsonl"),
        (["empty"], "there are no event files in empty"),
        (["q.cep"], "q.cep is of an unknown format"),
        (["-"], "Spark cannot read standard input"),
        (["events.jsonl", "--format", "nonsense"], "Spark knows no format `nonsense`"),
        (["topic", "--format", "kafka"], "Spark has no Kafka connector"),
    ],
)
def test_sources_that_cannot_be_read(folder: Path, args: list[str], said: str) -> None:
    Path("empty").mkdir()
    result = on_spark("q.cep", *args)
    assert result.exit_code == 1
    assert f"error: {said}" in result.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--trace"], "--trace is not for Spark"),
        (["--bad-rows", "dead-letter"], "--bad-rows is fail or skip"),
        (["--disorder", "5s"], "--disorder is for --streaming"),
        (["--streaming", "--disorder", "5s"], "--streaming needs --checkpoint DIR"),
        (["--streaming", "--checkpoint", "c"], "--streaming needs --disorder DURATION"),
        (
            ["--streaming", "--checkpoint", "c", "--disorder", "5s", "--report", "r"],
            "--report is for bounded",
        ),
        (["--option", "x"], "'x' is not NAME=VALUE"),
    ],
)
def test_options_that_do_not_go_together(folder: Path, args: list[str], said: str) -> None:
    result = on_spark("q.cep", "events.jsonl", *args)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_spark_options_are_for_spark(folder: Path) -> None:
    assert "--streaming is for --engine spark" in run("q.cep", "events.jsonl", "--streaming").stderr
    assert "'kafka' is not one of" in run("q.cep", "events.jsonl", "--format", "kafka").stderr


def test_a_time_column_that_is_not_there(folder: Path) -> None:
    result = on_spark("-e", "A as a", "events.jsonl", "--time", "at")
    assert (result.exit_code, "there is no time column `at`" in result.stderr) == (1, True)


def test_kafka_has_the_declared_columns(spark: SparkSession) -> None:
    schema = declared_schema(declarations_of(QUERY), Columns(time="at"))
    assert {f.name: f.dataType.simpleString() for f in schema.fields} == {
        "type": "string",
        "v": "bigint",
        "k": "string",
        "at": "string",
    }
    with pytest.raises(InputMistake, match="the fields of `C` are not known"):
        declared_schema(declarations_of("stream S = C as c"), Columns())


def test_format_of_a_pattern_of_files(folder: Path) -> None:
    write_lines("logs/a.jsonl.gz", [])
    write_lines("logs/b.csv", [])
    assert format_of("logs/*.jsonl.gz") == "json"
    assert format_of("s3a://bucket/day.parquet") == "parquet"
    with pytest.raises(InputMistake, match="several formats"):
        format_of("logs")


# --- evidence -----------------------------------------------------------------------------------------------


def test_evidence_keeps_types_and_events() -> None:
    moment = datetime(2024, 5, 1, 10, tzinfo=UTC)
    events = (Event("A", 1, {"v": Decimal("1.10"), "at": moment}), Event("B", 2, {"v": b"x"}))
    match = Match("id", (1, "x"), events, {"a": events[:1], "b": events[1:]}, 1, 2, 3)
    row = {"n": Decimal("1.10"), "at": moment, "list": [1, None]}
    sent = evidence(Found("S", "match", row, match))
    assert (sent.kind, sent.stream, sent.row["at"]) == ("evidence", "S", 3)
    back = found_by("S", sent.row["text"])
    assert back == Found("S", "match", row)
    assert back.match is not None
    assert (back.match.id, back.match.key, back.match.detected) == ("id", (1, "x"), 3)
    assert [e.fields for e in back.match.events] == [e.fields for e in events]
    assert back.match.binds["b"][0] is back.match.events[1]


# --- streaming ----------------------------------------------------------------------------------------------

STREAMED = ("--streaming", "--checkpoint", "checkpoint", "--disorder", "2s", "--trigger", "available-now")


def test_a_stream_on_the_screen_goes_on_where_it_stopped(folder: Path) -> None:
    args = ("q.cep", "in", *STREAMED, "--format", "json", "--buckets", "2", "--end-type", "End")
    write_lines("in/1.jsonl", EVENTS[:3])
    first = on_spark(*args)
    assert first.exit_code == 0, first.output
    write_lines("in/2.jsonl", [*EVENTS[3:], {"type": "End", "time": 60}])
    second = on_spark(*args)
    assert second.exit_code == 0, second.output
    rows = objects(first.stdout) + objects(second.stdout)
    assert by_stream(rows, "Pair") == PAIRS
    assert sorted(row["k"] for row in by_stream(rows, "Alone")) == ["w", "y"]
    assert "matches: Pair" in second.stderr
    assert "micro-batch" in second.stderr


def test_a_stream_as_tables_and_as_files(folder: Path) -> None:
    write_lines("in/1.jsonl", [*EVENTS, {"type": "End", "time": 60}])
    args = ("q.cep", "in", *STREAMED, "--stream", "Pair", "--end-type", "End", "--buckets", "2")
    shown = on_spark(*args)
    assert shown.exit_code == 0, shown.output
    assert "Pair  2 matches" in shown.stdout
    lines = [a if a != "checkpoint" else "third" for a in args]
    assert on_spark(*lines, "--out", "text", "--format", "csv").exit_code == 0
    assert "x,5," in "".join(p.read_text() for p in Path("text/Pair").glob("batch=*/*.csv"))
    stored = on_spark(
        *[a.replace("checkpoint", "other") if a == "checkpoint" else a for a in args], "--out", "found"
    )
    assert stored.exit_code == 0, stored.output
    assert pq.read_table("found/Pair").num_rows == 2


def test_triggers() -> None:
    assert trigger_of(None) is None
    assert trigger_of("AvailableNow") == {"availableNow": True}
    assert trigger_of("1m") == {"processingTime": "60000 milliseconds"}


def test_a_file_is_no_stream(folder: Path) -> None:
    result = on_spark("q.cep", "events.jsonl", *STREAMED)
    assert result.exit_code == 1
    assert "a stream of files is a directory" in result.stderr


# --- explain ------------------------------------------------------------------------------------------------


def test_explain_by_key(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "type string, time timestamp, v bigint, k string, note string")
    query = """
        stream Pair = A[v > 2 and v % 2 == 0] as a -> B[v > a.v] as b .within(10s) .partition_by(k) .emit(v: b.v)
    """
    assert (
        cepheid.explain_spark(query, df)
        == """\
stream Pair
===========

runs
  by key: k; a key is matched by one task, key after key
  through the compiled matcher

Spark tests each event by itself
  A  v > 2 and v % 2 == 0
  B  its type alone

Spark moves
  rows     those that pass a test
  columns  time, type, v, k; not note
  by       k

the matcher, in Python, looks at several events
  Pair  a  -
  Pair  b  v > a.v
"""
    )


JOINED = """\
2 groups of streams; Spark reads the events once for each.


stream Tied
===========

runs
  as joins: there is no key, but an equality ties each step to one before it
    start  a
    join   b  on k == a.j, in 10s
  the matcher then looks at each tuple of events by itself

Spark tests each event by itself
  A  its type alone
  B  its type alone

Spark moves
  rows     those that pass a test
  columns  time, type, v, k, j
  by       time, to number the events of one time, then by what joins them

the matcher, in Python, looks at several events
  Tied  a  -
  Tied  b  k == a.j


stream Loose
============

runs
  as one partition, by one core: there is no key
  not as joins: an arrow is not `any`
  ! add `partition by`, or tie the steps together by the equality of a field
  through the compiled matcher

Spark tests each event by itself
  A  its type alone
  B  its type alone

Spark moves
  rows     all, because neighbours count; those that pass no test without their values
  columns  time, type, v; not k, j
  by       nothing: to one task

the matcher, in Python, looks at several events
  Loose  a  -
  Loose  b  v > a.v
"""


def test_explain_joins_and_one_partition(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "type string, time timestamp, v bigint, k string, j string")
    query = """
        stream Tied = A as a -> B[k == a.j] as b .within(10s) .emit(v: b.v)
        stream Loose = A as a -> next B[v > a.v] as b .emit(v: b.v)
    """
    assert cepheid.explain_spark(query, df) == JOINED


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "T as a -> T[v > a.v]+ as b .strict() .partition_by(k)",
            "all, because neighbours count; those that pass no test without their values\n           "
            "! neighbours may be of any type: `partition by k, type` means those of T, and moves no others",
        ),
        (
            "T as a -> T[v > a.v]+ as b .strict() .partition_by(k, type)",
            "those that pass a test, and all of type T",
        ),
        (
            "T as a -> next U as b .partition_by(k)",
            "all, because neighbours count; those that pass no test without their values",
        ),
    ],
)
def test_explain_says_which_rows_move_for_neighbours(spark: SparkSession, query: str, rows: str) -> None:
    df = spark.createDataFrame([], "type string, time timestamp, v bigint, k string")
    assert f"  rows     {rows}\n  columns" in cepheid.explain_spark(query, df)


def test_explain_has_no_word_on_types_of_a_plain_table(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "time timestamp, v bigint, k string")
    shown = cepheid.explain_spark("T as a -> T[v > a.v]+ as b .strict() .partition_by(k)", df)
    assert "neighbours may be" not in shown
    assert "rows     all, because neighbours count" in shown


STREAMED_PLAN = """\
stream S
========

runs
  by key: k, in 8 buckets, each with its state in one task
  through the compiled matcher

Spark tests each event by itself
  A  v > 1 and v < 10
  B  its type alone

left to Python, where Spark's tests hold
  A  regexp_like(name, "^a.*b")

Spark moves
  rows     those that pass a test
  columns  time, type, v, k, name
  by       k

the matcher, in Python, looks at several events
  S  a  -
  S  b  -
"""


def test_explain_of_a_stream_and_of_what_is_left_to_python(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    columns = ("timestamp as time", "'A' as type", "value as v", "'x' as k", "'n' as name")
    query = """
        stream S = A[v > 1 and regexp_like(name, "^a.*b") and v < 10] as a -> B as b
            .within(10s) .partition_by(k)
    """
    shown = cepheid.explain_spark(query, rate.selectExpr(*columns), disorder="1s", buckets=8)
    assert shown == STREAMED_PLAN


def test_explain_on_the_command_line(folder: Path) -> None:
    shown = CliRunner().invoke(main, ["explain", "q.cep", "--engine", "spark"])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("streams Pair, Alone\n===================\n\nruns\n  by key: k;")
    assert "the time of the last event" in shown.stdout
    by_events = CliRunner().invoke(
        main, ["explain", "q.cep", "--engine", "spark", "--schema", "events.jsonl", "--stream", "Pair"]
    )
    assert by_events.stdout.startswith("stream Pair\n")
    Path("q.cep").write_text("stream S = C as c")
    unknown = CliRunner().invoke(main, ["explain", "q.cep", "--engine", "spark"])
    assert "declare the events, or name some with --schema" in unknown.stderr
