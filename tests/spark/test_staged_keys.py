"""Streams that feed each other, over rows of many keys: stage by stage, as the reference matcher key by key."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from feeding_programs import programs
from hypothesis import given, note, reject
from hypothesis import strategies as st
from test_bucket import PROGRAMS, SCHEMA, examples, facts, filled, told
from test_many_keys import KINDS, bounded, in_rows, played

import cepheid
from cepheid.engines.program import Program, compile
from cepheid.engines.session import Found
from cepheid.engines.spark import staged_keys
from cepheid.engines.spark.batch import KeyByKey
from cepheid.engines.spark.evidence import evidence_payload, found_by
from cepheid.engines.spark.output import Answer, Payload
from cepheid.engines.spark.staged_keys import StagedKeys, choose_for_rows
from cepheid.engines.spark.work import Work
from cepheid.errors import CepheidError, EvaluationError, PatternMistake
from cepheid.pattern.event import Event
from cepheid.testing.strategies import FAMILIES
from cepheid.testing.strategies import events as some_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FED = [name for name in PROGRAMS if "fed" in name]
FINER = """
    stream Pairs = A as a -> B as b .partition_by(k, dev) .within(3s) .emit(k, id: a.id)
    stream Then = Pairs as p -> NOT C within 2s .partition_by(k)
    stream Apart = Pairs as p -> A as a .partition_by(k, id)
"""


def staged(work: Work, batch: pa.RecordBatch) -> StagedKeys:
    choice = choose_for_rows(work, batch.schema)
    assert [s.name for s in choice.streams] == [s.name for s in work.program], choice.reasons
    return StagedKeys(work, choice, KeyByKey)


def agree(query: str, program: Program, given_events: list[Event], seed: int) -> bool:
    """False: the reference matcher is asked for it anyway."""
    rows, events = bounded(program), filled(given_events)
    note(told(query, [events]))
    work, batch = rows.work.work, in_rows(rows, events)
    if not batch.num_rows or len(choose_for_rows(work, batch.schema).streams) < len(program.streams):
        return False
    try:
        wanted = played(KeyByKey(work), batch, [])
    except EvaluationError:
        return False
    random = Random(seed)
    cuts = sorted(random.sample(range(batch.num_rows), random.randrange(batch.num_rows)))
    for matcher in (KeyByKey(work), staged(work, batch)):
        assert facts(played(matcher, batch, cuts), program) == facts(wanted, program)
    return bool(wanted)


@pytest.fixture(params=["key by key", "some keys together", "keys that are too long"])
def sizes(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    together, long = {"key by key": (1, 99), "some keys together": (5, 99)}.get(request.param, (4, 3))
    monkeypatch.setattr(staged_keys, "_ENOUGH", together)
    monkeypatch.setattr(staged_keys, "_LONG", long)


@pytest.mark.parametrize("name", [*FED, "finer keys"])
def test_keys_cut_anywhere(name: str, sizes: None) -> None:
    query = PROGRAMS.get(name, FINER)
    program = compile(query, SCHEMA)

    @examples(25)
    @given(some_events(12, KINDS), st.integers(0, 2**32))
    def run(events: list[Event], seed: int) -> None:
        agree(query, program, events, seed)

    run()


def check_programs(family: str, count: int) -> Counter[bool]:
    seen: Counter[bool] = Counter()

    @examples(count)
    @given(programs(family), some_events(14, KINDS), st.integers(0, 2**32))
    def run(query: str, events: list[Event], seed: int) -> None:
        try:
            program = compile(query, SCHEMA)
        except PatternMistake:
            reject()
        seen[agree(query, program, events, seed)] += 1

    run()
    return seen


@pytest.mark.parametrize("family", [*FAMILIES, "simple"])
def test_made_up_programs(family: str, sizes: None) -> None:
    check_programs(family, 8)


def test_made_up_programs_find_something() -> None:
    assert check_programs("simple", 60)[True] > 15


@pytest.mark.soak
@pytest.mark.parametrize("family", [*FAMILIES, "simple"])
def test_many_made_up_programs(family: str, sizes: None) -> None:
    check_programs(family, 300)


PAIRS = """
    stream Rise = A as a -> B[v > a.v] as b .partition_by(k) .within(10s) .emit(k, by: b.v - a.v, at: b.time)
    stream Twice = Rise as r -> Rise[by >= r.by] as s .partition_by(k) .emit(k, first: r.by, second: s.by)
"""
SOME = [
    Event(kind, i * 1_000_000, {"type": kind, "id": f"{kind}{i}", "v": i, "k": i % 2})
    for i, kind in enumerate("AABBABBABABBAB")
]


@pytest.mark.parametrize("types", [pa.int64(), pa.decimal128(38, 0)], ids=["as they are", "of another type"])
def test_matches_as_columns_are_the_rows(types: pa.DataType) -> None:
    program = compile(PAIRS, SCHEMA)
    rows = bounded(program)
    own = {
        name: ["k", "by", "at"] if name == "Rise" else ["k", "first", "second"] for name in ("Rise", "Twice")
    }
    payloads = [
        Payload("match", name, tuple((n, pa.timestamp("us", "UTC") if n == "at" else types) for n in names))
        for name, names in own.items()
    ]
    work = replace(rows.work.work, answer=Answer(tuple(payloads)))
    batch = in_rows(rows, filled(SOME))
    wanted = work.answer.batches(played(KeyByKey(work), batch, []))
    matcher = staged(work, batch)
    handed = work.answer.batches(played(matcher, batch, [3, 8]))
    columns = list(matcher.take_batches())
    found = [row for part in [*handed, *columns] for row in work.answer.findings(part)]
    expected = [row for part in wanted for row in work.answer.findings(part)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert {stream for _, stream, _ in found} == {"Rise", "Twice"}


def behind(item: Found) -> Any:
    """What a text says of a match; the fields of events in any order, their type among them or not."""
    shown = found_by(item.stream, item.row["text"])
    assert shown.match is not None
    events = [(e.type, e.time, sorted({**e.fields, "type": e.type}.items())) for e in shown.match.events]
    return shown.stream, tuple(shown.row.items()), shown.match.id, item.row["at"], repr(events)


def test_what_is_behind_a_match_can_be_asked_for() -> None:
    program = compile(PAIRS, SCHEMA)
    rows = bounded(program)
    answer = Answer(tuple(evidence_payload(s.name, whole=False) for s in program))
    work = replace(rows.work.work, answer=answer)
    batch = in_rows(rows, filled(SOME))
    found, wanted = played(staged(work, batch), batch, []), played(KeyByKey(work), batch, [])
    assert Counter(map(behind, found)) == Counter(map(behind, wanted))
    assert {f.stream for f in found} == {"Rise", "Twice"}


def test_a_mistake_in_the_middle_is_told_as_ever() -> None:
    program = compile(
        """
        stream Sum = A as a -> A? as m -> B as b .partition_by(k) .skip(to_last(m)) .emit(k, v: b.v)
        stream Then = Sum as s -> Sum[v > s.v] as t .partition_by(k) .emit(k)
        """,
        SCHEMA,
    )
    rows = bounded(program)
    batch = in_rows(rows, filled(SOME))
    told_by = []
    for matcher in (KeyByKey(rows.work.work), staged(rows.work.work, batch)):
        with pytest.raises(CepheidError) as failure:
            played(matcher, batch, [])
        told_by.append(str(failure.value))
    assert told_by[0] == told_by[1]


def test_on_spark(spark: SparkSession) -> None:
    """Rows that pass no test lose their values on the way, and are neighbours all the same."""
    rows = [
        ("A", 1, 1, 1), ("B", 2, 1, 5), ("B", 3, 1, None), ("A", 4, 1, 2), ("B", 5, 1, None), ("Z", 6, 1, 9),
        ("A", 1, 2, 1), ("B", 2, 2, None), ("C", 3, 2, 3), ("A", 7, 2, 3), ("B", 9, 2, None), ("C", 10, 2, 3),
    ]  # fmt: skip
    df = spark.createDataFrame(rows, "type string, n bigint, k bigint, v bigint")
    df = df.selectExpr("type", "timestamp_seconds(n) as time", "n", "k", "v")
    query = """
        stream Gap = A as a -> next B[v is null] as b .partition_by(k) .emit(k, n: b.n)
        stream After = Gap as g -> next C as c .partition_by(k) .emit(k, gap: g.n, n: c.n)
    """
    for stream, count in (("Gap", 3), ("After", 2)):
        found = cepheid.match(query, df, stream=stream).toArrow().to_pylist()
        local = cepheid.match(query, df.toArrow(), stream=stream, engine="reference").to_pylist()
        assert sorted(found, key=repr) == sorted(local, key=repr)
        assert len(found) == count
    assert "through the compiled matcher" in cepheid.explain_spark(query, df)
    assert "reference" not in cepheid.explain_spark(query, df)
