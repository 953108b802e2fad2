"""Queries that have a closure in common are aggregated together, and say what each of them says alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import cepheid
from cepheid.engines.program import compile
from cepheid.trends.aggregates import TrendSet, TrendShape, trend_sets

RISING = "B+.increasing(v) as b"


def rows_of(text: str, **fields: Any) -> list[dict[str, Any]]:
    """`A B1 D`: types, with a value where there is a number; one a second."""
    return [
        {"type": word[0], "time": i, "v": int(word[1:]) if word[1:] else None, **fields}
        for i, word in enumerate(text.split())
    ]


def program(*queries: str) -> str:
    return "\n".join(f"stream S{i} = {query}" for i, query in enumerate(queries))


def counted(pattern: str, rows: str = "change") -> str:
    return (
        f"{pattern} .trend_aggregate(n: count_trends(), s: sum_trends(b.v), rows: {rows}) .emit(n: n, s: s)"
    )


def sets_of(*queries: str) -> list[TrendSet]:
    shapes = [TrendShape.of(stream.plan) for stream in compile(program(*queries))]
    assert None not in shapes
    return trend_sets(shape for shape in shapes if shape is not None)


def found(rows: list[dict[str, Any]], *queries: str) -> list[list[tuple[Any, ...]]]:
    answer = cepheid.run(program(*queries), rows, engine="compiled")
    return [[tuple(row.values()) for row in answer[f"S{i}"]] for i in range(len(queries))]


# By hand.

EVENTS = rows_of("A B1 C B3 B2 D")


def test_three_patterns_with_one_closure() -> None:
    """Rising since A: 1; 3, 13; 2, 12. Since C: 3; 2, and then D."""
    queries = [
        counted(f"A as a -> {RISING}"),
        counted(f"C as c -> {RISING} -> D as d"),
        counted(f"A as a -> {RISING} -> D as d"),
    ]
    assert [len(together.shapes) for together in sets_of(*queries)] == [3]
    sums = [1, 1 + 3 + 4, 1 + 3 + 4 + 2 + 3]
    assert found(EVENTS, *queries) == [[(1, sums[0]), (3, sums[1]), (5, sums[2])], [(2, 5)], [(5, 13)]]


def test_one_pattern_with_several_windows_and_rows() -> None:
    """Within 3 s of A are B1 and B3; within 4 s also B2."""
    queries = [
        counted(f"A as a -> {RISING} .within(3s)", "final"),
        counted(f"A as a -> {RISING} .within(4s)", "final"),
        counted(f"A as a -> {RISING} .within(1m)", "moment"),
    ]
    (together,) = sets_of(*queries)
    assert len(together.patterns) == 1
    assert len(together.shapes) == 3
    assert found(EVENTS, *queries) == [[(3, 8)], [(5, 13)], [(1, 1), (2, 7), (2, 5)]]


def test_different_patterns_and_windows() -> None:
    """From C to D are 3 s; from A 5 s."""
    queries = [
        counted(f"C as c -> {RISING} -> D as d .within(3s)"),
        counted(f"A as a -> {RISING} -> D as d .within(4s)"),
        counted(f"A as a -> {RISING} -> D as d .within(5s)"),
    ]
    assert [len(together.shapes) for together in sets_of(*queries)] == [3]
    assert found(EVENTS, *queries) == [[(2, 5)], [], [(5, 13)]]


def test_each_row_is_of_an_event_that_the_pattern_reads() -> None:
    """The first reads A and B; C and D are for the second."""
    queries = [
        counted(f"A as a -> {RISING}", "each"),
        counted(f"C as c -> {RISING} -> D as d", "each"),
    ]
    assert [len(together.shapes) for together in sets_of(*queries)] == [2]
    first = [(0, None), (1, 1), (3, 8), (5, 13)]
    assert found(EVENTS, *queries) == [first, [(0, None), (0, None), (0, None), (0, None), (2, 5)]]


def test_one_outgrows_64_bits_and_the_other_does_not() -> None:
    text = " ".join(["A", *(f"B{i}" for i in range(60)), "C", *(f"B{i}" for i in range(60, 70)), "D"])
    queries = [
        f"A as a -> {RISING} -> D as d .trend_aggregate(n: count_trends())",
        f"C as c -> {RISING} -> D as d .trend_aggregate(n: count_trends())",
    ]
    assert [len(together.shapes) for together in sets_of(*queries)] == [2]
    answer = cepheid.run(program(*queries), rows_of(text), engine="compiled")
    assert [answer[name][0]["n"] for name in ("S0", "S1")] == [2**70 - 1, 2**10 - 1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"A as a -> {RISING}", "A as a -> B+.decreasing(v) as b"),  # other tests
        (f"A as a -> {RISING}", "A as a -> B+.increasing(w) as b"),
        (f"A as a -> {RISING}", "A as a -> B[v > 1]+.increasing(v) as b"),  # other events
        (f"A as a -> {RISING}", f"A as a -> {RISING} .within(3s)"),  # a start for each trend, or none
        (f"A as a -> {RISING}", "A as a -> B+ as b"),  # nothing to look for
    ],
)
def test_what_is_not_shared(one: str, other: str) -> None:
    queries = [f"{pattern} .trend_aggregate(n: count_trends())" for pattern in (one, other)]
    assert [len(together.shapes) for together in sets_of(*queries)] == [1, 1]


def test_explain_says_what_is_shared() -> None:
    text = (
        f"stream One = A as a -> {RISING} partition by k .trend_aggregate(n: count_trends())\n"
        "stream Two = C as c -> B+.increasing(v) as up -> D partition by k .trend_aggregate(n: count_trends())\n"
        f"stream Key = A as a -> {RISING} partition by j .trend_aggregate(n: count_trends())\n"
        f"stream Deep = A as a -> {RISING} partition by k .trend_aggregate(n: max_trends(b.x.y))\n"
        "stream Plain = A as a -> B+ as b partition by k .trend_aggregate(n: count_trends())\n"
        "stream Same = A as a -> B+ as b partition by k .trend_aggregate(n: sum_trends(b.v))\n"
    )
    explained = compile(text).explain()
    where = "in files, tables, lists and Spark batches"
    search = "the search for the trends that an event at {} can follow"
    assert f"  shared with Two {where}: {search.format('b')}\n" in str(explained["One"])
    assert f"  shared with One {where}: {search.format('up')}\n" in str(explained["Two"])
    assert f"  shared with Same {where}: all totals, which are of one pattern\n" in str(explained["Plain"])
    assert "shared with" not in str(explained["Key"]) + str(explained["Deep"])  # other partitions; Python's


# Against the queries alone.

CLOSURES = (RISING, "B[v >= b.v]+ as b", "B[w > 1]+.decreasing(v) as b", "(B[v <= b.v]+ as b)+")
FRAMES = (
    "A as a -> {}",
    "C as c -> {} -> D as d",
    "A as a -> {} -> D as d",
    "A as a -> {} -> D[v > a.v] as d",
    "{} -> D[v > b.v] as d",
    "A+ as a -> {} -> D as d",
    "OR(A as a, C as c) -> {}",
    "A as a -> C[v > a.v] as c -> {}",
)
FUNCTIONS = ("count_events(b)", "sum_trends(b.v)", "avg_trends(b.v)", "min_trends(b.w)", "max_trends(b.v)")
WINDOWS = ("", " .within(4s)", " .within(9s)")


@st.composite
def queries(draw: st.DrawFn) -> list[str]:
    closures = draw(st.lists(st.sampled_from(CLOSURES), min_size=1, max_size=2, unique=True))
    windows = draw(st.sampled_from([WINDOWS, WINDOWS[1:], WINDOWS[:1]]))
    asked = []
    for _ in range(draw(st.integers(2, 5))):
        pattern = draw(st.sampled_from(FRAMES)).format(draw(st.sampled_from(closures)))
        window, rows = (
            draw(st.sampled_from(windows)),
            draw(st.sampled_from(["change", "each", "moment", "final"])),
        )
        functions = ["count_trends()", *draw(st.lists(st.sampled_from(FUNCTIONS), max_size=2))]
        columns = ", ".join(f"f{i}: {function}" for i, function in enumerate(functions))
        asked.append(f"{pattern}{window} .partition_by(k) .trend_aggregate({columns}, rows: {rows})")
    return asked


VALUES = st.one_of(st.none(), st.integers(0, 5))
EVENT = st.tuples(st.sampled_from("ABBBBCD"), st.integers(0, 2), st.integers(0, 1), VALUES, VALUES)


def as_rows(drawn: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    time, rows = 0, []
    for kind, gap, key, v, w in drawn:
        time += gap
        rows.append({"type": kind, "time": time, "k": key, "v": v, "w": w})
    return rows


def check(count: int) -> None:
    shared = 0

    @settings(
        max_examples=count,
        suppress_health_check=list(HealthCheck),
    )
    @given(queries(), st.lists(EVENT, min_size=1, max_size=40))
    def run(asked: list[str], drawn: list[tuple[Any, ...]]) -> None:
        nonlocal shared
        rows, text = as_rows(drawn), program(*asked)
        note(text)
        shared += sum(len(together.shapes) - 1 for together in sets_of(*asked))
        together = cepheid.run(text, rows, engine="compiled")
        assert together == cepheid.run(text, rows, engine="reference")
        for i, query in enumerate(asked):
            assert cepheid.run(program(query), rows, engine="compiled")["S0"] == together[f"S{i}"]

    run()
    assert shared > count // 2  # that is what is tried


def test_together_is_as_alone() -> None:
    check(40)


@pytest.mark.soak
def test_together_is_as_alone_at_length() -> None:
    check(3000)
