"""Aggregates over trends, worked out by hand: the checks of the specification, rows, groups, conditions, state."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import cepheid
from cepheid.errors import CepheidError

T5 = [{"type": "T", "time": i, "v": v} for i, v in enumerate([1, 4, 2, 8, 3])]
TT = "T as t -> all T as u"


def abc(n: int, **fields: Any) -> list[dict[str, Any]]:
    captured = [{"type": "B", "time": i + 1, "v": i, **fields} for i in range(n)]
    return [{"type": "A", "time": 0, **fields}, *captured, {"type": "C", "time": n + 1, **fields}]


def column(query: str, rows: Any, name: str = "n", **options: Any) -> list[Any]:
    return [row[name] for row in cepheid.match(query, rows, **options)]


def test_after_each_of_five_events() -> None:
    assert column(f"{TT} .trend_aggregate(n: count_trends(), rows: each)", T5) == [0, 1, 4, 11, 26]
    assert column(f"{TT} .trend_aggregate(n: count_trends())", T5) == [1, 4, 11, 26]
    assert column(f"{TT} .trend_aggregate(n: count_trends(), rows: moment)", T5) == [1, 3, 7, 15]
    assert column(f"{TT} .trend_aggregate(n: count_trends(), rows: final)", T5) == [26]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 100, 500])
def test_all_combinations_of_a_closure(n: int) -> None:
    assert column("A -> all B -> C .trend_aggregate(n: count_trends())", abc(n)) == [2**n - 1]


def test_every_function_by_hand() -> None:
    # The trends of T1 T2 T3 with v = 1, 4, 2: (T1,T2) (T1,T3) (T2,T3) (T1,T2,T3).
    # u is [T2] [T3] [T3] [T2,T3]: five events, v = 4 2 2 4 2.
    query = (
        f"{TT} .trend_aggregate(n: count_trends(), events: count_events(u), total: sum_trends(u.v), "
        "mean: avg_trends(u.v), low: min_trends(u.v), high: max_trends(t.v), rows: final) "
        ".emit(n: n, events: events, total: total, mean: mean, low: low, high: high)"
    )
    wanted = {"n": 4, "events": 5, "total": 14, "mean": 2.8, "low": 2, "high": 4}
    assert cepheid.match(query, T5[:3]) == [wanted]


def test_nulls_are_passed_over() -> None:
    rows = [{"type": "T", "time": i, "v": v} for i, v in enumerate([None, None, 5])]
    query = f"{TT} .trend_aggregate(s: sum_trends(u.v), a: avg_trends(u.v), m: min_trends(u.v), e: count_events(u))"
    found = [{k: r[k] for k in "same"} for r in cepheid.match(query, rows)]
    assert found == [{"s": None, "a": None, "m": None, "e": 1}, {"s": 15, "a": 5.0, "m": 5, "e": 5}]


def test_a_window_slides() -> None:
    """Of T at 0, 1, 2, 3, 4 within two seconds: three pairs and a triple end in each of the last three."""
    query = f"{TT} .within(2s) .trend_aggregate(n: count_trends(), rows: moment)"
    assert column(query, T5) == [1, 3, 3, 3]


def test_a_test_that_links_neighbours() -> None:
    """v = 1 4 2 8 3: rising are 14 12 18 13 48 28 23 and 148 128 123."""
    query = "T as t -> all T.increasing(v) as u .trend_aggregate(n: count_trends(), total: sum_trends(u.v))"
    rows = cepheid.match(query, T5)
    assert [r["n"] for r in rows] == [1, 2, 7, 10]
    # 4; 2; 8 8 8 and 4+8, 2+8; 3 3 and 2+3.
    assert [r["total"] for r in rows] == [4, 6, 6 + 24 + 12 + 10, 52 + 6 + 5]


def test_a_test_against_the_first_event() -> None:
    """As in the example of stock ticks: all later ones above the first."""
    query = (
        "T as first -> all T where v > first.v as rising .within(60s) "
        ".trend_aggregate(count: count_trends()) .emit(trends: count)"
    )
    # Above 1: 4 2 8 3; above 4: 8; above 2: 8 3; so after each: 1, 3, 7 + 1 + 1, 15 + 1 + 3.
    assert column(query, T5, "trends") == [1, 3, 9, 19]


def test_partitions_and_their_columns() -> None:
    rows = [{"type": "T", "time": i, "k": "xy"[i % 2]} for i in range(6)]
    query = "T as t -> all T as u .partition_by(k) .trend_aggregate(n: count_trends())"
    shown = cepheid.match(f"{query} .emit(k: k, same: t.k, n: n)", rows)
    assert shown == [{"k": k, "same": k, "n": n} for n, k in [(1, "x"), (1, "y"), (4, "x"), (4, "y")]]
    (first, *_) = cepheid.match(query, rows)
    assert list(first) == ["time", "k", "n"]


def test_without_partitions_the_planner_makes_none() -> None:
    """A tie between the steps makes no partitions of its own: the aggregate is of all."""
    rows = [{"type": "T", "time": i, "k": "xy"[i % 2]} for i in range(6)]
    query = "T as t -> all T[k == t.k] as u .trend_aggregate(n: count_trends())"
    assert column(query, rows) == [1, 2, 5, 8]


def test_columns_of_steps_tell_rows_apart() -> None:
    query = f"{TT} .trend_aggregate(n: count_trends(), rows: final) .emit(v: t.v, long: count(u), n: n)"
    found = {(r["v"], r["long"]): r["n"] for r in cepheid.match(query, T5[:4])}
    assert found == {(1, 1): 3, (1, 2): 3, (1, 3): 1, (4, 1): 2, (4, 2): 1, (2, 1): 1}


def test_a_condition_on_the_aggregate() -> None:
    # A conjunct without an aggregate is a condition on the trends; this one is of both, so rows are by t.v.
    query = f"{TT} .trend_aggregate(n: count_trends()) .where(n >= 7 or t.v < 0) .emit(n: n)"
    with pytest.raises(CepheidError, match="of one"):
        cepheid.compile(f"{TT} .trend_aggregate(n: count_trends()) .emit(m: match_start())")
    assert column(f"{TT} .trend_aggregate(n: count_trends()) .where(n >= 11)", T5) == [11, 26]
    assert column(query, T5) == [7, 15, 7]
    assert column(f"{TT} .trend_aggregate(n: count_trends()) .where(n >= 2 and t.v > 1)", T5) == [4, 11]


def test_an_absence() -> None:
    rows = [{"type": k, "time": i} for i, k in enumerate("ABXBC")]
    assert column("A -> all B as b -> NOT X -> C .trend_aggregate(n: count_trends())", rows) == [2]
    assert column("A -> all B as b -> C unless X .trend_aggregate(n: count_trends())", rows) == []


def test_streams_feed_on_aggregates() -> None:
    text = f"""
        stream Trends = {TT} .trend_aggregate(n: count_trends()) .emit(n: n)
        stream Jump = Trends as a -> first Trends[n > a.n * 2] as b .emit(a: a.n, b: b.n)
    """
    assert cepheid.run(text, T5)["Jump"] == [{"a": 1, "b": 4}, {"a": 4, "b": 11}, {"a": 11, "b": 26}]


# Numbers.


def test_sums_are_exact_whatever_they_hold() -> None:
    rows = [{"type": "T", "time": i, "v": v} for i, v in enumerate([0.1, 0.2, 1e16, -1e16, 0.3])]
    # Every later event is in 2^4 - 1 ... trends: 1, 2, 4, 8 starts times what follows.
    query = f"{TT} .trend_aggregate(s: sum_trends(u.v), rows: final) .emit(s: s)"
    listed = cepheid.match(f"{TT} .subsets() .emit(vs: collect(u.v))", rows)
    from fractions import Fraction

    exact = sum(Fraction(v) for row in listed for v in row["vs"])
    assert column(query, rows, "s") == [float(exact)]
    decimals = [{**r, "v": Decimal(str(r["v"]))} for r in rows]
    wanted = sum(Decimal(str(v)) for row in listed for v in row["vs"])
    assert column(query, decimals, "s") == [wanted]


def test_a_number_that_no_column_holds_is_an_error() -> None:
    query = "A -> all B -> C .trend_aggregate(n: count_trends()) .emit(n: n)"
    small = cepheid.match(query, pa.Table.from_pylist(abc(10)))
    assert small.schema.field("n").type == pa.int64()
    large = cepheid.match(query, pa.Table.from_pylist(abc(100)))
    assert large.schema.field("n").type == pa.decimal128(38, 0)
    assert large.to_pylist() == [{"n": 2**100 - 1}]
    with pytest.raises(CepheidError, match="76 digits"):
        cepheid.match(query, pa.Table.from_pylist(abc(300)))
    assert column(query, abc(300)) == [2**300 - 1]


def test_what_cannot_be_added_is_said() -> None:
    query = "T as t -> T as u .trend_aggregate(s: sum_trends(u.v))"
    with pytest.raises(CepheidError, match=r"sum_trends\(u.v\).*a string"):
        cepheid.match(query, [{"type": "T", "time": 0, "v": 1}, {"type": "T", "time": 1, "v": "x"}])
    with pytest.raises(CepheidError, match="adds numbers"):
        cepheid.match(query, pa.table({"time": [0, 1], "v": ["x", "y"]}))


# State.

QUERIES = (
    f"{TT} .trend_aggregate(n: count_trends(), s: sum_trends(u.v), m: min_trends(u.v)) .emit(n: n, s: s, m: m)",
    f"{TT} .within(2s) .trend_aggregate(n: count_trends(), a: avg_trends(u.v), rows: moment) .emit(n: n, a: a)",
    "T as t -> all T[v > u.v] as u .within(3s) .trend_aggregate(n: count_trends()) .emit(v: t.v, n: n)",
    "T as t -> all T as u -> NOT X within 2s .trend_aggregate(n: count_trends(), rows: final) .emit(n: n)",
    "T as t -> T{2,} as u .trend_aggregate(n: count_trends()) .emit(n: n, id: match_id())",
)


@pytest.mark.parametrize("query", QUERIES)
def test_survives_a_restart_between_any_two_events(query: str) -> None:
    rows = [*T5, {"type": "X", "time": 4.5}, *({"type": "T", "time": 5 + i, "v": 2.5 * i} for i in range(4))]
    whole = cepheid.Session(query, disorder="1s")
    expected = [f for row in rows for f in whole.feed(row)] + whole.end()
    assert expected
    for cut in range(len(rows) + 1):
        first = cepheid.Session(query, disorder="1s")
        found = [f for row in rows[:cut] for f in first.feed(row)]
        second = cepheid.Session(query, disorder="1s")
        second.restore(first.snapshot())
        found += [f for row in rows[cut:] for f in second.feed(row)] + second.end()
        assert found == expected


def test_events_that_wait_are_in_order_and_late_ones_refused() -> None:
    query = f"{TT} .trend_aggregate(n: count_trends()) .emit(n: n)"
    live = cepheid.Session(query, disorder="3s")
    shuffled = [T5[i] for i in (1, 0, 3, 2, 4)]
    rows = [f.row["n"] for row in shuffled for f in live.feed(row)] + [f.row["n"] for f in live.end()]
    assert rows == [1, 4, 11, 26]
    with pytest.raises(CepheidError, match="cannot be taken back"):
        cepheid.Session(query, disorder="1s", lateness="5s")


def test_a_total_too_long_for_text_is_kept_in_a_snapshot() -> None:
    """Python refuses to write numbers of more than 4300 digits in tens."""
    query = "A -> all B -> C .trend_aggregate(n: count_trends()) .emit(n: n)"
    first, second = cepheid.Session(query, disorder=0), cepheid.Session(query, disorder=0)
    rows = abc(15000)
    first.feed(rows[:-1])
    second.restore(first.snapshot())
    (found,) = [*second.feed(rows[-1:]), *second.end()]
    assert found.row["n"] == 2**15000 - 1


def test_state_ends_with_its_window() -> None:
    """With `moment` nothing has to be remembered of a key whose window is over."""
    from cepheid.engines.network import Network
    from cepheid.engines.program import compile

    query = (
        "T as t -> all T as u .within(2s) .partition_by(k) .trend_aggregate(n: count_trends(), rows: moment)"
    )
    program = compile(query)
    network = Network(program)

    def events() -> Iterator[Any]:
        from cepheid.pattern.event import Event

        for i in range(100):
            yield Event("T", i * 1_000_000, {"k": i}, seq=i)

    network.on_events(list(events()))
    assert len(network.matchers[program.last.name].partitions) <= 4  # type: ignore[attr-defined]
