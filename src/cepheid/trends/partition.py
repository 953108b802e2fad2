"""One partition of an aggregate over trends: classes of partial trends, and what events and time do to them.

The rules of moving are the reference matcher's own (`Moves`); here a run stands for all trends with its future.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.found import Findings, Match
from cepheid.matching.ids import match_id
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run, Taken
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import TrendRows
from cepheid.pattern.values import identity
from cepheid.plan.automaton import START
from cepheid.plan.plan import TrendPlan
from cepheid.trends.classes import Binds, Futures, TrendClass
from cepheid.trends.measures import Measures, Totals
from cepheid.trends.saving import class_row, group_row, read_class, read_group

_LATE = "an event came late, and an aggregate that was given out cannot be taken back"


@dataclass(frozen=True, slots=True)
class Complete:
    """Trends that are complete now, with what the answer sees of them."""

    binds: Binds
    totals: Totals
    event: Event


class TrendPartition(Partition):
    """Keeps classes instead of runs."""

    def __init__(self, *args: Any, trends: TrendPlan, futures: Futures, measures: Measures) -> None:
        super().__init__(*args)
        self.trends, self.futures, self.measures = trends, futures, measures
        self.classes: dict[Hashable, TrendClass] = {}
        self.running: dict[Hashable, Complete] = {}  # of each group
        self.within = self.plan.pattern.within
        names = (*self.plan.key_names, *trends.names)
        self.groups = [compile_value(g, keys=self.plan.key_names) for g in trends.groups]
        self.having = compile_test(trends.having, keys=names)
        self.waits = any(a.absences for a in self.plan.automaton.accepts)

    # The three things that happen.

    def on_event(self, event: Event) -> Findings:
        if event.late:
            raise InputMistake(
                _LATE, code="late_trends", hint="leave out `lateness`; a larger `disorder` waits longer"
            )
        seen = self.tests.look_at(event)
        taken = self._numbered(event, seen)
        self._expire_before(event.time)
        self._rule_out(seen, taken)
        complete = self._decided_by_next(taken) if self.waits else []
        complete += self._taken_by_all(seen, taken)
        self._give_out(complete, event.time, taken.rank, event if seen.relevant else None)
        self._remember(seen)
        self._limit(event.time)
        return self._answer()

    def on_end(self, time: int) -> Findings:
        before = self.on_time(time)
        if self.trends.rows is TrendRows.FINAL:
            for number, (_, running) in enumerate(self._sorted(self.running)):
                self._emit_row(running, running.event.time, (number, running.event.time, -2))
        return before + self._answer()

    @property
    def idle(self) -> bool:
        return not self.classes and not self.running and not any(self.recent)

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
                complete.append(Complete(known.ways[0].binds, known.totals, known.ways[0].last.event))
            self._put(ways, known, key)
        return complete

    def _taken_by_all(self, seen: Seen, taken: Taken) -> list[Complete]:
        """Every class is offered the event; every start begins a trend. The answer is what is complete now."""
        complete: list[Complete] = []
        classes, self.classes = self.classes, {}
        for key, known in classes.items():
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
                complete.append(Complete(ways[0].binds, totals, taken.event))
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
        if not self.waits and self.within is not None:
            return min(way.start_time for way in ways) + self.within
        ends = [end for way in ways if (end := self._deadline(way)) is not None]
        return min(ends) if ends else None

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
                complete.append(Complete(known.ways[0].binds, known.totals, known.ways[0].last.event))
            self._put(ways, replace(known, ways=()), None)
        self._give_out(complete, deadline, -1, None)

    def _passed(self, way: Run, deadline: int) -> tuple[Run | None, bool]:
        """What is left of a way, and whether an absence it waited for has become certain."""
        if self._deadline(way) != deadline:
            return way, False
        certain = [a for a in self.moves.waiting(way) if self.moves.absence_deadline(way, a) == deadline]
        way = replace(way, blocked=way.blocked | {-1 - a.index for a in certain})
        over = self.moves.last_chance(way, self.index) == deadline
        return (None if over or not self.moves.can_go_on(way, self.index) else way), bool(certain)

    # Rows.

    def _give_out(self, complete: list[Complete], when: int, rank: int, event: Event | None) -> None:
        found: dict[Hashable, Complete] = {}
        for item in complete:
            group = self._group(item.binds)
            found[group] = self._joined(found.get(group), item)
        rows = self.trends.rows
        if rows is not TrendRows.MOMENT:
            for group, item in found.items():
                self.running[group] = self._joined(self.running.get(group), item)
        if rows is TrendRows.EACH and event is not None and not found:
            found[()] = self.running.get((), Complete({}, self.measures.empty, event))
            found[()] = replace(found[()], event=event)
        if rows is TrendRows.FINAL:
            return
        for number, (group, item) in enumerate(self._sorted(found)):
            known = item if rows is TrendRows.MOMENT else self.running.get(group, item)
            self._emit_row(replace(item, totals=known.totals), when, (number, when, rank))

    def _joined(self, known: Complete | None, item: Complete) -> Complete:
        """With the newer of the two events: it is the one that made it so."""
        return item if known is None else replace(item, totals=self.measures.added(known.totals, item.totals))

    def _group(self, binds: Binds) -> Hashable:
        moment = Moment(None, binds, None, self.key)
        return tuple(None if (v := g(moment)) is None else identity(v) for g in self.groups)

    def _sorted(self, found: dict[Hashable, Complete]) -> list[tuple[Hashable, Complete]]:
        return sorted(found.items(), key=lambda item: repr(item[0]))

    def _emit_row(self, item: Complete, when: int, place: tuple[int, int, int]) -> None:
        key = (*self.key, *self.measures.values(item.totals))
        row_id = match_id(*self.identity, [place])
        if self.having is not None and not self.having(Moment(None, item.binds, None, key)):
            return
        self.found.matches.append(Match(row_id, key, (item.event,), item.binds, when, when, when))

    # Limits.

    def _limit(self, time: int) -> None:
        most = self.plan.pattern.limits.max_runs
        if len(self.classes) > most:
            raise LimitReached(
                f"`{self.plan.name}` keeps more than max_runs = {most} classes of trends in one partition",
                code="max_runs",
                hint="use a shorter within, partition by, or .limit(max_runs: ...)",
            )

    # Snapshot.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        return {
            **super().extra_state(events),
            "classes": [class_row(c.ways, c.totals, events) for c in self.classes.values()],
            "running": [group_row(c.binds, c.totals, c.event, events) for c in self.running.values()],
        }

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        for row in state["classes"]:
            ways, totals = read_class(row, events)
            self.classes[self.futures.of(ways)] = TrendClass(ways, totals, self._class_deadline(ways))
        for row in state["running"]:
            binds, totals, event = read_group(row, events)
            self.running[self._group(binds)] = Complete(binds, totals, event)
