"""Trends for which the state alone says how they go on: one total for each state is enough.

That is so where no test looks at other events, nothing forbids an event between two others, and nothing is counted.
What is left of the automaton is, for each step, from which states an event takes trends to which others.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.model import Arrow, Loop
from cepheid.plan.automaton import START, Automaton
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class Way:
    """An event that fits the position takes trends from one state to another. `target` None: nothing follows."""

    position: int
    source: int
    target: int | None
    completes: bool


@dataclass(frozen=True)
class LinearTrends:
    states: int  # those from which a trend can go on; 0 is the start
    ways: tuple[Way, ...]
    within: int | None


def linear_trends(plan: Plan) -> LinearTrends | None:
    """None: trends in one state differ in how they go on."""
    if plan.trends is None or why_not_linear(plan) is not None:
        return None
    automaton = plan.automaton
    going = [START, *sorted({e.source for e in automaton.edges} - {START})]
    numbers = {state: i for i, state in enumerate(going)}
    accepting = {a.state for a in automaton.accepts}
    found = {
        Way(e.position, numbers[e.source], numbers.get(e.target), e.target in accepting)
        for e in automaton.edges
    }
    ways = sorted(found, key=lambda w: (w.position, w.source, -1 if w.target is None else w.target))
    return LinearTrends(len(going), tuple(ways), plan.pattern.within)


def why_not_linear(plan: Plan) -> str | None:
    """What keeps trends of one state apart."""
    automaton = plan.automaton
    tested = any(p.beta for p in automaton.positions) or any(e.tests for e in automaton.edges)
    if tested or any(a.tests for a in automaton.accepts):
        return "a test looks at other events"
    return why_not_stateless(plan)


def why_not_stateless(plan: Plan) -> str | None:
    """What beside tests keeps trends of one state apart."""
    assert plan.trends is not None
    if plan.trends.groups:
        return "columns of the answer tell trends apart"
    if plan.guards or plan.automaton.absences:
        return "an absence ends trends"
    return _by_its_arrows(plan.automaton)


def _by_its_arrows(automaton: Automaton) -> str | None:
    if any(e.arrow is not Arrow.ANY for e in automaton.edges):
        return "an arrow is not `any`"
    if any(e.gap is not None or e.inside for e in automaton.edges):
        return "a part has a bound of its own"
    for closure in automaton.closures:
        if closure.loop is not Loop.ANY or closure.until is not None:
            return "a closure goes on in another way than `any`"
        if closure.min > 1 or closure.max not in (None, 1):
            return "a closure is counted"
    return None
