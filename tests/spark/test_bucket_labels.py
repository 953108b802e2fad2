"""Names of buckets: Spark sends them to its partitions in turn."""

from __future__ import annotations

from typing import Any

import pytest

from cepheid.engines.spark.bucket_labels import labels


def test_the_hash_of_a_label_is_the_number_of_its_bucket(spark: Any) -> None:
    from pyspark.sql import functions as F

    rows = spark.createDataFrame(list(enumerate(labels(300))), "n int, label int")
    assert rows.where(F.hash("label") != F.col("n")).count() == 0


def test_labels_are_different_and_stay_the_same() -> None:
    assert len(set(labels(5000))) == 5000
    assert labels(3) == [-1693959553, -1910889132, -1382833682]  # checkpoints rely on it


@pytest.mark.parametrize("partitions", [2, 3, 7, 16])
def test_every_partition_gets_as_many(spark: Any, partitions: int) -> None:
    rows = spark.createDataFrame([(label,) for label in labels(16)], "bucket int")
    per = rows.selectExpr(f"pmod(hash(bucket), {partitions}) as p").groupBy("p").count().toPandas()["count"]
    assert len(per) == partitions
    assert per.max() - per.min() <= 1
