"""One bucket of keys without Spark: cut, restarted, retried and woken by timers, it finds what a session finds."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from cepheid.engines.local.arrow_types import as_declared, struct_of_arrow
from cepheid.engines.local.events import Columns
from cepheid.engines.program import Program, compile
from cepheid.engines.session import Found, Session, limits_of
from cepheid.engines.spark import bucket_columns
from cepheid.engines.spark.bucket import Bucket, read_head
from cepheid.engines.spark.bucket_store import BLOCK, STATE_VERSION, Place
from cepheid.engines.spark.keyed_rows import KeyReader
from cepheid.engines.spark.layout import BITS_A_COLUMN, TIME, TYPE, Layout
from cepheid.engines.spark.local_copies import LocalCopies
from cepheid.engines.spark.output import Answer, Payload
from cepheid.engines.spark.processor import SparkStore
from cepheid.engines.spark.reading import events_of
from cepheid.engines.spark.segment import key_digest
from cepheid.engines.spark.units import units_of
from cepheid.engines.spark.work import StreamWork, Work
from cepheid.errors import EvaluationError, PatternMistake, SnapshotMistake
from cepheid.matching.compiled.revive import revive
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr, Field, walk
from cepheid.pattern.times import from_microseconds
from cepheid.pattern.types import Schema
from cepheid.plan.event_tests import Answered, distinct_tests
from cepheid.plan.seen_rows import SeenRows, seen_rows
from cepheid.testing.scenarios import read_events
from cepheid.testing.strategies import FAMILIES, SECOND, cases
from cepheid.testing.strategies import events as some_events
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness, TooLatePolicy

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
ODD = 1_700_000_000_000_500  # a start that is no whole millisecond, and far from 0


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=QUIET)


# --- the store ----------------------------------------------------------------------------------------------


@dataclass
class Kept:
    """Spark's side of a store: a map and a timer."""

    values: dict[Place, tuple[bytes]] = field(default_factory=dict)
    timers: set[int] = field(default_factory=set)

    def getValue(self, place: Place) -> tuple[bytes] | None:
        return self.values.get(place)

    def updateValue(self, place: Place, value: tuple[bytes]) -> None:
        self.values[place] = value

    def removeKey(self, place: Place) -> None:
        del self.values[place]

    def registerTimer(self, moment: int) -> None:
        self.timers.add(moment)

    def deleteTimer(self, moment: int) -> None:
        self.timers.remove(moment)

    def opened(self, folder: Path) -> SparkStore:
        return SparkStore(self, self, LocalCopies(folder))


NO_FOLDER = Path(os.devnull) / "none"


# --- rows as Spark prepares them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """A program's work, and rows in the form of `prepare.prepared`."""

    work: StreamWork

    @property
    def program(self) -> Program:
        return self.work.work.program

    @cached_property
    def tests(self) -> list[tuple[str, Any]]:
        return [(test.type, compile_test(test.alpha)) for test in self.work.work.answered.tests]

    @cached_property
    def seen(self) -> list[SeenRows]:
        return [seen_rows(s.plan, "type") for s in self.program]

    @property
    def keeps_all(self) -> bool:
        return any(seen.all for seen in self.seen)

    @cached_property
    def looks_at_all(self) -> bool:
        return any(c.until is not None for s in self.program for c in s.plan.automaton.closures)

    @cached_property
    def key_fields(self) -> set[str]:
        parts = [e for s in self.program for e in s.plan.key]
        return {n.path[0] for part in parts for n in walk(part) if isinstance(n, Field)}

    @cached_property
    def key(self) -> list[Any]:
        (unit,) = units_of(self.program)
        return [compile_value(e) for e in unit.key]

    @cached_property
    def key_kinds(self) -> list[pa.DataType]:
        (unit,) = units_of(self.program)
        return [_KINDS[e.path[0]] for e in unit.key if isinstance(e, Field)]

    def bits(self, event: Event) -> int:
        moment = Moment(event, {})
        fits = [event.type == kind and (alpha is None or alpha(moment)) for kind, alpha in self.tests]
        return sum(1 << i for i, fit in enumerate(fits) if fit)

    def arrives(self, event: Event) -> bool:
        return self.keeps_all or bool(self.bits(event)) or any(event.type in seen.types for seen in self.seen)

    def bucket_of(self, event: Event) -> int:
        values = tuple(value(Moment(event, {})) for value in self.key)
        return hash(lookup_key(values, True)) % self.work.buckets

    def batch(self, events: list[Event]) -> pa.RecordBatch:
        layout = self.work.work.layout
        columns: dict[str, pa.Array] = {}
        for i, name in enumerate(layout.bit_names()):
            mask, shift = (1 << BITS_A_COLUMN) - 1, BITS_A_COLUMN * i
            columns[name] = pa.array([self.bits(e) >> shift & mask for e in events], pa.int64())
        for value, kind, name in zip(self.key, self.key_kinds, layout.key_names(), strict=True):
            columns[name] = pa.array([value(Moment(e, {})) for e in events], kind)
        columns[TIME] = pa.array([e.time for e in events], pa.int64())
        columns[TYPE] = pa.array([e.type for e in events], pa.string())
        for name, own in zip(layout.columns.order, layout.order_names(), strict=True):
            columns[own] = pa.array([e.fields.get(name) for e in events], pa.int64())
        for name, own in zip(layout.fields, layout.field_names(), strict=True):
            columns[own] = pa.array([self._value(e, name) for e in events], _KINDS[name])
        return pa.RecordBatch.from_pydict(columns)

    def _value(self, event: Event, name: str) -> Any:
        """A row that no test wants is there for its place alone, for its key, and as a dead letter."""
        alone = self.keeps_all and not self.looks_at_all and not self.letters and not self.bits(event)
        return None if alone and name not in self.key_fields else event.fields.get(name)

    @property
    def letters(self) -> bool:
        return self.work.lateness.policy is TooLatePolicy.DEAD_LETTER


_KINDS = {
    "type": pa.string(),
    "id": pa.string(),
    "dev": pa.string(),
    "v": pa.int64(),
    "k": pa.int64(),
    "o": pa.int64(),
}
# What a program knows of them that is compiled for such rows.
SCHEMA = Schema(
    common_fields=as_declared(
        struct_of_arrow(pa.schema({**_KINDS, "time": pa.timestamp("us", "UTC")})), Columns()
    )
)


def _shared(key: Expr, fields: list[str]) -> str | None:
    """The field that is a part of the key as it is."""
    if not isinstance(key, Field) or key.path[0] not in fields:
        return None
    kind = _KINDS[key.path[0]]
    return key.path[0] if pa.types.is_integer(kind) or pa.types.is_string(kind) else None


def prepared(program: Program, lateness: Lateness, order: tuple[str, ...] = ()) -> Prepared:
    plans = [s.plan for s in program]
    tests = distinct_tests(plans)
    (unit,) = units_of(program)
    needed = [p.needed for p in plans]
    letters = lateness.policy is TooLatePolicy.DEAD_LETTER
    fields = [n for n in _KINDS if letters or any(own is None or n in own for own in needed)]
    layout = Layout(
        Columns(order=order),
        len(unit.key),
        -(-len(tests) // BITS_A_COLUMN),
        tuple(fields),
        with_time=True,
        key_fields=tuple(_shared(e, fields) for e in unit.key),
    )
    kinds = [("dead_letter", "")] + [(k, s.name) for s in program for k in ("match", "timeout", "pending")]
    answer = Answer(tuple(Payload(kind, name, ()) for kind, name in kinds))
    work = Work(program, Answered(tests, tuple(() for _ in tests)), layout, answer, lateness.threshold)
    return Prepared(StreamWork(work, 3 if unit.key else 1, lateness, "here"))


@pytest.fixture(autouse=True)
def _kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows would not wait for it to be compiled, and not go through it."""
    monkeypatch.setattr(bucket_columns, "is_ready", lambda: True)
    monkeypatch.setattr(bucket_columns, "_FEW", 0)


# --- a query of Spark, played ---------------------------------------------------------------------------------


class Chooser:
    """What happens beside the data: which worker has a bucket, which attempt fails. Seeded, so a case is a case."""

    def __init__(self, seed: int, trouble: bool = True) -> None:
        self.random = random.Random(seed)
        self.trouble = trouble

    def chance(self, one_in: int) -> bool:
        return self.trouble and self.random.randrange(one_in) == 0

    def worker(self) -> int:
        return self.random.randrange(2) if self.trouble else 0

    def cut(self, items: list[Any]) -> list[list[Any]]:
        """In one or two parts, as they come from one or two tasks."""
        at = self.random.randrange(len(items) + 1) if self.chance(2) else 0
        return [part for part in (items[:at], items[at:]) if part]


class Query:
    """Micro-batches as Spark runs them: two workers with memories of their own, stores that count."""

    def __init__(self, rows: Prepared, chooser: Chooser) -> None:
        self.rows, self.chooser = rows, chooser
        self.stores = [Kept() for _ in range(rows.work.buckets)]
        self.folder = tempfile.TemporaryDirectory()
        self.memories: list[dict[int, Bucket]] = [{}, {}]
        self.looks: dict[int, int | None] = {}
        self.largest: int | None = None
        self.found: list[Found] = []
        self.counting = random.Random(0)

    @property
    def watermark(self) -> int | None:
        """By the rows of earlier micro-batches, in whole milliseconds; Spark's 0 is none."""
        if self.largest is None:
            return None
        found = self.largest // 1000 * 1000 - self.rows.work.lateness.disorder
        return found if found > 0 else None

    def micro_batch(self, events: list[Event], end: int | None = None) -> None:
        arriving: dict[int, list[Event]] = {}
        for event in events:
            if self.rows.arrives(event):
                arriving.setdefault(self.rows.bucket_of(event), []).append(event)
        for number in range(self.rows.work.buckets):
            mine = arriving.get(number, [])
            if mine or end is not None or self.due(number):
                self.task(number, mine, end)
        self.passed(events)

    def passed(self, events: list[Event]) -> None:
        times = [e.time for e in events] + [t for t in (self.largest,) if t is not None]
        self.largest = max(times, default=None)

    def due(self, number: int) -> bool:
        look = self.looks.get(number)
        return look is not None and self.watermark is not None and self.watermark > look

    def task(self, number: int, events: list[Event], end: int | None) -> None:
        memory = self.memories[self.chooser.worker()]
        batches = [self.rows.batch(part) for part in self.chooser.cut(events)]
        if self.chooser.chance(4):  # its state is never committed, its memory may survive
            self.attempt(number, batches, end, memory, deepcopy(self.stores[number]))
        self.found += self.attempt(number, batches, end, memory, self.stores[number])

    def attempt(
        self, number: int, batches: list[Any], end: int | None, memory: dict[int, Bucket], kept: Kept
    ) -> list[Found]:
        store = kept.opened(self._copies(number))
        bucket = recalled(self.rows.work, number, memory, store)
        found = bucket.on_batch(batches, self.watermark, end, store)
        store.wake(bucket.next_look(), (self.watermark or 0) // 1000)
        memory[number] = bucket
        self.looks[number] = bucket.next_look()
        if self.counting.randrange(8) == 0:
            assert opened_runs(bucket) == counted_anew(self.rows.work, number, kept)
        return found

    def copies(self) -> list[Path]:
        return [path for path in Path(self.folder.name).rglob("*") if path.is_file()]

    def _copies(self, number: int) -> Path:
        """On this machine, or on another for once."""
        return NO_FOLDER if self.chooser.chance(4) else Path(self.folder.name) / str(number)


def opened_runs(bucket: Bucket) -> dict[str, dict[str, int]]:
    """By stream and state, as the metrics tell it."""
    told: dict[str, dict[str, int]] = json.loads(bucket.metrics()["open"])
    return told


def counted_anew(work: StreamWork, number: int, kept: Kept) -> dict[str, dict[str, int]]:
    """All that is in the store, made runs again and counted one by one."""
    store = kept.opened(NO_FOLDER)
    bucket = Bucket.rebuilt(work, number, read_head(store.read_head() or "", work), store)
    bucket.segments.read = lambda segment, block: store.read((BLOCK, segment, block))
    found: dict[str, Counter[str]] = {}
    for name, matcher in bucket.matching.network.matchers.items():
        if matcher.plan.trends is None:  # type: ignore[attr-defined]
            bodies = [json.loads(row.body) for row in bucket.segments.take_all(name)]
            states = (str(run[1]) for body in bodies if isinstance(body, list) for run in body[1])
            found[name] = Counter(states)
    for stream in getattr(bucket.matching, "streams", ()):
        taken = bucket.segments.take_columns_due(stream.name, None)
        digests, state = stream._state(taken) if len(taken.digests) else ((), None)
        for key in range(len(digests)):
            words, events = state.of(key)
            partition = stream.reference._new_partition((None,) * len(stream.plan.key))
            tables = stream._that_left(state).compiled.tables
            if len(words):
                revive(partition, tables, words, events_of(events, work.work.layout))
            found[stream.name].update(str(run.state) for run in partition.runs)
    return {name: dict(counts) for name, counts in found.items()}


def recalled(work: StreamWork, number: int, memory: dict[int, Bucket], store: SparkStore) -> Bucket:
    """As the processor does it: what is in memory counts only if its token is the store's."""
    remembered = memory.pop(number, None)
    text = store.read_head()
    if text is None:
        return Bucket.fresh(work, number)
    head = read_head(text, work)
    if remembered is not None and remembered.token == head["token"]:
        return remembered
    return Bucket.rebuilt(work, number, head, store)


def played(rows: Prepared, batches: list[list[Event]], chooser: Chooser) -> Query:
    """The end marker comes with the last rows, or after them."""
    query = Query(rows, chooser)
    end = max(e.time for batch in batches for e in batch)
    alone = chooser.chance(2)
    for batch in batches if alone else batches[:-1]:
        query.micro_batch(batch)
        if chooser.chance(3):
            query.micro_batch([])  # Spark runs one when the watermark has moved
    query.micro_batch([] if alone else batches[-1], end)
    return query


# --- what is to be found --------------------------------------------------------------------------------------

Facts = Counter[Any]


def facts(found: list[Found], program: Program) -> Facts:
    return Counter((f.kind, f.stream, _fixed(_known(f, program))) for f in found)


def _known(found: Found, program: Program) -> dict[str, Any]:
    """A stream with `.emit` keeps only the fields that tests and outputs read, also of its timeouts' events."""
    if found.kind not in ("timeout", "pending") or program[found.stream].stream.outputs is None:
        return found.row
    return {n: v for n, v in found.row.items() if n not in program[found.stream].plan.aliases}


def _fixed(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((name, _fixed(v)) for name, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_fixed(v) for v in value)
    return repr(value.astimezone(UTC) if isinstance(value, datetime) else value)  # Arrow has a UTC of its own


def whole(program: Program, events: list[Event]) -> Facts:
    """The sorted input at once."""
    session = Session(program)
    in_order = sorted(events, key=Event.place_in_order)
    return facts(session.feed_sorted(in_order) + session.end(), program)


def planned(query: str) -> Program:
    """A query the language refuses is no example."""
    try:
        return compile(query)
    except PatternMistake as mistake:
        note(str(mistake))
        reject()


def filled(events: list[Event], start: int = 0) -> list[Event]:
    """Every column in every row, as a table has it; arrival is the order of the list."""
    answer = []
    for i, e in enumerate(events):
        time = e.time + start
        fields = {**dict.fromkeys(_KINDS), **e.fields, "time": from_microseconds(time)}
        answer.append(replace(e, time=time, fields=fields, seq=i))
    return answer


def cuts(events: list[Event], chooser: Chooser) -> list[list[Event]]:
    batches: list[list[Event]] = [[]]
    for event in events:
        batches[-1].append(event)
        if chooser.random.randrange(2):
            batches.append([])
    return [b for b in batches if b]


def told(query: str, batches: list[list[Event]]) -> str:
    tokens = [
        " ".join(f"{e.fields['id']}@{e.time / SECOND:g}{{v: {e.fields['v']}, k: {e.fields['k']}}}" for e in b)
        for b in batches
    ]
    return f"{query} | {' / '.join(tokens)}"


# --- in order, and disordered within what is allowed ---------------------------------------------------------


def shuffled(events: list[Event], disorder: int, chooser: Chooser) -> list[Event]:
    late_by = [chooser.random.randint(0, disorder // 1000) * 1000 for _ in events]
    order = sorted(range(len(events)), key=lambda i: events[i].time + late_by[i])
    return [events[i] for i in order]


WAYS = ("one by one", "all at once", "random cuts", "disordered")


def agree(query: str, given_events: list[Event], way: str, seed: int, start: int) -> None:
    program = planned(query)
    chooser = Chooser(seed)
    disorder = chooser.random.choice((1, 2, 4)) * SECOND if way == "disordered" else 0
    if way == "disordered":
        given_events = shuffled(given_events, disorder, chooser)
    events = filled(given_events, start)
    batches = [events] if way == "all at once" else cuts(events, chooser)
    if way == "one by one":
        batches = [[e] for e in events]
    note(told(query, batches))
    try:
        wanted = whole(program, events)
    except EvaluationError:  # a skip to the match's own first event
        reject()
    played_query = played(prepared(program, Lateness(disorder)), batches, chooser)
    assert facts(played_query.found, program) == wanted
    nothing_left(played_query)


def nothing_left(query: Query) -> None:
    """After the end marker no state is kept and no timer is set."""
    for store in query.stores:
        assert set(store.values) <= {(0, 0, 0)}
    if not query.chooser.trouble:  # else the last step may have been elsewhere
        assert not query.copies()
    assert set(query.looks.values()) == {None}


def check_family(family: str, count: int) -> None:
    @examples(count)
    @given(cases(family), st.sampled_from(WAYS), st.integers(0, 2**32), st.sampled_from((0, ODD)))
    def run(case: tuple[str, list[Event]], way: str, seed: int, start: int) -> None:
        agree(*case, way, seed, start)

    run()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bucket_finds_what_the_sorted_whole_has(family: str) -> None:
    check_family(family, 60)


# --- keys, several buckets, streams that feed each other -------------------------------------------------------

PROGRAMS = {
    "a key": "A as a -> B[v > a.v]+ as b -> C as c .within(4s) .partition_by(k) .timeouts()",
    "a key found in the tests": "A as a -> B[k == a.k] as b -> NOT X[k == a.k] within 2s",
    "neighbours of a key": "A as a -> next B as b .partition_by(k)",
    "an absence with a deadline": "A as a -> NOT B within 2s .partition_by(k)",
    "an absence before the start": "NOT X within 2s -> A as a -> B as b .within(5s) .partition_by(k)",
    "the longest of a key": "A as a -> all B[v > 0] as b .within(3s) .longest() .partition_by(k)",
    "until": "A as a -> all B until v > 2 as b -> C as c .partition_by(k)",
    "until a type": "A as a -> all B as b until type == 'X' -> C as c .longest() .partition_by(k)",
    "until types, at the end": """
        A as a -> (B as b -> all C as c until type == 'X'){1,2} -> all B until type == 'Z' as d
        .within(4s) .longest() .partition_by(k)
    """,
    "until a type, beside neighbours": """
        stream Ends = A as a -> all B until type == 'X' as b -> C as c .partition_by(k)
        stream Side = A as a -> next B as b .partition_by(k)
    """,
    "neighbours of a key and type": "B as a -> B[v > a.v]+ as b -> B as c .strict() .longest() .partition_by(k, type)",
    "next match of a key": "A as a -> B+ as b -> C as c .stnm() .partition_by(k)",
    "every of a key": "every (A as a -> NOT X -> B as b) .partition_by(k) .within(3s)",
    "counted": "A as a -> B+ as b -> C as c .subsets() .partition_by(k) .emit(k: a.k, n: count_matches())",
    "two streams of a key": """
        stream Rises = A as a -> B[v > a.v] as b .within(3s) .partition_by(k)
        stream Alone = A as a -> NOT C within 2s .partition_by(k)
    """,
    "two streams of a key, one of them counted": """
        stream Pairs = A as a -> B+ as b .stnm() .partition_by(k)
        stream Ways = A as a -> B+ as b -> C as c .subsets() .partition_by(k) .emit(k: a.k, n: count_matches())
    """,
    "more than 64 bits": "A as a -> B[v * 4611686018427387904 > a.v] as b -> C as c .within(4s) .partition_by(k)",
    "fed by the same key": """
        stream Pairs = A as a -> B as b .within(3s) .partition_by(k) .emit(k: a.k, x: a.id, y: b.id)
        stream Twice = Pairs as p -> Pairs as q .within(4s) .partition_by(k)
    """,
    "fed by the same key, beside others": """
        stream Pairs = A as a -> B as b .within(3s) .partition_by(k) .emit(k: a.k, x: a.id, y: b.id)
        stream Rises = A as a -> B[v > a.v]+ as b -> C as c .within(4s) .partition_by(k)
        stream Twice = Pairs as p -> Pairs as q .within(4s) .partition_by(k)
        stream Alone = A as a -> NOT C within 2s .partition_by(k)
    """,
    "fed, with events between": """
        stream Pairs = A as a -> B as b .within(3s) .partition_by(k) .emit(k: a.k, x: a.id, y: b.id)
        stream Then = Pairs as p -> NOT C within 2s .partition_by(k)
    """,
    "fed by absences of many keys": """
        stream Silent = A as a -> NOT B within 2s .partition_by(k) .emit(k: a.k, x: a.id)
        stream Outage = Silent as s -> Silent as t .within(5s) .emit(first: s.x, second: t.x)
    """,
    "fed by closures of many keys that end with their window": """
        stream Bursts = A as a -> all B as b .within(2s) .longest() .partition_by(k) .emit(k: a.k, n: count(b))
        stream Two = Bursts as s -> next Bursts as t .emit(first: s.k, second: t.k)
    """,
}


def programs() -> st.SearchStrategy[tuple[str, list[Event]]]:
    size = {"max_size": 10, "types": ("A", "A", "B", "B", "C", "X", "Z")}
    return st.tuples(st.sampled_from(sorted(PROGRAMS)), some_events(**size))


def check_programs(count: int) -> None:
    @examples(count)
    @given(programs(), st.sampled_from(WAYS), st.integers(0, 2**32), st.sampled_from((0, ODD)))
    def run(case: tuple[str, list[Event]], way: str, seed: int, start: int) -> None:
        agree(PROGRAMS[case[0]], case[1], way, seed, start)

    run()


def test_keys_in_buckets_and_streams_that_feed_each_other() -> None:
    check_programs(250)


def test_while_the_kernel_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference matcher does it, and goes on with its keys when the kernel is there."""
    ready = random.Random(1)
    monkeypatch.setattr(bucket_columns, "is_ready", lambda: ready.random() < 0.3)
    check_programs(60)


def test_few_rows_of_some_keys_and_many_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of both matchers side by side."""
    monkeypatch.setattr(bucket_columns, "_FEW", 3)
    check_programs(100)


# --- late, and too late ----------------------------------------------------------------------------------------


def told_by_spark(rows: Prepared, batches: list[list[Event]]) -> Facts:
    """A session that is told the watermark Spark would tell; the rows that go nowhere leave no dead letter."""
    lateness = rows.work.lateness
    session = Session(rows.program, lateness)
    session.arrivals = Arrivals(lateness, limits_of(rows.program), told=True)
    clock = Query(rows, Chooser(0, trouble=False))
    found: list[Found] = []
    for batch in batches:
        found += session.advance(clock.watermark) if clock.watermark is not None else []
        found += session.feed(batch)
        clock.passed(batch)
    found += session.end(clock.largest)
    nowhere = {e.fields["id"] for b in batches for e in b if not rows.arrives(e)}
    kept = [f for f in found if f.kind != "dead_letter" or f.row["id"] not in nowhere]
    return facts(kept, rows.program)


def jumbled(events: list[Event], chooser: Chooser) -> list[Event]:
    """Most come in order, some far behind."""
    late_by = [chooser.random.choice((0, 0, 1, 3, 8)) * SECOND for _ in events]
    return [events[i] for i in sorted(range(len(events)), key=lambda i: events[i].time + late_by[i])]


def agree_when_late(query: str, given_events: list[Event], seed: int, start: int) -> None:
    program = planned(query)
    chooser = Chooser(seed)
    lateness = Lateness(
        chooser.random.choice((0, 0, 1, 2)) * SECOND,
        chooser.random.choice((0, 1, 3, 9)) * SECOND,
        chooser.random.choice((TooLatePolicy.DROP, TooLatePolicy.DEAD_LETTER)),
    )
    events = filled(jumbled(given_events, chooser), start)
    batches = cuts(events, chooser)
    note(f"{told(query, batches)} {lateness}")
    rows = prepared(program, lateness)
    try:
        wanted = told_by_spark(rows, batches)
    except EvaluationError:
        reject()
    query_played = played(rows, batches, chooser)
    assert facts(query_played.found, program) == wanted
    nothing_left(query_played)


def check_late(count: int) -> None:
    any_family = st.sampled_from(sorted(FAMILIES)).flatmap(cases)
    named = programs().map(lambda case: (PROGRAMS[case[0]], case[1]))

    @examples(count)
    @given(st.one_of(any_family, named), st.integers(0, 2**32), st.sampled_from((0, ODD)))
    def run(case: tuple[str, list[Event]], seed: int, start: int) -> None:
        agree_when_late(*case, seed, start)

    run()


def test_values_that_no_column_holds() -> None:
    """A number in a text that leaves 64 bits, now and then: what was open goes to the reference matcher."""
    rows = prepared(
        compile("A as a -> B[int(id) > a.v] as b -> C as c .within(30s) .partition_by(k)"), Lateness()
    )
    for seed in range(30):
        r = random.Random(seed)
        big = [2**70 if r.random() < 0.05 else r.randrange(9) for _ in range(60)]
        events = filled(
            [
                Event(r.choice("ABC"), i * SECOND, {"id": str(v), "v": v % 2**60, "k": r.randrange(3)})
                for i, v in enumerate(big)
            ]
        )
        batches = [events[i : i + 10] for i in range(0, len(events), 10)]
        found = facts(played(rows, batches, Chooser(seed)).found, rows.program)
        assert found == whole(rows.program, events)


def test_late_and_too_late_events() -> None:
    check_late(200)


# --- a full buffer, and order columns --------------------------------------------------------------------------


def check_evictions(count: int) -> None:
    """Events that leave a full buffer early: which they were is known again after a restart."""
    query = "A as a -> B as b .within(9s) .limit(max_buffer: 2, on_limit: evict_oldest)"

    @examples(count)
    @given(some_events(9, ("A", "B")), st.integers(0, 2**32), st.sampled_from((0, ODD)))
    def run(given_events: list[Event], seed: int, start: int) -> None:
        chooser = Chooser(seed)
        lateness = Lateness(chooser.random.choice((1, 4)) * SECOND, chooser.random.choice((0, 3)) * SECOND)
        batches = cuts(filled(jumbled(given_events, chooser), start), chooser)
        note(f"{told(query, batches)} {lateness}")
        rows = prepared(compile(query), lateness)
        found = played(rows, batches, chooser).found
        assert facts(found, rows.program) == told_by_spark(rows, batches)

    run()


def test_a_full_buffer() -> None:
    check_evictions(60)


def in_columns(events: list[Event], chooser: Chooser) -> list[Event]:
    """With an order column, by which events of one time are in another order than they came."""
    values = [chooser.random.choice((None, 1, 2, 3)) for _ in events]
    pairs = zip(events, values, strict=True)
    return [replace(e, order=(v,), fields={**e.fields, "o": v}) for e, v in pairs]


@examples(60)
@given(programs(), st.integers(0, 2**32))
def test_order_columns(case: tuple[str, list[Event]], seed: int) -> None:
    chooser = Chooser(seed)
    program, disorder = compile(PROGRAMS[case[0]]), chooser.random.choice((0, 2)) * SECOND
    events = in_columns(filled(shuffled(case[1], disorder, chooser)), chooser)
    batches = cuts(events, chooser)
    note(told(PROGRAMS[case[0]], batches))
    query = played(prepared(program, Lateness(disorder), ("o",)), batches, chooser)
    assert facts(query.found, program) == whole(program, events)
    nothing_left(query)


# --- what was found here, once -----------------------------------------------------------------------------------


def agree_on(query: str, tokens: str, seeds: int = 20, order: tuple[str, ...] = ()) -> Facts:
    events = filled(list(read_events(tokens, order)))
    program = compile(query)
    wanted = whole(program, events)
    for seed in range(seeds):
        rows = prepared(program, Lateness(), order)
        assert facts(played(rows, [[e] for e in events], Chooser(seed)).found, program) == wanted
    return wanted


def test_keys_with_one_deadline_feed_in_the_order_of_their_events() -> None:
    """Whatever order their state was kept in."""
    query = PROGRAMS["fed by absences of many keys"]
    found = agree_on(query, "A1@0{k: 2} A2@0{k: 1} Z3@1{k: 1} Z4@2{k: 1} Z5@9{k: 1} Z6@10{k: 1}")
    assert ("match", "Outage", (("first", "'A1'"), ("second", "'A2'"))) in found


def test_keys_that_end_together_feed_in_the_order_of_their_events() -> None:
    query = PROGRAMS["fed by closures of many keys that end with their window"]
    found = agree_on(query, "A1@0{k: 2} A2@0{k: 1} B3@1{k: 1} B4@1{k: 2} Z5@1{k: 1} Z6@2{k: 1}")
    assert ("match", "Two", (("first", "2"), ("second", "1"))) in found


def test_a_derived_event_among_events_with_order_columns() -> None:
    query = """
        stream Silent = A as a -> NOT B within 2s .emit(x: a.id)
        stream Both = C as c -> Silent as s .emit(c: c.id, x: s.x)
    """
    found = agree_on(query, "A1@0{o: 1} C1@2{o: 2} Z1@5{o: 3}", order=("o",))
    assert ("match", "Both", (("c", "'C1'"), ("x", "'A1'"))) in found


def test_the_end_is_not_before_what_the_watermark_has_passed() -> None:
    """An end marker that is older than other buckets' events: what it closes is not certain before them."""
    program = compile("""
        stream Burst = A as a -> all B as b .longest() .emit(a: a.id)
        stream Seen = Burst as s -> NOT C within 1s .emit(a: s.a)
    """)
    rows, events = prepared(program, Lateness()), filled(list(read_events("A1@1 B1@2 Z1@9")))
    query = Query(rows, Chooser(0, trouble=False))
    query.micro_batch(events)
    query.micro_batch([], end=3 * SECOND)
    (pending,) = [f for f in query.found if f.kind == "pending"]
    assert pending.row["start"] == from_microseconds(9 * SECOND)


def test_no_timer_for_a_key_that_is_gone() -> None:
    rows = prepared(compile("A as a -> B as b .within(60s)"), Lateness())
    query = Query(rows, Chooser(0, trouble=False))
    for event in filled(list(read_events("A1@1 Z1@2"))):
        query.micro_batch([event])
    query.micro_batch([])
    assert query.looks == {0: 61 * SECOND}
    query.micro_batch([], end=3 * SECOND)
    assert query.looks == {0: None}


def test_counts_are_those_of_one_micro_batch() -> None:
    rows = prepared(compile("A as a -> B as b"), Lateness(0, 0, TooLatePolicy.DEAD_LETTER))
    store, bucket = Kept().opened(NO_FOLDER), Bucket.fresh(rows.work, 0)
    events = filled(list(read_events("A1@5 B1@6 A2@1")))
    bucket.on_batch([rows.batch(events[:2])], None, None, store)
    assert (bucket.counts.events, bucket.counts.matches) == (2, 0)
    bucket.on_batch([rows.batch(events[2:])], 7 * SECOND, None, store)
    assert (bucket.counts.events, bucket.counts.too_late, bucket.counts.matches) == (1, 1, 1)
    bucket.on_batch([], 8 * SECOND, None, store)
    assert (bucket.counts.events, bucket.counts.too_late, bucket.counts.matches) == (0, 0, 0)
    assert bucket.counts.bytes_written == 0


def test_a_copy_is_read_instead_of_the_store_but_only_of_the_attempt_that_was_kept(tmp_path: Path) -> None:
    kept, place = Kept(), (1, 1, 0)

    def written(kept: Kept, body: bytes) -> None:
        store = kept.opened(tmp_path)
        store.read_head()
        store.put(place, body)
        store.write_head("head")
        store.wake(None, 0)

    def read(folder: Path) -> bytes:
        store = kept.opened(folder)
        assert store.read_head() == "head"
        return store.read(place)

    written(kept, b"first")
    kept.values[place] = (b"from the store",)
    assert (read(tmp_path), read(NO_FOLDER)) == (b"first", b"from the store")
    written(deepcopy(kept), b"never kept")  # and the copy of the first is gone
    assert read(tmp_path) == b"from the store"
    written(kept, b"second")
    assert (read(tmp_path), len(list(tmp_path.iterdir()))) == (b"second", 1)


# --- a state of another set-up -----------------------------------------------------------------------------------


def kept_head(query: str) -> tuple[str, StreamWork]:
    rows, store = prepared(compile(query), Lateness()), Kept().opened(NO_FOLDER)
    Bucket.fresh(rows.work, 0).on_batch([], None, None, store)
    return store.text, rows.work


def refused(text: str, work: StreamWork) -> tuple[str, str | None, str | None]:
    with pytest.raises(SnapshotMistake) as caught:
        read_head(text, work)
    return caught.value.message, caught.value.code, caught.value.hint


def test_its_own_head_is_read() -> None:
    text, work = kept_head("A as a -> B as b .partition_by(k)")
    head = read_head(text, work)
    assert (head["version"], head["buckets"]) == (STATE_VERSION, 3)
    assert (head["watermark"], head["sequence"]) == (None, 0)


def test_another_version() -> None:
    text, work = kept_head("A as a")
    head = {**load(text), "version": 99}
    assert refused(dump(head), work) == (
        f"the checkpoint holds state of version 99, this program reads version {STATE_VERSION}",
        "state_version",
        "go on with the release that wrote it, or start with a new checkpoint",
    )


def test_another_number_of_buckets() -> None:
    text, work = kept_head("A as a -> B as b .partition_by(k)")
    assert refused(text, replace(work, buckets=5)) == (
        "the checkpoint was started with buckets=3, now it is 5",
        "buckets_changed",
        "say buckets=3, or start with a new checkpoint",
    )


def test_another_program() -> None:
    text, _ = kept_head("A as a")
    _, other = kept_head("B as b")
    assert refused(text, other) == (
        "the checkpoint belongs to another program",
        "other_program",
        "a changed pattern cannot go on from the old one's runs: start with a new checkpoint",
    )


def test_the_digest_of_a_text_is_that_of_its_key() -> None:
    """The reference matcher and the kernel find a key by the same digest."""
    plan = compile("A as a -> B as b .partition_by(dev)").last.plan
    reader = KeyReader(
        plan, prepared(compile("A as a -> B as b .partition_by(dev)"), Lateness()).work.work.layout
    )
    for text in ("", "user-1", 'a "quote"', "\\ \n \x00 \x7f é \U0001f600"):
        assert reader._digest((text,)) == key_digest(dump(lookup_key((text,), plan.inferred_key)))


# --- how many runs are open ------------------------------------------------------------------------------------

OPENED = [
    # Of two A and two B: a run for each A, and one for each pair. With C the pairs are complete, and copies wait on.
    ("A as a -> B as b -> C as c within 100s", {"1": 2, "2": 4}),
    # The first event that fits is taken: both runs hold a B.
    ("A as a -> B as b -> C as c within 100s .stnm()", {"2": 2}),
    # One for all of a start that came equally far.
    ("A as a -> B as b -> C as c within 100s .emit(n: count_matches())", {"1": 2, "2": 2}),
    ("A as a -> B[v > a.v] as b -> C as c within 100s", {"1": 2, "2": 2}),
    ("A as a -> all B as b -> C as c within 100s", {"2": 4}),
    ("every (A as a -> B as b -> C as c) within 100s", {"2": 1}),
]


@pytest.mark.parametrize(("query", "wanted"), OPENED)
def test_open_runs_are_counted_as_they_come_and_go(query: str, wanted: dict[str, int]) -> None:
    """Micro-batch by micro-batch, over restarts and workers that trade buckets; each time counted anew."""
    program = compile(query)
    events = filled(read_events("A1@1{v: 1} A2@2{v: 5} B1@3{v: 3} B2@4{v: 4} X1@5 C1@6 A3@7{v: 2} X2@300"))
    query_ = Query(prepared(program, Lateness(0)), Chooser(7))
    query_.counting.randrange = lambda n: 0  # type: ignore[method-assign]
    seen = []
    for event in events:
        query_.micro_batch([event])
        query_.micro_batch([])
        bucket = Bucket.rebuilt(query_.rows.work, 0, *_head_and_store(query_))
        seen.append(opened_runs(bucket)["matches"])
    assert wanted in seen
    query_.micro_batch([], end=events[-1].time)
    bucket = Bucket.rebuilt(query_.rows.work, 0, *_head_and_store(query_))
    assert opened_runs(bucket) == {"matches": {}}


def _head_and_store(query: Query) -> tuple[dict[str, Any], SparkStore]:
    store = query.stores[0].opened(NO_FOLDER)
    return read_head(store.read_head() or "", query.rows.work), store
