"""Keys that the kernel gave up on: the reference matcher takes them, event by event, so that the order is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.objects import events_of
from cepheid.engines.columnar.places import Places
from cepheid.engines.local.events import Columns
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.found import Findings, Match, Pending, Timeout
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan

Finding = Match | Timeout | Pending


@dataclass
class Noted:
    """Findings with what decides their order."""

    row_of: dict[int, int]  # arrival to row
    moments: list[int] = field(default_factory=list)
    phases: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)

    def by_event(self, found: Findings, event: Event) -> None:
        for finding in _each(found):
            self._add(event.time, 0, event, finding)

    def by_deadline(self, found: Findings) -> None:
        for finding in _each(found):
            moment = _moment(finding)
            same = [f for f in _each(found) if _moment(f) == moment]
            self._add(moment, 1, _first_event(same), finding)

    def by_end(self, found: Findings) -> None:
        for finding in _each(found):
            self._add(NEVER, 2, _first_event(list(_each(found))), finding)

    def _add(self, moment: int, phase: int, place: Event, finding: Finding) -> None:
        self.moments.append(moment)
        self.phases.append(phase)
        self.rows.append(self.row_of[place.seq])
        self.found.append(finding)

    def places(self) -> Places:
        return Places(
            np.array(self.moments, np.int64), np.array(self.phases, np.int64), np.array(self.rows, np.int64)
        )


def match_left(plan: Plan, rows: Sorted, key: int, types: list[str], columns: Columns, end: int) -> Noted:
    """All that one key finds."""
    own = rows.rows[rows.offsets[key] : rows.offsets[key + 1]]
    events = events_of(rows.table, own, types, columns)
    noted = Noted({event.seq: row for event, row in zip(events, own.tolist(), strict=True)})
    from cepheid.trends.matcher import matcher_of  # few runs have keys that are left

    matcher = matcher_of(plan)
    for event in events:
        noted.by_deadline(matcher.on_time(event.time))
        noted.by_event(matcher.on_batch([event]), event)
    noted.by_deadline(matcher.on_time(end))
    noted.by_end(matcher.on_end(end))
    return noted


def _each(found: Findings) -> Iterator[Finding]:
    yield from found.matches
    yield from found.timeouts
    yield from found.pending


def _moment(finding: Finding) -> int:
    assert not isinstance(finding, Pending)
    return finding.detected if isinstance(finding, Match) else finding.deadline


def _first_event(found: list[Finding]) -> Event:
    """As the reference matcher has it for keys that answer at one moment."""
    for kind in (Match, Timeout, Pending):
        events = [f.events[0] for f in found if isinstance(f, kind)]
        if events:
            return min(events, key=Event.place_in_order)
    raise AssertionError("nothing was found")
