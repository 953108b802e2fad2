"""One partition of an aggregate over trends: what is complete, by group, and the rows that are given of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.found import Findings, Match
from cepheid.matching.ids import match_id
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.run import Taken
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import TrendRows
from cepheid.pattern.values import identity
from cepheid.plan.plan import TrendPlan
from cepheid.trends.classes import Binds
from cepheid.trends.measures import Measures, Totals
from cepheid.trends.saving import group_row, read_group

_LATE = "an event came late, and an aggregate that was given out cannot be taken back"
BY_EVENT, BY_TIME, AT_END = 0, -1, -2  # what a row is of, in its id


@dataclass(frozen=True, slots=True)
class Complete:
    """Trends that are complete, with what the answer sees of them, and the event and the time that made it so."""

    binds: Binds
    totals: Totals
    event: Event
    when: int


class TrendPartition(Partition):
    """Aggregates where other partitions list. How partial trends are kept is up to its kinds."""

    def __init__(self, *args: Any, trends: TrendPlan, measures: Measures) -> None:
        super().__init__(*args)
        self.trends, self.measures = trends, measures
        self.running: dict[Hashable, Complete] = {}  # of each group
        self.within = self.plan.pattern.within
        self.groups = [compile_value(g, keys=self.plan.key_names) for g in trends.groups]
        self.having = compile_test(trends.having, keys=(*self.plan.key_names, *trends.names))

    @abstractmethod
    def take(self, seen: Seen, taken: Taken) -> list[Complete]:
        """The trends that an event completes."""

    @property
    @abstractmethod
    def nothing_open(self) -> bool: ...

    @property
    @abstractmethod
    def size(self) -> int:
        """How much is open, for `max_runs`."""

    # The three things that happen. What time alone does is up to the kinds, too.

    def on_event(self, event: Event) -> Findings:
        if event.late:
            raise InputMistake(
                _LATE, code="late_trends", hint="leave out `lateness`; a larger `disorder` waits longer"
            )
        seen = self.tests.look_at(event)
        taken = self._numbered(event, seen)
        self._give_out(self.take(seen, taken), (BY_EVENT, event.time, taken.rank))
        if self.trends.rows is TrendRows.EACH and seen.relevant:
            self._give_each(event, taken.rank)
        self._remember(seen)
        self._limit(event.time)
        return self._answer()

    def on_end(self, time: int) -> Findings:
        before = self.on_time(time)
        if self.trends.rows is TrendRows.FINAL:
            for number, running in enumerate(_sorted(self.running)):
                self._emit_row(running, (number, running.when, AT_END))
        return before + self._answer()

    @property
    def idle(self) -> bool:
        return self.nothing_open and not self.running and not any(self.recent)

    # Rows.

    def _give_out(self, complete: list[Complete], place: tuple[int, int, int]) -> None:
        if not complete:
            return
        found: dict[Hashable, Complete] = {}
        for item in complete:
            group = self._group(item.binds)
            found[group] = self._joined(found.get(group), item)
        rows = self.trends.rows
        if rows is not TrendRows.MOMENT:
            found = {group: self._joined(self.running.get(group), item) for group, item in found.items()}
            self.running |= found
        if rows in (TrendRows.CHANGE, TrendRows.MOMENT):
            for number, item in enumerate(_sorted(found)):
                self._emit_row(item, (place[0] - 3 * number, *place[1:]))

    def _give_each(self, event: Event, rank: int) -> None:
        running = self.running.get((), Complete({}, self.measures.empty, event, event.time))
        self._emit_row(replace(running, event=event, when=event.time), (BY_EVENT, event.time, rank))

    def _joined(self, known: Complete | None, item: Complete) -> Complete:
        """With the newer of the two events: it is the one that made it so."""
        return item if known is None else replace(item, totals=self.measures.added(known.totals, item.totals))

    def _group(self, binds: Binds) -> Hashable:
        moment = Moment(None, binds, None, self.key)
        return tuple(None if (v := g(moment)) is None else identity(v) for g in self.groups)

    def _emit_row(self, item: Complete, place: tuple[int, int, int]) -> None:
        key = (*self.key, *self.measures.values(item.totals))
        if self.having is None or self.having(Moment(None, item.binds, None, key)):
            row_id = match_id(*self.identity, [place])
            when = item.when
            self.found.matches.append(Match(row_id, key, (item.event,), item.binds, when, when, when))

    def _limit(self, time: int) -> None:
        most = self.plan.pattern.limits.max_runs
        if self.size > most:
            raise LimitReached(
                f"`{self.plan.name}` keeps more than max_runs = {most} classes of trends in one partition",
                code="max_runs",
                hint="use a shorter within, partition by, or .limit(max_runs: ...)",
            )

    # Snapshot.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        running = [group_row(c.binds, c.totals, c.event, c.when, events) for c in self.running.values()]
        return {**super().extra_state(events), "running": running}

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        for row in state["running"]:
            binds, totals, event, when = read_group(row, events)
            self.running[self._group(binds)] = Complete(binds, totals, event, when)


def _sorted(found: dict[Hashable, Complete]) -> list[Complete]:
    """In an order that no restart and no engine changes."""
    return [found[group] for group in sorted(found, key=repr)]
