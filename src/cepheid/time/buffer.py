"""The temporal buffer: events wait here until the watermark has passed them, and leave in total order."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.pattern.event import Event
from cepheid.pattern.model import OnLimit

# (place in the total order, arrival here, event). The second keeps heapq from ever comparing two events.
_Waiting = tuple[tuple[Any, ...], int, Event]


class TemporalBuffer:
    """A heap by the total order, of at most `max_buffer` events.

    >>> buffer = TemporalBuffer()
    >>> for time in (7, 3, 5):
    ...     buffer.add(Event("A", time, {}))
    >>> [event.time for event in buffer.release(7)]
    [3, 5]
    """

    __slots__ = ("_arrived", "_early", "_heap", "evicted", "frontier", "max_buffer", "on_limit")

    def __init__(self, max_buffer: int = 1_000_000, on_limit: OnLimit = OnLimit.ERROR) -> None:
        self.max_buffer = max_buffer
        self.on_limit = on_limit
        self.evicted = 0
        self.frontier: Event | None = None  # the latest event that had to leave before its time
        self._heap: list[_Waiting] = []
        self._early: list[Event] = []
        self._arrived = 0

    def __len__(self) -> int:
        return len(self._heap) + len(self._early)

    @property
    def earliest(self) -> int | None:
        """The time of the first event that waits."""
        return self._heap[0][2].time if self._heap else None

    def add(self, event: Event) -> None:
        """Lets an event wait. Past the limit: an error, or the oldest leave with the next `release`."""
        if self.on_limit is OnLimit.ERROR and len(self._heap) >= self.max_buffer:
            raise _full(self.max_buffer)
        self._push(event)
        while len(self._heap) > self.max_buffer:
            self._evict()

    def release(self, watermark: int | None) -> list[Event]:
        """The events that left early, then those with time < watermark, in total order."""
        released, self._early = self._early, []
        if watermark is not None:
            while self._heap and self._heap[0][2].time < watermark:
                released.append(heappop(self._heap)[2])
        return released

    def drain(self) -> list[Event]:
        """Everything that still waits, in total order: the input has ended."""
        released, self._early = self._early, []
        released.extend(event for _, _, event in sorted(self._heap))
        self._heap.clear()
        return released

    def precedes_eviction(self, event: Event) -> bool:
        """Should this event have left before one that was evicted? Then it can no longer come in order."""
        return self.frontier is not None and event.place_in_order() < self.frontier.place_in_order()

    def snapshot(self) -> dict[str, Any]:
        return {
            "waiting": [event for _, _, event in sorted(self._heap)],
            "early": list(self._early),
            "frontier": [] if self.frontier is None else [self.frontier],
            "evicted": self.evicted,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Takes on saved state; the limits stay those this buffer was made with."""
        waiting: Iterable[Event] = state["waiting"]
        self._heap = [(event.place_in_order(), at, event) for at, event in enumerate(waiting)]
        heapify(self._heap)
        self._arrived = len(self._heap)
        self._early = list(state["early"])
        self.frontier = next(iter(state["frontier"]), None)
        self.evicted = state["evicted"]

    def _push(self, event: Event) -> None:
        self._arrived += 1
        try:
            heappush(self._heap, (event.place_in_order(), self._arrived, event))
        except TypeError as clash:
            raise InputMistake(
                f"the values of the `order` columns cannot be compared: {clash}",
                code="bad_order",
                hint="an `order` column needs values of one kind in all events",
            ) from None

    def _evict(self) -> None:
        event = heappop(self._heap)[2]
        self.evicted += 1
        self.frontier = event
        self._early.append(event)


def _full(max_buffer: int) -> LimitReached:
    return LimitReached(
        f"the temporal buffer already holds `max_buffer` = {max_buffer:,} events that wait for the watermark",
        code="max_buffer",
        hint="raise `max_buffer`, lower the allowed `disorder`, or set `on_limit: evict_oldest` "
        "to let the oldest go early",
    )
