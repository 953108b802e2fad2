"""Partial trends by class: for patterns whose tests, bounds or absences tell trends of one state apart.

The rules of moving are the reference matcher's own (`Moves`); here a run stands for all trends with its future.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from cepheid.matching.run import Run, Taken
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.plan.automaton import START
from cepheid.trends.classes import Futures, TrendClass
from cepheid.trends.measures import Totals
from cepheid.trends.partition import BY_TIME, Complete, TrendPartition
from cepheid.trends.saving import class_row, read_class


class ByClass(TrendPartition):
    """Keeps classes instead of runs."""

    def __init__(self, *args: Any, futures: Futures, **options: Any) -> None:
        super().__init__(*args, **options)
        self.futures = futures
        self.classes: dict[Hashable, TrendClass] = {}
        self.waits = any(a.absences for a in self.plan.automaton.accepts)

    @property
    def nothing_open(self) -> bool:
        return not self.classes

    @property
    def size(self) -> int:
        return len(self.classes)

    def take(self, seen: Seen, taken: Taken) -> list[Complete]:
        self._expire_before(taken.event.time)
        self._rule_out(seen, taken)
        complete = self._decided_by_next(taken) if self.waits else []
        return complete + self._taken_by_all(seen, taken)

    # An event.

    def _expire_before(self, time: int) -> None:
        """Trends that began too long ago. Those that wait for an absence are seen to when its time comes."""
        if self.within is None or self.waits:
            return
        least = time - self.within
        if any(c.ways[0].start_time < least for c in self.classes.values()):
            self.classes = {k: c for k, c in self.classes.items() if c.ways[0].start_time >= least}

    def _rule_out(self, seen: Seen, taken: Taken) -> None:
        """Negation is checked before advancement; `until` closes closures."""
        untils = any(test is not None for test in self.tests.untils)
        if not untils and not any(seen.absences) and not any(seen.guards):
            return
        classes, self.classes = self.classes, {}
        for key, known in classes.items():
            ways = [w for way in known.ways if (w := self.moves.violated(way, seen, taken)[0]) is not None]
            ways = [self._until(way, taken) for way in ways]
            self._put(ways, known, key)

    def _decided_by_next(self, taken: Taken) -> list[Complete]:
        """`NOT next X` at the end is certain as soon as another event came."""
        complete = []
        classes, self.classes = self.classes, {}
        for key, known in classes.items():
            ways, certain = [], False
            for way in known.ways:
                for accept in self.moves.waiting(way):
                    nodes = [self.plan.automaton.absences[a].node for a in accept.absences]
                    if all(n.next for n in nodes) and way.last.index + 1 == taken.index:
                        certain = True
                        way = replace(way, blocked=way.blocked | {-1 - accept.index})
                if self.moves.can_go_on(way, taken.index - 1):
                    ways.append(way)
            if certain:
                complete.append(_complete(known, taken.event.time))
            self._put(ways, known, key)
        return complete

    def _taken_by_all(self, seen: Seen, taken: Taken) -> list[Complete]:
        """Every class is offered the event; every start begins a trend. The answer is what is complete now."""
        complete: list[Complete] = []
        positions = frozenset(i for i, fits in enumerate(seen.positions) if fits)
        classes, self.classes = self.classes, {}
        for key, known in classes.items():
            if self.futures.waits_on(known.ways, positions):
                self._put(list(known.ways), known, key)
                continue
            stay: list[Run] = []
            moved: dict[int, list[Run]] = {}
            for way in known.ways:
                edges = self.moves.fitting(way, seen, taken)
                left = self._staying(way, edges, taken)
                stay += [] if left is None else [left]
                for edge in edges:
                    new = self.moves.extended(way, edge, replace(taken, position=edge.position))
                    moved.setdefault(edge.position, []).append(new)
            self._put(stay, known, key)
            self._settle_all(moved, known.totals, taken, complete)
        self._settle_all(self._started(seen, taken), self.measures.one, taken, complete)
        return complete

    def _started(self, seen: Seen, taken: Taken) -> dict[int, list[Run]]:
        empty = Run(taken.index, START, (), {}, {})
        moved: dict[int, list[Run]] = {}
        for edge in self.plan.automaton.out[START]:
            if self.moves.fits(empty, edge, seen, taken) and self.moves.begun_by(edge, taken, self.recent):
                new = self.moves.extended(empty, edge, replace(taken, position=edge.position))
                moved.setdefault(edge.position, []).append(new)
        return moved

    def _settle_all(
        self, moved: dict[int, list[Run]], before: Totals, taken: Taken, complete: list[Complete]
    ) -> None:
        """Trends that have just taken the event: the ways of each step are those of one word."""
        for position, ways in moved.items():
            totals = self.measures.taken(before, position, taken.event)
            if any(self.moves.complete(way) for way in ways):
                complete.append(Complete(ways[0].binds, totals, taken.event, taken.event.time))
            going = [w for w in ways if self.moves.extensions(w, taken.index) or self.moves.waiting(w)]
            self._put([self.futures.kept(way) for way in going], TrendClass((), totals), None)

    def _put(self, ways: list[Run], known: TrendClass, key: Hashable | None) -> None:
        """A class among the others: where there is one of the same future, the two are one."""
        if not ways:
            return
        if key is None or list(map(id, ways)) != list(map(id, known.ways)):
            distinct = self.futures.distinct(ways)
            known = TrendClass(distinct, known.totals, self._class_deadline(distinct))
            key = self.futures.of(distinct)
        other = self.classes.get(key)
        if other is not None:
            known = replace(known, totals=self.measures.added(other.totals, known.totals))
        self.classes[key] = known

    # Time.

    def next_deadline(self) -> int | None:
        ends = [c.deadline for c in self.classes.values() if c.deadline is not None]
        return min(ends) if ends else None

    def _class_deadline(self, ways: Iterable[Run]) -> int | None:
        ends = [end for way in ways if (end := self._way_deadline(way)) is not None]
        return min(ends) if ends else None

    def _way_deadline(self, way: Run) -> int | None:
        """Where no absence is waited for, the end of the window will do: nothing is taken after it."""
        if not self.waits and self.within is not None:
            return way.start_time + self.within
        return self._deadline(way)

    def _pass(self, deadline: int) -> None:
        """Time has gone past a deadline: absences become certain, windows end."""
        complete: list[Complete] = []
        classes, self.classes = self.classes, {}
        for key, known in classes.items():
            if known.deadline != deadline:
                self._put(list(known.ways), known, key)
                continue
            ways, certain = [], False
            for way in known.ways:
                left, is_certain = self._passed(way, deadline)
                certain |= is_certain
                ways += [] if left is None else [left]
            if certain:
                complete.append(_complete(known, deadline))
            self._put(ways, replace(known, ways=()), None)
        self._give_out(complete, (BY_TIME, deadline, -1))

    def _passed(self, way: Run, deadline: int) -> tuple[Run | None, bool]:
        """What is left of a way, and whether an absence it waited for has become certain."""
        own = self._way_deadline(way)
        if own is None or own > deadline:
            return way, False
        certain = [a for a in self.moves.waiting(way) if self.moves.absence_deadline(way, a) == deadline]
        way = replace(way, blocked=way.blocked | {-1 - a.index for a in certain})
        chance = self.moves.last_chance(way, self.index)
        over = chance is not None and chance <= deadline
        return (None if over or not self.moves.can_go_on(way, self.index) else way), bool(certain)

    # Snapshot.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        classes = [class_row(c.ways, c.totals, events) for c in self.classes.values()]
        return {**super().extra_state(events), "classes": classes}

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        for row in state["classes"]:
            ways, totals = read_class(row, events)
            self.classes[self.futures.of(ways)] = TrendClass(ways, totals, self._class_deadline(ways))


def _complete(known: TrendClass, when: int) -> Complete:
    """All trends of a class, when an absence has become certain."""
    way = known.ways[0]
    return Complete(way.binds, known.totals, way.last.event, when)
