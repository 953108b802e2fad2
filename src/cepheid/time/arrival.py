"""Events as they arrive: judged, held back, released in total order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.time.buffer import TemporalBuffer
from cepheid.time.lateness import DeadLetter, Lateness, TooLatePolicy, judge, too_late_error, too_late_reason
from cepheid.time.watermark import Watermark


@dataclass(frozen=True, slots=True)
class Arrival:
    """What one arriving event brings about. `late` is to be matched before `released`."""

    released: list[Event] = field(default_factory=list)
    late: Event | None = None
    dead: DeadLetter | None = None


class Arrivals:
    """Watermark, buffer and lateness of one input.

    >>> arrivals = Arrivals(Lateness(disorder=5))
    >>> [[e.time for e in arrivals.feed(Event("A", time, {})).released] for time in (10, 7, 14)]
    [[], [], [7]]
    >>> [event.time for event in arrivals.end()]
    [10, 14]
    """

    __slots__ = ("_buffer", "_told", "_watermark", "dropped", "late", "lateness", "seen", "too_late")

    def __init__(
        self, lateness: Lateness | None = None, limits: Limits | None = None, *, told: bool = False
    ) -> None:
        """`told`: the watermark is told by `advance_to` alone, events do not move it."""
        limits = limits or Limits()
        self._told = told
        self.lateness = lateness or Lateness()
        self.seen = self.late = self.too_late = self.dropped = 0
        self._watermark = Watermark(self.lateness.disorder)
        self._buffer = TemporalBuffer(limits.max_buffer, limits.on_limit)

    @property
    def watermark(self) -> int | None:
        return self._watermark.value

    @property
    def next_release(self) -> int | None:
        """The time that the watermark has to pass before anything is released."""
        return self._buffer.earliest

    @property
    def frontier(self) -> Event | None:
        """The latest event that left before the watermark passed it, because the buffer was full."""
        return self._buffer.frontier

    @property
    def waiting(self) -> int:
        """How many events the buffer holds."""
        return len(self._buffer)

    @property
    def evicted(self) -> int:
        """How many events left the buffer before the watermark passed them, because it was full."""
        return self._buffer.evicted

    def feed(self, event: Event) -> Arrival:
        """Judges an event against the watermark as it was before it, then lets it move the watermark."""
        self.seen += 1
        verdict = judge(event.time, self.watermark, self.lateness.threshold)
        if verdict == "too_late":
            return self._turn_away(event)
        # An event that should have come before an evicted one is late by our doing: never too late.
        if verdict == "late" or self._buffer.precedes_eviction(event):
            return self._take_late(event)
        return Arrival(self._take_on_time(event))

    def advance_to(self, time: int) -> list[Event]:
        """Time has come this far without an event: what the watermark has passed is released."""
        self._watermark.advance_to(time)
        return self._buffer.release(self.watermark)

    def wait(self, events: Iterable[Event], watermark: int | None, frontier: Event | None) -> None:
        """Take up again what waited when the state was last kept."""
        if watermark is not None:
            self._watermark.advance_to(watermark)
        self._buffer.frontier = frontier
        for event in events:
            self._buffer.add(event)

    def end(self) -> list[Event]:
        """The end marker: everything that still waits, in total order."""
        return self._buffer.drain()

    def snapshot(self) -> dict[str, Any]:
        """Plain data: numbers and lists of events."""
        return {
            "watermark": self._watermark.snapshot(),
            "buffer": self._buffer.snapshot(),
            "seen": self.seen,
            "late": self.late,
            "too_late": self.too_late,
            "dropped": self.dropped,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Takes on saved state; the settings stay those this object was made with."""
        # Not the saved disorder: a restart may allow another one, and the watermark must not go back.
        self._watermark.value = state["watermark"]["value"]
        self._buffer.restore(state["buffer"])
        self.seen, self.late = state["seen"], state["late"]
        self.too_late, self.dropped = state["too_late"], state["dropped"]

    def _take_on_time(self, event: Event) -> list[Event]:
        # Release before adding: the event is never passed by a watermark it raised itself, and a full
        # buffer that this very event empties is no limit reached.
        if not self._told:
            self._watermark.observe(event.time)
        released = self._buffer.release(self.watermark)
        self._buffer.add(event)
        return released + self._buffer.release(self.watermark)

    def _take_late(self, event: Event) -> Arrival:
        self.late += 1
        return Arrival(late=replace(event, late=True))  # older than one already seen: it moves no watermark

    def _turn_away(self, event: Event) -> Arrival:
        self.too_late += 1
        watermark, threshold = self.watermark or 0, self.lateness.threshold
        if self.lateness.policy is TooLatePolicy.FAIL:
            raise too_late_error(event, watermark, threshold)
        if self.lateness.policy is TooLatePolicy.DROP:
            self.dropped += 1
            return Arrival()
        return Arrival(dead=DeadLetter(event, too_late_reason(event, watermark, threshold)))
