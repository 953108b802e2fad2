"""Patterns without a key as joins: the same rows, with the same ids, as the local engine's."""

from __future__ import annotations

import contextlib
import io
import os
import random
import warnings
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid
from cepheid.engines.options import make_options
from cepheid.engines.program import compile
from cepheid.engines.spark.cascade import apart, cascade_of, why_not
from cepheid.engines.spark.run import SparkJob, plan_job
from cepheid.engines.spark.units import units_of
from cepheid.errors import CepheidWarning
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.builder import event
from cepheid.pattern.event import Event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

SEED = int(os.environ.get("CEPHEID_SEED", "1"))
START = datetime(2024, 5, 1, tzinfo=UTC)
NAN = float("nan")

POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "x": (pa.int64(), [0, 1, 2, None, 2**53, 2**53 + 1]),
    "i": (pa.int32(), [0, 1, 2, None]),
    "v": (pa.float64(), [0.0, -0.0, 1.0, NAN, None, 2.0**53]),
    "w": (pa.float32(), [0.0, -0.0, 1.0, NAN, None]),
    "y": (pa.string(), ["p", "q", "P", "", None]),
    "d": (pa.decimal128(6, 2), [Decimal("0.00"), Decimal("1.00"), Decimal("-1.50"), None]),
    "e": (pa.decimal128(9, 4), [Decimal("0.0000"), Decimal("1.0000"), None]),
    "k": (pa.bool_(), [True, False, None]),
    "o": (pa.date32(), [date(2024, 5, 1), date(2024, 5, 2), None]),
    "t": (pa.timestamp("us", "UTC"), [START, START + timedelta(days=1), START + timedelta(seconds=3), None]),
    "n": (pa.int64(), [0, 1, 2, None]),
    "s": (pa.struct([("z", pa.string())]), [{"z": "p"}, {"z": None}, None]),
}
TIES = [
    *("x == {a}.x", "{a}.y == y", "y == {a}.y", "v == {a}.v", "w == {a}.v", "v == {a}.x", "i == {a}.x"),
    *("d == {a}.d", "d == {a}.e", "x == {a}.d", "k == {a}.k", "o == {a}.o", "t == {a}.o", "x == {a}.x + 1"),
    *("time == {a}.time", "s.z == {a}.y", "i == {a}.i and y == {a}.y", "-i == {a}.i - 2"),
]
MORE = [
    *("v >= {a}.v", "x != {a}.x", "not (y == {a}.y)", "time > {a}.time", "s == {a}.s", "{a}.k", "i > 0"),
    *(
        "lower(y) == lower({a}.y)",
        "coalesce(x, 0) >= coalesce({a}.i, 1)",
        "y in ({a}.y, 'p')",
        "count({a}) == 1",
    ),
    *("{a}.y is null or y is null", "x + {a}.x > 1", "concat(y, {a}.y) != 'pq'"),
]


def table(r: random.Random, size: int = 70) -> pa.Table:
    """Awkward on purpose: few values, ties in time, nulls, equal records."""
    times = [START + timedelta(seconds=r.randint(0, 6)) for _ in range(size)]
    columns: dict[str, Any] = {"type": pa.array(r.choices("ABCDX", [3, 3, 3, 2, 2], k=size))}
    columns["time"] = pa.array(times, pa.timestamp("us", "UTC"))
    for name, (kind, pool) in POOLS.items():
        weights = [4, 4, 2, 1, 1, 1][: len(pool)]
        columns[name] = pa.array(r.choices(pool, weights, k=size), kind)
    made = pa.table(columns)
    return pa.concat_tables([made, made.slice(0, 3)])


def chain(r: random.Random) -> str:
    """A sequence of tied steps, with bounds, further conditions, things that must not come."""
    length = r.choice([1, 2, 2, 3, 3, 4])
    bounded = r.random() < 0.4
    parts: list[str] = []
    if r.random() < 0.15:
        parts.append("NOT X[x == s0.x] within 2s")
    for number in range(length):
        earlier = f"s{r.randrange(number)}" if number else ""
        if number and r.random() < 0.3:
            parts.append(f"NOT {r.choice('XXD')}[{_tie(r, earlier)}]" + r.choice(["", " within 2s"]))
        kind = r.choice("ABC") if length > 2 else r.choice("AB")
        conditions = [_tie(r, earlier)] if number else []
        conditions += [f"({r.choice(MORE)})".format(a=earlier) for _ in range(r.choice([0, 0, 1])) if number]
        conditions += [r.choice(["x is not null", "i >= 0", "y != 'q'"])] if r.random() < 0.2 else []
        r.shuffle(conditions)
        step = kind + (f"[{' and '.join(conditions)}]" if conditions else "") + f" as s{number}"
        parts.append(step + (f" within {r.randint(0, 4)}s" if number and bounded else ""))
    guard = f" unless X[y == s0.y] between s0 and s{length - 1}" if length > 1 and r.random() < 0.2 else ""
    guard = guard or (" unless D[x == s0.x and i >= s0.i]" if r.random() < 0.15 else "")
    # The only bound of a step, on the last one, is that of the whole.
    whole = f" .within({r.randint(1, 6)}s)" if r.random() < 0.5 and (not bounded or length != 2) else ""
    where = f" .where(s0.i < s{length - 1}.i)" if r.random() < 0.15 else ""
    emit = f" .emit(m: match_id(), f: s0.x, l: s{length - 1}.y)" if r.random() < 0.4 else ""
    return " -> ".join(parts) + guard + whole + where + emit


def _tie(r: random.Random, earlier: str) -> str:
    return r.choice(TIES).format(a=earlier)


def joinable_chains(r: random.Random, df: DataFrame, rows: pa.Table, count: int) -> list[str]:
    """Those without a key, that joins can match, and that have matches."""
    found: list[str] = []
    while len(found) < count:
        text = chain(r)
        if not refusal(text, df) and 0 < cepheid.match(text, rows).num_rows <= 500:
            found.append(text)
    return found


def in_spark(job: SparkJob) -> dict[str, list[dict[str, Any]]]:
    """The matches of all streams, by one job."""
    names = [s.name for s in job.program.declarations.streams]
    answer = job.answer(names, ["match"])
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _, stream, row in answer.findings(job.table(answer).toArrow()):
        found[stream].append(row)
    return found


def texts(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


def assert_same(query: object, df: DataFrame, rows: pa.Table, **options: Any) -> dict[str, int]:
    """The answers of both engines are equal; how many matches each stream has."""
    job = plan_job(query, df, make_options(**options))
    found = in_spark(job)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        expected = cepheid.run(query, rows, **options)
    for name, frame in expected.items():
        assert texts(found[name]) == texts(frame.to_pylist()), f"{name} of\n{query}"
    return {name: len(part) for name, part in found.items()}


def refusal(query: object, df: DataFrame, **options: Any) -> str:
    job = plan_job(query, df, make_options(**options))
    (unit,) = units_of(job.program)
    why = why_not(unit, job.given)
    assert bool(why) == (cascade_of(unit, job.given) is None)
    return why


def plan_text(df: DataFrame) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        df.explain()
    return out.getvalue()


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table(random.Random(5))


@pytest.fixture(scope="module")
def df(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows).coalesce(2)


# The same answer.


@pytest.mark.parametrize(
    "number", [*range(3), *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 20))]
)
def test_random_chains_have_the_local_answer(spark: SparkSession, number: int) -> None:
    r = random.Random(1000 * SEED + number)
    rows = table(r)
    df = spark.createDataFrame(rows).coalesce(2)
    chains = joinable_chains(r, df, rows, 4)
    query = "\n".join(f"stream S{i} = {text}" for i, text in enumerate(chains))
    options: dict[str, Any] = r.choice([{}, {"order": ["n"]}, {"order": ["v", "y"]}])
    assert_same(query, df, rows, **options)


QUERIES = [
    "A as a -> B[x == a.x] as b -> C[y == b.y] as c .within(3s)",
    "A as a -> A[x == a.i] as b",  # one event is never used twice
    "A as a -> (B[i == a.i] as b -> C[y == b.y] as c) within 2s -> A[x == c.x] as z",
    "A as a -> B[y == a.y] -> C[i == a.i]",
    "A as a -> NOT X[x == a.x] -> B[y == a.y] as b",
    "A as a -> NOT B[x == a.x] -> B[i == a.i] as b -> C[y == b.y]",  # the event itself is what must not come
    "A as a -> NOT X[x == a.x and v >= a.v] within 1s -> B[i == a.i] as b -> C[y == b.y]",
    "NOT X[x == a.x] within 2s -> A as a -> B[y == a.y] as b",
    "A as a -> B[y == a.y] as b -> C[i == b.i] as c unless X[x == a.x] between a and b",
    "A as a -> B[y == a.y] as b -> C[i == b.i] as c unless X[x == b.x] after b unless D[i == a.i]",
    "A as a -> B[y == a.y] as b -> C[i == b.i] as c unless X[x == a.x] between b and a",  # never open
    "A as a -> B as b -> C[x == a.x and y == b.y] .where(b.i == a.i) .longest()",
    "A[x > 0] as a",
]


def test_joins_have_the_local_answer(df: DataFrame, rows: pa.Table) -> None:
    counts: dict[str, int] = {}
    for part in (QUERIES[:5], QUERIES[5:9], QUERIES[9:]):
        for text in part:
            assert refusal(text, df) == "", text
        query = "\n".join(f"stream S{QUERIES.index(text)} = {text}" for text in part)
        counts |= assert_same(query, df, rows)
    assert min(counts.values()) > 0, counts


def test_equal_records_in_a_table_without_types(spark: SparkSession) -> None:
    rows = pa.table(
        {"time": pa.array([START] * 12, pa.timestamp("us", "UTC")), "x": [1, 1, 2] * 4, "y": [1, 2] * 6}
    )
    query = "stream S = E as a -> E[x == a.y] as b -> E[y == b.x] as c"
    df = spark.createDataFrame(rows).coalesce(1)
    assert refusal(query, df) == ""
    assert assert_same(query, df, rows)["S"] > 0


def test_arrival_is_one_order_whatever_the_rows_come_from(spark: SparkSession) -> None:
    """Behind a shuffle rows come in another order each time they are read; here they are read once."""
    size = 60
    df = (
        spark.range(size)
        .repartition(5)
        .selectExpr("id", "id % 3 as x", "id % 4 as y", "timestamp'2024-05-01' time")
    )
    found = cepheid.match(
        "E as a -> E[x == a.x] as b -> E[y == b.y] as c .emit(m: match_id(), a: a.id, b: b.id, c: c.id)", df
    )
    rows = found.toArrow().to_pylist()
    assert all(len({row["a"], row["b"], row["c"]}) == 3 for row in rows)
    assert len({row["m"] for row in rows}) == len(rows)
    orders = {tuple(sorted((row["a"], row["b"], row["c"]))) for row in rows}
    assert len({(row["a"], row["b"]) for row in rows} & {(row["b"], row["a"]) for row in rows}) == 0
    assert orders


def test_an_end_and_a_time_without_a_zone(spark: SparkSession) -> None:
    plain = [(START + timedelta(seconds=i)).replace(tzinfo=None) for i in (0, 1, 2, 2, 3)]
    rows = pa.table({"type": list("ABABA"), "at": plain, "till": [*plain[1:], None], "x": [1, 1, 1, 2, 1]})
    query = (
        "stream S = A as a -> B[at == a.till] as b -> A[x == b.x] as c .emit(a: a.till, c: c, m: match_id())"
    )
    df = spark.createDataFrame(rows).coalesce(1)
    options: dict[str, Any] = {"time": "at", "end": "till"}
    assert refusal(query, df, **options) == ""
    assert assert_same(query, df, rows, **options)["S"] > 0


def test_a_python_function_on_the_last_step(df: DataFrame, rows: pa.Table) -> None:
    a, b, c = event("A").as_("a"), event("B").as_("b"), event("C").as_("c")
    tied = (a >> b.where(b.x == a.x) >> c.where(c.y == b.y)).where(lambda a, c: a.i == c.i)
    assert refusal(tied, df) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CepheidWarning)
        found = cepheid.match(tied, df).toArrow().to_pylist()
    assert texts(found) == texts(cepheid.match(tied, rows).to_pylist())
    early = (a >> b.where(b.x == a.x) >> c.where(c.y == b.y)).where(lambda a, b: a.i == b.i)
    assert refusal(early, df) == "a condition of `B` may fail"


# What must run as one partition.

REFUSED = {
    "A as a -> all B[x == a.x] as b -> C[y == a.y]": "closure",
    "A as a -> B[x == a.x]? as b -> C[y == a.y]": "closure",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .strict()": "strict",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .stnm()": "stnm",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .skip(past_last)": "skip",
    "A as a -> first B[x == a.i] as b -> C[y == b.y]": "arrow",
    "A as a -> AND(B[x == a.i], C[y == a.y])": "AND and OR",
    "A as a -> OR(B[x == a.i], C[y == a.y])": "AND and OR",
    "every (A as a -> B[x == a.i] as b -> C[y == b.y])": "every",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .limit(max_runs: 5000)": "limits",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .within(1h) .timeouts()": "timeouts",
    "A as a -> B[x == a.i] as b -> C[y == b.y] .emit(n: count_matches())": "counted",
    "A as a -> B[x == a.i] as b -> C": "`C` is tied to no step",
    "A as a -> B[x > a.x] as b": "`B` is tied to no step",
    "A as a -> B[x == a.i] as b -> C[s == b.s]": "`C` is tied to no step",
    "A[s == s] as a -> B[x == a.i] as b": "single event",
    "A as a -> NOT X -> B[x == a.i] as b": "`X`, which must not come, is tied to no step",
    "A as a -> NOT X[s == a.s] -> B[x == a.i] as b": "cannot test the condition under which `X`",
    "A as a -> B[x == a.i] as b -> NOT X[x == a.x] within 5s": "NOT at the end",
    "A as a -> B[x == a.i] as b unless X[y == b.y]": "cannot test the condition under which `X`",
    "A as a -> B[(x ** i) > a.x and x == a.i] as b -> C[y == b.y]": "`B` is tied to no step",
    "A as a -> B[x == a.i and (x ** i) > a.x] as b -> C[y == b.y]": "a condition of `B` may fail",
}


def test_what_joins_cannot_mean_is_refused(df: DataFrame) -> None:
    wrong = {text: found for text, why in REFUSED.items() if why not in (found := refusal(text, df))}
    assert not wrong


def test_what_is_refused_is_matched_as_one_partition(df: DataFrame, rows: pa.Table) -> None:
    """Beside a stream that is joined, in one program."""
    texts = [text for text in REFUSED if "**" not in text and "count_matches" not in text]
    named = [f"stream R{i} = {text}" for i, text in enumerate(texts)]
    query = "\n".join([*named, f"stream J = {QUERIES[0]}"])
    job = plan_job(query, df, make_options())
    units = [part for unit in units_of(job.program) for part in apart(unit, job.given)]
    assert [u.names for u in units] == [("J",), tuple(f"R{i}" for i in range(len(texts)))]
    assert_same(query, df, rows)


def test_the_warning_says_why(df: DataFrame) -> None:
    with pytest.warns(CepheidWarning, match=r"one partition, by one core \(not by joins: it has a closure\)"):
        cepheid.match("A as a -> all B[x == a.x] as b -> C[y == a.y]", df)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CepheidWarning)
        cepheid.match(QUERIES[0], df)


def test_streams_that_feed_each_other_are_not_joined(df: DataFrame, rows: pa.Table) -> None:
    query = """
    stream P = A as a -> B[x == a.i] as b .emit(x: b.x, y: b.y)
    stream Q = P as p -> C[y == p.y] as c .emit(x: p.x)
    """
    job = plan_job(query, df, make_options())
    units = [part for unit in units_of(job.program) for part in apart(unit, job.given)]
    assert [u.names for u in units] == [("P", "Q")]
    assert "feed" in why_not(units[0], job.given)
    assert_same(query, df, rows)


# How it runs.


def test_joins_read_one_shuffle_and_nothing_runs_in_one_partition(df: DataFrame) -> None:
    found = cepheid.match(
        "A as a -> NOT X[x == a.x] -> B[y == a.y] as b -> C[i == b.i] as c unless D[x == b.x] after b", df
    )
    found.toArrow()
    final = plan_text(found).split("Initial Plan")[0]
    assert final.count("LeftAnti") == 2
    assert final.count("Inner") == 2
    assert "SinglePartition" not in final
    assert final.count("ReusedExchange") == 4  # five sides, one scan
    assert final.count("Scan ExistingRDD") + final.count("LocalTableScan") == 1


def test_nothing_is_pending(df: DataFrame) -> None:
    results = cepheid.run(f"stream S = {QUERIES[0]}", df)
    assert results.pending["S"].toArrow().num_rows == 0
    assert "Join" not in plan_text(results.pending["S"])


@pytest.mark.parametrize("missing", ["time", "type"])
def test_a_row_without_time_or_type_is_refused_aloud(spark: SparkSession, missing: str) -> None:
    row = {"type": "Z", "time": START, "x": 1, missing: None}
    df = spark.createDataFrame([tuple(row.values())], "type string, time timestamp, x int")
    with pytest.raises(Exception, match=f"a row has no `{missing}`"):
        cepheid.match("A as a -> B[x == a.x] -> C[x > a.x and x == a.x + 1]", df).toArrow()


def test_a_given_rank_is_the_rank() -> None:
    """What the matcher is told when it does not see all events of a time."""
    plan = compile("A as a -> A as b").last.plan
    events = [Event("A", 5, {}, seq=i) for i in range(3)]
    every = ReferenceMatcher(plan).on_batch(events).matches
    given = [Event("A", 5, {}, seq=i, rank=i) for i in (0, 2)]
    (match,) = ReferenceMatcher(plan).on_batch(given).matches
    assert match.id in {m.id for m in every}
    assert match.id == next(m.id for m in every if m.binds["b"][0].seq == 2 and m.binds["a"][0].seq == 0)
