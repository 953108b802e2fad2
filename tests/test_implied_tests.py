"""What follows for an event alone from tests of several events; nothing is lost by it."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_columnar import compared

import cepheid
from cepheid.engines.program import compile
from cepheid.matching.compiled.implied_tests import narrowed_tests
from cepheid.pattern.text import expr_text
from cepheid.pattern.types import DECIMAL, FLOAT, INT, STRING, struct_of

EVENT = struct_of({"v": INT, "f": FLOAT, "s": STRING, "d": DECIMAL})


def told(query: str) -> list[str]:
    """The tests of each step alone."""
    tests = narrowed_tests(compile(query).last.plan, EVENT)
    return [" and ".join(expr_text(t) for t in test.alpha) for test in tests]


@pytest.mark.parametrize(
    ("query", "last"),
    [
        ("A[v > 7] as a -> A[v > a.v] as b", "v > 7"),
        ("A[v > 7] as a -> B[b.v > a.v] as b", "v > 7"),
        ("A[7 < v] as a -> B[a.v <= v] as b", "7 < v"),
        ("A[v >= 7] as a -> B[v > a.v] as b", "v >= 7"),
        ("A[v > 3 and v < 7 and f > 1] as a -> B[v == a.v] as b", "v > 3 and v < 7"),
        ("A[v == 7] as a -> B[v < a.v] as b", ""),
        ("A[v == 7] as a -> B[v == a.v] as b", "v == 7"),
        ("A[v < -7.5] as a -> B[v < a.v and f > 0] as b", "f > 0 and v < -7.5"),
        ("A[v > 7] as a -> B[v > a.v and v > 7] as b", "v > 7"),
        ("A[v > 7] as a -> B[v > a.v] as b -> C[v > b.v] as c", "v > 7"),
        ("A[v > 7] as a -> B[v > a.v]+ as b", "v > 7"),
        ('A[s > "m"] as a -> B[s > a.s] as b', 's > "m"'),
        # The other way, other fields, not certain, not a bound.
        ("A[v > 7] as a -> B[v < a.v] as b", ""),
        ("A[v > 7] as a -> B[f > a.v] as b", ""),
        ("A[v > 7] as a -> B[v > a.v or f > 1] as b", ""),
        ("A[v > 7] as a -> B[v != a.v] as b", ""),
        ("A[v != 7] as a -> B[v > a.v] as b", ""),
        ("A[v > f] as a -> B[v > a.v] as b", ""),
        ("A[v > 7 or f > 1] as a -> B[v > a.v] as b", ""),
        # Of a closure's own name there is no event at first.
        ("A as a -> B[v > 7 and v > b.v]+ as b", "v > 7"),
        # What Python compares is compared only where it is written.
        ("A[d > 7] as a -> B[d > a.d] as b", ""),
        # An event that is left out might be the one that fails.
        ("A[v > 7] as a -> B[v > a.v and exp(v * a.v) > 1] as b", ""),
    ],
)
def test_what_follows_for_the_last_step(query: str, last: str) -> None:
    assert told(query)[-1] == last


def test_equal_tests_are_one() -> None:
    tests = narrowed_tests(compile("A[v > 7] as a -> A[v > a.v] as b").last.plan, EVENT)
    assert tests[0] == tests[1]


_NEAR = 2**53
_VALUES: tuple[list[Any], ...] = (
    [_NEAR - 1, _NEAR, _NEAR + 1, _NEAR + 2, None],
    [float(_NEAR - 1), float(_NEAR), float(_NEAR + 2), float("nan"), None],
)


@pytest.mark.parametrize("values", _VALUES, ids=["int", "float"])
@pytest.mark.parametrize("bound", [f"{_NEAR}", f"{_NEAR}.0", f"{_NEAR + 1}"])
@pytest.mark.parametrize("op", [">", ">=", "<", "<=", "=="])
def test_constants_that_are_widened(values: list[Any], bound: str, op: str) -> None:
    """Where whole numbers and floats are compared, neighbours are equal."""
    pairs = [(a, b) for a in values for b in values]
    table = pa.table(
        {
            "type": ["A", "B"] * len(pairs),
            "time": range(2 * len(pairs)),
            "k": [i // 2 for i in range(2 * len(pairs))],
            "v": [v for pair in pairs for v in pair],
        }
    )
    ops = {">": (">", ">="), ">=": (">", ">="), "<": ("<", "<="), "<=": ("<", "<="), "==": ("==", ">=", "<")}
    query = "\n".join(
        f"stream S{i} = A[v {own} {bound}] as a -> B[v {op} a.v] as b .partition_by(k) .emit(k: k)"
        for i, own in enumerate(ops[op])
    )
    assert compared(query, table, {"table": lambda: table})


def test_aliases_that_may_have_no_event() -> None:
    """Of an `OR`, a step that may be left out, an `AND` in either order; a name of two steps says nothing."""
    rows = [
        {"type": kind, "time": i, "k": i % 3, "v": (i * 7) % 11}
        for i, kind in enumerate("ABCACBBACCABABCCBAABCBAC" * 2)
    ]
    table = pa.Table.from_pylist(rows)
    for steps in (
        "OR(A[v > 4] as a, C as c) -> B[v > a.v] as b",
        "A[v > 4]? as a -> B[v >= a.v] as b",
        "AND(A[v > 4] as a, B[v > a.v] as b) -> C as c",
        "A[v > 4] as a -> B[v > a.v]{1,2} as b -> C[v < b.v] as c .longest()",
        "A[v > 4] as a -> B[v > a.v] as b .strict()",
        "A[v > 4] as a -> B[v > a.v] as b .stnm() .within(9s) .timeouts()",
        "A[v > 4] as a -> NOT C[v > a.v] within 3s -> B[v == a.v] as b",
    ):
        assert compared(f"{steps} .partition_by(k)", table, {"table": lambda: table}), steps


@pytest.mark.parametrize("outputs", ["", ".emit(id: match_id(), v: b.v)", ".emit(v: b.v)"])
def test_ids_are_those_of_the_tests_as_they_are_written(outputs: str) -> None:
    """An id tells how many events of the same time passed the test before: a B that no run can take is one of them."""
    query = f"A[v > 7] as a -> B[v > a.v] as b {outputs}"
    values = [("A", 0, 8), ("B", 1, None), ("B", 1, 3), ("B", 1, 9)]
    table = pa.table(dict(zip(("type", "time", "v"), map(list, zip(*values, strict=True)), strict=True)))
    found, wanted = (cepheid.match(query, table, engine=engine) for engine in ("compiled", "reference"))
    assert found.to_pylist() == wanted.to_pylist()
    assert len(found) == 1


@pytest.mark.parametrize("rest", ["", " .partition_by(k)", " .stnm()", " .within(2s)"])
def test_ids_where_many_events_have_one_time(rest: str) -> None:
    random = Random(1)
    for _ in range(60):
        rows = [
            {
                "type": random.choice("AB"),
                "time": random.randint(0, 3),
                "k": random.randint(1, 2),
                "v": random.choice((1, 2, 3, None)),
            }
            for _ in range(random.randint(2, 9))
        ]
        table = pa.Table.from_pylist(rows)
        for query in ("A[v >= 2] as a -> B[v == a.v] as b", "A[v > 1] as a -> B[v > a.v]+ as b"):
            assert compared(query + rest, table, {"one thread": lambda table=table: table})
