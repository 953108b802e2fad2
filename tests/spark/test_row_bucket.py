"""MATCH_RECOGNIZE over a stream, one bucket without Spark: however rows come, are cut, lost from memory and tried
again, after each step there has been found what is certain of the rows before the watermark, seen as one table.

What certain means is tested in `tests/sql/test_open_ends.py`.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from test_bucket import NO_FOLDER, Kept

from cepheid.engines.spark.row_bucket import RowBucket
from cepheid.engines.spark.row_work import RowWork
from cepheid.engines.sql.matched_table import RowMatching, partition_offsets
from cepheid.engines.sql.on_duckdb import _rows_in_order
from cepheid.errors import EvaluationError, InputMistake, SnapshotMistake
from cepheid.matching.rows.found import OpenEnds
from cepheid.pattern.row_pattern import Anchor, Concatenation, variables_of
from cepheid.pattern.row_terms import furthest
from cepheid.sql_lang.asking import MATCH, wanted
from cepheid.sql_lang.reading import read_statement
from cepheid.sql_lang.row_pattern_text import row_pattern_text
from cepheid.sql_lang.row_query import RowQuery, understood
from cepheid.sql_lang.scan import STANDARD

sys.path.insert(0, str(Path(__file__).parents[1] / "sql"))

from row_strategies import random_pattern

START = 1_700_000_000_000_500  # no whole millisecond
HALF = 500  # microseconds: moments between the milliseconds that a watermark has
CONDITIONS = {
    "A": ["v > 1", "v < NEXT(v)", "v > PREV(v)", "MATCH_NUMBER() < 4 OR v > 1", "v >= PREV(v, 2) OR v = 0"],
    "B": [
        "v < 3",
        "v > FIRST(A.v)",
        "NEXT(v, 2) > 1",
        "COUNT(A.v) < 3",
        "NEXT(A.v, 2) > 1",
        "v <> PREV(A.v)",
    ],
    "C": [
        "v = 2 OR v = 1",
        "v > LAST(B.v)",
        "v < NEXT(v) OR v > PREV(v)",
        "SUM(v) < 9",
        "NEXT(FIRST(v), 3) IS NULL",
    ],
}
MEASURES = [
    "MATCH_NUMBER() AS number",
    "FIRST(v) AS f, LAST(v) AS l, COUNT(*) AS n",
    "CLASSIFIER() AS c, PREV(FIRST(v)) AS before",
    "NEXT(LAST(v)) AS following",
    "NEXT(FIRST(A.v), 2) AS b, SUM(B.v) AS s, PREV(LAST(v), 3) AS p",
]
ROWS = ["ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES"]


def random_clause(chance: random.Random) -> str:
    pattern = random_pattern(chance, chance.randint(1, 4), anchors=False)
    if chance.random() < 0.15:
        pattern = Concatenation((Anchor(True), pattern))
    names = variables_of(pattern)
    others = set(CONDITIONS) - set(names)
    defined = [f"{n} AS {chance.choice(CONDITIONS[n])}" for n in names if chance.random() < 0.8]
    # A condition may only speak of variables that there are.
    defined = [d for d in defined if all(f"{n}.v" not in d for n in others)]
    told = [m for m in MEASURES if all(f"{n}.v" not in m for n in others)]
    measures = chance.sample(told, chance.randint(1, 2))
    within = chance.choice(["", "WITHIN INTERVAL '0.002' SECOND", "WITHIN INTERVAL '0.005' SECOND"])
    return f"""{chance.choice(["PARTITION BY k", ""])} ORDER BY t, o DESC
        MEASURES {", ".join(measures)} {chance.choice(ROWS)} AFTER MATCH SKIP {random_skip(chance, names)}
        PATTERN ({row_pattern_text(pattern)}) {within}
        {"DEFINE " + ", ".join(defined) if defined else ""}"""


def random_skip(chance: random.Random, names: Sequence[str]) -> str:
    if not names or chance.random() < 0.7:
        return chance.choice(["PAST LAST ROW", "TO NEXT ROW"])
    return f"TO {chance.choice(['FIRST', 'LAST'])} {chance.choice(names)}"


def random_table(chance: random.Random) -> pa.Table:
    """No two rows are equal in the order."""
    size = chance.randint(2, 16)
    times = accumulate((chance.choice([0, 0, 1, 1, 2, 3, 6]) for _ in range(size)), initial=0)
    return pa.table(
        {
            "k": pa.array(chance.choices(["x", "x", "x", "y", None], k=size), pa.string()),
            "t": pa.array([START + HALF * t for t in islice(times, 1, None)], pa.timestamp("us", "UTC")),
            "o": pa.array(chance.sample(range(size), size)),
            "v": pa.array(chance.choices([None, 0, 1, 2, 3, 3], k=size), pa.int64()),
        }
    )


def read(clause: str) -> RowQuery:
    text = f"SELECT * FROM rows MATCH_RECOGNIZE ({clause})"
    ((_, found),) = read_statement(text, dialect=STANDARD).clauses
    return understood(found, "duckdb")


@dataclass
class Case:
    """A statement and its table."""

    query: RowQuery
    rows: pa.Table
    connection: Any = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.register("rows", self.rows)
        self.matching = RowMatching(self.query)

    def asked(self) -> pa.Table:
        """As Spark asks for them, in the order of the table."""
        order = [f"({item.value.text}) AS __o{i}" for i, item in enumerate(self.query.order_by)]
        return self._table(f"SELECT {', '.join([*wanted(self.query), *order])} FROM rows")

    def certain(self, before: int, reached: int) -> Counter[Any]:
        """Of the rows before a time, seen as one table, if what comes is not before another time."""
        some = f"(SELECT * FROM rows WHERE t < make_timestamptz({before}))"
        table = self._table(_rows_in_order(self.query, some))
        offsets = partition_offsets(table, len(self.query.partition_by))
        found, _ = self.matching.matched_so_far(table, offsets, OpenEnds.fresh(offsets, reached))
        return counted(found)

    def schema(self) -> pa.Schema:
        none = self._table(_rows_in_order(self.query, "(SELECT * FROM rows WHERE false)"))
        offsets = partition_offsets(none, len(self.query.partition_by))
        return self.matching.matched_so_far(none, offsets, OpenEnds.fresh(offsets))[0].schema

    def in_batch(self) -> Counter[Any]:
        return counted(self.matching.matched(self._table(_rows_in_order(self.query, "rows"))))

    def _table(self, text: str) -> pa.Table:
        return self.connection.sql(text).to_arrow_table()


def counted(found: pa.Table | None) -> Counter[Any]:
    if found is None:
        return Counter()
    return Counter(tuple(row.items()) for row in found.drop_columns([MATCH]).to_pylist())


@dataclass
class Stream:
    """What Spark does with a bucket."""

    work: RowWork
    chance: random.Random
    kept: Kept = field(default_factory=Kept)
    bucket: RowBucket | None = None
    found: Any = field(default_factory=Counter)  # or STUCK
    too_late: int = 0

    def batch(self, rows: pa.Table, watermark_ms: int) -> None:
        """One micro-batch: called with rows, or if a timer has come."""
        expired = {t for t in self.kept.timers if t <= watermark_ms}
        if not rows.num_rows and not expired:
            return
        if self.chance.random() < 0.2:  # an attempt that is lost
            self._attempt(deepcopy(self.kept), None, rows, watermark_ms)
        bucket, found = self._attempt(self.kept, self.bucket, rows, watermark_ms)
        self.found += found
        self.too_late += bucket.metrics()["too_late"]
        self.kept.timers -= expired
        self.bucket = None if self.chance.random() < 0.3 else bucket

    def _attempt(
        self, kept: Kept, remembered: Any, rows: pa.Table, watermark_ms: int
    ) -> tuple[RowBucket, Counter[Any]]:
        store = kept.opened(NO_FOLDER)
        bucket = self.work.bucket(0, store.read_head(), store, remembered)
        watermark = watermark_ms * 1000 if watermark_ms > 0 else None
        found = bucket.on_batch(rows.to_batches(), watermark, None, store)
        store.wake(bucket.next_look(), watermark_ms)
        return bucket, counted(found)


def started(case: Case, seed: int) -> Stream:
    return Stream(RowWork(case.query, "", case.schema(), 1, "test"), random.Random(seed))


STUCK = "AFTER MATCH SKIP leads nowhere"


def outcome(work: Any) -> Any:
    try:
        return work()
    except EvaluationError:
        return STUCK


def stepped(case: Case, stream: Stream, rows: pa.Table, watermark: int) -> bool:
    """One micro-batch, and a look at what has been found. The answer: does the query go on?"""
    reached = watermark * 1000
    expected = outcome(lambda: case.certain(reached, reached)) if watermark else Counter()
    if outcome(lambda: stream.batch(rows, watermark)) == STUCK:
        stream.found = STUCK
    if expected == STUCK and furthest(case.query.terms.values(), 1):
        return False  # the search may lead nowhere behind a match whose NEXT is waited for: it is told with that row
    assert stream.found == expected
    return bool(expected != STUCK)


def fed(case: Case, seed: int, delay: int) -> Stream:
    """All rows, out of order by no more than the delay (in milliseconds), then a watermark beyond all."""
    stream, chance = started(case, seed), random.Random(seed + 1)
    asked, times = case.asked(), case.rows["t"].cast(pa.int64()).to_pylist()
    arrival = sorted(range(len(times)), key=lambda i: times[i] + chance.uniform(0, delay * 1000))
    watermark = 0
    while arrival:
        size = chance.randint(0, 4)
        own, arrival = arrival[:size], arrival[size:]
        if not stepped(case, stream, asked.take(pa.array(own, pa.int64())), watermark):
            return stream
        watermark = max([watermark, *(times[i] // 1000 - delay for i in own)])
    for later in (watermark, watermark + delay + 4, watermark + 1_000_000):
        if not stepped(case, stream, asked.slice(0, 0), later):
            return stream
    return stream


def test_cut_shuffled_restarted() -> None:
    found = sum(look_at(seed) for seed in range(150))
    assert found > 100


@pytest.mark.soak
def test_many_of_them() -> None:
    for seed in range(150, 1_500):
        look_at(seed)


def look_at(seed: int) -> int:
    """The answer: how many rows were found."""
    chance = random.Random(seed)
    clause = random_clause(chance)
    case = Case(read(clause), random_table(chance))
    try:
        stream = fed(case, seed, chance.randint(0, 4))
        in_batch = outcome(case.in_batch)
        assert stream.too_late == 0
        assert in_batch == STUCK or stream.found == STUCK or stream.found <= in_batch
    except AssertionError as problem:
        raise AssertionError(f"seed {seed}: {clause}") from problem
    return 0 if stream.found == STUCK else stream.found.total()


# --- what is kept -------------------------------------------------------------------------------------------


def simple(clause: str, rows: list[tuple[Any, ...]]) -> tuple[Case, Stream]:
    """Rows are a key, milliseconds and a value."""
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {
            "k": pa.array(columns[0], pa.string()),
            "t": pa.array([None if t is None else t * 1000 for t in columns[1]], pa.timestamp("us", "UTC")),
            "v": pa.array(columns[2], pa.int64()),
        }
    )
    case = Case(read(clause), table)
    return case, started(case, 1)


def kept_keys(stream: Stream) -> int:
    assert stream.bucket is not None
    return int(stream.bucket.metrics()["keys"])


PAIR = "PARTITION BY k ORDER BY t MEASURES FIRST(v) AS f, LAST(v) AS l PATTERN (A B) DEFINE A AS v = 1, B AS v = 2"


def test_a_late_row_is_left_out_and_counted() -> None:
    case, stream = simple(PAIR, [("x", 10, 1), ("x", 20, 9), ("x", 15, 2), ("x", 30, 1), ("x", 31, 2)])
    rows = case.asked()
    stream.batch(rows.slice(0, 2), 0)
    stream.batch(rows.slice(0, 0), 18)
    stream.batch(rows.slice(2), 18)
    stream.batch(rows.slice(0, 0), 100)
    assert stream.too_late == 1
    assert [dict(found)["__k0"] for found in stream.found] == ["x"]


def test_a_row_that_the_watermark_passes_as_it_comes_counts() -> None:
    """Of a window of Spark: its rows come when the watermark has passed them."""
    case, stream = simple(PAIR, [("x", 10, 1), ("x", 11, 2)])
    stream.batch(case.asked().slice(0, 1), 11)
    stream.batch(case.asked().slice(1, 1), 12)
    assert (stream.found.total(), stream.too_late) == (1, 0)


@pytest.mark.parametrize("condition", ["NEXT(A.v, 2) = 7", "NEXT(v) = 7", "NEXT(v) = FIRST(v) + 6", "v < 6"])
def test_next_waits_for_its_row(condition: str) -> None:
    """Of the row itself, of another row of the match, of both; and a measure of it."""
    more = ", NEXT(LAST(v)) AS n" if condition == "v < 6" else ""
    clause = f"ORDER BY t MEASURES LAST(v) AS l{more} PATTERN (A B) DEFINE A AS v = 1, B AS {condition}"
    case, stream = simple(clause, [("x", 10, 1), ("x", 20, 5), ("x", 30, 7)])
    for at in range(3):
        stream.batch(case.asked().slice(at, 1), 10 * at + 5)
        assert stream.found.total() == 0
    stream.batch(case.asked().slice(0, 0), 31)
    assert stream.found == case.in_batch()
    assert stream.found.total() == 1


def test_partitions_that_are_done_leave_nothing_behind() -> None:
    rows = [(f"{i}", 10, 1) for i in range(50)] + [(f"{i}", 11, 2) for i in range(50)]
    case, stream = simple(PAIR, rows)
    stream.chance.random = lambda: 0.9  # type: ignore[method-assign]  # nothing is lost
    stream.batch(case.asked(), 5)
    stream.batch(case.asked().slice(0, 0), 11)
    assert kept_keys(stream) == 50
    stream.batch(case.asked().slice(0, 0), 12)
    assert (kept_keys(stream), stream.found.total()) == (0, 50)
    assert len(stream.kept.values) == 1  # the head


def test_what_lasts_too_long_is_let_go_by_a_timer() -> None:
    open_ended = "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '0.005' SECOND"
    case, stream = simple(open_ended, [("x", 10, 1), ("x", 12, 1)])
    stream.batch(case.asked(), 0)
    for watermark in (13, 15, 16):
        stream.batch(case.asked().slice(0, 0), watermark)
        assert stream.found.total() == (watermark > 15), watermark


def test_only_what_is_asked_for_is_remembered_for_ever() -> None:
    rows = [(f"{i}", 10 + j, j) for i in range(10) for j in (1, 2)]
    for more, keys in (("", 0), (", MATCH_NUMBER() AS n", 10), (", PREV(FIRST(v)) AS p", 10)):
        case, stream = simple(PAIR.replace("AS l", f"AS l{more}"), rows)
        stream.chance.random = lambda: 0.9  # type: ignore[method-assign]
        stream.batch(case.asked(), 100)
        assert (kept_keys(stream), stream.found.total()) == (keys, 10)


def test_a_row_without_a_time_is_an_error() -> None:
    case, stream = simple(PAIR, [("x", None, 1)])
    with pytest.raises(InputMistake) as caught:
        stream.batch(case.asked(), 0)
    assert caught.value.code == "bad_time"


def test_the_time_zone_of_the_session_may_change() -> None:
    case, stream = simple(PAIR, [("x", 10, 1), ("x", 20, 1), ("x", 30, 2)])
    rows = case.asked()
    for at, zone in enumerate(("UTC", "Asia/Tokyo", "America/Lima")):
        told = [pa.timestamp("us", zone) if pa.types.is_timestamp(f.type) else f.type for f in rows.schema]
        here = rows.cast(pa.schema(list(zip(rows.column_names, told, strict=True))))
        stream.batch(here.slice(at, 1), 10 * at + 5)
        stream.bucket = None
    stream.batch(rows.slice(0, 0), 31)
    assert stream.found == case.in_batch()


def test_a_checkpoint_of_another_statement_is_refused() -> None:
    case, stream = simple(PAIR, [("x", 10, 1)])
    stream.batch(case.asked(), 0)
    stream.bucket = None
    for work, code in (
        (RowWork(read(PAIR.replace("v = 2", "v = 3")), "", stream.work.schema, 1, ""), "other_program"),
        (RowWork(case.query, "", stream.work.schema, 2, ""), "buckets_changed"),
        (RowWork(case.query, "another column", stream.work.schema, 1, ""), "other_program"),
    ):
        with pytest.raises(SnapshotMistake) as caught:
            Stream(work, random.Random(1), stream.kept).batch(case.asked(), 0)
        assert caught.value.code == code
    # Where in a statement it stands, and which process reads it, is no matter.
    Stream(RowWork(read("  " + PAIR), "", stream.work.schema, 1, ""), random.Random(1), stream.kept).batch(
        case.asked(), 0
    )
