"""A bucket whose rows are kept as tables of Arrow: rows that wait for the watermark, partitions that wait for rows.

MATCH_RECOGNIZE, sifters of graphs and rules stand on it. No Spark in here, as in `bucket.py`.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from cepheid.engines.spark.partition_rows import concatenated
from cepheid.engines.spark.row_work import BODY, METRICS
from cepheid.engines.spark.segments import Segments
from cepheid.matching.snapshot import ipc
from cepheid.matching.values import dump, load
from cepheid.sql_lang.asking import ARRIVAL

_AT_ONCE = 1 << 16  # rows of the answer in one body


class TableWork(Protocol):
    @property
    def program_text(self) -> str: ...
    @property
    def buckets(self) -> int: ...


@dataclass
class TableBucket(ABC):
    """The state of a bucket in memory. `token` says which kept state it equals."""

    time: ClassVar[str]  # the column by which rows wait
    setting: ClassVar[str]  # what says how many buckets there are
    nothing: ClassVar[Any] = None  # the answer, when nothing became certain

    work: Any  # a TableWork
    number: int
    segments: Segments
    waiting: pa.Table | None = None
    fresh: pa.Table | None = None  # of those that wait, the ones of this micro-batch
    token: str = ""
    sequence: int = 0
    watermark: int | None = None
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self.blobs = WaitingBlobs(self.time)

    @classmethod
    @abstractmethod
    def started(cls, work: Any, number: int) -> Self: ...

    @classmethod
    def empty(cls, work: Any, number: int) -> Self:
        """What is read back from a store goes into it."""
        return cls.started(work, number)

    @abstractmethod
    def _judged(self, rows: pa.Table) -> pa.Table:
        """Rows that have just come, without those that come too late."""

    @abstractmethod
    def _certain(self, due: pa.Table | None, reached: int) -> Any:
        """What became certain by rows that are no longer waited for, and by the time up to `reached`."""

    @abstractmethod
    def _next_moment(self) -> int | None:
        """When the watermark has passed this, partitions have something to say without any row."""

    # What happens.

    def on_batch(
        self, batches: Iterable[pa.RecordBatch], watermark: int | None, end: int | None, store: Store
    ) -> Any:
        """New rows, and how far the watermark has come. The answer is what became certain; the state is kept.

        Rows are judged by how far the bucket had come before: what stands before it in the query, a window for example,
        gives its rows when the watermark passes them.
        """
        self.counts = Counts(rebuilt=self.counts.rebuilt)
        self.segments.read = lambda segment, block: store.read((BLOCK, segment, block))
        self._arrive(list(batches))
        found = self._advance(watermark)
        self._keep(store)
        return found

    def _arrive(self, batches: list[pa.RecordBatch]) -> None:
        if not batches:
            return
        rows = pa.Table.from_batches(batches).combine_chunks()
        self.counts.events += rows.num_rows
        rows = self._judged(self._numbered(rows))
        if rows.num_rows:
            self._wait(rows)

    def _numbered(self, rows: pa.Table) -> pa.Table:
        numbers = pa.array(np.arange(self.sequence, self.sequence + rows.num_rows), pa.int64())
        self.sequence += rows.num_rows
        return rows.append_column(ARRIVAL, numbers)

    def _wait(self, rows: pa.Table) -> None:
        self.fresh = rows if self.fresh is None else concatenated([self.fresh, rows])
        self.waiting = rows if self.waiting is None else concatenated([self.waiting, rows])

    def _advance(self, watermark: int | None) -> Any:
        if watermark is None:
            return self.nothing
        self.watermark = watermark if self.watermark is None else max(watermark, self.watermark)
        return self._certain(self._released(), self.watermark)

    def _released(self) -> pa.Table | None:
        """The rows that the watermark has passed: no other comes before or between them."""
        due, self.waiting = self._split(self.waiting)
        _, self.fresh = self._split(self.fresh)
        return due

    def next_look(self) -> int | None:
        """When the watermark has passed this, there is something to do without any row."""
        moments = [m for m in (self._first_waiting(), self._next_moment()) if m is not None]
        return min(moments, default=None)

    def _first_waiting(self) -> int | None:
        return None if self.waiting is None else int(self.times(self.waiting).min())

    def answer(self, found: Any) -> list[dict[str, Any]]:
        """What was done in the last call and what was found, as rows for Spark."""
        rows = [{**self.metrics(), BODY: None}]
        self.counts.rebuilt = False
        if found is None:
            return rows
        nothing = dict.fromkeys(METRICS)
        return rows + [{**nothing, BODY: ipc(part)} for part in self._parts(found)]

    def _parts(self, found: Any) -> Iterable[pa.Table]:
        """What was found, as tables of a size that travels well."""
        return (found.slice(at, _AT_ONCE) for at in range(0, found.num_rows, _AT_ONCE))

    # How it is kept.

    def _keep(self, store: Store) -> None:
        self.counts.bytes_written += write_segments(store, self._changed_segments())
        self.counts.bytes_written += self.blobs.keep(store, self._first_waiting(), self.fresh)
        self.fresh = None
        self.token = secrets.token_hex(8)
        store.write_head(dump(self._head()))

    def _changed_segments(self) -> Any:
        return self.segments.commit_columns()

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
    def of(cls, work: TableWork, number: int, text: str | None, store: Store, remembered: Any) -> Self:
        """The bucket whose head is given; what a worker remembers of it counts if it is the same."""
        if text is None:
            return cls.started(work, number)
        head: dict[str, Any] = load(text)
        check_start(head, work.buckets, work.program_text, cls.setting)
        if remembered is not None and remembered.token == head["token"]:
            return remembered  # type: ignore[no-any-return]
        return cls._rebuilt(work, number, head, store)

    @classmethod
    def _rebuilt(cls, work: TableWork, number: int, head: dict[str, Any], store: Store) -> Self:
        """A bucket from what was kept."""
        bucket = cls.empty(work, number)
        bucket.segments.load((number, store.read((INDEX, number, 0))) for number in head["segments"])
        bucket.token, bucket.sequence, bucket.watermark = head["token"], head["sequence"], head["watermark"]
        waiting = bucket.blobs.load(head["waiting"], store)
        bucket.waiting = concatenated(waiting) if waiting else None
        _, bucket.waiting = bucket._split(bucket.waiting)
        bucket.counts.rebuilt = True
        return bucket

    def metrics(self) -> dict[str, Any]:
        values = {
            "bucket": self.number,
            "waiting": 0 if self.waiting is None else self.waiting.num_rows,
            "keys": len(self.segments),
        }
        return {name: values.get(name, getattr(self.counts, name, None)) for name in METRICS}

    def times(self, rows: pa.Table) -> Any:
        return pc.cast(rows[self.time], pa.int64()).to_numpy()

    def _split(self, rows: pa.Table | None) -> tuple[pa.Table | None, pa.Table | None]:
        """The rows before the watermark, and the others."""
        if rows is None or self.watermark is None:
            return None, rows
        passed = self.times(rows) < self.watermark
        before, after = (rows.filter(pa.array(which)) for which in (passed, ~passed))
        return before if before.num_rows else None, after if after.num_rows else None
