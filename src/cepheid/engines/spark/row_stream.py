"""MATCH_RECOGNIZE over a streaming DataFrame: matched in `transformWithState`, as `stream.py` does it for patterns."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.metrics import observed_rows
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.partition_rows import key_names
from cepheid.engines.spark.processor import processor
from cepheid.engines.spark.row_stream_checks import check_stream
from cepheid.engines.spark.row_work import BODY, METRICS, RowWork
from cepheid.engines.spark.stream import bucket_count, packed_by
from cepheid.sql_lang.row_query import RowQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def found_in_stream(rows: DataFrame, query: RowQuery, schema: pa.Schema) -> DataFrame:
    """What `RowMatching.matched` gives, as the stream goes on. `rows` have all columns of ORDER BY."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    check_stream(rows, query)
    buckets = bucket_count(rows, None) if query.partition_by else 1
    work = RowWork(query, rows.schema.simpleString(), schema, buckets, secrets.token_hex(8))
    packed = packed_by(rows, key_names(query), buckets)
    columns = ", ".join(f"{name} {kind}" for name, kind in METRICS.items())
    found = packed.groupBy("bucket").transformWithState(
        processor(work), f"{columns}, {BODY} binary", outputMode="Append", timeMode="EventTime"
    )
    bodies = observed_rows(found).where(F.col(BODY).isNotNull()).select(BODY)
    return bodies.mapInArrow(_unpacked, from_arrow_schema(schema))


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for body in batch.column(0):
            yield from unpack(body.as_py())
