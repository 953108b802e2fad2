"""The public entrances: kinds of frames in and out, options, the live session."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid
from cepheid.errors import CepheidError

ROWS: list[dict[str, Any]] = [
    {"type": "A", "time": 0, "user": "x", "v": 1},
    {"type": "B", "time": 5, "user": "x", "v": 2},
    {"type": "B", "time": 8, "user": "y", "v": 5},
]
QUERY = "A as a -> all B[v > a.v] as b .within(10s)"
EMIT = QUERY + " .emit(n: count(b), total: sum(b.v), mean: avg(b.v), user: a.user)"


def kinds() -> dict[str, Any]:
    table = pa.Table.from_pylist(ROWS)
    return {
        "pandas": pd.DataFrame(ROWS),
        "polars": pl.DataFrame(ROWS),
        "arrow": table,
        "duckdb": duckdb.from_arrow(table),
        "dicts": ROWS,
    }


def as_rows(kind: str, frame: Any) -> list[dict[str, Any]]:
    if kind == "dicts":
        return list(frame)
    if kind == "pandas":
        return list(frame.to_dict("records"))
    if kind == "polars":
        return list(frame.to_dicts())
    table = frame if kind == "arrow" else frame.to_arrow_table()
    return list(table.to_pylist())


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "duckdb", "dicts"])
def test_the_answer_comes_back_as_the_same_kind(kind: str) -> None:
    events = kinds()[kind]
    answer = cepheid.match(EMIT, events)
    assert isinstance(answer, type(events))  # of dicts, a list that can be plotted
    assert as_rows(kind, answer) == [
        {"n": 1, "total": 2, "mean": 2.0, "user": "x"},
        {"n": 2, "total": 7, "mean": 3.5, "user": "x"},
    ]


def test_columns_are_typed() -> None:
    table = cepheid.match(QUERY + " .partition_by(user)", kinds()["arrow"])
    assert table.column_names == ["match_id", "start", "end", "user", "a", "b"]
    assert table.schema.field("start").type == pa.timestamp("us", "UTC")
    assert table.schema.field("user").type == pa.string()
    assert table.schema.field("a").type.field("v").type == pa.int64()
    assert table.schema.field("b").type.value_type.field("user").type == pa.string()
    assert table.num_rows == 1


def test_an_empty_answer_has_the_same_columns() -> None:
    table = cepheid.match(EMIT.replace("10s", "1s"), kinds()["arrow"])
    assert table.num_rows == 0
    assert table.schema.types == [pa.int64(), pa.int64(), pa.float64(), pa.string()]


def test_other_column_names_order_and_partition() -> None:
    rows = [{"kind": "A", "ts": 1, "n": 2, "u": "x"}, {"kind": "B", "ts": 1, "n": 1, "u": "x"}]
    query = "B as b -> A as a"
    options: dict[str, Any] = {"time": "ts", "type": "kind"}
    assert cepheid.match(query, rows, **options) == []
    assert len(cepheid.match(query, rows, order="n", **options)) == 1
    rows[1]["u"] = "y"
    assert cepheid.match(query, rows, order="n", partition_by="u", **options) == []


def test_a_table_without_types_is_one_type() -> None:
    ticks = pd.DataFrame({"time": [1, 2, 3, 4], "price": [5.0, 6.0, 7.0, 3.0]})
    rising = "Tick as t -> all Tick.increasing(price) as up .emit(n: count(up), top: up.price)"
    assert cepheid.match(rising, ticks).to_dict("records") == [{"n": 2, "top": 7.0}]
    with pytest.raises(CepheidError, match="no type column"):
        cepheid.match("A -> B", ticks)


def test_run_gives_every_stream_and_what_did_not_become_a_match() -> None:
    program = """
    stream Pair = A as a -> B as b .stnm() .within(6s) .timeouts()
    stream Lonely = B as b -> NOT C within 10s .emit(v: b.v)
    """
    events = [*ROWS, {"type": "A", "time": 9, "v": 0}, {"type": "X", "time": 16}]
    results = cepheid.run(program, events)
    assert list(results) == ["Pair", "Lonely"]
    assert [m["b"]["v"] for m in results["Pair"]] == [2]
    assert [t["a"]["time"].second for t in results.timeouts["Pair"]] == [9]
    assert results.timeouts["Pair"][0]["waiting_for"] == ["B"]
    assert results["Lonely"] == [{"v": 2}]
    assert [p["b"]["v"] for p in results.pending["Lonely"]] == [5]
    assert cepheid.match(program, events, stream="Pair") == results["Pair"]
    with pytest.raises(CepheidError, match="did you mean `Lonely`"):
        cepheid.match(program, events, stream="Lonly")


def test_a_column_may_be_a_whole_event() -> None:
    (found,) = cepheid.match("A as a -> B[v == 2] as b .emit(whole: b, n: a.v)", ROWS)
    assert found["n"] == 1
    assert found["whole"]["user"] == "x"
    a, b = cepheid.event("A").as_("a"), cepheid.event("B").as_("b")
    built = (a >> b.where(b.v == 2)).emit(whole=b, n=a.v)
    assert cepheid.match(built, ROWS) == [found]


def test_a_misspelt_type_is_said() -> None:
    with pytest.warns(cepheid.CepheidWarning, match="did you mean `Login`"):
        cepheid.match("Logn as l -> Pay as p", [{"type": "Login", "time": 0}, {"type": "Pay", "time": 1}])


def test_now_makes_an_absence_certain() -> None:
    query = "A as a -> NOT B within 10s .emit(v: a.v)"
    assert cepheid.match(query, ROWS[:1]) == []
    assert cepheid.match(query, ROWS[:1], now=10) == []
    assert cepheid.match(query, ROWS[:1], now=10.000001) == [{"v": 1}]


def test_eager_rows_are_marked() -> None:
    rows = [*ROWS[:2], {"type": "C", "time": 6}]
    found = cepheid.match("A as a -> all B as b -> C as c .each(eager: true) .emit(n: count(b))", rows)
    assert found == [{"n": 1, "provisional": True}, {"n": 1, "provisional": False}]


def test_counting_without_listing() -> None:
    rows: list[dict[str, Any]] = [{"type": "A", "time": 0}]
    rows += [{"type": "B", "time": i + 1} for i in range(100)]
    rows += [{"type": "C", "time": 101}]
    query = "A as a -> all B as b -> C as c .subsets() .emit(n: count_matches())"
    assert cepheid.match(query, rows) == [{"n": 2**100 - 1}]
    with pytest.raises(CepheidError, match=r"max_runs|max_matches"):
        cepheid.match(query.split(" .emit")[0], rows[:30] + rows[-1:], bad_rows="fail")


def test_trend_counts_after_each_event() -> None:
    rows = [{"type": "T", "time": i} for i in range(5)]
    counts = [
        r["n"] for r in cepheid.match("T as t -> all T as u .subsets() .emit(n: count_matches())", rows)
    ]
    assert [sum(counts[:i]) for i in range(5)] == [0, 1, 4, 11, 26]


def test_counting_refuses_what_it_cannot_count() -> None:
    for query in ("A -> B .stnm()", "A -> all B .longest()", "every (A -> B)", "A -> B .skip(past_last)"):
        with pytest.raises(CepheidError) as caught:
            cepheid.compile(query + " .emit(n: count_matches())")
        assert caught.value.code == "not_countable"


def test_a_live_session_survives_a_restart_between_any_two_events() -> None:
    query = "A as a -> all B as b -> C as c .within(20s) .emit(n: count(b), c: c.time)"
    rows = [*ROWS, {"type": "C", "time": 9}, {"type": "B", "time": 7, "v": 3}, {"type": "C", "time": 14}]
    whole = cepheid.Session(query, disorder="3s")
    expected = [f for row in rows for f in whole.feed(row)] + whole.end()
    assert len(expected) == 3 + 3
    for cut in range(len(rows) + 1):
        first = cepheid.Session(query, disorder="3s")
        found = [f for row in rows[:cut] for f in first.feed(row)]
        second = cepheid.Session(query, disorder="3s")
        second.restore(first.snapshot())
        found += [f for row in rows[cut:] for f in second.feed(row)] + second.end()
        assert found == expected


def test_a_session_tells_late_from_too_late() -> None:
    live = cepheid.Session("A as a -> B as b", disorder="1s", lateness="5s", too_late="dead_letter")
    live.feed([{"type": "A", "time": 0}, {"type": "Z", "time": 10}])
    (late,) = live.feed({"type": "B", "time": 6})
    assert late.row["late"] is True
    (dead,) = live.feed({"type": "B", "time": 3})
    assert dead.kind == "dead_letter"
    assert live.counters.late == 1
    assert live.counters.too_late == 1


def test_an_idle_stream_goes_on_by_advance() -> None:
    live = cepheid.Session("A as a -> NOT B within 10s .emit(t: a.time)")
    assert live.feed({"type": "A", "time": 0}) == []
    assert live.advance(10) == []
    assert len(live.advance(10.5)) == 1


def test_a_snapshot_of_another_program_is_refused() -> None:
    state = cepheid.Session("A -> B").snapshot()
    with pytest.raises(CepheidError) as caught:
        cepheid.Session("A -> C").restore(state)
    assert caught.value.code == "snapshot"
    with pytest.raises(CepheidError, match="damaged"):
        cepheid.Session("A -> B").restore(state[:40])


def test_a_listener_sees_the_life_of_runs() -> None:
    lives: list[Any] = []
    cepheid.run("A as a -> B as b .within(6s)", ROWS, listener=lives.append)
    assert [type(e).__name__ for e in lives] == ["Started", "Advanced", "Completed", "Expired"]
    assert lives[1].forked


def test_fields_that_never_came_are_said(tmp_path: Any) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"type": "A", "time": 1, "user": "x"}\n')
    with pytest.warns(cepheid.CepheidWarning, match="had the field `usr`"):
        cepheid.match('A[usr == "x"] as a', path)


def test_unknown_fields_of_known_data_are_errors() -> None:
    with pytest.raises(CepheidError, match="did you mean `user`"):
        cepheid.match('A[usr == "x"] as a', ROWS)


def test_importing_cepheid_imports_no_engine() -> None:
    code = (
        "import sys, cepheid; "
        "bad = [m for m in ('pandas', 'polars', 'duckdb', 'pyspark', 'cepheid.engines') if m in sys.modules]; "
        "sys.exit(repr(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
