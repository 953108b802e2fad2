"""Streams that feed each other, driven step by step: events in total order, then the watermark, then the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.rows import RowMaker
from cepheid.matching.found import Findings, Match, merged
from cepheid.matching.lifecycle import Listener
from cepheid.matching.protocol import Matcher
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.shelf import Shelf
from cepheid.matching.snapshot import Kept, pack_sections, unpack_sections
from cepheid.matching.tests import PlanTests
from cepheid.pattern.event import DERIVED, Event
from cepheid.pattern.times import from_microseconds

MakeMatcher = Callable[[PlannedStream, Listener | None, int], Matcher]
Entry = tuple[str, str]  # a stream and the text of a key: what has state of its own


def reference(planned: PlannedStream, listener: Listener | None, late_memory: int) -> Matcher:
    return reference_matcher(planned, listener, late_memory)


def reference_matcher(
    planned: PlannedStream, listener: Listener | None, late_memory: int, tests: PlanTests | None = None
) -> Matcher:
    """With forecasts or aggregates of trends, if the stream asks for them: most do not, and need not load them."""
    plan = planned.plan
    if plan.forecast is not None:
        from cepheid.forecast.matcher import ForecastMatcher

        return ForecastMatcher(plan, listener, tests=tests, late_memory=late_memory, trained=planned.trained)
    if plan.trends is not None:
        from cepheid.trends.matcher import TrendMatcher

        return TrendMatcher(plan, listener, tests=tests, late_memory=late_memory)
    return ReferenceMatcher(plan, listener, tests=tests, late_memory=late_memory)


class Network:
    """One matcher a stream; the matches of an upstream stream are events of its name downstream."""

    def __init__(
        self,
        program: Program,
        make: MakeMatcher = reference,
        listener: Listener | None = None,
        *,
        late_memory: int = 0,
        rows: dict[str, RowMaker] | None = None,
    ) -> None:
        self.program = program
        self.matchers = {s.name: make(s, listener, late_memory) for s in program}
        self.feeding = {name for s in program for name in s.feeds_on}
        self.rows = rows or {s.name: RowMaker(s) for s in program}
        self.derived_seq = 0

    def on_events(
        self, events: Sequence[Event], watermark: int | None = None, streams: Collection[str] | None = None
    ) -> dict[str, Findings]:
        """Events in total order (or one late event), then time up to the watermark.

        `streams`: only for these, and all that they feed on is among them."""
        own = self.matchers if streams is None else streams
        if not self.feeding or any(e.late for e in events):
            return self._on_events(events, watermark, own)
        # Moment by moment, wherever the events are cut: what a moment's passing makes certain comes after all that
        # the events of that moment have led to.
        moments = [list(group) for _, group in groupby(events, key=lambda e: e.time)]
        found = [self._on_events(group, None, own) for group in moments]
        if watermark is not None or not found:
            found.append(self._on_events((), watermark, own))
        return {name: merged(one[name] for one in found) for name in found[0]}

    def _on_events(
        self, events: Sequence[Event], watermark: int | None, streams: Collection[str]
    ) -> dict[str, Findings]:
        reached = [e.time for e in events[-1:] if not e.late] + [w for w in (watermark,) if w is not None]

        def step(matcher: Matcher, inputs: list[Event]) -> Findings:
            # Time passes for every stream, also for one that reads none of these events.
            found = matcher.on_batch(inputs)
            return found + matcher.on_time(max(reached)) if reached else found

        return self._through(events, step, streams)

    def on_end(self, time: int) -> dict[str, Findings]:
        def step(matcher: Matcher, inputs: list[Event]) -> Findings:
            return matcher.on_batch(inputs) + matcher.on_end(time)

        return self._through((), step, self.matchers)

    def snapshot(self) -> bytes:
        sections = {name: matcher.snapshot() for name, matcher in self.matchers.items()}
        return pack_sections({**sections, "": str(self.derived_seq).encode()}, str(self.program))

    def restore(self, state: bytes) -> None:
        sections = unpack_sections(state, str(self.program))
        self.derived_seq = int(sections.pop(""))
        for name, body in sections.items():
            self.matchers[name].restore(body)

    # State key by key, for engines that keep it so.

    def next_look(self) -> int | None:
        """When time has passed this, there is something to do without any event."""
        moments = [m for m in (matcher.next_look() for matcher in self.matchers.values()) if m is not None]
        return min(moments, default=None)

    def use_shelves(self, shelf: Callable[[str], Shelf]) -> None:
        """Keys that are not in memory lie on the shelf of their stream."""
        for name, matcher in self.matchers.items():
            matcher.shelf = shelf(name)

    def take_touched(self) -> list[Entry]:
        """What changed, or went, since the last call."""
        return [(name, key) for name, matcher in self.matchers.items() for key in matcher.take_touched()]

    def kept(self, entries: Iterable[Entry]) -> dict[Entry, Kept]:
        """The state of those in memory that have any."""
        found = ((entry, self.matchers[entry[0]].kept(entry[1])) for entry in entries)
        return {entry: kept for entry, kept in found if kept is not None}

    def put_away(self, entries: Iterable[Entry]) -> None:
        """The shelves have these as they are: they need not be in memory."""
        for name, key in entries:
            self.matchers[name].put_away([key])

    def _through(
        self,
        events: Sequence[Event],
        step: Callable[[Matcher, list[Event]], Findings],
        streams: Collection[str],
    ) -> dict[str, Findings]:
        found: dict[str, Findings] = {}
        derived: dict[str, list[Event]] = {}
        late = any(e.late for e in events)
        for planned in (s for s in self.program if s.name in streams):
            upstream = [e for name in planned.feeds_on for e in derived[name]]
            inputs = self._inputs(planned, events, upstream)
            found[planned.name] = step(self.matchers[planned.name], inputs)
            if planned.name in self.feeding:
                matches = found[planned.name].matches
                derived[planned.name] = [self._event(planned, m, late) for m in matches]
        return found

    def _inputs(self, planned: PlannedStream, events: Sequence[Event], upstream: list[Event]) -> list[Event]:
        inputs = events_for(planned, events)
        if not upstream:
            return inputs
        if len(planned.feeds_on) > 1:
            upstream = self._as_named(upstream)
        # A derived event comes after the events of its time: they are what made it certain.
        return _merged(inputs, upstream)

    def _as_named(self, upstream: list[Event]) -> list[Event]:
        """Of one time they come stream by stream as this one names them, and their places say so too."""
        found = []
        for event in sorted(upstream, key=lambda e: e.time):
            self.derived_seq += 1
            found.append(replace(event, seq=DERIVED + self.derived_seq))
        return found

    def _event(self, planned: PlannedStream, match: Match, late: bool) -> Event:
        self.derived_seq += 1
        fields = self.rows[planned.name].fields(match)
        fields.setdefault("time", from_microseconds(match.detected))
        fields.setdefault("type", planned.name)
        # With as many order columns as others have, so that it can be put in order among them.
        order = match.events[-1].order
        event = Event(planned.name, match.detected, fields, order, DERIVED + self.derived_seq)
        return replace(event, late=True) if late else event


def events_for(planned: PlannedStream, events: Sequence[Event]) -> list[Event]:
    """Those a stream looks at."""
    wanted = None if planned.plan.sees_all_events else set(planned.plan.event_types)
    return [e for e in events if wanted is None or e.type in wanted]


def _merged(inputs: list[Event], upstream: list[Event]) -> list[Event]:
    both = [(e.time, 0, i, e) for i, e in enumerate(inputs)]
    both += [(e.time, 1, i, e) for i, e in enumerate(upstream)]
    return [e for *_, e in sorted(both, key=lambda item: item[:3])]
