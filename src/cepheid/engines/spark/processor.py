"""The stateful processor: Spark calls it once for each bucket that has rows, or whose timer has come.

Nothing heavy is imported here: Spark also makes a processor in a fresh process of the driver, only to ask which state
variables it has, and every start of a query waits for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cepheid.engines.spark.bucket_labels import labels
from cepheid.errors import SnapshotMistake

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket import Place
    from cepheid.engines.spark.work import StreamWork

_HEAD: Place = (0, 0, 0)


def processor(work: StreamWork) -> Any:
    """A StatefulProcessor for the work; made here because Spark is imported only when it is used."""
    from pyspark import cloudpickle
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    number_of = {label: number for number, label in enumerate(labels(work.buckets))}
    packed: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]  # unpacked where it is worked on

    def _number(key: Any) -> int:
        if key[0] in number_of:
            return number_of[key[0]]
        raise SnapshotMistake(  # it has a timer
            f"the checkpoint has a bucket that is none of buckets={work.buckets}",
            code="buckets_changed",
            hint="say the number of buckets it was started with, or start with a new checkpoint",
        )

    class BucketProcessor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.store = SparkStore(handle)
            self.done: set[tuple[int, int]] = set()  # buckets that know of a watermark

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            bodies: list[bytes] = []
            ends: list[int] = []
            for row in rows:
                if row.body is not None:
                    bodies.append(bytes(row.body))
                if row.ends is not None:
                    ends.append(row.ends)
            yield from self._step(_number(key), bodies, max(ends, default=None), timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            number = _number(key)
            if (number, timerValues.getCurrentWatermarkInMs()) not in self.done:  # else rows have seen to it
                yield from self._step(number, [], None, timerValues)

        def _step(
            self, number: int, bodies: list[bytes], end: int | None, timer_values: Any
        ) -> Iterator[Any]:
            from cepheid.engines.spark.bucket_step import step

            watermark = timer_values.getCurrentWatermarkInMs()
            for found in step(packed, number, bodies, end, watermark, self.store):
                yield Row(**found)
            self.done.add((number, watermark))

        def close(self) -> None:
            pass

    return BucketProcessor()


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
