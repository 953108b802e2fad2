"""One bucket of keys under rules: operations that wait for the watermark, and a working memory for each key.

No Spark in here, as in `bucket.py`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.rules.operations import BEGINNING, Operation, with_ends
from cepheid.engines.rules.told import Told
from cepheid.engines.spark import rule_told
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
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.row_work import BODY, METRICS
from cepheid.engines.spark.rule_rows import ALWAYS, ARRIVAL, CLASS, KEY, SOURCE, TIME, operation_of
from cepheid.engines.spark.rule_sessions import STREAM, RuleSessions
from cepheid.engines.spark.rule_work import RuleWork
from cepheid.engines.spark.segments import Segments
from cepheid.matching.snapshot import ipc
from cepheid.matching.values import dump, load

_ORDER = [
    (KEY, "ascending"),
    (ALWAYS, "descending"),
    *((n, "ascending") for n in (TIME, CLASS, SOURCE, ARRIVAL)),
]


@dataclass
class RuleBucket:
    """The state of a bucket in memory. `token` says which kept state it equals."""

    work: RuleWork
    number: int
    segments: Segments
    sessions: RuleSessions
    waiting: pa.Table | None = None
    fresh: pa.Table | None = None  # of those that wait, the ones of this micro-batch
    blobs: WaitingBlobs = field(default_factory=lambda: WaitingBlobs(TIME))
    token: str = ""
    sequence: int = 0
    watermark: int | None = None
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def _empty(cls, work: RuleWork, number: int) -> RuleBucket:
        segments = Segments([STREAM])
        return cls(work, number, segments, RuleSessions(work.prepared, segments))

    @classmethod
    def started(cls, work: RuleWork, number: int) -> RuleBucket:
        bucket = cls._empty(work, number)
        if number in work.static:
            bucket._wait(pa.Table.from_batches(unpack(work.static[number])))
        return bucket

    # What happens.

    def on_batch(
        self, batches: Iterable[pa.RecordBatch], watermark: int | None, end: int | None, store: Store
    ) -> list[Told]:
        """New rows, and how far the watermark has come. The answer is what happened; the state is kept."""
        self.counts = Counts(rebuilt=self.counts.rebuilt)
        self.segments.read = lambda segment, block: store.read((BLOCK, segment, block))
        self._arrive(list(batches))
        told = self._advance(watermark)
        self._keep(store)
        return told

    def _arrive(self, batches: list[pa.RecordBatch]) -> None:
        """Rows that come behind the watermark are too late: they are counted, and not seen."""
        if not batches:
            return
        rows = pa.Table.from_batches(batches).combine_chunks()
        self.counts.events += rows.num_rows
        if self.watermark is not None:
            in_time = rows[TIME].to_numpy() >= self.watermark
            self.counts.too_late += int(np.count_nonzero(~in_time))
            rows = rows.filter(pa.array(in_time))
        if rows.num_rows:
            self._wait(rows)

    def _wait(self, rows: pa.Table) -> None:
        numbers = np.arange(self.sequence, self.sequence + rows.num_rows)
        self.sequence += rows.num_rows
        rows = rows.append_column(ARRIVAL, pa.array(numbers, pa.int64()))
        self.fresh = rows if self.fresh is None else pa.concat_tables([self.fresh, rows])
        self.waiting = rows if self.waiting is None else pa.concat_tables([self.waiting, rows])

    def _advance(self, watermark: int | None) -> list[Told]:
        if watermark is None:
            return []
        self.watermark = watermark if self.watermark is None else max(watermark, self.watermark)
        due, self.waiting = _split(self.waiting, self.watermark)
        _, self.fresh = _split(self.fresh, self.watermark)
        told: list[Told] = []
        if due is not None:
            rows = due.sort_by(_ORDER).to_pylist()
            for key, own in groupby(rows, key=lambda row: row[KEY]):
                told += self._replayed(key, list(own))
        told += self._passed(self.watermark)
        self.counts.matches = sum(one.kind == "fired" for one in told)
        return sorted(told, key=lambda one: one.time)

    def _replayed(self, key: str, rows: list[dict[str, Any]]) -> list[Told]:
        driver = self.sessions.take(key)
        operations = [operation_of(row, place) for place, row in enumerate(rows)]
        dated = _dated(operations, driver.clock)
        return _of(key, [one for o in with_ends(dated) for one in driver.apply(o)])

    def _passed(self, watermark: int) -> list[Told]:
        """Dates before the watermark have passed, of whatever key."""
        return [
            one for key, driver in self.sessions.due(watermark) for one in _of(key, driver.advance(watermark))
        ]

    def next_look(self) -> int | None:
        """When the watermark has passed this, there is something to do without any row."""
        moments = [m for m in (self._first_waiting(), self.sessions.next_date()) if m is not None]
        return min(moments, default=None)

    def _first_waiting(self) -> int | None:
        return None if self.waiting is None else int(pc.min(self.waiting[TIME]).as_py())

    def answer(self, told: list[Told]) -> list[dict[str, Any]]:
        """What was done in the last call and what happened, as rows for Spark."""
        rows = [{**self.metrics(), BODY: None}]
        self.counts.rebuilt = False
        nothing = dict.fromkeys(METRICS)
        bodies = (ipc(pa.Table.from_batches([batch])) for batch in rule_told.batches_of(told))
        return rows + [{**nothing, BODY: body} for body in bodies]

    # How it is kept.

    def _keep(self, store: Store) -> None:
        self.counts.bytes_written += write_segments(store, self.sessions.commit())
        self.counts.bytes_written += self.blobs.keep(store, self._first_waiting(), self.fresh)
        self.fresh = None
        self.token = secrets.token_hex(8)
        store.write_head(dump(self._head()))

    def _head(self) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "program": self.work.program_text,
            "buckets": self.work.buckets,
            "token": self.token,
            "watermark": self.watermark,
            "sequence": self.sequence,
            "segments": [segment.number for segment in self.segments.segments],
            "waiting": list(self.blobs.last),
        }

    @classmethod
    def rebuilt(cls, work: RuleWork, number: int, head: dict[str, Any], store: Store) -> RuleBucket:
        """A bucket from what was kept."""
        bucket = cls._empty(work, number)
        bucket.segments.load((number, store.read((INDEX, number, 0))) for number in head["segments"])
        bucket.token, bucket.sequence, bucket.watermark = head["token"], head["sequence"], head["watermark"]
        waiting = bucket.blobs.load(head["waiting"], store)
        bucket.waiting = pa.concat_tables(waiting) if waiting else None
        _, bucket.waiting = _split(bucket.waiting, bucket.watermark)
        bucket.counts.rebuilt = True
        return bucket

    def metrics(self) -> dict[str, Any]:
        values = {
            "bucket": self.number,
            "waiting": 0 if self.waiting is None else self.waiting.num_rows,
            "keys": len(self.segments),
        }
        return {name: values.get(name, getattr(self.counts, name, None)) for name in METRICS}


def read_head(text: str, work: RuleWork) -> dict[str, Any]:
    """The head of a bucket's state, refused if it belongs to another set-up."""
    head: dict[str, Any] = load(text)
    check_start(head, work.buckets, work.program_text)
    return head


def _split(rows: pa.Table | None, watermark: int | None) -> tuple[pa.Table | None, pa.Table | None]:
    """The rows before the watermark, and the others."""
    if rows is None or watermark is None:
        return None, rows
    passed = rows[TIME].to_numpy() < watermark
    before, after = (rows.filter(pa.array(which)) for which in (passed, ~passed))
    return before if before.num_rows else None, after if after.num_rows else None


def _dated(operations: list[Operation], clock: int | None) -> list[Operation]:
    """What was always so comes first, at the time it is now, or that of `in_order`."""
    times = [o.time for o in operations if not o.always]
    start = min([BEGINNING, *times[:1]]) if clock is None else clock
    return [replace(o, time=start, always=False) if o.always else o for o in operations]


def _of(key: str, told: Iterable[Told]) -> list[Told]:
    value = load(key)
    return [replace(one, key=value) for one in told]
