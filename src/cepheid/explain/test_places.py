"""Where the tests of a plan run: for many events at once, in the kernel, or in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.explain.tables import Line, aligned
from cepheid.explain.words import Names, test_text
from cepheid.pattern.expr import Expr
from cepheid.plan.plan import Plan

ARROW = "Arrow, many events at once"
KERNEL = "the kernel"
PYTHON = "Python, event by event"


@dataclass(frozen=True)
class PlacedTest:
    step: str  # or the absence, the guard, the whole pattern
    test: str
    where: str


@dataclass(frozen=True)
class TestsPlaced:
    """`matcher`: which one takes the stream; `notes`: what else is worth saying."""

    matcher: str
    tests: tuple[PlacedTest, ...] = ()
    notes: tuple[str, ...] = ()

    __test__ = False  # pytest takes classes of this name for its own

    def lines(self) -> list[Line]:
        rows = [(t.step, t.test, t.where) for t in self.tests]
        return [self.matcher, *aligned(rows), *self.notes]


def tests_of_events(plan: Plan) -> Iterator[tuple[str, str, Expr]]:
    """The tests of an event alone: of which step, of which type, and the test."""
    names = Names(plan)
    for position, name in zip(plan.automaton.positions, names.positions, strict=True):
        yield from ((name, position.step.type, test) for test in position.alpha)
    for absence in plan.automaton.absences:
        kind = absence.node.step.type
        yield from ((f"NOT {kind}", kind, test) for test in absence.alpha)
    for guard in plan.guards:
        kind = guard.guard.step.type
        yield from ((f"unless {kind}", kind, test) for test in guard.alpha)


def tests_of_runs(plan: Plan) -> Iterator[tuple[str, Expr]]:
    """The tests that look at other events of a run: of which step, and the test."""
    names = Names(plan)
    for position, name in zip(plan.automaton.positions, names.positions, strict=True):
        yield from ((name, test) for test in position.beta)
    for absence in plan.automaton.absences:
        yield from ((f"NOT {absence.node.step.type}", test) for test in absence.beta)
    for guard in plan.guards:
        yield from ((f"unless {guard.guard.step.type}", test) for test in guard.beta)
    for spec in plan.automaton.closures:
        if spec.until is not None:
            yield f"until of {names.closures[spec.index]}", spec.until
    settled = [t for e in names.edges() for t in e.tests] + [t for a in names.accepts() for t in a.tests]
    yield from (("the whole pattern", test) for test in dict.fromkeys(settled))


def placed(step: str, test: Expr, where: str) -> PlacedTest:
    return PlacedTest(step, test_text(test), where)
