"""MATCH_RECOGNIZE over a streaming DataFrame: matched in `transformWithState`, as `stream.py` does it for patterns."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.partition_rows import key_names
from cepheid.engines.spark.row_stream_checks import check_stream
from cepheid.engines.spark.row_work import RowWork
from cepheid.engines.spark.stream import bucket_count
from cepheid.engines.spark.table_stream import found_in_buckets
from cepheid.sql_lang.row_query import RowQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def found_in_stream(rows: DataFrame, query: RowQuery, schema: pa.Schema) -> DataFrame:
    """What `RowMatching.matched` gives, as the stream goes on. `rows` have all columns of ORDER BY."""
    check_stream(rows, query)
    buckets = bucket_count(rows, None) if query.partition_by else 1
    work = RowWork(query, rows.schema.simpleString(), schema, buckets, secrets.token_hex(8))
    return found_in_buckets(rows, key_names(query), work, schema)
