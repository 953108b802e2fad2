"""Rows into blobs, one for each bucket of keys, before the shuffle: Spark then moves a few blobs, not many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.bucket_labels import labels
from cepheid.engines.spark.layout import TIME, TYPE
from cepheid.matching.snapshot import ipc

BUCKET = "_n"
SCHEMA = pa.schema([("bucket", pa.int32()), ("body", pa.binary()), ("ends", pa.int64())])
_ROWS = 1 << 17  # that are split at a time
SPARK_SCHEMA = "bucket int, body binary, ends bigint"

Packer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packing(buckets: int, end_type: str | None) -> Packer:
    """Each batch split by bucket, under its label. A row of `end_type` goes to every bucket, as the end."""
    label = labels(buckets)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in _bigger(batches):
            rows, ends = _without_ends(batch, end_type)
            packed = list(_by_bucket(rows))
            packed += [(n, None, end) for end in ends for n in range(buckets)]
            if packed:
                columns = zip(*((label[n], *rest) for n, *rest in packed), strict=True)
                arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    return pack


def _bigger(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Several batches as one: a blob of a few rows is mostly overhead."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= _ROWS:
            yield pa.concat_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


def _without_ends(batch: pa.RecordBatch, end_type: str | None) -> tuple[pa.RecordBatch, list[int]]:
    if end_type is None:
        return batch, []
    ends = pc.fill_null(pc.equal(batch.column(TYPE), end_type), False)
    return batch.filter(pc.invert(ends)), batch.filter(ends).column(TIME).to_pylist()


def _by_bucket(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes | None, int | None]]:
    if not batch.num_rows:
        return
    numbers = batch.column(BUCKET).to_numpy()
    order = np.argsort(numbers, kind="stable")  # rows of a bucket stay in their order
    rows = batch.drop_columns([BUCKET]).take(pa.array(order))
    found, starts = np.unique(numbers[order], return_index=True)
    for number, start, end in zip(found, starts, [*starts[1:], len(order)], strict=True):
        yield int(number), ipc(pa.Table.from_batches([rows.slice(start, end - start)])), None


def unpack(body: bytes) -> list[pa.RecordBatch]:
    return list(pa.ipc.open_stream(body))
