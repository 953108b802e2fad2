"""why_not over a Spark DataFrame: only the rows of one key, and the expected ones, are pulled."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import cepheid
from cepheid.errors import CepheidError

QUERY = "A as a -> B[v > 5] as b within 10s partition by u"
ROWS = [
    ("a1", "A", 0, "ann", None),
    ("a2", "A", 1, "bob", None),
    ("b1", "B", 12, "ann", 7),
    ("b2", "B", 3, "bob", 9),
    ("b3", "B", 4, None, 9),
]


def test_a_slice_by_key(spark: SparkSession) -> None:
    df = spark.createDataFrame(ROWS, "id string, type string, time long, u string, v long")
    df = df.withColumn("time", df.time.cast("timestamp"))
    found = cepheid.why_not(QUERY, df, key="ann")
    assert (found.cause.kind, found.cause.over, found.events) == ("window", 2 * 10**6, 2)
    assert found.near_misses[0].text == "would match with `within 12s`"
    assert cepheid.why_not(QUERY, df, key={"u": "bob"}).matched
    # b3 lies in the partition of null, which the key alone would not have pulled.
    found = cepheid.why_not(QUERY, df, key="bob", expected=["a2", "b3"])
    assert (found.cause.kind, found.events) == ("partition", 3)
    assert found.cause.names == ('u = "bob"', "u = null")


@pytest.mark.parametrize(("key", "code"), [(None, "no_key"), ({"nobody": 1}, "bad_key")])
def test_mistakes(spark: SparkSession, key: object, code: str) -> None:
    df = spark.createDataFrame(ROWS, "id string, type string, time long, u string, v long")
    with pytest.raises(CepheidError) as caught:
        cepheid.why_not(QUERY, df, key=key)
    assert caught.value.code == code


def test_a_stream_is_refused(spark: SparkSession) -> None:
    df = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("'A' as type", "timestamp as time", "value as u", "1 as v")
    )
    with pytest.raises(CepheidError, match="all there"):
        cepheid.why_not(QUERY, df, key=1)
