"""The stateful processor: Spark calls it once for each bucket that has rows, or whose timer has come.

Nothing heavy is imported here: Spark also makes a processor in a fresh process of the driver, only to ask which state
variables it has, and every start of a query waits for that.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cepheid.engines.spark.bucket_labels import labels
from cepheid.engines.spark.local_copies import LocalCopies, folder_of
from cepheid.errors import SnapshotMistake

if TYPE_CHECKING:
    from cepheid.engines.spark.bucket_step import BucketWork
    from cepheid.engines.spark.bucket_store import Place

_HEAD: Place = (0, 0, 0)


def processor(work: BucketWork) -> Any:
    """A StatefulProcessor for the work; made here because Spark is imported only when it is used."""
    from pyspark import cloudpickle
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    # What travels with the class is only this, and the work packed.
    buckets, identity = work.buckets, work.identity
    number_of = {label: number for number, label in enumerate(labels(buckets))}
    packed: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]  # unpacked where it is worked on

    def _number(key: Any) -> int:
        if key[0] in number_of:
            return number_of[key[0]]
        raise SnapshotMistake(  # it has a timer
            f"the checkpoint has a bucket that is none of buckets={buckets}",
            code="buckets_changed",
            hint="say the number of buckets it was started with, or start with a new checkpoint",
        )

    class BucketProcessor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            # One map for all of it: Spark makes every state variable ready anew in every task.
            self.kept = handle.getMapState("kept", "part int, number bigint, block bigint", "body binary")
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
            store = SparkStore(self.handle, self.kept, LocalCopies(folder_of(identity, number)))
            for found in step(packed, number, bodies, end, watermark, store):
                yield Row(**found)
            self.done.add((number, watermark))

        def close(self) -> None:
            pass

    return BucketProcessor()


class SparkStore:
    """A bucket's state in Spark's store, and its timer; copies of it in files. One for each step."""

    def __init__(self, handle: Any, kept: Any, copies: LocalCopies) -> None:
        self.handle, self.kept, self.copies = handle, kept, copies
        self.attempt = secrets.token_hex(8)
        self.written: dict[str, str] = {}  # by whom: what, without the number of a block -> the attempt
        self.timer: int | None = None

    def read_head(self) -> str | None:
        found = self.kept.getValue(_HEAD)
        if found is None:
            return None
        store, _, text = bytes(found[0]).decode().partition("\n")
        self.timer, self.written = json.loads(store)
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
        store = json.dumps([due, self.written])
        self.kept.updateValue(_HEAD, (f"{store}\n{self.text}".encode(),))
        self.copies.keep_only(f"{attempt}-{what}-" for what, attempt in self.written.items())

    def read(self, place: Place) -> bytes:
        copy = self.copies.find(self._name(place))
        return bytes(self.kept.getValue(place)[0]) if copy is None else copy

    def put(self, place: Place, body: bytes) -> None:
        self.written[_what(place)] = self.attempt
        self.kept.updateValue(place, (body,))
        self.copies.leave(self._name(place), body)

    def delete(self, place: Place) -> None:
        self.written.pop(_what(place), None)
        self.kept.removeKey(place)

    def _name(self, place: Place) -> str:
        return f"{self.written[_what(place)]}-{_what(place)}-{place[2]}"


def _what(place: Place) -> str:
    """All blocks of a segment are written together."""
    return f"{place[0]}.{place[1]}"
