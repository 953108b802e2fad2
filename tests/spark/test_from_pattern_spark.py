"""FROM PATTERN queries on Spark: in a batch and as a stream the rows that the local engine gives.

All of scenarios/from_pattern.yaml runs on Spark too; here it is the way a user goes.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from streaming import read_stream, run_to_end, write_batches

import cepheid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

START = datetime(2024, 5, 1, tzinfo=UTC)
THE_END = "the end"

LOCKED = """
-- several failures and then the lock
FROM PATTERN ( EVERY (e1=Fail{2,3} -> e2=Lock) ) WITHIN 20 seconds PARTITION BY user
SELECT user, e1[0].n AS first, e1[last].n AS latest, count(e1) AS attempts, e2.n AS lock
INSERT INTO Locked;
"""
QUERIES = [
    LOCKED,
    "FROM PATTERN (e1=Fail and e2=Ok -> e3=Lock) PARTITION BY user SELECT user, e1.n AS a, e2.n AS b, e3.n AS c",
    "FROM PATTERN (e1=Fail -> not Ok and e2=Lock[n > e1.n + 3]) PARTITION BY user SELECT e1.n AS a, e2.n AS b",
    "FROM SEQUENCE (e1=Fail+, e2=Ok) WITHIN 1 min PARTITION BY user SELECT user, count(e1), e2.n",
    LOCKED + "FROM PATTERN (a=Locked -> b=Locked) PARTITION BY user SELECT a.first, b.lock INSERT INTO Again",
]


def table(size: int = 300) -> pa.Table:
    chance = random.Random(7)
    rows = [
        {
            "type": chance.choice(["Fail", "Fail", "Fail", "Ok", "Lock", "Other"]),
            "time": START + timedelta(seconds=i),
            "user": chance.choice(["ann", "bob", "eve"]),
            "n": i,
        }
        for i in range(size)
    ]
    return pa.Table.from_pylist(rows)


def counted(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.items()) for row in rows)


def here(query: str) -> Counter[tuple[Any, ...]]:
    found = counted(cepheid.match(query, table().to_pylist(), engine="reference"))
    assert found
    return found


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_batch(spark: SparkSession, query: str) -> None:
    frame = cepheid.match(query, spark.createDataFrame(table()))
    assert counted([row.asDict() for row in frame.collect()]) == here(query)


def test_stream(spark: SparkSession, tmp_path: Path) -> None:
    events = table()
    end = pa.Table.from_pylist([{"type": THE_END, "time": START + timedelta(days=1)}], events.schema)
    write_batches(tmp_path / "in", [events.slice(0, 90), events.slice(90, 110), events.slice(200), end])
    detect = cepheid.detect(QUERIES[-1], disorder="0s", buckets=2, end_type=THE_END)
    found = run_to_end(read_stream(spark, tmp_path / "in").transform(detect), tmp_path)
    assert counted(found.to_pylist()) == here(QUERIES[-1])
