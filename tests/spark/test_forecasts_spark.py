"""Forecasts on Spark: what the local engine says, bounded and as a stream, over restarts; models trained in tasks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from streaming import read_stream, write_batches

import cepheid
from cepheid.errors import CepheidError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pyspark = pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

PATTERN = "A as a -> first B as b -> first C as c .within(20s) .partition_by(key)"
BY_KEY = f"stream S = {PATTERN} .forecast(horizon: 5, confidence: 0.2, warmup: 40, model: key)"
SHARED = f"stream S = {PATTERN} .forecast(horizon: 8s, confidence: 0.2, warmup: 40)"
FIXED = SHARED.replace("horizon", "learn: false, horizon")


def _events(count: int = 500) -> pa.Table:
    rng = random.Random(2)
    rows = [
        {"type": rng.choice("AABCX"), "time": i * 1_000_000, "key": rng.randrange(3)} for i in range(count)
    ]
    table = pa.Table.from_pylist(rows)
    return table.set_column(1, "time", table["time"].cast(pa.timestamp("us", "UTC")))


def _rows(frame: Any) -> list[str]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    rows = table.to_pylist()
    for row in rows:
        row.pop("batch", None)  # the sink's own
        row["time"] = row["time"].timestamp()
        row["start"] = row["start"].timestamp()
        if row.get("forecast_until") is not None:
            row["forecast_until"] = row["forecast_until"].timestamp()
        if "forecast_probability" in row:
            row["forecast_probability"] = round(row["forecast_probability"], 9)
    return sorted(map(str, rows))


def test_bounded_as_locally(spark: SparkSession) -> None:
    table = _events()
    df = spark.createDataFrame(table)
    here, there = cepheid.run(BY_KEY, table), cepheid.run(BY_KEY, df)
    assert here.forecasts["S"].num_rows > 20
    assert _rows(there.forecasts["S"]) == _rows(here.forecasts["S"])
    assert _rows(there.outcomes["S"]) == _rows(here.outcomes["S"])
    assert there["S"].count() == here["S"].num_rows > 0


def test_one_model_cannot_learn_from_keys_that_come_one_after_the_other(spark: SparkSession) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.run(SHARED, spark.createDataFrame(_events(10)))
    assert caught.value.code == "no_order_to_learn"


def test_trained_in_tasks_and_used_by_them(spark: SparkSession) -> None:
    table = _events()
    df = spark.createDataFrame(table)
    trained, local = cepheid.train_forecast(SHARED, df), cepheid.train_forecast(SHARED, table)
    assert trained.events == local.events == {"S": 500}
    here, there = cepheid.run(FIXED, table, models=trained), cepheid.run(FIXED, df, models=trained)
    assert here.forecasts["S"].num_rows > 20
    assert _rows(there.forecasts["S"]) == _rows(here.forecasts["S"])
    # What was counted is the same; where a key fell silent only a common clock knows.
    assert trained["S"]["learned"]["outcomes"]["seen"] != []
    probability = [r.forecasts["S"]["forecast_probability"].to_pylist()[-1] for r in (here,)]
    other = cepheid.run(FIXED, table, models=local).forecasts["S"]["forecast_probability"].to_pylist()[-1]
    assert probability[0] == pytest.approx(other, abs=0.02)


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """With one bucket for all keys, forecasts are those of the local engine. (Restarts: `test_bucket_forecasts.py`.)"""
    table = _events(150)
    end = pa.Table.from_pylist([{"type": "End", "time": 10**9, "key": 0}])
    end = end.set_column(1, "time", end["time"].cast(pa.timestamp("us", "UTC")))
    write_batches(tmp_path / "events", [table.slice(0, 90), pa.concat_tables([table.slice(90), end])])
    running = cepheid.write_stream(
        SHARED,
        read_stream(spark, tmp_path / "events"),
        checkpoint=tmp_path / "checkpoint",
        forecasts=str(tmp_path / "forecasts"),
        outcomes=str(tmp_path / "outcomes"),
        disorder="0s",
        buckets=1,
        end_type="End",
        trigger={"availableNow": True},
    )
    running.awaitTermination()
    here = cepheid.run(SHARED, table).forecasts["S"]
    assert here.num_rows > 20
    assert _rows(spark.read.parquet(str(tmp_path / "forecasts"))) == _rows(here)
    assert spark.read.parquet(str(tmp_path / "outcomes")).count() > 10
