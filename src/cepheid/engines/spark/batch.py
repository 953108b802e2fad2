"""A bounded DataFrame: shuffled by key, sorted in Spark, streamed through the matcher key by key.

Spark sorts and spills; a task holds the open runs of one key and one batch of rows, however big the input is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.network import Network
from cepheid.engines.session import Found
from cepheid.engines.spark.layout import NOW, SEQUENCE, TIME, Layout
from cepheid.engines.spark.reading import read_events, read_keys
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.ready import is_ready
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.event import Event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.engines.spark.many_keys import ManyKeys

_ROWS_OUT = 1000
_FEW = 10_000  # Spark fills a batch with so many rows if it has them


def found_in(rows: DataFrame, work: Work) -> DataFrame:
    """All findings of prepared rows."""
    return in_order(rows, work.layout).mapInArrow(matching(work), work.answer.spark_schema())


def in_order(rows: DataFrame, layout: Layout) -> DataFrame:
    """The events of a key together, in total order."""
    from pyspark.sql import functions as F

    keys = layout.key_names()
    together = rows.repartition(*(F.col(k) for k in keys)) if keys else rows.repartition(1)
    order = [F.col(name).asc_nulls_first() for name in (*keys, TIME, *layout.order_names(), SEQUENCE)]
    return together.sortWithinPartitions(*order)


def matching(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys: KeyByKey | ManyKeys | None = None
        waiting: list[Found] = []
        for batch in batches:
            keys = keys or _matcher(work, batch)
            waiting += keys.feed(batch)
            yield from keys.take_batches()
            if len(waiting) >= _ROWS_OUT:
                yield work.answer.batch(waiting)
                waiting = []
        if keys is not None:
            waiting += keys.end()
            yield from keys.take_batches()
        if waiting:
            yield work.answer.batch(waiting)

    return run


def _matcher(work: Work, first: pa.RecordBatch) -> KeyByKey | ManyKeys:
    """The kernel; what it cannot take, the reference matcher does, and a few rows if it is not compiled yet."""
    if first.num_rows < _FEW and not is_ready():
        return KeyByKey(work)
    # Only where it is used: it loads numba.
    from cepheid.engines.spark.many_keys import ManyKeys

    try:
        return ManyKeys(work, first.schema)
    except Unsupported:
        return KeyByKey(work)


class KeyByKey:
    """Matches events that come sorted by key: one network at a time, a new one where the key changes."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.key: tuple[Any, ...] | None = None
        self.network: Network | None = None
        self.last = 0
        self.now: int | None = None

    def feed(self, batch: pa.RecordBatch) -> list[Found]:
        if not batch.num_rows:
            return []
        if self.work.layout.has_now:
            self.now = batch.column(NOW)[0].as_py()
        found: list[Found] = []
        rows = zip(read_keys(batch, self.work.layout), read_events(batch, self.work.layout), strict=True)
        for key, group in groupby(rows, key=lambda row: row[0]):
            if key != self.key:
                found += self.end()
                self.key, self.network = key, self.work.network()
            found += self._matched([event for _, event in group])
        return found

    def take_batches(self) -> tuple[pa.RecordBatch, ...]:
        """All it finds are rows."""
        return ()

    def _matched(self, events: list[Event]) -> list[Found]:
        assert self.network is not None
        self.last = events[-1].time
        return self.work.found(self.network.on_events(events))

    def end(self) -> list[Found]:
        """The key's events are over; time goes on to the end of the whole input."""
        if self.network is None:
            return []
        end = self.last if self.now is None else max(self.last, self.now)
        found = self.work.found(self.network.on_end(end))
        self.network = None
        return found
