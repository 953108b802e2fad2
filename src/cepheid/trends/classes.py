"""Classes of partial trends: those that nothing later can tell apart are kept as one, with their totals.

A trend is a word: which event was taken at which step. Where nested closures take a word in several ways, a class holds
all of them (its ways), so that a word is counted once, however many ways lead to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from cepheid.matching.run import Run
from cepheid.pattern.event import Event
from cepheid.pattern.model import Arrow
from cepheid.plan.automaton import Automaton, ClosureSpec
from cepheid.plan.plan import Plan
from cepheid.plan.trend_uses import FIRST, LENGTH, Uses, marks_matter, repeated_names, uses_from
from cepheid.trends.measures import Totals

Binds = dict[str, tuple[Event, ...]]


@dataclass(frozen=True, slots=True)
class TrendClass:
    """Partial trends with one future. Each way is a run that stands for all of them."""

    ways: tuple[Run, ...]
    totals: Totals
    deadline: int | None = None  # when time has passed this, something becomes of a way


class Futures:
    """What tells classes apart, by the state a run is in; and what of a run has to be kept for it."""

    def __init__(self, plan: Plan) -> None:
        automaton, states = plan.automaton, range(plan.automaton.states)
        assert plan.trends is not None
        repeated = repeated_names(automaton)
        self.timed = plan.pattern.within is not None
        self.uses: list[Uses] = [uses_from(plan, s, plan.trends.groups, repeated) for s in states]
        self.marks = [marks_matter(plan, s) for s in states]
        self.counted = [
            [c for c in automaton.closures if c.index in automaton.closures_of[s] and _is_counted(c)]
            for s in states
        ]
        self.closing = [automaton.closures_of[s] for s in states]
        self.taking = [frozenset(e.position for e in automaton.out[s]) for s in states]
        self.looks_next = [_looks_next(automaton, s) for s in states]

    def waits_on(self, ways: Sequence[Run], positions: frozenset[int]) -> bool:
        """Does an event that fits only these positions leave the class as it is?"""
        return all(
            not self.looks_next[way.state] and positions.isdisjoint(self.taking[way.state]) for way in ways
        )

    def kept(self, run: Run) -> Run:
        """The run without what nothing looks at any more."""
        uses = self.uses[run.state]
        binds = {name: _needed(events, uses[name]) for name, events in run.binds.items() if name in uses}
        taken = (run.first, run.last) if self.timed and len(run.taken) > 1 else run.taken[-1:]
        return replace(run, start=0, taken=taken, binds=binds, path=())

    def of(self, ways: Sequence[Run]) -> Hashable:
        if len(ways) == 1:
            return self._one(ways[0])
        return frozenset(self._one(way) for way in ways)

    def distinct(self, ways: Sequence[Run]) -> tuple[Run, ...]:
        """Ways of one word that have the same future are one way."""
        if len(ways) == 1:
            return tuple(ways)
        return tuple({self._one(way): way for way in ways}.values())

    def _one(self, run: Run) -> Hashable:
        state = run.state
        return (
            state,
            run.start_time if self.timed else 0,
            tuple(min(run.counts.get(c.index, 0), c.max or c.min) for c in self.counted[state]),
            run.closed & self.closing[state],
            run.blocked,
            tuple(sorted(run.scopes.items())),
            tuple((c, t.index) for c, t in sorted(run.marks.items())) if self.marks[state] else (),
            tuple((name, tuple(map(id, run.binds[name]))) for name in sorted(run.binds)),
        )


def _looks_next(automaton: Automaton, state: int) -> bool:
    """Is whatever event comes the one that a way on needs to be its own?"""
    absences = [a for e in automaton.out[state] for a in e.absences]
    absences += [a for accept in automaton.accepting[state] for a in accept.absences]
    return any(e.arrow is Arrow.NEXT for e in automaton.out[state]) or any(
        automaton.absences[a].node.next for a in absences
    )


def _is_counted(closure: ClosureSpec) -> bool:
    return closure.min > 1 or closure.max is not None


def _needed(events: tuple[Event, ...], sides: frozenset[str]) -> tuple[Event, ...]:
    if len(events) < 2:
        return events
    if LENGTH in sides:  # the length alone: events that nobody looks at are all the same one
        first = events[0] if FIRST in sides else events[-1]
        return (first, *(events[-1:] * (len(events) - 1)))
    return (events[0], events[-1]) if FIRST in sides else events[-1:]
