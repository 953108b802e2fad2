"""Rules on Spark: scenarios as keys of one bundle, over tables and streams, and the example, as they are locally."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from streaming import read_stream, run_to_end, write_batches

sys.path.insert(0, str(Path(__file__).parent.parent / "rules"))

from late_rules import FACTS, LATE, TWICE, late_events
from rule_scenarios import Bundle, Scenario, as_tables, scenarios, tables, undeclared

from cepheid import run_rules
from cepheid.engines.rules.operations import EVENT
from cepheid.engines.rules.told import Told
from cepheid.engines.spark.rule_told import told_from
from cepheid.errors import InputMistake, PatternMistake

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "alarms-and-accounts"
START = datetime(1970, 1, 1, tzinfo=UTC)


def fitting() -> list[Scenario]:
    """Those whose values fit into the columns of one table; types in it are told by a column."""
    kinds: dict[str, type] = {}
    found = []
    for scenario in (s for s in scenarios() if as_tables(s) and undeclared(s)):
        own = {("id", type(o.identity)) for o in scenario.do if o.identity is not None}
        own |= {(n, type(v)) for o in scenario.do for n, v in o.fields.items() if v is not None}
        named = all(o.identity is not None for o in scenario.do if o.kind != EVENT)  # on Spark facts are
        if named and len(own) == len({n for n, _ in own}) and all(kinds.get(n, k) is k for n, k in own):
            kinds |= dict(own)
            found.append(scenario)
    return found


BUNDLE = Bundle(fitting())
HALF = Bundle(BUNDLE.scenarios[::2])  # on a stream, where each costs more


def frame(rows: list[dict[str, Any]]) -> pa.Table:
    """Ticks are seconds since 1970. The first row names all columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    dated = [{**dict.fromkeys(names), **row, "time": START + timedelta(seconds=row["time"])} for row in rows]
    return pa.Table.from_pylist(dated)


def bundled_tables(bundle: Bundle) -> tuple[pa.Table, pa.Table]:
    facts, events = tables(bundle.operations())
    return frame(facts), frame(events)


def collected(table: pa.Table) -> list[Told]:
    return [told_from(row) for row in table.to_pylist()]


def check(told: Iterable[Told], bundle: Bundle) -> None:
    bundle.check(replace(one, time=int(one.time.timestamp())) for one in told)


def test_enough_scenarios_fit() -> None:
    assert len(BUNDLE.scenarios) >= 80


def test_scenarios_over_tables(spark: SparkSession) -> None:
    facts, events = (spark.createDataFrame(t) for t in bundled_tables(BUNDLE))
    told = run_rules(BUNDLE.rules, facts=facts, events=events, key="scenario").told
    check(collected(told.toArrow()), BUNDLE)


def by_time(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """Parts of a table that follow each other in time, and a row that lets time go on."""
    rows = sorted(table.to_pylist(), key=lambda row: row["time"])
    place = [sum(row["time"].timestamp() >= cut for cut in cuts) for row in rows]
    parts = {
        n: [row for _, row in own] for n, own in groupby(zip(place, rows, strict=True), key=lambda p: p[0])
    }
    last = {"time": START + timedelta(days=1), "type": "Nothing"}
    found = [parts.get(n, []) for n in range(len(cuts) + 1)]
    return [pa.Table.from_pylist(part, schema=table.schema) for part in (*found, [last])]


def test_scenarios_over_streams(spark: SparkSession, tmp_path: Path) -> None:
    """Facts as a log and events, both as streams; the query stops in the middle and goes on from its checkpoint."""
    facts, events = (by_time(table, [4, 14]) for table in bundled_tables(HALF))
    told: Any = None
    for part in (slice(0, 2), slice(2, None)):
        write_batches(tmp_path / "facts", facts[part])
        write_batches(tmp_path / "events", events[part])
        streams = [read_stream(spark, tmp_path / name) for name in ("facts", "events")]
        results = run_rules(
            HALF.rules, facts=streams[0], events=streams[1], key="scenario", disorder="1s", buckets=2
        )
        told = run_to_end(results.told, tmp_path)
    check(sorted(collected(told), key=lambda one: one.time), HALF)


def test_patterns_beside_rules(spark: SparkSession) -> None:
    events = late_events(Random(6))
    local = run_rules(LATE, patterns=TWICE, facts={"F": FACTS}, events=events, key="who")
    frames = [spark.createDataFrame(rows) for rows in (FACTS, events)]
    told = run_rules(LATE, patterns=TWICE, facts={"F": frames[0]}, events=frames[1], key="who").told
    shown = lambda t: (t.kind, t.name, int(t.time), t.key, str(sorted(t.fields.items())))  # noqa: E731
    found = [replace(t, time=t.time.timestamp()) for t in collected(told.toArrow())]
    assert Counter(map(shown, found)) == Counter(map(shown, local.told))
    assert {"Late", "Twice", "Quick", "Bad", "F"} <= {t.name for t in found}


# The example.


def example(name: str, spark: SparkSession | None = None) -> dict[str, Any]:
    """Rules, facts and events of one of its two halves, locally as files."""
    text = (EXAMPLE / f"{name}.rules").read_text(encoding="utf-8")
    files = {"alarms": ("Equipment", "equipment", "alarms"), "accounts": ("Account", "accounts", "payments")}
    type, facts, events = files[name]
    read: Any = lambda file: str(EXAMPLE / f"{file}.csv")  # noqa: E731
    if spark is not None:
        read = lambda file: spark.read.csv(  # noqa: E731
            str(EXAMPLE / f"{file}.csv"), header=True, inferSchema=True
        )
    return {"rules": text, "facts": {type: read(facts)}, "events": read(events)}


def rows_of(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(sorted(row.items())) for row in table.to_pylist())


@pytest.fixture
def utc(spark: SparkSession) -> Any:
    """Times of files without a zone are UTC."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_the_example_is_the_same(spark: SparkSession, utc: None) -> None:
    for name in ("alarms", "accounts"):
        local = run_rules(**example(name), split=True)
        told = run_rules(**example(name, spark))
        cached = told.of(told.told.cache())
        for stream, table in local.emitted.items():
            assert rows_of(cached.emitted(stream).toArrow()) == rows_of(table), stream
            assert table.num_rows > 0
        for type, table in local.facts.items():
            wanted = table.select(cached.facts(type).columns)
            assert rows_of(cached.facts(type).toArrow()) == rows_of(wanted), type
        for type, table in local.events.items():
            wanted = table.select(cached.events(type).columns)
            assert rows_of(cached.events(type).toArrow()) == rows_of(wanted), type
        assert cached.firings.count() == local.firings.num_rows


@pytest.mark.soak
def test_tables_beside_a_stream(spark: SparkSession, tmp_path: Path, utc: None) -> None:
    """Equipment as a table, alarms as a stream: what happens until the last alarm is what happens over tables."""
    given = example("alarms", spark)
    alarms = given["events"].toArrow().sort_by("time")
    last = pa.Table.from_pylist([{"time": datetime(2024, 5, 8), "type": "Nothing"}], schema=alarms.schema)
    write_batches(tmp_path / "in", [alarms.slice(0, 150), alarms.slice(150), last])
    results = run_rules(
        given["rules"],
        facts=given["facts"],
        events=read_stream(spark, tmp_path / "in"),
        disorder="1 minute",
        buckets=2,
    )
    told = collected(run_to_end(results.told, tmp_path))
    local = run_rules(**example("alarms"), split=True)
    named = lambda t: (t.kind, t.name, t.time, str(t.key), str(sorted(t.fields.items())))  # noqa: E731
    of = ("emitted", "modified", "fired")
    assert Counter(named(t) for t in told if t.kind in of) == Counter(
        named(t) for t in local.told if t.kind in of
    )


def test_times_have_the_type_of_their_column(spark: SparkSession) -> None:
    """Ticks are whole numbers, unless a rule may fire between two of them; all else are timestamps."""
    made = "rule M { when { ?a: event A(eqpt is not null) } then { assert event B(eqpt = ?a.eqpt); } }"
    seen = (
        "rule S { when { ?b: event B(eqpt is not null) } then { emit Seen(t = timeof(?b), f = ?b.time); } }"
    )
    rules = f"{made} {seen} rule R {{ when {{ ?a: event A() }} then {{ emit At(t = timeof(?a), f = ?a.time); }} }}"
    half = "rule H { when { ?a: event A(); not event C(eqpt == ?a.eqpt; ?this after[0,500ms] ?a) } then { } }"
    columns = {
        (rules, "int"): "bigint",
        (rules, "double"): "double",
        (rules + half, "bigint"): "double",
        (rules, "timestamp"): "timestamp",
        (rules, "date"): "timestamp",
        (rules, "string"): "timestamp",
    }
    for (text, column), kind in columns.items():
        found = run_rules(
            text, events={"A": spark.createDataFrame([], f"time {column}, eqpt string")}, key="eqpt"
        )
        shown = {stream: dict(found.emitted(stream).dtypes) for stream in ("Seen", "At")}
        assert (shown["Seen"]["t"], shown["Seen"]["f"], shown["At"]["t"]) == (kind,) * 3, column
    with pytest.raises(PatternMistake) as caught:
        run_rules(
            "rule R { when { ?a: event A(); event A(eqpt == ?a.eqpt; timeof(?this) - ?a.time > 5s) } then { } }",
            events={"A": spark.createDataFrame([], "time int, eqpt string")},
        )
    assert caught.value.code == "type_clash"
    with pytest.raises(InputMistake) as mixed:
        run_rules(
            "rule R { when { ?e: E(); ?a: event A(eqpt == ?e) } then { emit X(?a); } }",
            facts={"E": spark.createDataFrame([], "id string, valid_from timestamp")},
            events={"A": spark.createDataFrame([], "time int, eqpt string")},
        )
    assert mixed.value.code == "mixed_times"
    ticks = spark.createDataFrame([(3, "p"), (5, "q")], "time int, eqpt string")
    found = run_rules(rules, events={"A": ticks}, key="eqpt").emitted("Seen").toArrow()
    assert sorted((row["t"], row["f"]) for row in found.to_pylist()) == [(3, 3), (5, 5)]


def test_what_spark_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rules = "rule R { when { ?e: E(on == true); event A(eqpt == ?e) } then { emit X(?e); } }"
    facts = spark.createDataFrame([("p", True)], "id string, on boolean")
    events = spark.createDataFrame([(1, "p")], "time int, eqpt string")
    write_batches(tmp_path, [pa.table({"time": [START], "eqpt": ["p"]})])
    stream = read_stream(spark, tmp_path)
    for given, code in (
        ({"events": {"A": stream}}, "no_watermark"),
        ({"events": {"A": [{"time": 1}]}}, "bad_input"),
        ({"events": {"A": stream}, "until": 5}, "bad_option"),
        ({"events": {"A": events}, "key": {"E": "id"}}, "no_key"),
    ):
        with pytest.raises((InputMistake, PatternMistake)) as caught:
            run_rules(rules, facts={"E": facts}, **given)
        assert caught.value.code == code
    with pytest.raises(InputMistake) as caught:
        run_rules(rules, facts={"E": facts}, events={"A": events}).emitted("Y")
    assert caught.value.code == "unknown_stream"
    twice = spark.createDataFrame(
        [("p", True, 1, 9), ("p", False, 5, 7)], "id string, on boolean, valid_from int, valid_to int"
    )
    with pytest.raises(PythonException, match="E p is there twice at 5"):
        run_rules(rules, facts={"E": twice}, events={"A": events}).told.collect()
    with pytest.raises(PatternMistake) as unknown:
        run_rules(rules.replace("eqpt", "eqp"), facts={"E": facts}, events={"A": events})
    assert unknown.value.hint == "did you mean `eqpt`?"
