"""Rules over streaming DataFrames: rows of all of them packed by bucket of keys, replayed in `transformWithState`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.options import Duration
from cepheid.engines.rules.prepared import Prepared
from cepheid.engines.spark import rule_told
from cepheid.engines.spark.bucket_labels import labels
from cepheid.engines.spark.metrics import observed_rows
from cepheid.engines.spark.packing import BUCKET, SCHEMA, Packer, packing
from cepheid.engines.spark.packing import SPARK_SCHEMA as PACKED
from cepheid.engines.spark.processor import processor
from cepheid.engines.spark.row_work import BODY, METRICS
from cepheid.engines.spark.rule_rows import KEY, Encoding, Source, encoded
from cepheid.engines.spark.rule_work import RuleWork
from cepheid.engines.spark.setup import check_state_store, check_time_column
from cepheid.engines.spark.stream import bucket_column, bucket_count, watermark_of
from cepheid.engines.spark.table_stream import unpacked
from cepheid.errors import InputMistake
from cepheid.matching.snapshot import ipc
from cepheid.pattern.duration import duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def told_in_stream(
    tables: list[tuple[Source, DataFrame]],
    encoding: Encoding,
    prepared: Prepared,
    disorder: Duration | None,
    buckets: int | None,
) -> DataFrame:
    """All that happens, as the streams go on. Tables that are no streams are there from the beginning."""
    from pyspark.sql import functions as F

    streams = [(s, _marked(df, s, encoding, disorder)) for s, df in tables if df.isStreaming]
    first = streams[0][1]
    check_state_store(first)
    count = bucket_count(first, buckets)
    static = _static([(s, df) for s, df in tables if not df.isStreaming], encoding, count)
    work = RuleWork(prepared, encoding.keys, count, secrets.token_hex(8), static)
    rows = reduce(lambda a, b: a.union(b), (encoded(df, s, encoding) for s, df in streams))
    bucketed = rows.withColumn(BUCKET, bucket_column([KEY], count))
    packed = bucketed.mapInArrow(
        _waking(packing(count, None), count) if static else packing(count, None), PACKED
    )
    columns = ", ".join(f"{name} {kind}" for name, kind in METRICS.items())
    found = packed.groupBy("bucket").transformWithState(
        processor(work), f"{columns}, {BODY} binary", outputMode="Append", timeMode="EventTime"
    )
    bodies = observed_rows(found).where(F.col(BODY).isNotNull()).select(BODY)
    return bodies.mapInArrow(unpacked, rule_told.SPARK_SCHEMA)


def _marked(df: DataFrame, source: Source, encoding: Encoding, disorder: Duration | None) -> DataFrame:
    """With a watermark on its time."""
    columns = encoding.columns
    time = columns.time if source.events or columns.valid_from not in df.columns else columns.valid_from
    check_time_column(df, time)
    if watermark_of(df, time) is not None:
        return df
    if disorder is None:
        raise InputMistake(
            "a stream needs to know how far its rows may be out of order",
            code="no_watermark",
            hint=f'say disorder="10 seconds" or so, or df.withWatermark("{time}", "10 seconds")',
        )
    return df.withWatermark(time, f"{-(-duration(disorder) // 1000)} milliseconds")


def _static(tables: list[tuple[Source, Any]], encoding: Encoding, buckets: int) -> dict[int, bytes]:
    """The rows of tables that are no streams, by bucket. They are few: each worker gets them with its work."""
    if not tables:
        return {}
    rows = reduce(lambda a, b: a.union(b), (encoded(df, s, encoding) for s, df in tables))
    found = rows.withColumn(BUCKET, bucket_column([KEY], buckets)).toArrow()
    numbers = found[BUCKET].to_numpy()
    own = found.drop_columns([BUCKET])
    return {int(n): ipc(own.filter(pa.array(numbers == n)).combine_chunks()) for n in sorted(set(numbers))}


def _waking(pack: Packer, buckets: int) -> Packer:
    """Every bucket hears of each batch: one whose facts were there from the beginning may have no row."""
    label = labels(buckets)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from pack(batches)
        nothing = pa.nulls(buckets)
        arrays = [pa.array(label, pa.int32()), nothing.cast(pa.binary()), nothing.cast(pa.int64())]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    return run
