"""One micro-batch of one bucket, in the worker that Spark gives it to.

A bucket's state is kept in the worker's memory between micro-batches and in Spark's store. What is in memory counts
only if its token is the one in the store: after a failure, or when another worker had the bucket, it is rebuilt.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa

from cepheid.engines.spark.bucket_store import Store
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.processor import SparkStore
from cepheid.engines.spark.worker_memory import leave_modules_alone


class SomeBucket(Protocol):
    """The state of some keys in memory. `token` says which kept state it equals."""

    token: str

    def on_batch(
        self, batches: Iterable[pa.RecordBatch], watermark: int | None, end: int | None, store: Store
    ) -> Any: ...
    def next_look(self) -> int | None: ...
    def answer(self, found: Any) -> list[dict[str, Any]]: ...


class BucketWork(Protocol):
    """What a stream's tasks need."""

    @property
    def buckets(self) -> int: ...
    @property
    def identity(self) -> str: ...
    def bucket(self, number: int, text: str | None, store: Store, remembered: Any) -> SomeBucket: ...


# The buckets this worker had last, of each running query.
_REMEMBERED: dict[tuple[str, int], SomeBucket] = {}


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
    # Out of memory while it is worked on, so that a failure leaves nothing half done behind.
    remembered = _REMEMBERED.pop((work.identity, number), None)
    bucket = work.bucket(number, store.read_head(), store, remembered)
    batches = [batch for body in bodies for batch in unpack(body)]
    found = bucket.on_batch(batches, watermark, end, store)
    store.wake(bucket.next_look(), watermark_ms)
    _REMEMBERED[work.identity, number] = bucket
    leave_modules_alone()
    return bucket.answer(found)


@lru_cache(maxsize=16)
def _work(packed: bytes) -> BucketWork:
    """Every task brings it again; what a worker has compiled for it stays with the first."""
    work: BucketWork = pickle.loads(packed)
    return work
