"""Aggregates over trends in a Spark task, without Spark: rows cut anywhere, buckets that are moved and restarted."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from test_bucket import WAYS, agree, examples, filled, told
from test_many_keys import bounded, in_rows

from cepheid.engines.program import compile
from cepheid.engines.spark import trend_keys
from cepheid.engines.spark.batch import KeyByKey
from cepheid.engines.spark.output import Answer, Payload
from cepheid.engines.spark.trend_keys import TrendKeys, streams_for_trends
from cepheid.pattern.event import Event
from cepheid.testing.strategies import events as some_events

KINDS = ("A", "A", "B", "B", "B", "C", "C", "X")
N, WHOLE = (
    "n: count_trends()",
    "n: count_trends(), e: count_events(b), s: sum_trends(b.v), l: min_trends(b.v)",
)
COMPILED = (
    f"A as a -> all B as b -> C as c .partition_by(k) .trend_aggregate({WHOLE})",
    f"A as a -> all B as b -> C as c .within(4s) .partition_by(k) .trend_aggregate({WHOLE}, rows: moment)",
    f"B as a -> all B as b .within(3s) .partition_by(k) .trend_aggregate({WHOLE}, rows: each)",
    f"A as a -> B[v > a.v]+ as b .within(4s) .partition_by(k) .trend_aggregate({WHOLE}, rows: final)",
    f"A as a -> B+.increasing(v) as b -> C as c .partition_by(k) .trend_aggregate({WHOLE})",
)
BY_CLASS = (
    f"A as a -> B+ as b -> NOT X within 2s .partition_by(k) .trend_aggregate({N}, rows: moment)",
    f"A as a -> B{{2,}} as b -> C as c .within(6s) .partition_by(k) .trend_aggregate({N}) .emit(v: a.v, n: n)",
    f"(A as a -> B+ as b)+ -> NOT X -> C as c .partition_by(k) .trend_aggregate({N}, rows: final)",
)


@pytest.mark.parametrize("query", [*COMPILED, *BY_CLASS])
def test_a_bucket_gives_the_rows_of_the_sorted_whole(query: str) -> None:
    """One by one, at once, in random cuts, out of order; by two workers, with attempts that fail."""

    @examples(12)
    @given(some_events(12, KINDS), st.sampled_from(WAYS), st.integers(0, 2**32))
    def run(given_events: list[Event], way: str, seed: int) -> None:
        agree(query, given_events, way, seed, 0)

    run()


@pytest.mark.parametrize("query", COMPILED)
def test_rows_cut_anywhere(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend_keys, "_ROWS", 4)
    program = compile(query)
    kinds = {"time": pa.timestamp("us", "UTC"), "k": pa.int64(), "n": pa.decimal128(38, 0)}
    columns = tuple((name, kinds.get(name, pa.int64())) for name, _ in program.last.columns)
    answer = Answer((Payload("match", "matches", columns),))

    @examples(20)
    @given(some_events(14, KINDS), st.integers(0, 2**32))
    def run(given_events: list[Event], seed: int) -> None:
        rows = bounded(program)
        work = replace(rows.work.work, answer=answer)
        assert streams_for_trends(work) == ["matches"]
        events = filled(given_events)
        batch = in_rows(rows, events)
        note(told(query, [events]))
        slow, fast = KeyByKey(work), TrendKeys(work, KeyByKey)
        wanted = [*slow.feed(batch), *slow.end()]
        cuts = sorted(Random(seed).sample(range(batch.num_rows + 1), min(3, batch.num_rows)))
        found = []
        for a, b in zip([0, *cuts], [*cuts, batch.num_rows], strict=True):
            found += fast.feed(batch.slice(a, b - a))
        found += fast.end()
        shown = [row for table in fast.take_batches() for _, _, row in answer.findings(table)]
        expected = [row for table in answer.batches(wanted) for _, _, row in answer.findings(table)]
        assert not found
        assert sorted(shown, key=repr) == sorted(expected, key=repr)

    run()


SHARED = "\n".join(
    f"stream S{i} = {pattern} .partition_by(k) .trend_aggregate({WHOLE}, rows: {rows})"
    for i, (pattern, rows) in enumerate(
        [
            ("A as a -> B+.increasing(v) as b", "each"),
            ("C as c -> B+.increasing(v) as b -> A as a", "change"),
            ("A as a -> B+.increasing(v) as b -> C as c .within(5s)", "moment"),
            ("C as c -> B+.increasing(v) as b .within(3s)", "final"),
        ]
    )
)


def test_streams_that_share_a_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two without a window share one, and two with windows: the rows are those of each alone."""
    monkeypatch.setattr(trend_keys, "_ROWS", 6)
    program = compile(SHARED)
    kinds = {"time": pa.timestamp("us", "UTC"), "k": pa.int64(), "n": pa.decimal128(38, 0)}
    answer = Answer(
        tuple(
            Payload("match", s.name, tuple((name, kinds.get(name, pa.int64())) for name, _ in s.columns))
            for s in program
        )
    )

    @examples(30)
    @given(some_events(14, KINDS), st.integers(0, 2**32))
    def run(given_events: list[Event], seed: int) -> None:
        rows = bounded(program)
        work = replace(rows.work.work, answer=answer)
        events = filled(given_events)
        batch = in_rows(rows, events)
        note(told(SHARED, [events]))
        slow, fast = KeyByKey(work), TrendKeys(work, KeyByKey)
        assert [len(together.shapes) for together in fast.sets] == [2, 2]
        wanted = [*slow.feed(batch), *slow.end()]
        cut = seed % (batch.num_rows + 1)
        assert not [*fast.feed(batch.slice(0, cut)), *fast.feed(batch.slice(cut)), *fast.end()]
        shown = [row for table in fast.take_batches() for row in answer.findings(table)]
        expected = [row for table in answer.batches(wanted) for row in answer.findings(table)]
        assert sorted(shown, key=repr) == sorted(expected, key=repr)

    run()
