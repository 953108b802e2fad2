"""One bucket of keys in a stream: what waits for the watermark, the matcher's open runs, and how they are kept.

No Spark in here: a store of a head and three maps is all it asks for, so it can be tested, cut, restarted alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.network import Network
from cepheid.engines.session import Found
from cepheid.engines.spark.layout import LETTER, SEQUENCE, TIME
from cepheid.engines.spark.reading import read_events
from cepheid.engines.spark.segment import NEVER
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.engines.spark.work import StreamWork
from cepheid.errors import SnapshotMistake
from cepheid.matching.snapshot import ipc
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds
from cepheid.time.arrival import Arrivals

STATE_VERSION = 2


class Store(Protocol):
    """Where a bucket's state is kept between micro-batches."""

    def read_head(self) -> str | None: ...
    def write_head(self, text: str) -> None: ...
    def indexes(self) -> Iterator[tuple[int, bytes]]: ...
    def put_index(self, segment: int, body: bytes) -> None: ...
    def delete_index(self, segment: int) -> None: ...
    def read_block(self, segment: int, block: int) -> bytes: ...
    def put_block(self, segment: int, block: int, body: bytes) -> None: ...
    def delete_block(self, segment: int, block: int) -> None: ...
    def waiting(self) -> Iterator[tuple[int, bytes]]: ...
    def put_waiting(self, number: int, body: bytes) -> None: ...
    def delete_waiting(self, number: int) -> None: ...


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
    network: Network
    arrivals: Arrivals
    segments: Segments
    blobs: dict[int, int] = field(default_factory=dict)  # waiting rows: number of a blob -> its largest time
    token: str = ""
    sequence: int = 0
    last_time: int | None = None
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def fresh(cls, work: StreamWork, number: int) -> Bucket:
        arrivals = Arrivals(work.lateness, work.limits(), told=True)
        segments = Segments(s.name for s in work.work.program)
        return cls(work, number, _network(work, segments), arrivals, segments)

    # What happens.

    def on_batch(
        self, batches: Iterable[pa.RecordBatch], watermark: int | None, end: int | None, store: Store
    ) -> list[Found]:
        """New rows, and how far the watermark has come. The answer is what became certain; the state is kept."""
        self.arrivals.late = self.arrivals.too_late = 0
        self.counts = Counts(rebuilt=self.counts.rebuilt)
        self.segments.read = store.read_block
        self.segments.horizon = -NEVER if watermark is None else watermark
        found = self._advance(watermark)
        kept: list[pa.RecordBatch] = []
        for batch in batches:
            rows = self._numbered(batch)
            more, on_time = self._arrive(rows)
            found += more
            kept += [on_time] if on_time.num_rows else []
        if end is not None:
            found += self._finish(end, store)
            kept = []
        self.counts.matches = sum(item.kind == "match" for item in found)
        self._keep(store, kept)
        return found

    def _advance(self, watermark: int | None) -> list[Found]:
        if watermark is None:
            return []
        released = self.arrivals.advance_to(watermark)
        return self._matched(released, watermark)

    def _numbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        numbers = pa.array(range(self.sequence, self.sequence + batch.num_rows), pa.int64())
        self.sequence += batch.num_rows
        return batch.append_column(pa.field(SEQUENCE, pa.int64()), numbers)

    def _arrive(self, rows: pa.RecordBatch) -> tuple[list[Found], pa.RecordBatch]:
        """Each row judged by the watermark; those on time wait, in the answer as rows."""
        found: list[Found] = []
        waits: list[bool] = []
        letters = self._letters(rows)
        for at, event in enumerate(read_events(rows, self.work.work.layout)):
            self.counts.events += 1
            self.last_time = event.time if self.last_time is None else max(self.last_time, event.time)
            before = (self.arrivals.late, self.arrivals.too_late)
            arrival = self.arrivals.feed(event)
            waits.append(before == (self.arrivals.late, self.arrivals.too_late))
            if arrival.dead is not None and letters[at]:
                row = {**event.fields, "reason": arrival.dead.reason}
                found.append(Found("", "dead_letter", row))
            if arrival.late is not None:
                found += self._matched([arrival.late], None)
            found += self._matched(arrival.released, None)
        self.counts.late, self.counts.too_late = self.arrivals.late, self.arrivals.too_late
        return found, rows.filter(pa.array(waits, pa.bool_()))

    def _letters(self, rows: pa.RecordBatch) -> list[bool]:
        """Which rows leave a dead letter if they come too late. Of several units that want a row, one writes it."""
        if not self.work.work.layout.has_letter:
            return [True] * rows.num_rows
        return list(rows.column(LETTER).to_pylist())

    def _matched(self, events: list[Event], watermark: int | None) -> list[Found]:
        if not events and watermark is None:
            return []
        return self.work.work.found(self.network.on_events(events, watermark))

    def _finish(self, end: int, store: Store) -> list[Found]:
        """The end marker: nothing comes after it, and nothing is kept."""
        found = self._matched(self.arrivals.end(), None)
        known = [t for t in (self.last_time, self.arrivals.watermark) if t is not None]
        found += self.work.work.found(self.network.on_end(max([end, *known])))
        self._write(store, self.segments.clear())
        derived = self.network.derived_seq
        self.network = _network(self.work, self.segments)
        self.network.derived_seq = derived
        return found

    def next_look(self) -> int | None:
        """When the watermark has passed this, there is something to do without any row."""
        moments = [m for m in (self.arrivals.next_release, self.network.next_look()) if m is not None]
        return min(moments, default=None)

    # How it is kept.

    def _keep(self, store: Store, kept: list[pa.RecordBatch]) -> None:
        self._write(store, self.segments.commit(self.network, self.network.take_touched()))
        self._keep_waiting(store, kept)
        self.token = secrets.token_hex(8)
        store.write_head(dump(self._head()))

    def _write(self, store: Store, writes: Writes) -> None:
        for segment in writes.delete_indexes:
            store.delete_index(segment)
        for segment, block in writes.delete_blocks:
            store.delete_block(segment, block)
        for segment, body in writes.indexes.items():
            store.put_index(segment, body)
        for (segment, block), body in writes.blocks.items():
            store.put_block(segment, block, body)
        self.counts.bytes_written += len(writes)

    def _keep_waiting(self, store: Store, kept: list[pa.RecordBatch]) -> None:
        first = self.arrivals.next_release
        for number in [n for n, last in self.blobs.items() if first is None or last < first]:
            store.delete_waiting(number)
            del self.blobs[number]
        if not kept or first is None:
            return
        number = max(self.blobs, default=0) + 1
        rows = pa.Table.from_batches(kept).combine_chunks()
        body = ipc(rows)
        store.put_waiting(number, body)
        self.blobs[number] = pc.max(rows[TIME]).as_py()
        self.counts.bytes_written += len(body)

    def _head(self) -> dict[str, Any]:
        frontier = self.arrivals.frontier
        return {
            "version": STATE_VERSION,
            "program": str(self.work.work.program),
            "buckets": self.work.buckets,
            "token": self.token,
            "watermark": self.arrivals.watermark,
            "frontier": None if frontier is None else (frontier.time, frontier.order, frontier.seq),
            "sequence": self.sequence,
            "last_time": self.last_time,
            "derived": self.network.derived_seq,
        }

    @classmethod
    def rebuilt(cls, work: StreamWork, number: int, head: dict[str, Any], store: Store) -> Bucket:
        """A bucket from what was kept."""
        bucket = cls.fresh(work, number)
        bucket.segments.load(store.indexes())
        bucket.network.derived_seq = head["derived"]
        bucket.token, bucket.sequence, bucket.last_time = head["token"], head["sequence"], head["last_time"]
        bucket._wait_again(store, head)
        bucket.counts.rebuilt = True
        return bucket

    def _wait_again(self, store: Store, head: dict[str, Any]) -> None:
        frontier = None
        if head["frontier"] is not None:
            time, order, seq = head["frontier"]
            frontier = Event("", time, {}, tuple(order), seq)
        watermark = head["watermark"]
        waiting: list[Event] = []
        for number, body in store.waiting():
            for batch in pa.ipc.open_stream(body):
                events = read_events(batch, self.work.work.layout)
                self.blobs[number] = max([e.time for e in events] + [self.blobs.get(number, -(2**63))])
                waiting += [e for e in events if _still_waits(e, watermark, frontier)]
        self.arrivals.wait(waiting, watermark, frontier)

    def metrics(self) -> dict[str, Any]:
        watermark = self.arrivals.watermark
        return {
            "bucket": self.number,
            "events": self.counts.events,
            "late": self.counts.late,
            "too_late": self.counts.too_late,
            "matches": self.counts.matches,
            "waiting": self.arrivals.waiting,
            "keys": len(self.segments),
            "segments": len(self.segments.segments),
            "bytes_written": self.counts.bytes_written,
            "rebuilt": self.counts.rebuilt,
            "watermark": None if watermark is None else from_microseconds(watermark),
        }


def _network(work: StreamWork, segments: Segments) -> Network:
    network = work.work.network()
    network.use_shelves(segments.shelf)
    return network


def read_head(text: str, work: StreamWork) -> dict[str, Any]:
    """The head of a bucket's state, refused if it belongs to another set-up."""
    head: dict[str, Any] = load(text)
    check_head(head, work)
    return head


def check_head(head: Mapping[str, Any], work: StreamWork) -> None:
    check_start(head, work.buckets, str(work.work.program))


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


def _still_waits(event: Event, watermark: int | None, frontier: Event | None) -> bool:
    passed = watermark is not None and event.time < watermark
    left_early = frontier is not None and event.place_in_order() <= frontier.place_in_order()
    return not passed and not left_early


__all__ = ["STATE_VERSION", "Bucket", "Counts", "Store", "check_head", "check_start", "read_head"]
