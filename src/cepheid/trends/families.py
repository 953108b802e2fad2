"""Matches under `subsets` as families of sets, carried through the classes of trends as counts are.

An item is an event at a step. The newest item is on top of a diagram, so an event that all trends of a class take is
one node more, whatever they hold.
"""

from __future__ import annotations

from typing import Any

from cepheid.matching.run import Taken
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.plan.automaton import Position
from cepheid.trends.by_class import ByClass
from cepheid.trends.forest import EMPTY_SET, NO_SET, Forest
from cepheid.trends.measures import Measures, Totals
from cepheid.trends.partition import Complete


class Families(Measures):
    """The totals of a class are its family, and how many sets it has is not counted until it is asked for."""

    def __init__(self, positions: tuple[Position, ...]) -> None:
        super().__init__((), positions)
        self.steps = len(positions)
        self.forest = Forest()
        self.empty, self.one = (NO_SET,), (EMPTY_SET,)
        self.at: list[Taken] = []  # the event of each item; those of an event lie together
        self.now = 0

    def begin(self, taken: Taken) -> None:
        """The event that trends take from now on."""
        self.now = len(self.at)
        self.at += [taken] * self.steps

    def taken(self, totals: Totals, position: int, event: Event) -> Totals:
        return (self.forest.node(self.now + position, NO_SET, totals[0]),)

    def added(self, one: Totals, other: Totals) -> Totals:
        return (self.forest.union(one[0], other[0]),)


class DiagramPartition(ByClass):
    """Keeps what is complete as families, moment by moment."""

    measures: Families

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.moments: list[tuple[int, int]] = []  # when, and the root of the family

    def take(self, seen: Seen, taken: Taken) -> list[Complete]:
        if any(seen.positions):
            self.measures.begin(taken)
        return super().take(seen, taken)

    def _give_out(self, complete: list[Complete], place: tuple[int, int, int]) -> None:
        root = NO_SET
        for item in complete:
            root = self.measures.forest.union(root, item.totals[0])
        if root != NO_SET:
            self.moments.append((complete[0].when, root))

    @property
    def idle(self) -> bool:
        return False
