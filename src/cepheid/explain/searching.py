"""Does a changed pattern match, and with which events? The reference matcher says so, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.errors import CepheidError
from cepheid.explain.examining import Placed
from cepheid.matching import lifecycle
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import Pattern
from cepheid.plan.plan import Plan
from cepheid.plan.planner import plan_pattern

BUDGET = 200_000  # how often a run may be offered an event
MOST_OPEN = 2_000  # runs of a partition at a time: so many mean that they multiply
ENOUGH = 200  # matches to choose from


@dataclass(frozen=True)
class Goal:
    """The match that is looked for: one with all these events (`exactly`: and no others), or any."""

    events: frozenset[int] = frozenset()  # by id
    exactly: bool = False

    @classmethod
    def of(cls, events: Sequence[Event], exactly: bool = False) -> Goal:
        return cls(frozenset(id(e) for e in events), exactly and bool(events))

    def reached(self, events: Sequence[Event]) -> bool:
        held = {id(e) for e in events}
        return self.events == held if self.exactly else self.events <= held


@dataclass(frozen=True)
class Found:
    """Matches that reach the goal. `undecided`: the budget ended first, or the pattern cannot be run."""

    runs: tuple[tuple[Placed, ...], ...] = ()
    undecided: bool = False
    spent: int = 0


class OverBudget(Exception):
    """So many runs that an answer would take too long."""


@dataclass
class _Watch:
    """An observer that keeps matches and counts what they cost."""

    goal: Goal
    budget: int
    runs: list[Run] = field(default_factory=list)
    spent: int = 0

    def before_event(self, partition: Partition, seen: Seen, taken: Taken) -> None:
        self.spent += len(partition.runs) + 1
        if self.spent > self.budget or len(partition.runs) > MOST_OPEN:
            raise OverBudget

    def after_event(self, partition: Partition) -> None:
        pass

    def before_time(self, partition: Partition, deadline: int) -> None:
        pass

    def after_time(self, partition: Partition) -> None:
        pass

    def at_end(self, partition: Partition, time: int) -> None:
        pass

    def complete(self, partition: Partition, runs: list[Run], given: list[Run]) -> None:
        pass

    def told(
        self,
        partition: Partition,
        kind: type[lifecycle.RunEvent],
        run: Run,
        time: int,
        details: dict[str, Any],
    ) -> None:
        if kind is lifecycle.Completed and self.goal.reached(run.events()):
            self.runs.append(run)


def planned(pattern: Pattern) -> Plan | None:
    """A changed pattern that can be run; None: it has no meaning."""
    try:
        return plan_pattern(pattern)
    except CepheidError:
        return None


def find(plan: Plan, events: Sequence[Event], goal: Goal, now: int | None, budget: int) -> Found:
    """The matches of a plan that reach the goal."""
    watch = _Watch(goal, min(budget, BUDGET))
    matcher = ReferenceMatcher(plan, observer=watch)
    last = max((e.time for e in events), default=0)
    wanted = None if plan.sees_all_events else set(plan.event_types)
    try:
        for event in events:
            if wanted is not None and event.type not in wanted:
                continue
            matcher.on_batch([event])
            if len(watch.runs) >= ENOUGH:
                break
        matcher.on_end(max(last, now if now is not None else last))
    except (CepheidError, OverBudget):
        return Found(tuple(_placed(r) for r in watch.runs), not watch.runs, watch.spent)
    return Found(tuple(_placed(r) for r in watch.runs), False, watch.spent)


def _placed(run: Run) -> tuple[Placed, ...]:
    return tuple(Placed(t.position, t.event) for t in run.taken)
