"""Rows of a stream that wait for the watermark: judged as they arrive, kept as they are, released together.

Only rows that are late, or that a full buffer lets go early, become events here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.layout import SEQUENCE, TIME, Layout
from cepheid.engines.spark.reading import events_of
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.time.arrival import Arrival, Arrivals
from cepheid.time.lateness import Lateness

Mask = npt.NDArray[np.bool_]


class Arrived(NamedTuple):
    """What becomes of a row that does not simply wait."""

    number: int  # of the row in its batch
    event: Event
    arrival: Arrival
    early: pa.Table | None = None  # rows that had to leave the full buffer because of it


@dataclass
class Waiting:
    layout: Layout
    limits: Limits
    arrivals: Arrivals  # the watermark and the counts; its buffer is empty but for the time of one call
    rows: pa.Table | None = None
    fresh: list[pa.Table] = field(default_factory=list)  # came in this micro-batch

    @classmethod
    def of(cls, layout: Layout, lateness: Lateness, limits: Limits) -> Waiting:
        return cls(layout, limits, Arrivals(lateness, limits, told=True))

    def __len__(self) -> int:
        return 0 if self.rows is None else int(self.rows.num_rows)

    @property
    def watermark(self) -> int | None:
        return self.arrivals.watermark

    @property
    def next_release(self) -> int | None:
        return pc.min(self.rows[TIME]).as_py() if self.rows is not None and len(self) else None

    def advance(self, watermark: int) -> pa.Table | None:
        """The rows that the watermark has passed."""
        self.arrivals.advance_to(watermark)
        if self.rows is None or self.watermark is None:
            return None
        passed: Mask = self.rows[TIME].to_numpy() < self.watermark
        released, self.rows = _where(self.rows, passed), _where(self.rows, ~passed)
        return released

    def arrive(self, rows: pa.Table) -> Iterator[Arrived]:
        """Takes rows on. Those that are late, too late or let go early are told, in the order they came."""
        on_time = self._on_time(rows)
        if len(self) + int(on_time.sum()) > self.limits.max_buffer or self._some_left_early():
            yield from self._one_by_one(rows)
            return
        for number in np.flatnonzero(~on_time).tolist():
            (event,) = events_of(rows.slice(number, 1), self.layout)
            yield Arrived(number, event, self.arrivals.feed(event))
        self.arrivals.seen += int(on_time.sum())
        self._wait(_where(rows, on_time))

    def _on_time(self, rows: pa.Table) -> Mask:
        if self.watermark is None:
            return np.ones(rows.num_rows, np.bool_)
        found: Mask = rows[TIME].to_numpy() >= self.watermark
        return found

    def _some_left_early(self) -> bool:
        """Can a row still come that should have left before one that was let go early?"""
        frontier = self.arrivals.frontier
        return frontier is not None and (self.watermark is None or frontier.time >= self.watermark)

    def _wait(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self.fresh.append(rows)
            self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows])

    def _one_by_one(self, rows: pa.Table) -> Iterator[Arrived]:
        """Through the buffer, which knows what to do when it is full."""
        waiting = [] if self.rows is None else events_of(self.rows, self.layout)
        self.arrivals.wait(waiting, self.watermark, self.arrivals.frontier)
        self._wait(rows)
        assert self.rows is not None
        for number, event in enumerate(events_of(rows, self.layout)):
            arrival = self.arrivals.feed(event)
            if arrival != Arrival():
                early = _those(self.rows, arrival.released) if arrival.released else None
                yield Arrived(number, event, arrival, early)
        left = self.arrivals.end()
        self.rows = _those(self.rows, left)
        self.fresh = [_those(table, left) for table in self.fresh]

    def end(self) -> pa.Table | None:
        """The end marker: all that waits."""
        rows, self.rows, self.fresh = self.rows, None, []
        return rows

    # How it is kept.

    def take_fresh(self) -> pa.Table | None:
        """The rows that came since the last call and still wait."""
        fresh, self.fresh = [t for t in self.fresh if t.num_rows], []
        return pa.concat_tables(fresh).combine_chunks() if fresh else None

    def wait_again(self, tables: list[pa.Table], watermark: int | None, frontier: Any) -> None:
        """What waited when the state was last kept."""
        left_early = None
        if frontier is not None:
            time, order, seq = frontier
            left_early = Event("", time, {}, tuple(order), seq)
        self.arrivals.wait([], watermark, left_early)
        waiting = [_where(table, self._still_waits(table)) for table in tables]
        self.rows = pa.concat_tables(waiting) if waiting else None

    def _still_waits(self, rows: pa.Table) -> Mask:
        waits = self._on_time(rows)
        frontier = self.arrivals.frontier
        if frontier is None:
            return waits
        places = [event.place_in_order() for event in events_of(rows, self.layout)]
        return waits & np.array([place > frontier.place_in_order() for place in places], np.bool_)


def _where(rows: pa.Table, wanted: Mask) -> pa.Table:
    return rows if wanted.all() else rows.filter(pa.array(wanted)) if wanted.any() else rows.slice(0, 0)


def _those(rows: pa.Table, events: list[Event]) -> pa.Table:
    """The rows of some events."""
    return rows.filter(pc.is_in(rows[SEQUENCE], pa.array([event.seq for event in events], pa.int64())))
