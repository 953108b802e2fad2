"""Totals of trends by state. Per event the work does not depend on how many events came before.

Without a window: one total a state; an event takes the totals of the states it leads on from, and they are added to
those it leads to (`StateTotals`).

With a window an event is a matrix: from each state to each state, the totals of the trends it makes. The product of
the matrices of all events in the window holds the trends that lie in it. A product cannot be divided by the event that
leaves the window, so two are kept (`SlidingTotals`): of the younger events their product, and of the older ones the
products from each of them up to the last. When no older ones are left, the younger ones become the older.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cepheid.pattern.event import Event
from cepheid.plan.linear_trends import LinearTrends, Way
from cepheid.trends.measures import Measures, Totals

Row = list[Totals]  # one for each state


class Held(NamedTuple):
    """An event, and the steps that it fits."""

    event: Event
    positions: tuple[int, ...]


class StateTotals:
    """No window: all trends go on for ever."""

    def __init__(self, linear: LinearTrends, measures: Measures) -> None:
        self.ways, self.measures = linear.ways, measures
        self.row: Row = [measures.one, *([measures.empty] * (linear.states - 1))]

    def take(self, held: Held) -> Totals:
        """The totals of the trends that the event completes."""
        complete, moved = moves(self.row, held, self.ways, self.measures)
        for state, totals in moved:
            self.row[state] = self.measures.added(self.row[state], totals)
        return complete

    @property
    def empty(self) -> bool:
        return not any(totals[0] for totals in self.row[1:])


class SlidingTotals:
    """Trends that lie within a window."""

    def __init__(self, linear: LinearTrends, measures: Measures) -> None:
        assert linear.within is not None
        self.linear, self.ways, self.measures, self.within = linear, linear.ways, measures, linear.within
        self.older: list[
            tuple[Held, Row]
        ] = []  # the oldest last; with the row of the start, up to the last of them
        self.younger: list[Held] = []
        self.product = self._nothing()  # of the younger ones

    def _nothing(self) -> list[Row]:
        states, one, empty = range(self.linear.states), self.measures.one, self.measures.empty
        return [[one if i == j else empty for j in states] for i in states]

    def take(self, held: Held) -> Totals:
        self.let_go(held.event.time - self.within)
        complete, _ = moves(self._row(), held, self.ways, self.measures)
        self.younger.append(held)
        for row in self.product:
            _, moved = moves(row, held, self.ways, self.measures)
            for state, totals in moved:
                row[state] = self.measures.added(row[state], totals)
        return complete

    def let_go(self, before: int) -> None:
        """Events before this time lie in no window any more."""
        while self.older and self.older[-1][0].event.time < before:
            self.older.pop()
        if self.older or not self.younger or self.younger[0].event.time >= before:
            return
        after: list[Row] = self._nothing()
        for held in reversed([h for h in self.younger if h.event.time >= before]):
            after = self._before(held, after)
            self.older.append((held, after[0]))
        self.younger, self.product = [], self._nothing()

    def _before(self, held: Held, after: list[Row]) -> list[Row]:
        """The event's matrix times what comes after it."""
        new = [list(row) for row in after]
        for way in self.ways:
            if way.target is None or way.position not in held.positions:
                continue
            taken = self.measures.taken(self.measures.one, way.position, held.event)
            for state, totals in enumerate(after[way.target]):
                if totals[0]:
                    product = self.measures.joined(taken, totals)
                    new[way.source][state] = self.measures.added(new[way.source][state], product)
        return new

    def _row(self) -> Row:
        """The totals of all trends in the window, by state."""
        if not self.older:
            return self.product[0]
        first, found = self.older[-1][1], [self.measures.empty] * self.linear.states
        for totals, row in zip(first, self.product, strict=True):
            if totals[0]:
                for state, more in enumerate(row):
                    if more[0]:
                        product = self.measures.joined(totals, more)
                        found[state] = self.measures.added(found[state], product)
        return found

    @property
    def empty(self) -> bool:
        return not self.older and not self.younger

    @property
    def last_time(self) -> int:
        """Of the youngest event: when its window is over, nothing is left."""
        return (self.younger[-1] if self.younger else self.older[0][0]).event.time

    def held(self) -> list[Held]:
        """The events of the window, oldest first."""
        return [held for held, _ in reversed(self.older)] + self.younger


def moves(
    row: Row, held: Held, ways: Sequence[Way], measures: Measures
) -> tuple[Totals, list[tuple[int, Totals]]]:
    """What an event makes of trends: those it completes, and those that go on, by the state they are in then."""
    complete, moved = measures.empty, []
    for way in ways:
        if way.position in held.positions and row[way.source][0]:
            totals = measures.taken(row[way.source], way.position, held.event)
            if way.completes:
                complete = measures.added(complete, totals)
            if way.target is not None:
                moved.append((way.target, totals))
    return complete, moved
