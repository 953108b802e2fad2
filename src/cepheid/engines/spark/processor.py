"""The stateful processor: Spark calls it once for each bucket that has rows, or whose timer has come.

A bucket's state is kept in the worker's memory between micro-batches and in Spark's store. What is in memory counts
only if its token is the one in the store: after a failure, or when another worker had the bucket, it is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from cepheid.engines.session import Found
from cepheid.engines.spark.bucket import Bucket, Place, read_head
from cepheid.engines.spark.output import to_row
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.work import StreamWork

_HEAD: Place = (0, 0, 0)
# The buckets this worker had last, of each running query.
_REMEMBERED: dict[tuple[str, int], Bucket] = {}


def processor(work: StreamWork) -> Any:
    """A StatefulProcessor for the work; made here because Spark is imported only when it is used."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class BucketProcessor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.store = SparkStore(handle)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            batches: list[Any] = []
            ends: list[int] = []
            for row in rows:
                if row.body is not None:
                    batches += unpack(bytes(row.body))
                if row.ends is not None:
                    ends.append(row.ends)
            yield from self._step(key[0], batches, max(ends, default=None), timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            yield from self._step(key[0], [], None, timerValues)

        def _step(self, number: int, batches: list[Any], end: int | None, timer_values: Any) -> Iterator[Any]:
            for found in step(work, number, batches, end, timer_values.getCurrentWatermarkInMs(), self.store):
                yield Row(**to_row(found))

        def close(self) -> None:
            pass

    return BucketProcessor()


def step(
    work: StreamWork,
    number: int,
    batches: list[pa.RecordBatch],
    end: int | None,
    watermark_ms: int,
    store: SparkStore,
) -> list[pa.RecordBatch]:
    """One micro-batch of one bucket; the answer is what was found.

    A function of this module and not of the class, which travels to the worker with copies of what it refers to:
    the memory must be this module's own.
    """
    watermark = watermark_ms * 1000 if watermark_ms > 0 else None  # 0: there is none yet
    text = store.read_head()
    head = None if text is None else read_head(text, work)
    if not batches and end is None and head is not None and head["watermark"] == watermark:
        return []  # a timer that came with rows: they have seen to it
    bucket = _bucket(work, number, head, store)
    found = bucket.on_batch(batches, watermark, end, store)
    store.wake(bucket.next_look(), watermark_ms)
    _REMEMBERED[work.identity, number] = bucket
    if work.work.answer.wants(metrics := Found("", "metrics", bucket.metrics())):
        found.append(metrics)
    bucket.counts.rebuilt = False
    return [*bucket.batches, *work.work.answer.batches(found)]


def _bucket(work: StreamWork, number: int, head: dict[str, Any] | None, store: SparkStore) -> Bucket:
    """Out of memory while it is worked on, so that a failure leaves nothing half done behind."""
    remembered = _REMEMBERED.pop((work.identity, number), None)
    if head is None:
        return Bucket.fresh(work, number)
    if remembered is not None and remembered.token == head["token"]:
        return remembered
    return Bucket.rebuilt(work, number, head, store)


class SparkStore:
    """A bucket's state in Spark's store, and its timer."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        # One map for all of it: Spark makes every state variable ready anew in every task.
        self.kept = handle.getMapState("kept", "part int, number bigint, block bigint", "body binary")
        self.timer: int | None = None

    def read_head(self) -> str | None:
        found = self.kept.getValue(_HEAD)
        if found is None:
            self.timer = None
            return None
        timer, _, text = bytes(found[0]).decode().partition("\n")
        self.timer = int(timer) if timer else None
        return text

    def write_head(self, text: str) -> None:
        self.text = text

    def wake(self, moment: int | None, watermark_ms: int) -> None:
        """One timer: at the first millisecond after the moment. Then the head is written, with the timer in it."""
        due = None if moment is None else max(moment // 1000 + 1, watermark_ms + 1)
        if self.timer is not None and self.timer != due and self.timer > watermark_ms:
            self.handle.deleteTimer(self.timer)
        if due is not None and due != self.timer:
            self.handle.registerTimer(due)
        self.put(_HEAD, f"{'' if due is None else due}\n{self.text}".encode())

    def read(self, place: Place) -> bytes:
        return bytes(self.kept.getValue(place)[0])

    def put(self, place: Place, body: bytes) -> None:
        self.kept.updateValue(place, (body,))

    def delete(self, place: Place) -> None:
        self.kept.removeKey(place)
