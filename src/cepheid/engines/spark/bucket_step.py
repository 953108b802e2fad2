"""One micro-batch of one bucket, in the worker that Spark gives it to.

A bucket's state is kept in the worker's memory between micro-batches and in Spark's store. What is in memory counts
only if its token is the one in the store: after a failure, or when another worker had the bucket, it is rebuilt.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

from cepheid.engines.session import Found
from cepheid.engines.spark.bucket import Bucket, read_head
from cepheid.engines.spark.output import to_row
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.processor import SparkStore
from cepheid.engines.spark.work import StreamWork
from cepheid.engines.spark.worker_memory import leave_modules_alone

# The buckets this worker had last, of each running query.
_REMEMBERED: dict[tuple[str, int], Bucket] = {}


def step(
    packed: bytes,
    number: int,
    bodies: list[bytes],
    end: int | None,
    watermark_ms: int,
    store: SparkStore,
) -> list[dict[str, Any]]:
    """New rows of a bucket, and how far the watermark has come; the answer is what was found, as rows for Spark.

    A function of this module and not of the processor's class, which travels to the worker with copies of what it
    refers to: the memory must be this module's own.
    """
    work = _work(packed)
    watermark = watermark_ms * 1000 if watermark_ms > 0 else None  # 0: there is none yet
    text = store.read_head()
    bucket = _bucket(work, number, None if text is None else read_head(text, work), store)
    batches = [batch for body in bodies for batch in unpack(body)]
    found = bucket.on_batch(batches, watermark, end, store)
    store.wake(bucket.next_look(), watermark_ms)
    _REMEMBERED[work.identity, number] = bucket
    leave_modules_alone()
    if work.work.answer.wants(metrics := Found("", "metrics", bucket.metrics())):
        found.append(metrics)
    bucket.counts.rebuilt = False
    return [to_row(batch) for batch in (*bucket.batches, *work.work.answer.batches(found))]


@lru_cache(maxsize=16)
def _work(packed: bytes) -> StreamWork:
    """Every task brings it again; what a worker has compiled for it stays with the first."""
    work: StreamWork = pickle.loads(packed)
    return work


def _bucket(work: StreamWork, number: int, head: dict[str, Any] | None, store: SparkStore) -> Bucket:
    """Out of memory while it is worked on, so that a failure leaves nothing half done behind."""
    remembered = _REMEMBERED.pop((work.identity, number), None)
    if head is None:
        return Bucket.fresh(work, number)
    if remembered is not None and remembered.token == head["token"]:
        return remembered
    return Bucket.rebuilt(work, number, head, store)
