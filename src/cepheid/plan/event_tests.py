"""The per-event tests of several plans, each of them once: what an engine can work out before the matcher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.pattern.expr import Expr
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class EventTest:
    """An event of this type that satisfies all conditions on its own."""

    type: str
    alpha: tuple[Expr, ...]


def tests_of(plan: Plan) -> Iterator[EventTest]:
    """One for every position, then every absence, then every guard."""
    automaton = plan.automaton
    yield from (EventTest(p.step.type, p.alpha) for p in automaton.positions)
    yield from (EventTest(a.node.step.type, a.alpha) for a in automaton.absences)
    yield from (EventTest(g.guard.step.type, g.alpha) for g in plan.guards)


def distinct_tests(plans: Iterable[Plan]) -> tuple[EventTest, ...]:
    """The number of a test in the answer is the number of its bit."""
    return tuple(dict.fromkeys(test for plan in plans for test in tests_of(plan)))


@dataclass(frozen=True)
class Answered:
    """Tests that an engine has answered before the matcher sees the event, as bits of `Event.passed`.

    `left` are the conditions of each test that it could not answer: the matcher tests them where the bit is set.
    """

    tests: tuple[EventTest, ...]
    left: tuple[tuple[Expr, ...], ...]
