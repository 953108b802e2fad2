"""A bounded DataFrame: shuffled by key, sorted in Spark, streamed through the matcher key by key.

Spark sorts and spills; a task holds the open runs of one key and one batch of rows, however big the input is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from cepheid.engines.network import Network
from cepheid.engines.session import Found
from cepheid.engines.spark.kernel_choice import only
from cepheid.engines.spark.layout import NOW, SEQUENCE, TIME, Layout
from cepheid.engines.spark.reading import read_events, read_keys
from cepheid.engines.spark.work import Work
from cepheid.engines.spark.worker_memory import leave_modules_alone
from cepheid.matching.compiled.ready import is_ready
from cepheid.pattern.event import Event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.engines.spark.many_keys import ManyKeys
    from cepheid.engines.spark.staged_keys import StagedKeys
    from cepheid.engines.spark.trend_keys import TrendKeys

    AnyKeys: TypeAlias = "KeyByKey | ManyKeys | StagedKeys | TrendKeys"

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
        matchers: list[AnyKeys] = []
        waiting: list[Found] = []
        for batch in batches:
            matchers = matchers or _matchers(work, batch)
            for matcher in matchers:
                waiting += matcher.feed(batch)
                yield from matcher.take_batches()
            if len(waiting) >= _ROWS_OUT:
                yield from work.answer.batches(waiting)
                waiting = []
        for matcher in matchers:
            waiting += matcher.end()
            yield from matcher.take_batches()
        if waiting:
            yield from work.answer.batches(waiting)
        leave_modules_alone()

    return run


def _matchers(work: Work, first: pa.RecordBatch) -> list[AnyKeys]:
    """The kernel for the streams it can take, the reference matcher for the others.

    And for a few rows, if the kernel is not compiled yet.
    """
    if first.num_rows < _FEW and not is_ready():
        return [KeyByKey(work)]
    # Only where it is used: it loads numba.
    from cepheid.engines.spark.kernel_rows import event_type, why_not_compiled
    from cepheid.engines.spark.many_keys import ManyKeys
    from cepheid.engines.spark.staged_keys import StagedKeys, choose_for_rows
    from cepheid.engines.spark.trend_keys import TrendKeys, streams_for_trends

    reasons = why_not_compiled(work.program, work.layout, event_type(first.schema, work.layout))
    mine = [name for name, reason in reasons.items() if reason is None]
    trends = streams_for_trends(work)
    others = [name for name in reasons if name not in (*mine, *trends)]
    found: list[AnyKeys] = []
    found += [ManyKeys(only(work, mine), first.schema)] if mine else []
    found += [TrendKeys(only(work, trends), KeyByKey)] if trends else []
    choice = choose_for_rows(only(work, others), first.schema)
    staged = [stream.name for stream in choice.streams]
    found += [StagedKeys(only(work, staged), choice, KeyByKey)] if staged else []
    others = [name for name in others if name not in staged]
    return found + ([KeyByKey(only(work, others))] if others else [])


class KeyByKey:
    """Matches events that come sorted by key: one network at a time, a new one where the key changes."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.key: tuple[Any, ...] | None = None
        self.network: Network | None = None
        self.held: list[Event] = []  # of the last moment, which may go on in the next batch
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
                self.key, self.network = key, self.new_network()
            found += self._matched([event for _, event in group])
        return found

    def new_network(self) -> Network:
        """For the next key."""
        return self.work.network()

    def take_batches(self) -> tuple[pa.RecordBatch, ...]:
        """All it finds are rows."""
        return ()

    def _matched(self, events: list[Event]) -> list[Found]:
        assert self.network is not None
        self.last = events[-1].time
        if self.network.feeding:  # what a moment makes certain comes after all of its events
            events = self.held + events
            over = bisect_left(events, self.last, key=lambda e: e.time)
            events, self.held = events[:over], events[over:]
        return self.work.found(self.network.on_events(events)) if events else []

    def end(self) -> list[Found]:
        """The key's events are over; time goes on to the end of the whole input."""
        if self.network is None:
            return []
        end = self.last if self.now is None else max(self.last, self.now)
        held, self.held = self.held, []
        found = self.work.found(self.network.on_events(held)) if held else []
        found += self.work.found(self.network.on_end(end))
        self.network = None
        return found
