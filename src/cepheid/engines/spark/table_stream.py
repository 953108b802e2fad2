"""Rows of a stream in buckets whose answer is tables of Arrow: MATCH_RECOGNIZE, sifters of graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.metrics import observed_rows
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.processor import processor
from cepheid.engines.spark.row_work import BODY, METRICS
from cepheid.engines.spark.stream import packed_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.engines.spark.bucket_step import BucketWork


def found_in_buckets(rows: DataFrame, keys: Sequence[str], work: BucketWork, schema: pa.Schema) -> DataFrame:
    """What the buckets of a work find, as the stream goes on."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = ", ".join(f"{name} {kind}" for name, kind in METRICS.items())
    found = (
        packed_by(rows, keys, work.buckets)
        .groupBy("bucket")
        .transformWithState(
            processor(work), f"{columns}, {BODY} binary", outputMode="Append", timeMode="EventTime"
        )
    )
    bodies = observed_rows(found).where(F.col(BODY).isNotNull()).select(BODY)
    return bodies.mapInArrow(unpacked, from_arrow_schema(schema))


def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for body in batch.column(0):
            yield from unpack(body.as_py())
