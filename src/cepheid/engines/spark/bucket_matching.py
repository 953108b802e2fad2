"""The matchers of one bucket: rows in, findings out, state in segments. Here through the reference matcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeGuard

import pyarrow as pa

from cepheid.engines.session import Found
from cepheid.engines.spark.reading import events_of
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.engines.spark.total_order import in_order
from cepheid.engines.spark.work import Work
from cepheid.matching.protocol import Matcher
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event

BY_REFERENCE, BY_KERNEL = "reference", "kernel"
Open = Mapping[tuple[str, str], Counter[int] | None]  # by matcher and stream


class ByReference:
    def __init__(self, work: Work, segments: Segments) -> None:
        self.work, self.segments = work, segments
        self.network = work.network()
        self.network.use_shelves(segments.shelf)

    def on_rows(self, rows: pa.Table | None, watermark: int | None) -> list[Found]:
        """Rows that are no longer waited for, then time up to the watermark."""
        return self.work.found(self.network.on_events(self.events(rows), watermark))

    def events(self, rows: pa.Table | None) -> list[Event]:
        """In total order."""
        layout = self.work.layout
        return [] if rows is None else events_of(in_order(rows, layout), layout)

    def on_late(self, event: Event) -> list[Found]:
        return self.work.found(self.network.on_events([event]))

    def on_end(self, time: int) -> list[Found]:
        """Nothing is kept after it."""
        found = self.work.found(self.network.on_end(time))
        derived = self.network.derived_seq
        self.network = self.work.network()
        self.network.use_shelves(self.segments.shelf)
        self.network.derived_seq = derived
        return found

    def next_look(self) -> int | None:
        return self.network.next_look()

    def take_batches(self) -> list[pa.RecordBatch]:
        """Matches as columns since the last call: here all are rows."""
        return []

    def commit(self) -> Writes:
        return self.segments.commit(self.network, self.network.take_touched())

    # How many runs are open, by stream and state. Counted as keys come and go, never by looking at all of them.

    def open_runs(self) -> Open:
        """None where it is not known, which is so of state that was kept before anybody counted."""
        return {
            (BY_REFERENCE, name): m.open_runs() for name, m in self.network.matchers.items() if _counts(m)
        }

    def restore_open(self, kept: Open) -> None:
        """What `open_runs` said when the state was kept: all of it lies in segments now."""
        for name, matcher in self.network.matchers.items():
            if _counts(matcher):
                matcher.on_shelf = kept.get((BY_REFERENCE, name))


def _counts(matcher: Matcher) -> TypeGuard[ReferenceMatcher]:
    """Aggregates of trends are no runs."""
    return isinstance(matcher, ReferenceMatcher) and matcher.plan.trends is None
