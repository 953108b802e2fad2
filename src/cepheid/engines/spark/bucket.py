"""One bucket of keys in a stream: what waits for the watermark, the matcher's open runs, and how they are kept.

No Spark in here: a store of a head and a map is all it asks for, so it can be tested, cut, restarted alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.session import Found
from cepheid.engines.spark.bucket_matching import ByReference
from cepheid.engines.spark.kernel_choice import streams_for_kernel
from cepheid.engines.spark.layout import LETTER, SEQUENCE, TIME
from cepheid.engines.spark.output import COUNT
from cepheid.engines.spark.reading import one_batch, refuse_nulls
from cepheid.engines.spark.segment import NEVER
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.engines.spark.waiting import Waiting
from cepheid.engines.spark.work import StreamWork
from cepheid.errors import SnapshotMistake
from cepheid.matching.snapshot import from_ipc, ipc
from cepheid.matching.values import dump, load
from cepheid.pattern.times import from_microseconds

STATE_VERSION = 6
# The parts of the map: indexes of segments, their blocks, rows that wait. The head says which there are.
INDEX, BLOCK, WAITING = range(1, 4)
Place = tuple[int, int, int]  # the part, the number of a segment or of waiting rows, the number of a block


class Store(Protocol):
    """Where a bucket's state is kept between micro-batches."""

    def read_head(self) -> str | None: ...
    def write_head(self, text: str) -> None: ...
    def read(self, place: Place) -> bytes: ...
    def put(self, place: Place, body: bytes) -> None: ...
    def delete(self, place: Place) -> None: ...


@dataclass
class Counts:
    """What one micro-batch did in one bucket."""

    events: int = 0
    late: int = 0
    too_late: int = 0
    matches: int = 0
    bytes_written: int = 0
    rebuilt: bool = False


@dataclass
class Bucket:
    """The state of a bucket in memory. `token` says which kept state it equals."""

    work: StreamWork
    number: int
    matching: ByReference
    waiting: Waiting
    segments: Segments
    blobs: dict[int, int] = field(default_factory=dict)  # waiting rows: number of a blob -> its largest time
    token: str = ""
    sequence: int = 0
    last_time: int | None = None
    counts: Counts = field(default_factory=Counts)
    batches: list[pa.RecordBatch] = field(default_factory=list)  # matches of the last call that are columns

    @classmethod
    def fresh(cls, work: StreamWork, number: int) -> Bucket:
        segments = Segments(s.name for s in work.work.program)
        waiting = Waiting.of(work.work.layout, work.lateness, work.limits())
        return cls(work, number, _matching(work, number, segments), waiting, segments)

    # What happens.

    def on_batch(
        self, batches: Iterable[pa.RecordBatch], watermark: int | None, end: int | None, store: Store
    ) -> list[Found]:
        """New rows, and how far the watermark has come. The answer is what became certain; the state is kept."""
        arrivals = self.waiting.arrivals
        arrivals.late = arrivals.too_late = 0
        self.counts = Counts(rebuilt=self.counts.rebuilt)
        self.segments.read = lambda segment, block: store.read((BLOCK, segment, block))
        self.segments.horizon = -NEVER if watermark is None else watermark
        found = self._advance(watermark)
        found += self._arrive(self._numbered(list(batches)))
        if end is not None:
            found += self._finish(end, store)
        self.batches = self.matching.take_batches()
        self.counts.matches = sum(item.kind == "match" for item in found)
        self.counts.matches += sum(batch.column(COUNT)[0].as_py() for batch in self.batches)
        self._keep(store)
        return found

    def _advance(self, watermark: int | None) -> list[Found]:
        if watermark is None:
            return []
        released = self.waiting.advance(watermark)
        return self.matching.on_rows(released, self.waiting.watermark)

    def _numbered(self, batches: list[pa.RecordBatch]) -> pa.Table | None:
        """All rows of the micro-batch in the order they came: they come in many small batches."""
        if not batches:
            return None
        rows = pa.Table.from_batches(batches).combine_chunks()
        refuse_nulls(one_batch(rows), self.work.work.layout)
        numbers = pa.array(np.arange(self.sequence, self.sequence + rows.num_rows), pa.int64())
        self.sequence += rows.num_rows
        return rows.append_column(pa.field(SEQUENCE, pa.int64()), numbers)

    def _arrive(self, rows: pa.Table | None) -> list[Found]:
        """Each row judged by the watermark; those on time wait."""
        if rows is None or not rows.num_rows:
            return []
        self.counts.events += rows.num_rows
        latest = pc.max(rows[TIME]).as_py()
        self.last_time = latest if self.last_time is None else max(self.last_time, latest)
        found: list[Found] = []
        for number, event, arrival, early in self.waiting.arrive(rows):
            if arrival.dead is not None and self._leaves_letter(rows, number):
                found.append(Found("", "dead_letter", {**event.fields, "reason": arrival.dead.reason}))
            if arrival.late is not None:
                found += self.matching.on_late(arrival.late)
            if early is not None:
                found += self.matching.on_rows(early, None)
        arrivals = self.waiting.arrivals
        self.counts.late, self.counts.too_late = arrivals.late, arrivals.too_late
        return found

    def _leaves_letter(self, rows: pa.Table, number: int) -> bool:
        """If it comes too late. Of several units that want a row, one writes it."""
        return not self.work.work.layout.has_letter or bool(rows[LETTER][number].as_py())

    def _finish(self, end: int, store: Store) -> list[Found]:
        """The end marker: nothing comes after it, and nothing is kept."""
        rows = self.waiting.end()
        found = self.matching.on_rows(rows, None) if rows is not None and rows.num_rows else []
        known = [t for t in (self.last_time, self.waiting.watermark) if t is not None]
        found += self.matching.on_end(max([end, *known]))
        self._write(store, self.segments.clear())
        return found

    def next_look(self) -> int | None:
        """When the watermark has passed this, there is something to do without any row."""
        moments = [m for m in (self.waiting.next_release, self.matching.next_look()) if m is not None]
        return min(moments, default=None)

    # How it is kept.

    def _keep(self, store: Store) -> None:
        self._write(store, self.matching.commit())
        self._keep_waiting(store)
        self.token = secrets.token_hex(8)
        store.write_head(dump(self._head()))

    def _write(self, store: Store, writes: Writes) -> None:
        for segment in writes.delete_indexes:
            store.delete((INDEX, segment, 0))
        for segment, block in writes.delete_blocks:
            store.delete((BLOCK, segment, block))
        for segment, body in writes.indexes.items():
            store.put((INDEX, segment, 0), body)
        for (segment, block), body in writes.blocks.items():
            store.put((BLOCK, segment, block), body)
        self.counts.bytes_written += len(writes)

    def _keep_waiting(self, store: Store) -> None:
        first, rows = self.waiting.next_release, self.waiting.take_fresh()
        over = {n for n, last in self.blobs.items() if first is None or last < first}
        self.blobs = {n: last for n, last in self.blobs.items() if n not in over}
        if rows is not None:
            number = max(self.blobs, default=0) + 1
            body = ipc(rows, compressed=True)
            store.put((WAITING, number, 0), body)
            self.blobs[number] = pc.max(rows[TIME]).as_py()
            self.counts.bytes_written += len(body)
        for number in over.difference(self.blobs):
            store.delete((WAITING, number, 0))

    def _head(self) -> dict[str, Any]:
        frontier = self.waiting.arrivals.frontier
        return {
            "version": STATE_VERSION,
            "program": self.work.program_text,
            "buckets": self.work.buckets,
            "token": self.token,
            "watermark": self.waiting.watermark,
            "frontier": None if frontier is None else (frontier.time, frontier.order, frontier.seq),
            "sequence": self.sequence,
            "last_time": self.last_time,
            "derived": self.matching.network.derived_seq,
            "segments": [segment.number for segment in self.segments.segments],
            "waiting": list(self.blobs),
        }

    @classmethod
    def rebuilt(cls, work: StreamWork, number: int, head: dict[str, Any], store: Store) -> Bucket:
        """A bucket from what was kept."""
        bucket = cls.fresh(work, number)
        bucket.segments.load((number, store.read((INDEX, number, 0))) for number in head["segments"])
        bucket.matching.network.derived_seq = head["derived"]
        bucket.token, bucket.sequence, bucket.last_time = head["token"], head["sequence"], head["last_time"]
        waiting = {n: from_ipc(store.read((WAITING, n, 0))) for n in sorted(head["waiting"])}
        bucket.blobs = {number: pc.max(rows[TIME]).as_py() for number, rows in waiting.items()}
        bucket.waiting.wait_again(list(waiting.values()), head["watermark"], head["frontier"])
        bucket.counts.rebuilt = True
        return bucket

    def metrics(self) -> dict[str, Any]:
        watermark = self.waiting.watermark
        return {
            "bucket": self.number,
            "events": self.counts.events,
            "late": self.counts.late,
            "too_late": self.counts.too_late,
            "matches": self.counts.matches,
            "waiting": len(self.waiting),
            "keys": len(self.segments),
            "segments": len(self.segments.segments),
            "bytes_written": self.counts.bytes_written,
            "rebuilt": self.counts.rebuilt,
            "watermark": None if watermark is None else from_microseconds(watermark),
        }


def _matching(work: StreamWork, number: int, segments: Segments) -> ByReference:
    """Through the kernel, where it takes any stream of the unit."""
    if not streams_for_kernel(work.work):
        return ByReference(work.work, segments)
    # Only where it is used: it loads numba.
    from cepheid.engines.spark.bucket_columns import ByKernel

    return ByKernel(work.work, segments, (work.identity, work.program_text, work.work.layout), number)


def read_head(text: str, work: StreamWork) -> dict[str, Any]:
    """The head of a bucket's state, refused if it belongs to another set-up."""
    head: dict[str, Any] = load(text)
    check_head(head, work)
    return head


def check_head(head: Mapping[str, Any], work: StreamWork) -> None:
    check_start(head, work.buckets, work.program_text)


def check_start(before: Mapping[str, Any], buckets: int, program: str) -> None:
    """Refuse state of another version, another number of buckets or another program."""
    if before["version"] != STATE_VERSION:
        raise SnapshotMistake(
            f"the checkpoint holds state of version {before['version']}, this program reads version {STATE_VERSION}",
            code="state_version",
            hint="go on with the release that wrote it, or start with a new checkpoint",
        )
    if before["buckets"] != buckets:
        raise SnapshotMistake(
            f"the checkpoint was started with buckets={before['buckets']}, now it is {buckets}",
            code="buckets_changed",
            hint=f"say buckets={before['buckets']}, or start with a new checkpoint",
        )
    if before["program"] != program:
        raise SnapshotMistake(
            "the checkpoint belongs to another program",
            code="other_program",
            hint="a changed pattern cannot go on from the old one's runs: start with a new checkpoint",
        )


__all__ = ["STATE_VERSION", "Bucket", "Counts", "Store", "check_head", "check_start", "read_head"]
