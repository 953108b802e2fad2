"""A streaming DataFrame: packed by bucket of keys, matched in `transformWithState`, timers by the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.output import Payload
from cepheid.engines.spark.packing import BUCKET, SPARK_SCHEMA, packing
from cepheid.engines.spark.processor import processor
from cepheid.engines.spark.work import StreamWork
from cepheid.errors import InputMistake

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST_BUCKETS = 64
METRICS = Payload(
    "metrics",
    "",
    (
        ("bucket", pa.int32()),
        ("events", pa.int64()),
        ("late", pa.int64()),
        ("too_late", pa.int64()),
        ("matches", pa.int64()),
        ("waiting", pa.int64()),
        ("keys", pa.int64()),
        ("segments", pa.int64()),
        ("bytes_written", pa.int64()),
        ("rebuilt", pa.bool_()),
        ("watermark", pa.timestamp("us", "UTC")),
        ("open", pa.string()),  # runs by stream and state, as JSON
    ),
)


def found_in_stream(rows: DataFrame, work: StreamWork) -> DataFrame:
    """All findings of prepared rows, as the stream goes on."""
    packed = packed_rows(rows, work)
    return packed.groupBy("bucket").transformWithState(
        processor(work), work.work.answer.spark_schema(), outputMode="Append", timeMode="EventTime"
    )


def packed_rows(rows: DataFrame, work: StreamWork) -> DataFrame:
    return packed_by(rows, work.work.layout.key_names(), work.buckets, work.end_type)


def packed_by(rows: DataFrame, keys: Sequence[str], buckets: int, end_type: str | None = None) -> DataFrame:
    bucketed = rows.withColumn(BUCKET, bucket_column(keys, buckets))
    return bucketed.mapInArrow(packing(buckets, end_type), SPARK_SCHEMA)


def bucket_count(df: DataFrame, told: int | None) -> int:
    """One for each of Spark's tasks, unless the user says otherwise: with more, each has only more, smaller steps. A
    checkpoint fixes both numbers. Not many more than cores: if nobody has thought of it, Spark has 200 partitions."""
    partitions = df.sparkSession.conf.get("spark.sql.shuffle.partitions")
    return told or min(int(partitions or _MOST_BUCKETS), _MOST_BUCKETS)


def bucket_column(keys: Sequence[str], buckets: int) -> Column:
    from pyspark.sql import functions as F

    number = F.pmod(F.xxhash64(*(F.col(n) for n in keys)), F.lit(buckets)) if keys else F.lit(0)
    return number.cast("int")


def with_watermark(df: DataFrame, given: Input, disorder: int | None) -> DataFrame:
    """The stream's own watermark, or ours."""
    time = given.columns.time
    own = watermark_of(df, time)
    if own is not None:
        if disorder is not None:
            raise InputMistake(
                f"`{time}` already has a watermark, so `disorder` cannot be said again",
                code="two_watermarks",
                hint="leave `disorder` out, or the withWatermark",
            )
        return df
    if disorder is None:
        raise InputMistake(
            "a stream needs to know how far its events may be out of order",
            code="no_watermark",
            hint=f'say disorder="10 seconds" or so, or df.withWatermark("{time}", "10 seconds")',
        )
    return df.withWatermark(time, f"{-(-disorder // 1000)} milliseconds")


def watermark_of(df: DataFrame, time: str) -> Any:
    """The delay of the DataFrame's own watermark in milliseconds; Spark keeps it beside the column."""
    return df.schema[time].metadata.get("spark.watermarkDelayMs")
