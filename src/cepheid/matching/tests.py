"""The tests of a plan, compiled: which positions an event fits alone, and the rest given a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.matching.evaluate import compile_test
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr, aliases_in
from cepheid.pattern.model import Step
from cepheid.plan.event_tests import Answered, tests_of
from cepheid.plan.plan import Plan

Test = Callable[[Moment], bool]


@dataclass(frozen=True)
class StepTests:
    type: str
    alpha: Test | None
    beta: Test | None
    itself: str | None = None  # the name under which a test sees the event at hand

    def holds(self, moment: Moment) -> bool:
        """The tests that look at other events of the run."""
        if self.beta is None:
            return True
        if self.itself is not None and moment.event is not None:
            moment.binds = {**moment.binds, self.itself: (moment.event,)}
        return self.beta(moment)

    def fits_alone(self, event: Event) -> bool:
        return event.type == self.type and (self.alpha is None or self.alpha(Moment(event, {})))


class PlanTests:
    """Everything a matcher asks of events, compiled once."""

    def __init__(self, plan: Plan, answered: Answered | None = None) -> None:
        automaton, keys = plan.automaton, plan.key_names
        self.positions = [
            _step(p.step, p.alpha, p.beta, keys, repeated=p.repeated) for p in automaton.positions
        ]
        self.absences = [_step(a.node.step, a.alpha, a.beta, keys) for a in automaton.absences]
        self.guards = [_step(g.guard.step, g.alpha, g.beta, keys) for g in plan.guards]
        self.edges = [compile_test(e.tests, keys=keys) for e in automaton.edges]
        self.accepts = [compile_test(a.tests, keys=keys) for a in automaton.accepts]
        self.untils = [compile_test((c.until,), keys=keys) if c.until else None for c in automaton.closures]
        self.bits = None if answered is None else _bits(plan, answered)
        self._last: Seen | None = None

    def look_at(self, event: Event) -> Seen:
        """What an event is on its own, worked out once for all runs and for all who ask."""
        seen = self._last
        if seen is None or seen.event is not event:
            seen = self._last = self._looked_at(event)
        return seen

    def _looked_at(self, event: Event) -> Seen:
        if event.passed is not None and self.bits is not None:
            return self._answered(event, event.passed, self.bits)
        return Seen(
            event,
            tuple(t.fits_alone(event) for t in self.positions),
            tuple(t.fits_alone(event) for t in self.absences),
            tuple(t.fits_alone(event) for t in self.guards),
        )

    def _answered(self, event: Event, passed: int, bits: list[tuple[int, Test | None]]) -> Seen:
        fits = [bool(passed & bit) and (left is None or left(Moment(event, {}))) for bit, left in bits]
        absences, guards = len(self.positions), len(self.positions) + len(self.absences)
        return Seen(event, tuple(fits[:absences]), tuple(fits[absences:guards]), tuple(fits[guards:]))


@dataclass(frozen=True, slots=True)
class Seen:
    """An event and which tests it passes alone."""

    event: Event
    positions: tuple[bool, ...]
    absences: tuple[bool, ...]
    guards: tuple[bool, ...]

    @property
    def relevant(self) -> bool:
        return any(self.positions) or any(self.absences) or any(self.guards)


def _bits(plan: Plan, answered: Answered) -> list[tuple[int, Test | None]]:
    """For each test of the plan: its bit, and what is left to test where the bit is set."""
    numbers = {test: i for i, test in enumerate(answered.tests)}
    return [(1 << numbers[t], compile_test(answered.left[numbers[t]])) for t in tests_of(plan)]


def _step(
    step: Step,
    alpha: tuple[Expr, ...],
    beta: tuple[Expr, ...],
    keys: tuple[str, ...],
    repeated: bool = False,
) -> StepTests:
    """In a closure its own name is what was captured before; elsewhere it is the event itself."""
    own = step.alias if repeated else None
    named = any(step.alias in aliases_in(test) for test in beta)
    itself = step.alias if named and not repeated else None
    return StepTests(step.type, compile_test(alpha), compile_test(beta, own=own, keys=keys), itself)
