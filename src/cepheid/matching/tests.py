"""The tests of a plan, compiled: which positions an event fits alone, and the rest given a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.matching.evaluate import Moment, compile_test
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr
from cepheid.plan.plan import Plan

Test = Callable[[Moment], bool]


@dataclass(frozen=True)
class StepTests:
    type: str
    alpha: Test | None
    beta: Test | None

    def fits_alone(self, event: Event) -> bool:
        return event.type == self.type and (self.alpha is None or self.alpha(Moment(event, {})))


class PlanTests:
    """Everything a matcher asks of events, compiled once."""

    def __init__(self, plan: Plan) -> None:
        automaton, keys = plan.automaton, plan.key_names
        self.positions = [
            _step(p.step.type, p.alpha, p.beta, keys, p.step.alias if p.repeated else None)
            for p in automaton.positions
        ]
        self.absences = [_step(a.node.step.type, a.alpha, a.beta, keys) for a in automaton.absences]
        self.guards = [_step(g.guard.step.type, g.alpha, g.beta, keys) for g in plan.guards]
        self.edges = [compile_test(e.tests, keys=keys) for e in automaton.edges]
        self.accepts = [compile_test(a.tests, keys=keys) for a in automaton.accepts]
        self.untils = [compile_test((c.until,), keys=keys) if c.until else None for c in automaton.closures]

    def look_at(self, event: Event) -> Seen:
        """What an event is on its own, worked out once for all runs."""
        return Seen(
            event,
            tuple(t.fits_alone(event) for t in self.positions),
            tuple(t.fits_alone(event) for t in self.absences),
            tuple(t.fits_alone(event) for t in self.guards),
        )


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


def _step(
    kind: str, alpha: tuple[Expr, ...], beta: tuple[Expr, ...], keys: tuple[str, ...], own: str | None = None
) -> StepTests:
    return StepTests(kind, compile_test(alpha), compile_test(beta, own=own, keys=keys))
