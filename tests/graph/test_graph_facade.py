"""`Graph` and `Sifter` as a program uses them: values and times in and out, tables, mistakes, the pool from outside."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid
from cepheid.engines.graph.matches import StageInterval
from cepheid.errors import CepheidError, InputMistake, PatternMistake, SnapshotMistake
from cepheid.graph.happenings import Advanced, Completed, Ended, Expired, Negated, TickDelta

PAIR = """graph pattern pair {
  stage a { .kind = "a", .who -> ?x }
  stage b { .kind = "b", .who -> ?x }
}"""


def edges_of_pair(start: Any = 1, step: Any = 1) -> list[dict[str, Any]]:
    return [
        {"source": f"e{i}", "label": label, "target": target, "start": start + i * step}
        for i, kind in enumerate("ab")
        for label, target in (("kind", kind), ("who", "ann"))
    ]


# Tables and files.


def as_csv(rows: list[dict[str, Any]], folder: Path) -> str:
    path = folder / "edges.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def as_parquet(rows: list[dict[str, Any]], folder: Path) -> str:
    path = folder / "edges.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def as_jsonl(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "edges.jsonl"
    path.write_text(pd.DataFrame(rows).to_json(orient="records", lines=True, date_format="iso"))
    return path


TABLES = {
    "dicts": lambda rows, _: rows,
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "arrow": lambda rows, _: pa.Table.from_pylist(rows),
    "csv": as_csv,
    "parquet": as_parquet,
    "jsonl": as_jsonl,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables(kind: str, tmp_path: Path) -> None:
    graph = cepheid.Graph().read(TABLES[kind](edges_of_pair(), tmp_path))
    (match,) = graph.find(PAIR)
    assert match.binds == {"a": "e0", "b": "e1", "x": "ann"}
    assert match.intervals == (StageInterval("a", 1, None), StageInterval("b", 2, None))
    assert (match.first, match.last, match.decided) == (1, 2, 2)


@pytest.mark.parametrize("kind", TABLES)
def test_tables_with_datetimes(kind: str, tmp_path: Path) -> None:
    begin = datetime(2024, 5, 1, 12, tzinfo=UTC)
    rows = edges_of_pair(begin, timedelta(minutes=1))
    (match,) = cepheid.Graph().read(TABLES[kind](rows, tmp_path)).find(PAIR)
    assert (match.first, match.last) == (begin, begin + timedelta(minutes=1))
    (told,) = [h for h in cepheid.Sifter(PAIR).read(TABLES[kind](rows, tmp_path)) if isinstance(h, Completed)]
    assert told.match == match


@pytest.mark.parametrize("kind", TABLES)
def test_typed_columns_of_targets_and_names(kind: str, tmp_path: Path) -> None:
    rows = [
        {"node": "o1", "what": "status", "text": "paid", "amount": None, "from": 1, "to": 9, "round": 0},
        {"node": "o1", "what": "amount", "text": None, "amount": 120.5, "from": 2, "to": None, "round": 1},
    ]
    graph = cepheid.Graph().read(
        TABLES[kind](rows, tmp_path),
        source="node", label="what", target=["text", "amount"], start="from", end="to", tick="round",
    )  # fmt: skip
    pattern = 'graph pattern p { stage o { .status = "paid", .amount > 100 -> ?n } }'
    (match,) = graph.find(pattern)
    assert match.binds == {"o": "o1", "n": 120.5}
    assert match.intervals == (StageInterval("o", 2, 9),)


def test_the_column_end_is_read_if_there_is_one() -> None:
    rows = [{**row, "end": None if row["label"] == "who" else row["start"] + 0.5} for row in edges_of_pair()]
    (match,) = cepheid.Graph().read(rows).find(PAIR)
    assert match.intervals == (StageInterval("a", 1, 1.5), StageInterval("b", 2, 2.5))


BAD_TABLES: list[tuple[str, str, list[dict[str, Any]], dict[str, Any]]] = [
    ("null_node", "row 2", [*edges_of_pair()[:1], {"source": "e", "label": "k", "target": None, "start": 1}], {}),
    ("no_column", "`from_`", edges_of_pair(), {"source": "from_"}),
    ("bad_time", "row 1", [{"source": "e", "label": "k", "target": 1, "start": "noon"}], {}),
    ("end_before_start", "row 1", [{"source": "e", "label": "k", "target": 1, "start": 5, "end": 4}], {}),
    ("two_targets", "row 1", [{"source": "e", "label": "k", "a": 1, "b": "x", "start": 5}], {"target": ["a", "b"]}),
    ("mixed_times", "row 2", [*edges_of_pair()[:1], *edges_of_pair(datetime(2024, 1, 1), timedelta(1))[:1]], {}),
    ("bad_row", "row 1", [{"source": "e", "label": None, "target": 1, "start": 5}], {}),
    ("bad_row", "row 1", [{"source": "e", "label": "k", "target": 1, "start": 5, "t": 1.5}], {"tick": "t"}),
    ("bad_value", "row 1", [{"source": "e", "label": "k", "target": [1, 2], "start": 5}], {}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "said", "rows", "names"), BAD_TABLES, ids=[b[0] for b in BAD_TABLES])
def test_bad_tables(code: str, said: str, rows: list[dict[str, Any]], names: dict[str, Any]) -> None:
    with pytest.raises(InputMistake) as caught:
        cepheid.Graph().read(rows, **names)
    assert caught.value.code == code
    assert said in caught.value.message


# Values and times.


@pytest.mark.parametrize(
    "value",
    [
        True,
        3,
        2.5,
        "x",
        b"x",
        Decimal("1.10"),
        date(2024, 1, 2),
        datetime(2024, 1, 2, tzinfo=UTC),
        timedelta(1),
    ],
)
def test_values_come_back_as_they_were(value: Any) -> None:
    graph = cepheid.Graph().add("e", "k", value, 1)
    (match,) = graph.find("graph pattern p { stage s { .k -> ?v } }")
    assert match.binds["v"] == value
    assert type(match.binds["v"]) is type(value)
    sifter = cepheid.Sifter("graph pattern p { stage s { .k -> ?v } }")
    sifter.add("e", "k", value, 1)
    (again,) = cepheid.Sifter.restore(sifter.snapshot()).drain_completed()
    assert again == match


def test_a_value_of_another_type_is_no_match_and_no_error() -> None:
    graph = cepheid.Graph().add("e", "k", "many", 1).add("f", "k", 7, 1)
    assert [m.binds for m in graph.find("graph pattern p { stage s { .k > 5 } }")] == [{"s": "f"}]


@pytest.mark.parametrize(
    ("unit", "times"),
    [("s", (1, 2.5)), ("ms", (1000, 2500)), ("us", (10**6, 2_500_000)), ("ns", (10**9, 25 * 10**8))],
)
def test_units_of_time(unit: str, times: tuple[float, float]) -> None:
    graph = cepheid.Graph(time_unit=unit)
    for node, kind, time in zip("mn", "ab", times, strict=True):
        graph.add(node, "kind", kind, time).add(node, "who", "ann", time)
    assert len(graph.find(PAIR.replace("}\n}", "}\n  within 1500ms }"))) == 1
    assert len(graph.find(PAIR.replace("}\n}", "}\n  within 1499ms }"))) == 0
    (match,) = graph.find(PAIR)
    assert (match.first, match.last) == times


def test_an_edge_that_ends_later() -> None:
    graph = cepheid.Graph().add("e", "k", 1, 1).close("e", "k", 1, 4)
    (match,) = graph.find("graph pattern p { stage s { .k } }")
    assert match.intervals == (StageInterval("s", 1, 4),)
    assert len(graph.add("e", "k", 1, 1)) == 1
    with pytest.raises(InputMistake, match="already") as caught:
        graph.close("e", "k", 1, 5, start=1)
    assert caught.value.code == "closed_twice"
    with pytest.raises(InputMistake) as caught:
        graph.close("e", "k", 2, 5)
    assert caught.value.code == "no_such_edge"


def test_rows_and_arrow() -> None:
    graph = cepheid.Graph().read(edges_of_pair())
    found = graph.find([PAIR, cepheid.graph_pattern("one").stage("s", kind="b")])
    assert [m.pattern for m in found.of("one")] == ["one"]
    table = found.to_arrow()
    assert table.column_names == ["pattern", "bindings", "intervals", "first", "last", "decided"]
    assert table.to_pylist()[0] == {
        "pattern": "pair",
        "bindings": {"a": "e0", "b": "e1", "s": None, "x": "ann"},
        "intervals": [{"stage": "a", "start": 1, "end": None}, {"stage": "b", "start": 2, "end": None}],
        "first": 1,
        "last": 2,
        "decided": 2,
    }
    assert found.rows()[1]["bindings"] == {"s": "e1"}
    assert len(found.to_pandas()) == 2
    assert cepheid.Graph().find(PAIR).to_arrow().num_rows == 0


def test_one_variable_of_two_types_is_no_column() -> None:
    found = (
        cepheid.Graph()
        .add("e", "k", 1, 1)
        .add("f", "k", "x", 1)
        .find("graph pattern p { stage s { .k -> ?v } }")
    )
    with pytest.raises(InputMistake) as caught:
        found.to_arrow()
    assert caught.value.code == "mixed_types"
    assert "rows()" in str(caught.value.hint)
    assert sorted(str(row["bindings"]["v"]) for row in found.rows()) == ["1", "x"]


def test_patterns_however_they_are_given() -> None:
    graph = cepheid.Graph().read(edges_of_pair())
    read = cepheid.graph_patterns(PAIR)
    for given in (PAIR, read, read[0], [PAIR], str(read[0])):
        assert len(graph.find(given)) == 1


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ("no_pattern", "private graph pattern p { stage s { .k } }"),
        ("duplicate_name", [PAIR, PAIR]),
        ("not_a_pattern", 5),
        ("python_function", cepheid.graph_pattern("p").stage("s", k=1).where(lambda x: True)),
        ("empty_query", ""),
    ],
)
def test_no_patterns(code: str, given: Any) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.Graph().find(given)
    assert caught.value.code == code


def test_mistakes_are_told_when_the_text_is_read() -> None:
    with pytest.raises(PatternMistake, match="no value yet"):
        cepheid.graph_patterns("graph pattern p { stage s { .k = ?x } }")


# The sifter.


def test_happenings_and_threads() -> None:
    sifter = cepheid.Sifter(PAIR + " graph pattern one { stage s { .kind = 'b' } }")
    assert sifter.add("e0", "kind", "a", 1) == []
    (begun,) = sifter.add("e0", "who", "ann", 1)
    assert begun == Advanced("pair", 1, {"a": "e0", "x": "ann"}, "a", None)
    (thread,) = sifter.threads()
    assert (thread.pattern, thread.stage, thread.waiting_for) == ("pair", "a", ("b",))
    assert (thread.since, thread.created, thread.age, thread.parent) == (1, 0, 0, None)
    delta, told = sifter.end_tick()
    assert (delta, told) == (TickDelta(1, advanced=("pair",), active=1), [])
    assert sifter.threads("pair")[0].age == 1
    assert sifter.threads("one") == []
    assert [h.pattern for h in sifter.add("e1", "kind", "b", 2)] == ["one"]
    (done,) = sifter.add("e1", "who", "ann", 2)
    assert isinstance(done, Completed)
    assert done.match.binds == {"a": "e0", "b": "e1", "x": "ann"}
    assert [m.pattern for m in sifter.drain_completed()] == ["one", "pair"]
    assert len(sifter.drain_completed()) == 0
    assert sifter.end_tick()[0].completed == ("one", "pair")


def test_out_of_order() -> None:
    sifter = cepheid.Sifter(PAIR)
    sifter.add("e0", "kind", "a", 5)
    for wrong in (lambda: sifter.add("e1", "kind", "b", 4), lambda: sifter.read([{**edges_of_pair(4)[0]}])):
        with pytest.raises(InputMistake) as caught:
            wrong()
        assert caught.value.code == "out_of_order"
    sifter.add("e0", "kind", "a", 5, 7)
    with pytest.raises(InputMistake) as caught:
        sifter.add("e1", "kind", "b", 6)  # the end at 7 has come
    assert caught.value.code == "out_of_order"
    assert sifter.add("e0", "kind", "a", 5) == []  # it is known


def test_a_mistake_changes_nothing() -> None:
    sifter = cepheid.Sifter(PAIR)
    sifter.add("e0", "kind", "a", 1)
    before = sifter.snapshot()
    for wrong in (
        lambda: sifter.add("e0", "who", None, 2),
        lambda: sifter.add("e0", "who", "ann", 3, 2),
        lambda: sifter.close("e0", "kind", "a", 0),
        lambda: sifter.close("e9", "kind", "a", 5),
        lambda: sifter.kill(None),
        lambda: sifter.disable("par"),
    ):
        with pytest.raises(CepheidError):
            wrong()
        assert sifter.snapshot() == before


def test_disable_and_enable() -> None:
    sifter = cepheid.Sifter(PAIR + " graph pattern other { stage a { .kind = 'a' } stage b { .kind = 'b' } }")
    for row in edges_of_pair()[:2]:
        sifter.add(**row)
    assert sifter.active == 2
    (ended,) = sifter.disable("pair")
    assert (ended.pattern, ended.binds) == ("pair", {"a": "e0", "x": "ann"})
    assert isinstance(ended, Ended)
    assert sifter.enabled() == {"pair": False, "other": True}
    told = [h for row in edges_of_pair()[2:] for h in sifter.add(**row)]
    assert {h.pattern for h in told} == {"other"}
    sifter.enable("pair")
    told = [h for row in edges_of_pair(3) for h in sifter.add(**row)]
    assert [h.match.first for h in told if isinstance(h, Completed) and h.pattern == "pair"] == [3]
    with pytest.raises(PatternMistake, match="no graph pattern") as caught:
        sifter.enable("par")
    assert "`pair`" in str(caught.value.hint)


def test_what_a_disabled_pattern_found_in_this_time_does_not_come_back() -> None:
    sifter = cepheid.Sifter("graph pattern p { stage a { .k, not .l } stage b { .m } }")
    sifter.add("e", "k", 1, 1)
    sifter.disable("p")
    sifter.enable("p")
    assert sifter.finish() == []
    assert sifter.active == 0


def test_kill_by_entity() -> None:
    sifter = cepheid.Sifter(PAIR)
    for node, who in (("e0", "ann"), ("e1", "bob")):
        sifter.add(node, "kind", "a", 1)
        sifter.add(node, "who", who, 1)
    (ended,) = sifter.kill("ann")
    assert isinstance(ended, Ended)
    assert ended.binds == {"a": "e0", "x": "ann"}
    assert [t.binds["x"] for t in sifter.threads()] == ["bob"]
    assert sifter.finish() == []
    assert sifter.active == 1


def test_a_clone_is_another() -> None:
    sifter = cepheid.Sifter(PAIR)
    for row in edges_of_pair()[:2]:
        sifter.add(**row)
    what_if = sifter.clone()
    for row in edges_of_pair()[2:]:
        what_if.add(**row)
    assert len(what_if.drain_completed()) == 1
    assert len(sifter.drain_completed()) == 0
    assert sifter.snapshot() != what_if.snapshot()
    told = [h for row in edges_of_pair()[2:] for h in sifter.add(**row)]
    assert [type(h) for h in told] == [Completed]


def test_negated_and_expired() -> None:
    sifter = cepheid.Sifter(
        """graph pattern p { stage a { .k = 1 } stage b { .k = 2 }
        unless after a { .k = 3, .why -> ?w } deadline 1 ticks }"""
    )
    sifter.add("a1", "k", 1, 1)
    sifter.add("x", "k", 3, 2)
    (negated,) = sifter.add("x", "why", "because", 2)
    assert negated == Negated("p", 1, {"a": "a1"}, 0, {"unless": "x", "w": "because"})
    sifter.add("a2", "k", 1, 3)
    assert sifter.end_tick()[1] == []
    _, told = sifter.end_tick()
    assert told == [Expired("p", 2, {"a": "a2"}, "a", 2)]


@pytest.mark.parametrize(
    "snapshot", [b"", b"\xff\xfe", b"{}", b"[]", b'{"format": "cepheid sifter", "version": 99}']
)
def test_what_is_no_snapshot(snapshot: bytes) -> None:
    with pytest.raises(SnapshotMistake):
        cepheid.Sifter.restore(snapshot)


def test_a_snapshot_of_another_shape() -> None:
    changed = cepheid.Sifter(PAIR).snapshot().replace(b"completing_leaves", b"completing_stays")
    with pytest.raises(SnapshotMistake, match="another version"):
        cepheid.Sifter.restore(changed)


# Logs.


@pytest.mark.parametrize("kind", TABLES)
def test_a_log(kind: str, tmp_path: Path) -> None:
    begin = datetime(2024, 5, 1, 12, tzinfo=UTC)
    rows = [
        {"id": "e1", "time": begin, "activity": "create", "case": 7, "by": "ann"},
        {"id": "e2", "time": begin + timedelta(hours=1), "activity": "pay", "case": 7, "by": None},
    ]
    pattern = """graph pattern p {
      stage create { .activity = "create", .case -> ?case, .time -> ?t }
      stage pay { .activity = "pay", .case -> ?case, not .by }
      create before pay by 1h
    }"""
    table = TABLES[kind](rows, tmp_path)
    (match,) = cepheid.Graph().read_events(table, node="id").find(pattern)
    assert match.binds == {"create": "e1", "pay": "e2", "case": 7, "t": begin}
    assert match.intervals[0] == StageInterval("create", begin, begin)
    (numbered,) = cepheid.Graph().read_events(table).find(pattern)
    assert (numbered.binds["create"], numbered.binds["pay"]) == ("#1", "#2")
    sifter = cepheid.Sifter(pattern)
    sifter.read_events(table, node="id")
    sifter.finish_all()
    assert list(sifter.drain_completed()) == [match]


def test_a_log_with_ends_and_numbers() -> None:
    rows = [{"at": 1, "until": 5, "k": "a"}, {"at": 3, "until": None, "k": "b"}]
    pattern = 'graph pattern p { stage s { .k = "a" } stage t { .k = "b" } s overlaps t }'
    (match,) = cepheid.Graph().read_events(rows, time="at", end="until").find(pattern)
    assert match.intervals == (StageInterval("s", 1, 5), StageInterval("t", 3, None))


def test_a_log_without_its_columns() -> None:
    for names in ({"time": "when"}, {"node": "id"}, {"end": "until"}):
        with pytest.raises(InputMistake):
            cepheid.Graph().read_events([{"time": 1, "k": "a"}], **names)
