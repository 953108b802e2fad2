"""One bucket of keys in a stream: what waits for the watermark, the matcher's open runs, and how they are kept.

No Spark in here: a store of a head and a map is all it asks for, so it can be tested, cut, restarted alone.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.session import Found
from cepheid.engines.spark.bucket_matching import ByReference, Open
from cepheid.engines.spark.bucket_store import (
    BLOCK,
    INDEX,
    STATE_VERSION,
    Counts,
    Store,
    WaitingBlobs,
    check_start,
    write_segments,
)
from cepheid.engines.spark.kernel_choice import streams_for_kernel
from cepheid.engines.spark.layout import LETTER, SEQUENCE, TIME
from cepheid.engines.spark.output import COUNT, to_row
from cepheid.engines.spark.reading import one_batch, refuse_nulls
from cepheid.engines.spark.segment import NEVER
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.engines.spark.waiting import Waiting
from cepheid.engines.spark.work import StreamWork
from cepheid.matching.values import dump, load
from cepheid.pattern.times import from_microseconds


@dataclass
class Bucket:
    """The state of a bucket in memory. `token` says which kept state it equals."""

    work: StreamWork
    number: int
    matching: ByReference
    waiting: Waiting
    segments: Segments
    blobs: WaitingBlobs = field(default_factory=lambda: WaitingBlobs(TIME))
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
        fresh = self.waiting.take_fresh()
        self.counts.bytes_written += self.blobs.keep(store, self.waiting.next_release, fresh)
        self.token = secrets.token_hex(8)
        store.write_head(dump(self._head()))

    def _write(self, store: Store, writes: Writes) -> None:
        self.counts.bytes_written += write_segments(store, writes)

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
            "waiting": list(self.blobs.last),
            "open": [
                (matcher, stream, None if counts is None else list(counts.items()))
                for (matcher, stream), counts in self.matching.open_runs().items()
            ],
        }

    @classmethod
    def rebuilt(cls, work: StreamWork, number: int, head: dict[str, Any], store: Store) -> Bucket:
        """A bucket from what was kept."""
        bucket = cls.fresh(work, number)
        bucket.segments.load((number, store.read((INDEX, number, 0))) for number in head["segments"])
        bucket.matching.network.derived_seq = head["derived"]
        bucket.token, bucket.sequence, bucket.last_time = head["token"], head["sequence"], head["last_time"]
        waiting = bucket.blobs.load(head["waiting"], store)
        bucket.waiting.wait_again(waiting, head["watermark"], head["frontier"])
        bucket.matching.restore_open(_open_runs(head.get("open", ())))
        bucket.counts.rebuilt = True
        return bucket

    def answer(self, found: list[Found]) -> list[dict[str, Any]]:
        """What was found in the last call, and what was done, as rows for Spark."""
        answer = self.work.work.answer
        if answer.wants(metrics := Found("", "metrics", self.metrics())):
            found.append(metrics)
        self.counts.rebuilt = False
        return [to_row(batch) for batch in (*self.batches, *answer.batches(found))]

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
            "open": json.dumps(self._open_by_stream(), separators=(",", ":")),
        }

    def _open_by_stream(self) -> dict[str, dict[int, int] | None]:
        """Runs by stream and state, those of both matchers together."""
        found: dict[str, Counter[int] | None] = {}
        for (_, stream), counts in self.matching.open_runs().items():
            before = found.get(stream, Counter())
            found[stream] = None if before is None or counts is None else before + counts
        return {stream: None if counts is None else dict(counts) for stream, counts in found.items()}


def _open_runs(kept: Iterable[Any]) -> Open:
    return {
        (matcher, stream): None if counts is None else Counter(dict(counts))
        for matcher, stream, counts in kept
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
    check_start(head, work.buckets, work.program_text)
    return head
