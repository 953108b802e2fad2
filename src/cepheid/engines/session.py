"""Events one by one: feed them as they come, get what is found as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cepheid.engines.network import MakeMatcher, Network, reference
from cepheid.engines.program import Program
from cepheid.engines.rows import side_rows
from cepheid.matching.found import Findings, Match
from cepheid.matching.lifecycle import Listener
from cepheid.matching.snapshot import EventTable, events_text, pack_sections, read_events, unpack_sections
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness


@dataclass(frozen=True)
class Found:
    """Something a session found: `kind` is match, timeout, pending, forecast, outcome or dead_letter."""

    stream: str
    kind: str
    row: dict[str, Any]
    match: Match | None = field(default=None, repr=False, compare=False)  # the events behind a match's row


@dataclass
class Counters:
    """What came in and what became of it."""

    events: int = 0
    late: int = 0
    too_late: int = 0
    dropped: int = 0
    matches: dict[str, int] = field(default_factory=dict)


class Session:
    """A program at work on a stream of events.

    Events wait in the temporal buffer until the watermark has passed them, so matches come `disorder` behind.
    """

    def __init__(
        self,
        program: Program,
        lateness: Lateness | None = None,
        *,
        make: MakeMatcher = reference,
        listener: Listener | None = None,
    ) -> None:
        self.program = program
        self.lateness = lateness or Lateness()
        self.network = Network(program, make, listener, late_memory=self.lateness.threshold)
        self.arrivals = Arrivals(self.lateness, limits_of(program))
        self.last_time: int | None = None
        self.counters = Counters(matches={s.name: 0 for s in program})

    @property
    def watermark(self) -> int | None:
        return self.arrivals.watermark

    def feed(self, events: Iterable[Event]) -> list[Found]:
        """Events in the order they arrive; the answer is what became certain by them."""
        found: list[Found] = []
        ready: list[Event] = []
        for event in events:
            self.last_time = max(event.time, self.last_time if self.last_time is not None else event.time)
            arrival = self.arrivals.feed(event)
            if arrival.dead is not None:
                row = {**event.fields, "reason": arrival.dead.reason}
                found.append(Found("", "dead_letter", row))
            if arrival.late is not None:
                # Time has come to the watermark: what is certain by then does not wait for the rest of the events.
                found += self._matched(ready, self.watermark)
                found += self._matched([arrival.late], None)
                ready = []
            ready += arrival.released
        return found + self._matched(ready, self.watermark)

    def feed_sorted(self, events: list[Event]) -> list[Found]:
        """Events already in total order: nothing waits, nothing is late."""
        if events:
            self.last_time = events[-1].time
        self.arrivals.seen += len(events)
        return self._matched(events, None)

    def advance(self, time: int) -> list[Found]:
        """Time has come this far without an event (an idle stream)."""
        released = self.arrivals.advance_to(time)
        self.last_time = max(time, self.last_time if self.last_time is not None else time)
        return self._matched(released, self.watermark)

    def end(self, now: int | None = None) -> list[Found]:
        """The end marker: everything waiting is matched, closures are closed, open absences are pending."""
        found = self._matched(self.arrivals.end(), None)
        times = [t for t in (now, self.last_time) if t is not None]
        return found + list(self._noted(self.network.on_end(max(times, default=0))))

    def snapshot(self) -> bytes:
        """Everything needed to go on: open runs, waiting events, the watermark."""
        events = EventTable()
        state = self.arrivals.snapshot()
        state["buffer"] = _with_numbers(state["buffer"], events)
        plain = {"arrivals": state, "last_time": self.last_time, "counters": vars(self.counters)}
        sections = {
            "network": self.network.snapshot(),
            "session": dump(plain).encode(),
            "events": events_text(events).encode(),
        }
        return pack_sections(sections, str(self.program))

    def restore(self, state: bytes) -> None:
        sections = unpack_sections(state, str(self.program))
        self.network.restore(sections["network"])
        plain = load(sections["session"].decode())
        events = read_events(json.loads(sections["events"]))
        plain["arrivals"]["buffer"] = _with_events(plain["arrivals"]["buffer"], events)
        self.arrivals.restore(plain["arrivals"])
        self.last_time = plain["last_time"]
        self.counters = Counters(**plain["counters"])

    def _matched(self, events: list[Event], watermark: int | None) -> list[Found]:
        if not events and watermark is None:
            return []
        return list(self._noted(self.network.on_events(events, watermark)))

    def _noted(self, found: dict[str, Findings]) -> Iterator[Found]:
        self._count()
        for name, findings in found.items():
            planned, maker = self.program[name], self.network.rows[name]
            for match in findings.matches:
                self.counters.matches[name] += 1
                row = maker.row(match)
                if self.lateness.threshold and planned.stream.outputs is None:
                    row["late"] = match.late
                yield Found(name, "match", row, match)
            yield from (Found(name, kind, row) for kind, row in side_rows(maker, findings))

    def _count(self) -> None:
        c, a = self.counters, self.arrivals
        c.events, c.late, c.too_late, c.dropped = a.seen, a.late, a.too_late, a.dropped


def limits_of(program: Program) -> Limits:
    """One buffer serves all streams: the tightest limit counts."""
    return min((s.plan.pattern.limits for s in program), key=lambda limits: limits.max_buffer)


def _with_numbers(state: dict[str, Any], events: EventTable) -> dict[str, Any]:
    return {
        k: {"$events": [events.number(e) for e in v]} if isinstance(v, list) else v for k, v in state.items()
    }


def _with_events(state: dict[str, Any], events: list[Event]) -> dict[str, Any]:
    return {k: [events[i] for i in v["$events"]] if isinstance(v, dict) else v for k, v in state.items()}
