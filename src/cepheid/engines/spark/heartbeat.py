"""A live stream on which nothing happens: the clock lets the watermark go on, so that absences and timeouts fire."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.engines.spark.run import SparkJob
from cepheid.engines.spark.stream import watermark_of, with_watermark
from cepheid.errors import InputMistake

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BEAT = "_cepheid_beat"


def beating(job: SparkJob, df: DataFrame, idle: int) -> SparkJob:
    """The job with a row each second of the time now − `idle` (microseconds). No matcher sees it."""
    time = job.given.columns.time
    if watermark_of(df, time) is not None:
        raise InputMistake(
            f"`{time}` already has a watermark, which a heartbeat cannot move",
            code="two_watermarks",
            hint="say `disorder` instead of the withWatermark",
        )
    return replace(job, df=_with_beats(job, df, idle))


def _with_beats(job: SparkJob, df: DataFrame, idle: int) -> DataFrame:
    from pyspark.sql import functions as F

    rows = df.withColumn(_BEAT, F.lit(False)).unionByName(_beats(job, df, idle), allowMissingColumns=True)
    lateness = job.options.lateness
    marked = with_watermark(rows, job.given, None if lateness is None else lateness.disorder)
    return marked.where(_no_beat(job.given.columns.time)).drop(_BEAT)


def _beats(job: SparkJob, df: DataFrame, idle: int) -> DataFrame:
    from pyspark.sql import functions as F

    beats = df.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1)
    moment = F.timestamp_micros(F.unix_micros("timestamp") - F.lit(idle))
    return beats.load().select(moment.alias(job.given.columns.time), F.lit(True).alias(_BEAT))


def _no_beat(time: str) -> Column:
    """The test also looks at the time: Spark moves one that does not below the watermark, where beats must pass."""
    from pyspark.sql import functions as F

    column = F.col("`" + time.replace("`", "``") + "`")
    return ~F.col(_BEAT) | (F.unix_micros(column) == F.lit(-(2**63)).cast("bigint"))
