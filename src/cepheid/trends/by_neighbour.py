"""Partial trends by the value that the next event is compared with: for tests against the event before, no window.

The trends that an event can follow are found by an index of their last events' values, not one by one.
"""

from __future__ import annotations

from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.evaluation_errors import short
from cepheid.matching.fields import reader
from cepheid.matching.run import Taken
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import Seen
from cepheid.matching.values import decode, encode
from cepheid.pattern.event import Event
from cepheid.pattern.values import Clash, kind_text
from cepheid.plan.linked_trends import LinkedTrends, LinkedWay, LinkTest
from cepheid.trends.measures import Totals
from cepheid.trends.partition import Complete, TrendPartition
from cepheid.trends.saving import read_totals, totals_row
from cepheid.trends.totals_by_value import TotalsByValue

Place = tuple[int, str]  # a state, and the field of its last event that is looked at


class ByNeighbour(TrendPartition):
    """Keeps one total a state, and for each test the totals by the value it looks at."""

    def __init__(self, *args: Any, linked: LinkedTrends, **options: Any) -> None:
        super().__init__(*args, **options)
        self.linked = linked
        self.whole = [self.measures.one, *([self.measures.empty] * (linked.states - 1))]
        places = dict.fromkeys((w.source, t.other) for w in linked.ways for t in w.tests)
        self.indexes = {place: TotalsByValue(self.measures) for place in places}
        self.nulls = dict.fromkeys(places, self.measures.empty)
        names = {name for w in linked.ways for t in w.tests for name in (t.field, t.other)}
        self.read = {name: reader((name,)) for name in names}

    @property
    def nothing_open(self) -> bool:
        return not any(totals[0] for totals in self.whole[1:])

    @property
    def size(self) -> int:
        return 0

    def next_deadline(self) -> int | None:
        return None

    def take(self, seen: Seen, taken: Taken) -> list[Complete]:
        complete = self.measures.empty
        moved: dict[int, Totals] = {}
        for way in self.linked.ways:
            before = self._before(way, taken.event) if seen.positions[way.position] else self.measures.empty
            if not before[0]:
                continue
            totals = self.measures.taken(before, way.position, taken.event)
            if way.completes:
                complete = self.measures.added(complete, totals)
            if way.target is not None:
                known = moved.get(way.target, self.measures.empty)
                moved[way.target] = self.measures.added(known, totals)
        for state, totals in moved.items():
            self._enter(state, totals, taken.event)
        return [Complete({}, complete, taken.event, taken.event.time)] if complete[0] else []

    def _before(self, way: LinkedWay, event: Event) -> Totals:
        """The trends that the event can follow on this way."""
        if not way.tests:
            return self.whole[way.source]
        (test,) = way.tests
        place = (way.source, test.other)
        value = self.read[test.field](event)
        found = self.measures.empty if value is None else self._matching(place, test, value)
        return self.measures.added(found, self.nulls[place]) if test.lenient else found

    def _matching(self, place: Place, test: LinkTest, value: Any) -> Totals:
        try:
            return self.indexes[place].matching(test.op, value)
        except Clash as clash:
            a, b = clash.left, clash.right
            raise EvaluationError(
                f"`{test.field} {test.op} {test.other}`: {short(a)} is {kind_text(a)}, {short(b)} is "
                f"{kind_text(b)}: they cannot be compared",
                code="type_clash",
            ) from None

    def _enter(self, state: int, totals: Totals, event: Event) -> None:
        self.whole[state] = self.measures.added(self.whole[state], totals)
        for place, index in self.indexes.items():
            if place[0] == state:
                value = self.read[place[1]](event)
                if value is None:
                    self.nulls[place] = self.measures.added(self.nulls[place], totals)
                else:
                    index.add(value, totals)

    # Snapshot.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        places = [
            [[[encode(value), totals_row(totals)] for value, totals in index], totals_row(self.nulls[place])]
            for place, index in self.indexes.items()
        ]
        whole = [totals_row(totals) for totals in self.whole]
        return {**super().extra_state(events), "whole": whole, "places": places}

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        self.whole = [read_totals(row) for row in state["whole"]]
        for place, (values, nulls) in zip(self.indexes, state["places"], strict=True):
            self.nulls[place] = read_totals(nulls)
            for value, totals in values:
                self.indexes[place].add(decode(value), read_totals(totals))
