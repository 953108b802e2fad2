"""Aggregates over trends on Spark: the rows of a batch and of a stream are those of one laptop."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from streaming import read_stream, run_to_end, write_batches

import cepheid
from cepheid.engines.options import make_options
from cepheid.engines.spark.run import plan_job
from cepheid.errors import CepheidError

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")]

START = datetime(2024, 5, 1, tzinfo=UTC)
ABC, TT = "A as a -> all B as b -> C as c", "B as a -> all B as b"
ALL = (
    "n: count_trends(), e: count_events(b), s: sum_trends(b.v), "
    "m: avg_trends(b.v), l: min_trends(b.v), h: max_trends(a.w)"
)
N = "n: count_trends()"
PATTERNS = (
    f"{ABC} .trend_aggregate({ALL})",
    f"{ABC} .within(60s) .trend_aggregate({ALL}, rows: moment)",
    f"{TT} .within(20s) .trend_aggregate({N}, s: sum_trends(b.w), rows: final)",
    f"{ABC} .within(40s) .trend_aggregate({ALL}) .where(n > 2) .emit(k: k, twice: n * 2, at: match_end())",
    f"A as a -> B+.increasing(v) as b -> C as c .trend_aggregate({N}) .emit(k: k, n: n)",
    f"C as c -> B+.increasing(v) as b -> A as a .trend_aggregate({N}) .emit(k: k, n: n)",
    f"B as a -> all B[w > a.w] as b .within(15s) .trend_aggregate({N}, rows: moment)",
    f"{ABC} .trend_aggregate({N}, rows: final) .emit(k: k, v: a.v, long: count(b), n: n)",
    f"A as a -> all B as b -> NOT X within 9s -> C .trend_aggregate({N}) .emit(id: match_id(), n: n)",
    f"A as a -> all B as b -> NOT X within 5s .trend_aggregate({N}, rows: moment) .emit(n: n)",
)
STREAMS = (
    *(f"{pattern} .partition_by(k)" for pattern in PATTERNS),
    f"{TT} .trend_aggregate({N}, rows: final) .emit(digits: string(n))",
)
TEXT = "\n".join(f"stream S{i} = {query}" for i, query in enumerate(STREAMS))


def table(count: int) -> pa.Table:
    random = Random(4)
    rows, time = [], START
    for _ in range(count):
        time += timedelta(seconds=random.choice([0, 1, 2, 2, 5]))
        kind = random.choice("AABBBBCX")
        value = random.choice([None, 1, 2, 3, 5])
        rows.append({"time": time, "type": kind, "k": random.randrange(3), "v": value, "w": random.random()})
    return pa.Table.from_pylist(rows)


def plain(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows that can be compared: a whole number is one, of whatever type."""

    def value(one: Any) -> Any:
        return int(one) if isinstance(one, Decimal) and one == int(one) else one

    return sorted(repr({name: value(one) for name, one in row.items()}) for row in rows)


def by_stream(answer: Any, found: pa.Table) -> dict[str, list[str]]:
    rows: dict[str, list[dict[str, Any]]] = {f"S{i}": [] for i in range(len(STREAMS))}
    for _, stream, row in answer.findings(found):
        rows[stream].append(row)
    return {name: plain(own) for name, own in rows.items()}


def expected(events: pa.Table) -> dict[str, list[str]]:
    return {
        name: plain(found.to_pylist())
        for name, found in cepheid.run(TEXT, events, engine="reference").items()
    }


def test_a_batch_gives_the_rows_of_one_laptop(spark: Any) -> None:
    events = table(150)
    job = plan_job(TEXT, spark.createDataFrame(events), make_options())
    answer = job.answer([f"S{i}" for i in range(len(STREAMS))], ["match"])
    found = by_stream(answer, job.table(answer).toArrow())
    wanted = expected(events)
    assert all(wanted.values())
    for name in wanted:
        assert found[name] == wanted[name], f"{name}: {STREAMS[int(name[1:])]}"


def test_a_stream_gives_the_rows_of_one_laptop(spark: Any, tmp_path: Path) -> None:
    """In five micro-batches, the events within each out of order, ended by a marker."""
    events = table(120)
    ends = pa.Table.from_pylist(
        [{**events.slice(119, 1).to_pylist()[0], "type": "End"}], schema=events.schema
    )
    cuts = [events.slice(i, 24) for i in range(0, 120, 24)]
    order = [Random(i).sample(range(24), 24) for i in range(5)]
    batches = [cut.take(pa.array(own)) for cut, own in zip(cuts, order, strict=True)]
    write_batches(tmp_path / "in", [*batches, ends])
    given = read_stream(spark, tmp_path / "in")
    with pytest.raises(CepheidError, match="cannot be taken back"):
        plan_job(TEXT, given, make_options(disorder="200s", lateness="5s"))
    job = plan_job(TEXT, given, make_options(disorder="200s", end_type="End", buckets=2))
    answer = job.answer([f"S{i}" for i in range(len(STREAMS))], ["match"])
    found = by_stream(answer, run_to_end(job.table(answer), tmp_path))
    wanted = expected(pa.concat_tables(batches))
    for name in wanted:
        assert found[name] == wanted[name], f"{name}: {STREAMS[int(name[1:])]}"


def test_a_count_that_its_column_cannot_hold_is_an_error(spark: Any) -> None:
    captured = [{"time": START + timedelta(seconds=i), "type": "B"} for i in range(1, 131)]
    last = {"time": START + timedelta(hours=1), "type": "C"}
    events = spark.createDataFrame(
        pa.Table.from_pylist([{"time": START, "type": "A"}, *captured, last]).to_pandas()
    )
    query = "A -> all B as b -> C .trend_aggregate(n: count_trends()) .emit(n: {})"
    with pytest.raises(Exception, match="does not fit its columns"):
        cepheid.match(query.format("n"), events).collect()
    (row,) = cepheid.match(query.format("string(n)"), events).collect()
    assert int(row.n) == 2**130 - 1
    (row,) = cepheid.match(query.format("n"), events.where("minute(time) < 2 or type = 'C'")).collect()
    assert int(row.n) == 2**119 - 1
