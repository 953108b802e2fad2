"""Rows of many keys through the kernel find what the reference matcher finds in them key by key."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from test_bucket import PROGRAMS, SCHEMA, Prepared, examples, facts, filled, prepared, told

import cepheid
from cepheid.engines.program import Program, compile
from cepheid.engines.spark import batch as batch_module
from cepheid.engines.spark import many_keys
from cepheid.engines.spark.batch import KeyByKey
from cepheid.engines.spark.layout import NOW, SEQUENCE
from cepheid.engines.spark.many_keys import ManyKeys
from cepheid.engines.spark.output import Answer, Payload
from cepheid.engines.spark.staged_keys import StagedKeys
from cepheid.errors import EvaluationError
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.testing.strategies import events as some_events
from cepheid.time.lateness import Lateness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN_KEY = [
    name
    for name, query in PROGRAMS.items()
    if "partition_by" in query and "stream Pairs" not in query and "fed" not in name and "count" not in query
]
KINDS = ("A", "A", "B", "B", "C", "X", "Z")


def in_rows(rows: Prepared, events: list[Event]) -> pa.RecordBatch:
    """Rows as Spark hands them to a task: sorted by key, then in total order."""
    keyed = [(tuple(value(Moment(e, {})) for value in rows.key), e) for e in events if rows.arrives(e)]
    keyed.sort(key=lambda row: (row[0], row[1].place_in_order()))
    batch = rows.batch([e for _, e in keyed])
    batch = batch.append_column(SEQUENCE, pa.array([e.seq for _, e in keyed], pa.int64()))
    end = max((e.time for e in events), default=0)
    return batch.append_column(NOW, pa.array([end] * batch.num_rows, pa.int64()))


def bounded(program: Program) -> Prepared:
    """As a bounded input is prepared: every row knows when the whole of it ends."""
    rows = prepared(program, Lateness())
    work = replace(rows.work.work, layout=replace(rows.work.work.layout, has_now=True))
    return Prepared(replace(rows.work, work=work))


def played(matcher: Any, batch: pa.RecordBatch, cuts: list[int]) -> list[Any]:
    found = []
    for a, b in zip([0, *cuts], [*cuts, batch.num_rows], strict=True):
        found += matcher.feed(batch.slice(a, b - a))
    return found + matcher.end()


@pytest.mark.parametrize("long", [2, 1 << 18], ids=["its state is kept", "its rows are held back"])
@pytest.mark.parametrize("name", OWN_KEY)
def test_keys_cut_anywhere(name: str, long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_keys, "_LONG", long)
    program = compile(PROGRAMS[name])

    @examples(40)
    @given(some_events(12, KINDS), st.integers(0, 2**32))
    def run(given_events: list[Event], seed: int) -> None:
        rows = bounded(program)
        events = filled(given_events)
        note(told(PROGRAMS[name], [events]))
        batch = in_rows(rows, events)
        random = Random(seed)
        cuts = (
            sorted(random.sample(range(batch.num_rows), random.randrange(batch.num_rows)))
            if batch.num_rows
            else []
        )
        try:
            wanted = played(KeyByKey(rows.work.work), batch, [])
        except EvaluationError:
            return
        if batch.num_rows:
            found = played(ManyKeys(rows.work.work, batch.schema), batch, cuts)
            assert facts(found, program) == facts(wanted, program)

    run()


EMITTED = """A as a -> B+ as b -> C? as c .within(6s) .partition_by(k)
    .emit(id: match_id(), since: match_start(), upto: match_end(), k: k, of: a.id, last: b.v, first: b[0].v,
        second: b[1].id, newest: last(b).id, many: count(b), c: c.v)"""


def test_matches_as_columns_are_the_rows() -> None:
    program = compile(EMITTED)
    columns = {
        **dict.fromkeys(("id", "of", "second", "newest"), pa.string()),
        **dict.fromkeys(("since", "upto"), pa.timestamp("us", "UTC")),
        **dict.fromkeys(("k", "last", "first", "many", "c"), pa.int64()),
    }
    in_order = [(o.name, columns[o.name]) for o in program.last.stream.outputs or ()]
    answer = Answer((Payload("pending", "matches", ()), Payload("match", "matches", tuple(in_order))))

    @examples(60)
    @given(some_events(12, KINDS), st.integers(0, 2**32))
    def run(given_events: list[Event], seed: int) -> None:
        rows = bounded(program)
        work = replace(rows.work.work, answer=answer)
        batch = in_rows(rows, filled(given_events))
        wanted = answer.batches(played(KeyByKey(work), batch, []))
        if batch.num_rows:
            matcher = ManyKeys(work, batch.schema)
            assert not played(matcher, batch, [])
            found = [row for columns in matcher.take_batches() for row in answer.findings(columns)]
            expected = [row for columns in wanted for row in answer.findings(columns)]
            assert sorted(found, key=repr) == sorted(expected, key=repr)

    run()


def test_a_key_the_kernel_gives_up_on() -> None:
    """A sum beyond 64 bits: Python's numbers have no end."""
    query = "A as a -> B[v + a.v > 0] as b -> C as c .partition_by(k)"
    program = compile(query)
    rows = bounded(program)
    huge = 2**62 + 2**61
    events = filled(
        [
            Event(kind, i * 1_000_000, {"type": kind, "id": f"{kind}{i}", "v": v, "k": k})
            for i, (kind, v, k) in enumerate(
                [("A", 1, 1), ("A", huge, 2), ("B", 2, 1), ("B", huge, 2), ("C", 3, 1), ("C", 4, 2)]
            )
        ]
    )
    batch = in_rows(rows, events)
    found = played(ManyKeys(rows.work.work, batch.schema), batch, [2, 4])
    assert Counter(f.row["k"] for f in found if f.kind == "match") == {1: 1, 2: 1}


def test_what_the_kernel_does_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """What feeds another goes with it, stage by stage; of others each goes its own way."""
    monkeypatch.setattr(batch_module, "is_ready", lambda: True)
    for name, kinds in (
        ("fed by the same key", [StagedKeys]),
        ("fed by the same key, beside others", [ManyKeys, StagedKeys]),
        ("two streams of a key", [ManyKeys]),
        ("two streams of a key, one of them counted", [ManyKeys, KeyByKey]),
    ):
        rows = bounded(compile(PROGRAMS[name], SCHEMA))
        found = batch_module._matchers(rows.work.work, in_rows(rows, []))
        assert [type(matcher) for matcher in found] == kinds
    assert [s.name for s in found[0].work.program] == ["Pairs"]
    assert [s.name for s in found[1].work.program] == ["Ways"]


def test_keys_that_only_python_can_tell_apart(spark: SparkSession) -> None:
    """They come together by something coarser; all rows of that are there at once, so that they are told apart."""
    rows = [
        (kind, i, [key], 2**53 + key)
        for i, (kind, key) in enumerate([("A", 1), ("B", 2), ("A", 2), ("B", 1)])
    ]
    df = spark.createDataFrame(rows, "type string, n bigint, tags array<int>, big bigint")
    df = df.selectExpr("type", "timestamp_seconds(n) as time", "n", "tags", "big")
    for key in ("tags", "greatest(big, n)"):
        query = f"A as a -> B as b .partition_by({key}) .emit(a: a.n, b: b.n)"
        local = cepheid.match(query, df.toArrow())
        found = cepheid.match(query, df).toArrow()
        assert sorted(found.to_pylist(), key=repr) == sorted(local.to_pylist(), key=repr)
        assert {(row["a"], row["b"]) for row in found.to_pylist()} == {(0, 3)}
        assert "through the compiled matcher" in cepheid.explain_spark(query, df)


def test_a_value_that_no_column_holds() -> None:
    """A number in a text that leaves 64 bits: its keys are the reference matcher's, and nothing is lost."""
    rows = bounded(compile("A as a -> B[int(id) > a.v] as b -> C as c .partition_by(k)"))
    some = [("A", 1, 1), ("A", 5, 2), ("B", 2, 1), ("B", 2**70, 2), ("C", 3, 1), ("C", 4, 2)]
    events = filled(
        [
            Event(kind, i * 1_000_000, {"type": kind, "id": str(v), "v": v % 2**60, "k": k})
            for i, (kind, v, k) in enumerate(some)
        ]
    )
    batch = in_rows(rows, events)
    matcher = ManyKeys(rows.work.work, batch.schema)
    with pytest.raises(Unsupported):
        matcher.streams["matches"].rows.events(pa.Table.from_batches([batch]))
    found = played(matcher, batch, [2, 4])
    assert Counter(f.row["k"] for f in found if f.kind == "match") == {1: 1, 2: 1}
