"""Sifters of partitioned graphs, one bucket without Spark: however edges come, are cut, lost from memory and tried
again, what is found is what is in the graph of each partition as a whole."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from graph_bundle import SCHEMA, TARGETS, Bundle, at, bundle, cut, edge, found_shapes, shuffled, table
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from test_bucket import NO_FOLDER, Kept

import cepheid
from cepheid.engines.spark.sifting_bucket import SiftingBucket
from cepheid.engines.spark.sifting_work import SiftingWork
from cepheid.errors import EvaluationError, InputMistake, SnapshotMistake, TooLate
from cepheid.graph.batch import find_in
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import GraphPattern
from cepheid.time.lateness import TooLatePolicy

sys.path.insert(0, str(Path(__file__).parents[1] / "graph"))

from graph_strategies import Happens, histories, patterns

MILLISECOND = 1000


def work_of(patterns: Any, **changes: Any) -> SiftingWork:
    read = cepheid.graph_patterns(patterns) if isinstance(patterns, str) else patterns
    given = SiftingWork(
        tuple(p for p in read if not p.private),
        (("graph", pa.string()),),
        TARGETS,
        time_is_start=False,
        ends=True,
        ticks=True,
        kinds=frozenset({"negated", "expired", "excluded"}),
        policy=TooLatePolicy.FAIL,
        buckets=1,
        identity="test",
    )
    return replace(given, **changes)


def asked(rows: pa.Table, work: SiftingWork) -> pa.Table:
    """As Spark prepares them."""
    labels = pa.array(sorted({label for r in work.watch.patterns for label in r.labels}))
    rows = rows.filter(pc.is_in(rows["label"], labels))
    time = "start" if work.time_is_start else "time"
    columns = {
        "_k0": "graph",
        "_t": time,
        "_s": "source",
        "_l": "label",
        "_b": "start",
        "_e": "end",
        "_c": "tick",
    }
    columns |= {f"_v{i}": name for i, name in enumerate(TARGETS)}
    made = {name: rows[given] for name, given in columns.items()}
    return pa.table({n: c.cast(pa.int64()) if n in ("_t", "_b", "_e") else c for n, c in made.items()})


@dataclass
class Stream:
    """What Spark does with a bucket."""

    work: SiftingWork
    chance: random.Random
    delay: float = 0.0  # seconds
    kept: Kept = field(default_factory=Kept)
    bucket: SiftingBucket | None = None
    found: list[pa.Table] = field(default_factory=list)
    too_late: int = 0
    latest: int | None = None

    @property
    def watermark_ms(self) -> int:
        return 0 if self.latest is None else max(0, self.latest // MILLISECOND - int(self.delay * 1000))

    def batch(self, rows: pa.Table) -> None:
        """One micro-batch by the watermark of those before, then one without rows if a timer has come."""
        watermark = self.watermark_ms
        times = rows["start" if self.work.time_is_start else "time"].cast(pa.int64())
        if rows.num_rows:
            self.latest = max([pc.max(times).as_py(), *([] if self.latest is None else [self.latest])])
        self._step(asked(rows, self.work), watermark)
        self._step(asked(rows.slice(0, 0), self.work), self.watermark_ms)

    def _step(self, rows: pa.Table, watermark: int) -> None:
        expired = {t for t in self.kept.timers if t <= watermark}
        if not rows.num_rows and not expired:
            return
        if self.chance.random() < 0.2:  # an attempt that is lost
            self._attempt(deepcopy(self.kept), None, rows, watermark)
        bucket, found = self._attempt(self.kept, self.bucket, rows, watermark)
        self.found += [] if found is None else [found]
        self.too_late += bucket.metrics()["too_late"]
        self.kept.timers -= expired
        self.bucket = None if self.chance.random() < 0.3 else bucket

    def _attempt(
        self, kept: Kept, remembered: Any, rows: pa.Table, watermark: int
    ) -> tuple[SiftingBucket, pa.Table | None]:
        store = kept.opened(NO_FOLDER)
        bucket = self.work.bucket(0, store.read_head(), store, remembered)
        reached = watermark * MILLISECOND if watermark > 0 else None
        found = bucket.on_batch(rows.to_batches(), reached, None, store)
        store.wake(bucket.next_look(), watermark)
        return bucket, found

    @property
    def answer(self) -> pa.Table:
        return pa.concat_tables([self.work.schema.empty_table(), *self.found])

    def kinds(self) -> list[tuple[str, Any]]:
        return [(row["kind"], dict(row["bindings"])) for row in self.answer.to_pylist()]


@pytest.fixture(scope="module")
def golden() -> Bundle:
    return bundle()


def check_scenarios(golden: Bundle, work: SiftingWork, seed: int) -> None:
    chance = random.Random(seed)
    stream = Stream(work, chance, delay=3)
    for rows in cut(shuffled(golden.rows, chance, 3), chance, 8):
        stream.batch(rows)
    assert found_shapes(stream.answer) == golden.expected
    assert stream.too_late == 0


def test_the_scenarios_as_partitions(golden: Bundle) -> None:
    assert len(golden.expected) > 150
    check_scenarios(golden, work_of(golden.patterns), seed=1)


def test_by_their_starts_alone() -> None:
    """Without ticks: of a row about the end of an edge it is that of the end."""
    golden = bundle(ticks=False)
    assert len(golden.expected) > 130
    check_scenarios(golden, work_of(golden.patterns, time_is_start=True), seed=2)


@pytest.mark.soak
def test_the_scenarios_many_times(golden: Bundle) -> None:
    for seed in range(3, 30):
        check_scenarios(golden, work_of(golden.patterns), seed)


def test_what_is_told_does_not_depend_on_how_it_comes(golden: Bundle) -> None:
    """Ids too, of matches and of all else that happens."""
    answers = []
    for seed, parts in ((1, 2), (2, 30)):
        chance = random.Random(seed)
        stream = Stream(work_of(golden.patterns), chance, delay=2)
        for rows in cut(shuffled(golden.rows, chance, 2), chance, parts):
            stream.batch(rows)
        told = [{n: v for n, v in row.items() if n != "intervals"} for row in stream.answer.to_pylist()]
        answers.append(sorted(map(repr, told)))
    assert answers[0] == answers[1]
    assert {row["kind"] for row in stream.answer.to_pylist()} == {"match", "negated", "expired", "excluded"}


# --- random patterns ----------------------------------------------------------------------------------------


def rows_of(ticks: list[list[Happens]], graph: str, ticking: bool) -> Iterator[dict[str, Any]]:
    for tick, happens in enumerate(ticks):
        for h in happens:
            source, label, target, start = h.edge
            row = edge(graph, (source, label, target), start, tick=tick if ticking else 0)
            # Times of random histories are microseconds to their patterns.
            for name, value in (("start", start), ("end", h.end), ("time", h.time)):
                row[name] = None if value is None else at(value / 1e6)
            yield row


def as_a_whole(pattern: GraphPattern, rows: pa.Table) -> list[Any]:
    edges = Edges()
    for row in rows.to_pylist():
        target = next(row[name] for name in TARGETS if row[name] is not None)
        start, end = (None if row[n] is None else _micros(row[n]) for n in ("start", "end"))
        edges.add(Edge(row["source"], row["label"], target, start or 0, end, row["tick"], row["tick"]))
    found = find_in(ReadyPattern(pattern), edges)
    return sorted(repr((sorted(m.binds.items()), [(n, i.start) for n, i in m.intervals])) for m in found)


def _micros(time: Any) -> int:
    return int(pa.scalar(time, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())


def found_in(stream: Stream, graph: str) -> list[Any]:
    rows = [row for row in stream.answer.to_pylist() if row["kind"] == "match" and row["graph"] == graph]
    values = {"1": 1}
    return sorted(
        repr(
            (
                sorted((n, values.get(v, v)) for n, v in row["bindings"]),
                [(i["stage"], _micros(i["start"])) for i in row["intervals"]],
            )
        )
        for row in rows
    )


def random_streams(examples: int) -> None:
    matched = []

    @given(patterns(), histories(), histories(), st.integers(0, 1000), st.booleans())
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    def one(
        pattern: GraphPattern,
        one: list[list[Happens]],
        other: list[list[Happens]],
        seed: int,
        time_is_start: bool,
    ) -> None:
        chance = random.Random(seed)
        named = (("x", one), ("y", other))
        graphs = {graph: table(rows_of(ticks, graph, not time_is_start)) for graph, ticks in named}
        rows = pa.concat_tables(graphs.values())
        rows = shuffled(
            rows.take(np.argsort(rows["time"].cast(pa.int64()).to_numpy(), kind="stable")), chance, 3e-6
        )
        stream = Stream(work_of([pattern], time_is_start=time_is_start), chance, delay=0)
        stream.batch(rows)  # within one millisecond nothing is certain
        for later in (0.001, 0.002, 1.0):
            stream.batch(table([edge("z", ("z", "other", "z"), later)]))
        for graph, own in graphs.items():
            expected = as_a_whole(pattern, own)
            note(f"{graph}: {own.to_pylist()}")
            assert found_in(stream, graph) == expected
            matched.append(bool(expected))

    one()
    assert sum(matched) > len(matched) / 10


def test_random_streams() -> None:
    random_streams(60)


@pytest.mark.soak
def test_many_random_streams() -> None:
    random_streams(2_000)


# --- one by one ---------------------------------------------------------------------------------------------

PAIR = """
    graph pattern pair {
      stage a { .kind = "a", .who -> ?x }
      stage b { .kind = "b", .who -> ?x }
      unless { .kind = "stop", .who -> ?x }
      within 10s
    }
"""


def event(node: str, kind: str, who: str, time: float, graph: str = "g") -> list[dict[str, Any]]:
    return [edge(graph, (node, "kind", kind), time), edge(graph, (node, "who", who), time)]


def fed(work: SiftingWork, *batches: list[dict[str, Any]], delay: float = 0) -> Stream:
    stream = Stream(work, random.Random(1), delay)
    for rows in batches:
        stream.batch(table(rows) if rows else SCHEMA.empty_table())
    return stream


LATER = [edge("other", ("z", "kind", "z"), 1000)]


def test_happenings() -> None:
    stream = fed(
        work_of(PAIR),
        [*event("e1", "a", "ann", 1), *event("e2", "a", "bob", 2), *event("e3", "stop", "ann", 3)],
        [*event("e4", "b", "bob", 4), *event("e5", "a", "eve", 5)],
        LATER,
    )
    rows = {row["kind"]: row for row in stream.answer.to_pylist()}
    assert sorted(stream.kinds(), key=repr) == [
        ("expired", {"a": "e5", "x": "eve"}),
        ("match", {"a": "e2", "x": "bob", "b": "e4"}),
        ("negated", {"a": "e1", "x": "ann"}),
    ]
    assert rows["negated"]["reason"] == "x = ann, unless = e3"
    assert (rows["expired"]["stage"], rows["expired"]["pattern"], rows["expired"]["graph"]) == (
        "a",
        "pair",
        "g",
    )
    assert (rows["match"]["first"], rows["match"]["last"]) == (at(2), at(4))


def test_only_matches_are_told_if_nothing_else_is_asked_for() -> None:
    stream = fed(work_of(PAIR, kinds=frozenset()), event("e1", "a", "ann", 1), LATER)
    assert stream.kinds() == []


def test_a_window_ends_by_a_timer_alone() -> None:
    stream = fed(work_of(PAIR), event("e1", "a", "ann", 1), [edge("h", ("z", "kind", "z"), 11)])
    assert stream.kinds() == []
    stream.batch(table([edge("h", ("z", "kind", "z"), 12)]))
    assert stream.kinds() == [("expired", {"a": "e1", "x": "ann"})]


def late_stream(**changes: Any) -> Stream:
    return fed(
        work_of(PAIR, **changes),
        event("e1", "a", "ann", 5),
        LATER,
        [edge("g", ("e0", "kind", "a"), 4)],
        LATER,
    )


def test_an_edge_that_comes_too_late() -> None:
    with pytest.raises(TooLate, match="e0 -kind-> a came too late"):
        late_stream()
    dropped = late_stream(policy=TooLatePolicy.DROP)
    assert (dropped.too_late, [kind for kind, _ in dropped.kinds()]) == (1, ["expired"])
    told = late_stream(policy=TooLatePolicy.DEAD_LETTER, kinds=frozenset({"too_late"}))
    (row,) = told.answer.to_pylist()
    assert (row["kind"], row["graph"], told.too_late) == ("too_late", "g", 1)
    assert dict(row["bindings"]) == {
        "source": "e0",
        "label": "kind",
        "target": "a",
        "start": "2024-05-01T00:00:04Z",
    }
    assert "watermark" in row["reason"]


OPEN = 'graph pattern open { stage a { .door = "open" } stage b { .alarm = "on" } b during a }'


@pytest.mark.parametrize("time_is_start", [False, True])
def test_an_edge_that_ends_later(time_is_start: bool) -> None:
    """The row that says so comes when its edge has long been passed by the watermark."""
    door, alarm = ("d", "door", "open"), ("x", "alarm", "on")
    stream = fed(
        work_of(OPEN, time_is_start=time_is_start),
        [edge("g", door, 1), edge("g", alarm, 2, 3)],
        [edge("h", ("z", "door", "open"), 10)],
        [edge("g", door, 1, 20, time=20)],
        LATER,
        LATER,
    )
    ((kind, binds),) = stream.kinds()
    assert (kind, binds) == ("match", {"a": "d", "b": "x"})


def test_an_end_of_no_edge_is_too_late() -> None:
    stream = fed(
        work_of(OPEN, policy=TooLatePolicy.DEAD_LETTER, kinds=frozenset({"too_late"})),
        [edge("g", ("d", "door", "open"), 1, 5, time=5)],
        LATER,
    )
    (row,) = stream.answer.to_pylist()
    assert row["reason"] == "it says that an edge ends which is not there"


def test_an_edge_that_ends_twice() -> None:
    door = ("d", "door", "open")
    with pytest.raises(InputMistake, match="has ended already"):
        fed(
            work_of(OPEN),
            [edge("g", door, 1), edge("g", door, 1, 5, time=5), edge("g", door, 1, 6, time=6)],
            LATER,
        )


def test_ticks_do_not_go_back() -> None:
    with pytest.raises(InputMistake, match="of tick 0, but an earlier one was of tick 3"):
        fed(
            work_of(OPEN),
            [edge("g", ("d", "door", "open"), 1, None, 3), edge("g", ("d", "door", "shut"), 2)],
            LATER,
        )


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("no time", {"time": None}),
        ("no start", {"start": None}),
        ("no source", {"source": None}),
        ("no target", {"text": None}),
        ("two targets", {"whole": 1}),
        ("no tick", {"tick": None}),
        ("ends before it starts", {"end": at(0)}),
        ("neither its start nor its end", {"time": at(3)}),
    ],
)
def test_bad_rows(said: str, changes: dict[str, Any]) -> None:
    row = {**edge("g", ("d", "door", "open"), 1), **changes}
    rows = pa.Table.from_pylist([{f.name: row.get(f.name) for f in SCHEMA}], SCHEMA)
    work = work_of(OPEN)
    with pytest.raises(InputMistake, match=said) as caught:
        work.bucket(0, None, Kept().opened(NO_FOLDER), None).on_batch(
            asked(rows, work).to_batches(), None, None, Kept().opened(NO_FOLDER)
        )
    assert caught.value.code == "bad_row"


def test_a_test_that_fails_is_an_error_and_the_state_stays() -> None:
    work = work_of("graph pattern p { stage a { .n -> ?n } stage b { .n -> ?m } where ?m > ?n }")
    stream = fed(work, [edge("g", ("e1", "n", 1), 1)], [edge("g", ("z", "n", 0), 5)])
    before = deepcopy(stream.kept.values)
    stream.latest = _micros(at(20))
    with pytest.raises(EvaluationError):
        stream.batch(table([edge("g", ("e2", "n", "text"), 10)]))
    assert stream.kept.values == before


def test_a_checkpoint_of_other_patterns_is_refused() -> None:
    stream = fed(work_of(PAIR), event("e1", "a", "ann", 1))
    for work, code in (
        (work_of(PAIR.replace("10s", "11s")), "other_program"),
        (work_of(PAIR, buckets=2), "buckets_changed"),
        (work_of(PAIR, time_is_start=True), "other_program"),
    ):
        with pytest.raises(SnapshotMistake) as caught:
            Stream(work, random.Random(1), kept=deepcopy(stream.kept)).batch(
                table(event("e2", "b", "ann", 2))
            )
        assert caught.value.code == code
    # What is told beside matches may change.
    work = work_of(PAIR, kinds=frozenset(), policy=TooLatePolicy.DROP)
    Stream(work, random.Random(1), kept=stream.kept).batch(table(event("e2", "b", "ann", 2)))


def test_a_partition_without_a_name_is_one_too() -> None:
    rows = [{**row, "graph": None} for row in (*event("e1", "a", "ann", 1), *event("e2", "b", "ann", 2))]
    stream = fed(work_of(PAIR), rows, LATER)
    assert [(row["graph"], row["kind"]) for row in stream.answer.to_pylist()] == [(None, "match")]
