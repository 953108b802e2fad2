"""Which patterns leave nothing about a run to chance but what comes next.

Of all others some of what an event does to a run is only known as a rate: it depends on more than the run's place and
the event's own tests.
"""

from __future__ import annotations

from cepheid.pattern.model import Emission, Limits, Selection, SkipTo
from cepheid.plan.automaton import ClosureSpec
from cepheid.plan.plan import Plan

MOST_COUNTED = 16  # rounds of a closure that places tell apart


def rounds(closure: ClosureSpec) -> int:
    """Up to where the number of rounds matters."""
    return closure.min if closure.max is None else closure.max


def why_uncertain(plan: Plan) -> str | None:
    """None: a run's place and the symbols settle what becomes of it."""
    automaton, pattern = plan.automaton, plan.pattern
    beta = [p.beta for p in automaton.positions] + [a.beta for a in automaton.absences]
    beta += [g.beta for g in plan.guards]
    tests = [e.tests for e in automaton.edges] + [a.tests for a in automaton.accepts]
    if any(beta) or any(tests):
        return "its forecasts depend on comparisons of events"
    if automaton.scopes or any(e.gap is not None for e in automaton.edges):
        return "its forecasts depend on the bounds of steps"
    if any(a.node.within is not None for a in automaton.absences) or any(
        c.until is not None for c in automaton.closures
    ):
        return "its forecasts depend on more than the symbols"
    if any(rounds(c) > MOST_COUNTED for c in automaton.closures):
        return f"its closures count further than to {MOST_COUNTED}"
    if pattern.every is not None or pattern.selection is Selection.STNM or pattern.skip.to is not SkipTo.NONE:
        return "its runs depend on each other"
    if plan.emission is Emission.LONGEST or pattern.limits != Limits() or pattern.eager:
        return "its matches depend on each other"
    return None
