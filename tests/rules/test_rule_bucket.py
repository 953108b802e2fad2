"""Buckets of keys under rules, without Spark: scenarios as keys, rows out of order, random cuts, kept state."""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from late_rules import FACTS, LATE, TWICE, late_events
from rule_scenarios import TICK, Bundle, as_tables, scenarios, undeclared

from cepheid import run_rules
from cepheid.engines.rules.keys import named_keys
from cepheid.engines.rules.operations import ASSERT, BEGIN, END, EVENT, Operation
from cepheid.engines.rules.prepared import prepare
from cepheid.engines.rules.told import Told
from cepheid.engines.spark import rule_rows
from cepheid.engines.spark.rule_bucket import RuleBucket
from cepheid.engines.spark.rule_rows import Source
from cepheid.engines.spark.rule_work import RuleWork
from cepheid.errors import InputMistake, SnapshotMistake
from cepheid.matching.snapshot import ipc
from cepheid.pattern.types import INT

BUNDLE = Bundle([s for s in scenarios() if as_tables(s) and undeclared(s)][::5])
DELAY = 20 * TICK
FAR = 10**6 * TICK


class Memory:
    """A store that keeps all in dicts."""

    def __init__(self) -> None:
        self.head: str | None = None
        self.places: dict[Any, bytes] = {}

    def read_head(self) -> str | None:
        return self.head

    def write_head(self, text: str) -> None:
        self.head = text

    def read(self, place: Any) -> bytes:
        return self.places[place]

    def put(self, place: Any, body: bytes) -> None:
        self.places[place] = body

    def delete(self, place: Any) -> None:
        del self.places[place]


def rows() -> list[dict[str, Any]]:
    return [row(o, o.fields["scenario"]) for o in BUNDLE.operations()]


def row(operation: Operation, number: int) -> dict[str, Any]:
    source = Source(int(operation.kind == EVENT), operation.type, operation.kind == EVENT)
    return rule_rows._row(replace(operation, time=operation.time * TICK), number, source)


def work(static: dict[int, bytes] | None = None) -> RuleWork:
    prepared = prepare(BUNDLE.rules)
    return RuleWork(prepared, named_keys(prepared.rules, "scenario"), 1, "here", static or {})


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=rule_rows.SCHEMA)


def played(rows: list[dict[str, Any]], work: RuleWork, chance: random.Random) -> list[Told]:
    """Rows no more than the delay out of order, in micro-batches of any size; now and then the memory is lost."""
    delays: dict[
        Any, float
    ] = {}  # rows of one time in one key stay in their order: nothing else would say it
    for r in rows:
        delays.setdefault((r["_k"], r["_t"], r["_c"]), r["_t"] + chance.uniform(0, DELAY))
    late = sorted(rows, key=lambda r: delays[r["_k"], r["_t"], r["_c"]])
    store, told, seen = Memory(), list[Told](), 0
    remembered: Any = None
    watermark = None
    while late:
        size = chance.randrange(1, 40)
        some, late = late[:size], late[size:]
        bucket = work.bucket(0, store.read_head(), store, remembered)
        told += bucket.on_batch([batch(some)], watermark, None, store)
        remembered = bucket if chance.random() < 0.6 else None
        seen = max(seen, *(r["_t"] for r in some))
        watermark = seen - DELAY if seen > DELAY else None
    for moment in (seen + 5 * TICK, FAR):
        bucket = work.bucket(0, store.read_head(), store, None)
        told += bucket.on_batch([], moment, None, store)
    assert bucket.next_look() is None
    return told


@pytest.mark.parametrize("seed", range(2))
def test_scenarios_in_random_cuts(seed: int) -> None:
    BUNDLE.check(played(rows(), work(), random.Random(seed)), TICK)


def test_tables_beside_the_stream() -> None:
    """Facts of a table are there from the beginning, with their times; events come as a stream."""
    facts = [r for r in rows() if r["_c"] == 0]
    static = {0: ipc(pa.Table.from_batches([batch(facts)]))}
    BUNDLE.check(played([r for r in rows() if r["_c"] == 1], work(static), random.Random(3)), TICK)


def test_patterns_beside_rules_in_random_cuts() -> None:
    """What rules emit goes to a pattern, its matches to other rules; as over tables, whatever the cuts."""
    chance = random.Random(5)
    events = late_events(chance)
    local = run_rules(LATE, patterns=TWICE, facts={"F": FACTS}, events=events, key="who")
    assert {"Late", "Twice", "Quick", "Bad", "F"} <= {one.name for one in local.told}
    operations = [Operation(ASSERT, "F", 0, f, f["id"]) for f in FACTS]
    operations += [Operation(EVENT, e["type"], e["time"], e, e["id"]) for e in events]
    prepared = replace(prepare(LATE, TWICE, time=INT), time_column="time")
    split = RuleWork(prepared, named_keys(prepared.rules, "who"), 1, "here")
    told = played([row(o, o.fields["who"]) for o in operations], split, chance)
    assert Counter(_shown(one, TICK) for one in told) == Counter(_shown(one, 1) for one in local.told)


def _shown(one: Told, tick: int) -> tuple[Any, ...]:
    fields = {name: value for name, value in one.fields.items() if name != "time"}
    return one.kind, one.name, one.time // tick, one.key, str(fields)


def intervals(*times: tuple[int, int]) -> list[dict[str, Any]]:
    """Of one fact."""
    return [
        row(Operation(kind, "F", time, {"n": begin}, "f"), 1)
        for begin, end in times
        for kind, time in ((BEGIN, begin), (END, end))
    ]


def test_intervals_that_overlap_are_noticed_wherever_the_stream_is_cut() -> None:
    prepared = prepare("rule R { when { ?f: F() } then { emit X(n = ?f.n); } }")
    split = RuleWork(prepared, named_keys(prepared.rules, "k"), 1, "here")
    told = played(intervals((1, 50), (50, 60), (70, 90)), split, random.Random(1))
    assert [(t.time // TICK, t.fields) for t in told if t.kind == "emitted"] == [
        (1, {"n": 1}),
        (50, {"n": 50}),
        (70, {"n": 70}),
    ]
    store = Memory()
    for rows, watermark in ((intervals((1, 50)), None), (intervals((30, 40)), 20 * TICK)):
        bucket = split.bucket(0, store.read_head(), store, None)
        bucket.on_batch([batch(rows)], watermark, None, store)
    with pytest.raises(InputMistake) as caught:
        split.bucket(0, store.read_head(), store, None).on_batch([], FAR, None, store)
    assert caught.value.code == "overlapping_facts"
    assert "F f is there twice at 1970-01-01 00:00:30" in caught.value.message


def test_state_of_other_rules() -> None:
    store = Memory()
    one = work()
    RuleBucket.started(one, 0).on_batch([], 5, None, store)
    prepared = prepare("rule Other { when { ?a: event A() } then { } }")
    other = RuleWork(prepared, {}, 1, "here")
    with pytest.raises(SnapshotMistake):
        other.bucket(0, store.read_head(), store, None)


def test_rows_that_are_too_late_are_counted() -> None:
    prepared = prepare("rule R { when { ?a: event A() } then { emit X(?a); } }")
    small = RuleWork(prepared, named_keys(prepared.rules, "k"), 1, "here")
    store = Memory()
    bucket = RuleBucket.started(small, 0)
    rows = [row(Operation(EVENT, "A", t, {"k": 1}, t), 1) for t in (5, 9, 3)]
    assert bucket.on_batch([batch(rows[:2])], 7 * TICK, None, store)[0].time == 5 * TICK
    assert bucket.on_batch([batch(rows[2:])], 8 * TICK, None, store) == []
    assert (bucket.counts.too_late, bucket.metrics()["waiting"]) == (1, 1)
    assert [t.time for t in bucket.on_batch([], 10 * TICK, None, store)] == [9 * TICK, 9 * TICK]
