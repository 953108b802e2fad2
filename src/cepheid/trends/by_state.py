"""Partial trends by state: for patterns in which the state alone says how a trend goes on."""

from __future__ import annotations

from typing import Any

from cepheid.matching.run import Taken
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.plan.linear_trends import LinearTrends
from cepheid.trends.linear import Held, SlidingTotals, StateTotals
from cepheid.trends.partition import Complete, TrendPartition
from cepheid.trends.saving import read_totals, totals_row


class ByState(TrendPartition):
    """Keeps one total a state, or the events of a window and what they make together."""

    def __init__(self, *args: Any, linear: LinearTrends, **options: Any) -> None:
        super().__init__(*args, **options)
        kind = StateTotals if linear.within is None else SlidingTotals
        self.totals: StateTotals | SlidingTotals = kind(linear, self.measures)

    @property
    def nothing_open(self) -> bool:
        return self.totals.empty

    @property
    def size(self) -> int:
        return 0

    def take(self, seen: Seen, taken: Taken) -> list[Complete]:
        positions = tuple(i for i, fits in enumerate(seen.positions) if fits)
        if not positions:
            return []
        totals = self.totals.take(Held(taken.event, positions))
        return [Complete({}, totals, taken.event, taken.event.time)] if totals[0] else []

    # Time: nothing becomes certain by it, but what has left every window can go.

    def next_deadline(self) -> int | None:
        if isinstance(self.totals, StateTotals) or self.totals.empty:
            return None
        return self.totals.last_time + self.totals.within

    def _pass(self, deadline: int) -> None:
        if isinstance(self.totals, SlidingTotals):
            self.totals.let_go(deadline - self.totals.within + 1)

    # Snapshot: totals, or the events of the window.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        if isinstance(self.totals, StateTotals):
            kept: list[Any] = [totals_row(totals) for totals in self.totals.row]
        else:
            kept = [[events.number(held.event), held.positions] for held in self.totals.held()]
        return {**super().extra_state(events), "totals": kept}

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        if isinstance(self.totals, StateTotals):
            self.totals.row = [read_totals(row) for row in state["totals"]]
            return
        for number, positions in state["totals"]:
            self.totals.take(Held(events[number], tuple(positions)))
