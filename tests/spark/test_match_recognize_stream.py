"""MATCH_RECOGNIZE over streams on Spark: shuffled, cut and restarted, the rows of the same statement over a table.

Most of it is tested without Spark, in `test_row_bucket.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from streaming import read_stream, run_to_end, write_batches

import cepheid
from cepheid.engines.spark.metrics import observed_in
from cepheid.errors import PatternMistake

pytestmark = pytest.mark.spark

START = datetime(2024, 5, 1, tzinfo=UTC)
DELAY = 5  # seconds
KEYS = ("a", "b", "b", None)
FALL = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts, n
        MEASURES MATCH_NUMBER() AS number, FIRST(n) AS f, LAST(n) AS l, AVG(DOWN.v) AS low, NEXT(LAST(v)) AS nxt,
            array_join(collect_list(n), ',') AS every_one
        PATTERN (START_ROW DOWN+ UP+)
        DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))
"""
IN_TIME = """
    WITH few AS (SELECT * FROM ticks WHERE v <> 5)
    SELECT m.n, m.k, m.v, m.c, m.s, names.name FROM few MATCH_RECOGNIZE (
        ORDER BY ts, n DESC
        MEASURES CLASSIFIER() AS c, SUM(v) AS s
        ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (LOW {- MIDDLE*? -} HIGH+) WITHIN INTERVAL '3' SECOND
        DEFINE LOW AS v < 2, HIGH AS v > LOW.v + 5) AS m
    JOIN names ON names.v = m.v
    WHERE m.s > 8
"""


def ticks(size: int = 160) -> pa.Table:
    """In order. The last of each key ends what is open, and one more lets time go on."""
    chance = random.Random(5)
    rows = [(chance.choice(KEYS), i // 2, i, chance.choice([*range(10), None])) for i in range(size)]
    rows += [(key, 10_000, size + i, None) for i, key in enumerate(KEYS) for i in (2 * i, 2 * i + 1)]
    rows += [("end", 20_000, 2 * size, None)]
    return pa.table(
        {
            "k": pa.array([r[0] for r in rows], pa.string()),
            "ts": pa.array([START + timedelta(seconds=r[1]) for r in rows], pa.timestamp("us", "UTC")),
            "n": [r[2] for r in rows],
            "v": pa.array([r[3] for r in rows], pa.int64()),
        }
    )


def shuffled(table: pa.Table) -> pa.Table:
    """No row is more than the delay behind."""
    chance = random.Random(8)
    late = [time.timestamp() + chance.uniform(0, DELAY) for time in table["ts"].to_pylist()]
    return table.take(sorted(range(len(late)), key=lambda i: late[i]))


def cut(table: pa.Table, *at: int) -> list[pa.Table]:
    places = [0, *at, table.num_rows]
    return [table.slice(a, b - a) for a, b in pairwise(places)]


def counted(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.items()) for row in table.to_pylist())


def stream(spark: SparkSession, folder: Path, delay: int | None = DELAY) -> Any:
    frame = read_stream(spark, folder)
    if delay is not None:
        frame = frame.withWatermark("ts", f"{delay} seconds")
    frame.createOrReplaceTempView("ticks")
    return frame


def in_batch(spark: SparkSession, query: str, table: pa.Table) -> Counter[Any]:
    spark.createDataFrame(table).createOrReplaceTempView("ticks")
    found = counted(cepheid.sql(query, spark=spark).toArrow())
    assert len(found) > 5
    return found


def names(spark: SparkSession) -> None:
    spark.createDataFrame(
        [(i, f"number {i}") for i in range(9)], "v bigint, name string"
    ).createOrReplaceTempView("names")


def in_parts(
    spark: SparkSession, folder: Path, query: str, parts: Sequence[Sequence[pa.Table]]
) -> Counter[Any]:
    """A restart after each part of the micro-batches."""
    for some in parts:
        write_batches(folder / "in", some)
        stream(spark, folder / "in")
        found = run_to_end(cepheid.sql(query, spark=spark), folder)
    return counted(found)


def test_as_a_table(spark: SparkSession, tmp_path: Path) -> None:
    """Out of order, in several micro-batches, with a restart between them."""
    batches = cut(shuffled(ticks()), 70, 120, 168)
    found = in_parts(spark, tmp_path, FALL, [batches[:2], batches[2:]])
    assert found == in_batch(spark, FALL, ticks())


def test_all_rows_in_time_and_a_join(spark: SparkSession, tmp_path: Path) -> None:
    names(spark)
    found = in_parts(spark, tmp_path, IN_TIME, [cut(shuffled(ticks()), 100, 168)])
    assert found == in_batch(spark, IN_TIME, ticks())


@pytest.mark.soak
def test_two_clauses_in_one_statement(spark: SparkSession, tmp_path: Path) -> None:
    names(spark)
    query = " UNION ALL ".join(f"SELECT to_json(struct(*)) AS row FROM ({one})" for one in (FALL, IN_TIME))
    batches = cut(shuffled(ticks()), 40, 43, 80, 120, 160, 168)
    found = in_parts(spark, tmp_path, query, [batches[:2], batches[2:3], batches[3:]])
    assert found == in_batch(spark, query, ticks())


def test_late_rows_are_left_out_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks()
    late = table.slice(20, 4)
    first, second, third = cut(table, 100, 160)
    write_batches(
        tmp_path / "in", [pa.concat_tables([first.slice(0, 20), first.slice(24)]), second, late, third]
    )
    stream(spark, tmp_path / "in")
    progress: list[Any] = []
    found = run_to_end(cepheid.sql(FALL, spark=spark), tmp_path, progress)
    assert sum((observed_in(p) or {}).get("too_late", 0) for p in progress) == 4
    in_time = pa.concat_tables([table.slice(0, 20), table.slice(24)])
    assert counted(found) == in_batch(spark, FALL, in_time)


def test_over_windows_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark's own windows give when the watermark passes them is not late."""
    write_batches(tmp_path / "in", cut(shuffled(ticks()), 100, 160, 168))
    query = """
        WITH sums AS (SELECT k, window, sum(v) AS v FROM ticks GROUP BY k, window(ts, '4 seconds')),
        timed AS (SELECT k, window_time(window) AS ts, v FROM sums)
        SELECT * FROM timed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS a, LAST(ts) AS b
        PATTERN (DOWN UP) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))
    """
    stream(spark, tmp_path / "in")
    found = run_to_end(cepheid.sql(query, spark=spark), tmp_path)
    assert counted(found) == in_batch(spark, query, ticks())


# --- what is refused ----------------------------------------------------------------------------------------

REFUSED: Sequence[tuple[str, str, str]] = [
    ("ORDER BY n PATTERN (A)", "no_watermark", "n"),
    ("ORDER BY ts + INTERVAL 1 HOUR PATTERN (A)", "no_watermark", "ts + INTERVAL 1 HOUR"),
    ("ORDER BY ts DESC PATTERN (A)", "stream_backwards", "ts"),
    ("ORDER BY n, ts PATTERN (A)", "no_watermark", "n"),
    ("ORDER BY ts PATTERN (A B $)", "stream_has_no_end", "$"),
    (
        "ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A)",
        "stream_with_unmatched",
        "WITH UNMATCHED ROWS",
    ),
    ("PATTERN (A)", "stream_without_order", ""),
    (
        "ORDER BY ts MEASURES percentile_approx(v, 0.5) AS p PATTERN (A B)",
        "stream_aggregate",
        "percentile_approx",
    ),
    ("ORDER BY ts, struct(n, v) PATTERN (A)", "nested_in_stream", "struct(n, v)"),
]


def test_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [ticks()])
    stream(spark, tmp_path / "in")
    for clause, code, what in REFUSED:
        query = f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})"
        with pytest.raises(PatternMistake) as caught:
            cepheid.sql(query, spark=spark)
        assert caught.value.code == code, clause
        place = caught.value.place
        assert place is not None
        assert caught.value.hint
        assert query[place.column - 1 :].startswith(what), clause


def test_refused_without_a_watermark(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [ticks()])
    stream(spark, tmp_path / "in", delay=None)
    with pytest.raises(PatternMistake) as caught:
        cepheid.sql(FALL, spark=spark)
    assert caught.value.code == "no_watermark"


def test_what_comes_out_has_no_watermark(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [ticks()])
    stream(spark, tmp_path / "in")
    inner = "SELECT ts FROM ticks MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (A B))"
    with pytest.raises(PatternMistake) as caught:
        cepheid.sql(f"SELECT * FROM ({inner}) MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B))", spark=spark)
    assert caught.value.code == "no_watermark"
    counts = cepheid.sql(f"SELECT ts, count(*) AS n FROM ({inner}) GROUP BY ts", spark=spark)
    with pytest.raises(AnalysisException):
        run_to_end(counts, tmp_path)
