"""The compiled aggregates give the rows that Python's numbers give: over many keys, windows, functions and rows."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid
from cepheid.engines.program import compile
from cepheid.trends.aggregates import TrendShape

PATTERNS = (
    "A as a -> all B as b -> C as c",
    "T as a -> all T as b",
    "A* as a -> B+ as b",
    "(A as a -> B+ as b)+ -> C as c",
    "(B+ as b)+ -> A? as a -> C as c",
    "AND(A+ as a, B as b) -> C as c",
    "OR(A as a, B as b) -> all C as c -> B[v > 1]",
)
LINKED = (
    "T as a -> all T[v > a.v] as b",
    "A as a -> all B[v >= b.v] as b -> C as c",
    "A as a -> B+.increasing(w) as b -> C[v != a.v] as c",
    "A as a -> B+.decreasing(v) as b",
    "(B[v <= b.v]+ as b)+ -> A[w > b.w] as a -> C[v < a.v] as c",
    "A as a -> (B[a.v <= v] as b -> C as c)+ -> A[w < a.w]",
    "OR(A as a, B as b) -> all C[v > a.v] as c",
    "B+ as b -> C[v == b.v] as c -> A[k == c.k] as a",
)
FUNCTIONS = (
    "n: count_trends(), e: count_events(b), s: sum_trends(b.v), "
    "m: avg_trends(b.v), l: min_trends(b.v), h: max_trends(a.w)"
)
WINDOWS = ("", " .within(9s)", " .within(25s)", " .within(70s)")
ROWS = ("change", "each", "moment", "final")


def events(seed: int, count: int, keys: int, floats: bool = False) -> list[dict[str, Any]]:
    random = Random(seed)
    time, found = 0, []
    for _ in range(count):
        time += random.choice([0, 1, 1, 3])
        whole = random.choice([None, *range(-3, 9)])
        value = whole if whole is None or not floats else whole / 4
        kind = random.choice("AABBBCTTX")
        found.append(
            {"type": kind, "time": time, "k": random.randrange(keys), "v": value, "w": random.random()}
        )
    return found


@pytest.mark.parametrize("pattern", [*PATTERNS, *LINKED])
def test_compiled_and_python_agree(pattern: str) -> None:
    """Every window and every kind of rows; the totals of some keys do not fit into 64 bits."""
    seen = 0
    # Every other pair, so that two patterns have all of them.
    pairs = [(w, r) for w in WINDOWS for r in ROWS]
    for number, (window, rows) in list(enumerate(pairs))[len(pattern) % 2 :: 2]:
        assert TrendShape.of(compile(f"{pattern} .trend_aggregate({FUNCTIONS})").last.plan) is not None
        size = 80 if not window else 300 if pattern in PATTERNS else 150
        given = events(number, size, 1 + number % 4, floats=number % 3 == 0)
        query = f"{pattern}{window} .partition_by(k) .trend_aggregate({FUNCTIONS}, rows: {rows})"
        wanted = cepheid.match(query, given, engine="reference")
        assert cepheid.match(query, given, engine="compiled") == wanted, query
        seen += len(wanted)
    assert seen > 30


def test_tables_have_the_same_columns_either_way() -> None:
    given = pa.Table.from_pylist(events(5, 400, 3))
    for outputs in ("", " .emit(k: k, n: n, s: s)", " .emit(n2: n * 2, k: k)", " .where(n > 5)"):
        query = f"{PATTERNS[0]} .within(50s) .partition_by(k) .trend_aggregate({FUNCTIONS}){outputs}"
        wanted = cepheid.match(query, given, engine="reference")
        found = cepheid.match(query, given, engine="compiled")
        assert found.schema == wanted.schema
        assert found.equals(wanted)
        assert wanted.num_rows > 20


def test_a_key_that_does_not_fit_is_left_to_python() -> None:
    captured = [{"type": "B", "time": i, "k": "long"} for i in range(1, 200)]
    given = [{"type": "A", "time": 0, "k": "long"}, *captured, {"type": "C", "time": 200, "k": "long"}]
    given += [{"type": t, "time": i, "k": "short"} for i, t in enumerate("ABBC")]
    query = "A -> all B -> C .partition_by(k) .trend_aggregate(n: count_trends()) .emit(k: k, n: n)"
    wanted = [{"k": "short", "n": 3}, {"k": "long", "n": 2**199 - 1}]
    assert cepheid.match(query, given, engine="compiled") == wanted


@pytest.mark.parametrize("v", [0.1, 1e300, float("inf"), 2**62, -(2**62)])
def test_values_that_64_bits_do_not_hold(v: float) -> None:
    given = [{"type": "T", "time": i, "v": v} for i in range(8)]
    query = "T as a -> all T as b .trend_aggregate(s: sum_trends(b.v), m: avg_trends(b.v)) .emit(s: s, m: m)"
    wanted = cepheid.match(query, given, engine="reference")
    assert cepheid.match(query, given, engine="compiled") == wanted


def test_streams_of_one_shape_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.engines.columnar import trends

    calls = []

    def counted(together: Any, plans: Any, *rest: Any) -> Any:
        calls.append([len(own) for own in plans])
        return original(together, plans, *rest)

    original = trends.aggregate
    monkeypatch.setattr(trends, "aggregate", counted)
    text = "\n".join(
        f"stream S{i} = A as a -> all B as b -> C as c .within(9s) .partition_by(k) .trend_aggregate({columns})"
        for i, columns in enumerate(["n: count_trends()", "s: sum_trends(b.v)", "h: max_trends(b.w)"])
    )
    given = events(3, 300, 2)
    wanted = cepheid.run(text, given, engine="reference")
    assert cepheid.run(text, given, engine="compiled") == wanted
    assert calls == [[3]]
