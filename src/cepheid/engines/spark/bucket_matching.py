"""The matchers of one bucket: rows in, findings out, state in segments. Here through the reference matcher."""

from __future__ import annotations

import pyarrow as pa

from cepheid.engines.session import Found
from cepheid.engines.spark.reading import events_of
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.engines.spark.total_order import in_order
from cepheid.engines.spark.work import Work
from cepheid.pattern.event import Event


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
