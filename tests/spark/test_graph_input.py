"""What a Spark DataFrame of edges or events may look like, and what is said of one that cannot be."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import cepheid
from cepheid.engines.spark.failures import in_our_words
from cepheid.errors import CepheidWarning, InputMistake

pytestmark = pytest.mark.spark

PAIRS = """
    graph pattern pair { stage a { .kind = "a", .n -> ?n } stage b { .kind = "b", .n -> ?n } }
"""


def rows_of(df: Any) -> list[dict[str, Any]]:
    return sorted(df.toArrow().to_pylist(), key=repr)


def test_events_are_nodes(spark: Any) -> None:
    log = pa.table(
        {
            "id": ["e1", "e2", "e3", "e4"],
            "time": [datetime(2024, 5, 1, 9, m, tzinfo=UTC) for m in (0, 5, 6, 7)],
            "activity": ["create", "approve", "approve", "pay"],
            "case": [7, 7, 8, 7],
            "by": ["ann", "ann", "bob", None],
            "amount": [1.5, None, 2.0, None],
        }
    )
    text = """
        graph pattern four_eyes {
          stage created { .activity = "create", .case -> ?case, .by -> ?who, .amount > 1 }
          stage approved { .activity = "approve", .case -> ?case, .by -> ?who, .time -> ?when, not .amount }
        }
    """
    found = rows_of(cepheid.Graph().read_events(spark.createDataFrame(log), node="id").find(text))
    assert found == cepheid.Graph().read_events(log, node="id").find(text).to_arrow().to_pylist()
    assert found[0]["bindings"]["when"] == datetime(2024, 5, 1, 9, 5, tzinfo=UTC)


def test_values_of_different_types(spark: Any) -> None:
    """1 is 1.0, and neither "1" nor true; what cannot be compared is another value."""
    edges = pa.table(
        {
            "source": ["a1", "a1", "b1", "b1", "b2", "b2", "b3", "b3", "b4", "b4", "b5", "b5"],
            "label": ["kind", "n"] * 6,
            "text": ["a", None, "b", None, "b", "1", "b", None, "b", None, "b", None],
            "whole": [None, 1, None, None, None, None, None, None, None, None, None, 1],
            "fraction": [None, None, None, 1.0, None, None, None, None, None, 1.5, None, None],
            "flag": [None] * 7 + [True] + [None] * 4,
            "start": [1, 1] + [2] * 10,
        }
    )
    text = (
        PAIRS
        + """
        graph pattern some { stage s { .n > 0 -> ?n } }
        graph pattern other { stage s { .n[value = 1 or value = 1.5] } }
    """
    )
    targets = ["text", "whole", "fraction", "flag"]
    found = rows_of(cepheid.Graph().read(spark.createDataFrame(edges), target=targets).find(text))
    assert [r["bindings"]["b"] for r in found if r["pattern"] == "pair"] == ["b1", "b5"]
    expected = cepheid.Graph().read(edges, target=targets).find(text)
    ours = [
        (r["pattern"], sorted((n, plain(v)) for n, v in r["bindings"].items() if v is not None))
        for r in found
    ]
    mine = [(m.pattern, sorted(m.binds.items())) for m in expected]
    assert all(match in mine for match in ours)
    assert len(ours) == len(mine) == 10
    assert found[-1]["bindings"]["n"].keys() == {"string", "bool", "float"}


def plain(cell: Any) -> Any:
    return next((v for v in cell.values() if v is not None), None) if isinstance(cell, dict) else cell


TIMES = {
    "timestamps": [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, 0, 0, 0, 5, tzinfo=UTC)],
    "without a zone": [datetime(2024, 1, 1), datetime(2024, 1, 2)],
    "dates": [date(2024, 1, 1), date(2024, 1, 2)],
    "texts": ["2024-01-01T00:00Z", "2024-01-02 01:00+01:00"],
    "whole": [-3, 2],
    "fractions": [0.5, 2.000001],
    "decimals": [Decimal("0.5"), Decimal("2.25")],
}


def test_times(spark: Any) -> None:
    text = 'graph pattern two { stage a { .k = "a" } stage b { .k = "b" } }'
    for name, (one, two) in TIMES.items():
        table = pa.table(
            {"source": ["x", "y"], "label": ["k", "k"], "target": ["a", "b"], "start": [one, two]}
        )
        for unit in ("s", "ns") if name == "whole" else ("s",):
            (found,) = rows_of(cepheid.Graph(time_unit=unit).read(spark.createDataFrame(table)).find(text))
            (match,) = cepheid.Graph(time_unit=unit).read(table).find(text)
            assert (found["first"], found["last"]) == (match.first, match.last), name


def test_kinds_of_values(spark: Any) -> None:
    values = {
        "at": [datetime(2024, 1, 1, tzinfo=UTC)] * 2,
        "day": [date(2024, 1, 1)] * 2,
        "long": [timedelta(hours=1)] * 2,
        "exact": [Decimal("1.50")] * 2,
        "raw": [b"\x00"] * 2,
        "none": pa.nulls(2),
    }
    table = pa.table({"id": ["e1", "e2"], "time": [1, 2], "kind": ["a", "b"], **values})
    text = "\n".join(
        f'graph pattern {n} {{ stage a {{ .kind = "a", .{n} -> ?v }} stage b {{ .kind = "b", .{n} -> ?v }} }}'
        for n in values
    )
    found = rows_of(cepheid.Graph().read_events(spark.createDataFrame(table), node="id").find(text))
    expected = cepheid.Graph().read_events(table, node="id").find(text)
    assert {r["pattern"]: plain(r["bindings"]["v"]) for r in found} == {
        m.pattern: m.binds["v"] for m in expected
    }
    assert len(found) == len(values) - 1


def test_let_and_where_in_python(spark: Any) -> None:
    """A function that stays in Python, in a clause, in a `let` and in a `where`."""
    edges = [
        {"source": f"e{i}", "label": "name", "target": name, "start": i}
        for i, name in enumerate(["Ann", "anna", "Bob", "ANNE"])
    ]
    text = """
        graph pattern alike {
          stage a { .name -> ?x, .name[regexp_like(value, concat("(?i)", value))] }
          stage b { .name -> ?y, .name[regexp_like(value, concat("(?i)^", ?x))] }
          let ?z = concat(regexp_extract(?x, ?x, 0), ?y)
          where regexp_like(?z, concat("^", ?x))
        }
    """
    found = cepheid.Graph().read(spark.createDataFrame(pa.Table.from_pylist(edges))).find(text)
    expected = cepheid.Graph().read(edges).find(text)
    assert sorted(map(repr, (r["bindings"] for r in rows_of(found)))) == sorted(
        repr(dict(sorted(m.binds.items()))) for m in expected
    )
    assert len(expected) == 2


def test_rounds_without_a_bound(spark: Any) -> None:
    """Grouped by what they share, inside others, and after something; within a time; with ticks and ends."""
    rows = [
        {"source": f"e{i}", "label": label, "target": value, "start": i, "end": i + 3, "tick": i // 4}
        for i in range(14)
        for label, value in (("kind", "oap"[i % 3]), ("by", f"p{i % 2}"))
    ]
    text = """
        private graph pattern order { stage placed { .kind = "o", .by -> ?who } }
        private graph pattern paid { stage paid { .kind in ("p", "a"), .by -> ?who } unless { .kind = "none" } }
        graph pattern regular = order * 2.. sharing ?who within 13s
        graph pattern paid_often = order then (paid * 2..5 sharing ?who) as all_paid sharing ?who
        graph pattern both = (order then paid sharing ?who) * 1.. sharing ?who
        graph pattern anyone = order * 3..
        graph pattern nested = (paid * 4..) * 1.. deadline 2 ticks
        graph pattern apart = { stage a { .kind = "o" } stage b { .kind = "a" } b after a } * 2..
    """
    table = pa.Table.from_pylist(rows)
    found = rows_of(cepheid.Graph().read(spark.createDataFrame(table), tick="tick").find(text))
    expected = cepheid.Graph().read(table, tick="tick").find(text)
    ours = [
        ({n: v for n, v in r["bindings"].items() if v is not None}, *list(r.values())[2:], r["pattern"])
        for r in found
    ]
    mine = [(dict(sorted(m.binds.items())), *list(m.row().values())[2:], m.pattern) for m in expected]
    assert sorted(map(repr, ours)) == sorted(map(repr, mine))
    assert {m.pattern for m in expected} == {"regular", "paid_often", "both", "anyone", "nested", "apart"}


def test_what_joins_cannot_find_is_found_in_one_task(spark: Any) -> None:
    rows = [
        {"source": f"e{i}", "label": label, "target": value, "start": i}
        for i in range(6)
        for label, value in (("kind", "ab"[i % 2]), ("by", f"p{i % 3}"))
    ]
    text = """
        private graph pattern a { stage s { .kind = "a", .by -> ?x } }
        private graph pattern b { stage s { .kind = "b", .by -> ?y } }
        graph pattern uneven = (a | b) * 2.. sharing ?x, ?y
    """
    graph = cepheid.Graph().read(spark.createDataFrame(pa.Table.from_pylist(rows)))
    with pytest.warns(
        CepheidWarning, match="`uneven`: all edges with its labels are looked at as one partition"
    ):
        found = graph.find(text)
    expected = cepheid.Graph().read(rows).find(text)
    assert sorted(repr(r["intervals"]) for r in rows_of(found)) == sorted(
        repr(m.row()["intervals"]) for m in expected
    )
    assert len(expected) > 5


def test_each_partition_is_a_graph(spark: Any) -> None:
    rows = [
        {"shop": shop, "source": f"e{i}", "label": "k", "target": value, "start": i}
        for i, (shop, value) in enumerate([("x", "a"), ("y", "b"), ("x", "b"), ("y", "a")])
    ]
    text = 'graph pattern two { stage a { .k = "a" } stage b { .k = "b" } }'
    df = spark.createDataFrame(pa.Table.from_pylist(rows))
    (found,) = rows_of(cepheid.Graph().read(df, partition_by="shop").find(text))
    assert (found["shop"], found["bindings"]) == ("x", {"a": "e0", "b": "e2"})
    with pytest.raises(InputMistake, match="partition_by is for DataFrames of Spark"):
        cepheid.Graph().read(rows, partition_by="shop")
    with pytest.raises(InputMistake, match="all DataFrames of a graph"):
        cepheid.Graph().read(df, partition_by="shop").read(df)


# What is refused.


def refused(spark: Any, changes: dict[str, Any], **options: Any) -> str:
    row = {"source": "e1", "label": "k", "target": "a", "start": 1, "end": None} | changes
    kinds = {"end": pa.int64(), "start": pa.int64(), "source": pa.string(), "label": pa.string()}
    table = pa.table({n: pa.array([v], kinds.get(n)) for n, v in row.items()})
    df = spark.createDataFrame(table)
    with pytest.raises(InputMistake) as told, in_our_words():
        cepheid.Graph().read(df, **options).find('graph pattern p { stage s { .other = "a" } }').collect()
    return str(told.value)


def test_rows_that_are_no_edges(spark: Any) -> None:
    """Told, even where the pattern asks for other labels."""
    assert "an edge without a source" in refused(spark, {"source": None})
    assert "an edge without a label" in refused(spark, {"label": None})
    assert "an edge without a target" in refused(spark, {"target": None})
    assert "an edge without a target" in refused(spark, {"target": float("nan")})
    assert "an edge without a start: `start` is null" in refused(spark, {"start": None})
    assert "an edge ends before it starts" in refused(spark, {"end": 0})
    assert "an edge with two targets" in refused(spark, {"n": 1}, target=["target", "n"])
    assert "an edge without a tick" in refused(spark, {"t": pa.scalar(None, pa.int64()).as_py()}, tick="t")
    assert "'soon' is not a time" in refused(spark, {"when": "soon"}, start="when", end="when")


def test_columns_that_are_no_edges(spark: Any) -> None:
    assert "there is no column `sorce`\n  hint: did you mean `source`?" in refused(spark, {}, source="sorce")
    assert "there is no column `x`\n  hint: the columns are" in refused(spark, {}, partition_by="x")
    assert "the column `target` holds list<" in refused(spark, {"target": [1]})
    assert "the column `flag` holds bool, which is no time" in refused(
        spark, {"flag": True}, start="flag", end="start"
    )
    assert "some times are numbers and some are dates" in refused(
        spark, {"d": date(2024, 1, 1)}, start="d", end="start"
    )
    decimals = {"d": Decimal("1.5"), "f": None}
    assert "decimals and floats" in refused(spark, decimals | {"f": 1.5}, target=["d", "f"])


def test_an_edge_that_ends_twice(spark: Any) -> None:
    edge = {"source": "e1", "label": "k", "target": "a", "start": 1}
    table = pa.Table.from_pylist([edge | {"end": 2}, edge | {"end": 3}])
    df = cepheid.Graph().read(spark.createDataFrame(table)).find("graph pattern p { stage s { .k } }")
    with pytest.raises(InputMistake, match="an edge has ended already, at another time"), in_our_words():
        df.collect()


def test_an_edge_that_is_closed_later_is_one(spark: Any) -> None:
    edge = {"source": "e1", "label": "k", "target": "a", "start": 1}
    table = pa.Table.from_pylist([edge | {"end": None}, edge | {"end": 3}, edge | {"end": None}])
    (found,) = rows_of(
        cepheid.Graph().read(spark.createDataFrame(table)).find("graph pattern p { stage s { .k } }")
    )
    assert found["intervals"] == [{"stage": "s", "start": 1, "end": 3}]


def test_a_graph_is_in_one_place(spark: Any) -> None:
    df = spark.createDataFrame([("a", "k", "b", 1)], "source string, label string, target string, start long")
    with pytest.raises(InputMistake, match="in memory or in Spark, not in both"):
        cepheid.Graph().add("a", "k", "b", 1).read(df)
    with pytest.raises(InputMistake, match="in memory or in Spark, not in both"):
        cepheid.Graph().read(df).add("a", "k", "b", 1)
    with pytest.raises(InputMistake, match="are not counted"):
        len(cepheid.Graph().read(df))
    assert repr(cepheid.Graph().read(df).read(df)) == "<edges of 2 Spark DataFrames>"
    with pytest.raises(InputMistake, match="have no numbers to be called by"):
        cepheid.Graph().read_events(df, time="start")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InputMistake, match="a stream is never whole"):
        cepheid.Graph().read(stream, source="value", label="value", target="value", start="timestamp")


def test_two_frames_are_one_graph(spark: Any) -> None:
    """Nodes of one may be whole numbers, those of the other texts."""
    one = spark.createDataFrame(
        [("a", "k", "x", 1)], "source string, label string, target string, start long"
    )
    two = spark.createDataFrame([(5, "k", 5, 2)], "source long, label string, target long, start long")
    log = spark.createDataFrame([(6.0, "x", 3)], "id double, k string, start long")
    graph = cepheid.Graph().read(one).read(two).read_events(log, time="start", node="id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rows_of(graph.find("graph pattern p { stage a { .k -> ?v } stage b { .k } }"))
    assert sorted(
        (plain(r["bindings"]["a"]), plain(r["bindings"]["b"])) for r in found if r["first"] == 1
    ) == [
        ("a", 5.0),
        ("a", 6.0),
    ]
    assert len(found) == 3
