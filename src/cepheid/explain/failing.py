"""Why a run does not take an event: every reason, where the matcher stops at the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.explain.event_words import event_name, span_text
from cepheid.explain.tested import Tested, Where, tested
from cepheid.explain.words import Names
from cepheid.matching.moment import Moment
from cepheid.matching.moves import Moves
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import PlanTests, Seen
from cepheid.pattern.duration import duration_text
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Arrow, Loop
from cepheid.pattern.text import guard_text, node_text
from cepheid.plan.automaton import START, Edge
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class Rules:
    """A plan, ready to be asked; shared by all partitions."""

    plan: Plan
    tests: PlanTests
    names: Names
    id_column: str = "id"

    @classmethod
    def of(cls, plan: Plan, id_column: str = "id") -> Rules:
        return cls(plan, PlanTests(plan), Names(plan), id_column)

    def moves(self, key: tuple[Any, ...]) -> Moves:
        return Moves(self.plan, self.tests, key)

    def called(self, event: Event) -> str:
        return event_name(event, self.id_column)


def failures(rules: Rules, moves: Moves, run: Run, edge: Edge, taken: Taken) -> list[Cause]:
    """Every reason why the event does not take the run along this edge; none: it does."""
    return list(_Failures(rules, moves, run, edge, taken).all())


class _Failures:
    def __init__(self, rules: Rules, moves: Moves, run: Run, edge: Edge, taken: Taken) -> None:
        self.rules, self.moves, self.run, self.edge, self.taken = rules, moves, run, edge, taken
        self.plan, self.automaton = rules.plan, rules.plan.automaton
        self.event = taken.event
        self.position = self.automaton.positions[edge.position]
        self.step = rules.names.positions[edge.position]
        self.mark = run.mark(edge.component)
        self.seen: Seen = rules.tests.look_at(taken.event)

    def all(self) -> Iterator[Cause]:
        wanted = self.position.step.type
        if self.event.type != wanted:
            yield self._cause("type", f"{self._event} is no {wanted}", names=(self.event.type,))
            return
        yield from self._own_tests()
        yield from self._counts()
        yield from self._neighbours()
        yield from self._windows()
        yield from self._other_tests()
        yield from self._whole_tests()
        if not self.moves.fits(self.run, self.edge, self.seen, self.taken):
            return
        if self.moves.left_too_early(self.run, self.edge, self.seen, self.taken):
            yield from self._greedy()

    @property
    def _event(self) -> str:
        return self.rules.called(self.event)

    def _cause(self, kind: str, text: str, **details: Any) -> Cause:
        return Cause(kind, text, self.step, self.event, **details)

    # Conditions.

    def _own_tests(self) -> Iterator[Cause]:
        where = Where(self.position.step.alias, self.position.repeated)
        for expr in self.position.alpha:
            if found := tested(expr, Moment(self.event, {}), where):
                yield self._tested(found, ("test", self.position.index, expr))

    def _other_tests(self) -> Iterator[Cause]:
        step = self.position.step
        where = Where(step.alias, self.position.repeated, self.plan.key_names)
        binds = self.run.binds
        if self.rules.tests.positions[self.position.index].itself is not None and step.alias is not None:
            binds = {**binds, step.alias: (self.event,)}
        previous = self.mark.event if self.mark is not None else None
        for expr in self.position.beta:
            if found := tested(expr, Moment(self.event, binds, previous, self.moves.key), where):
                yield self._tested(found, ("test", self.position.index, expr))

    def _whole_tests(self) -> Iterator[Cause]:
        bound = self.moves.bound(self.run, self.edge, self.taken)
        moment = Moment(None, bound, None, self.moves.key)
        for expr in self.edge.tests:
            if found := tested(expr, moment, Where(keys=self.plan.key_names)):
                yield self._tested(found, ("where", expr))

    def _tested(self, found: Tested, locus: tuple[str, Any] | tuple[str, int, Expr]) -> Cause:
        kind = "condition" if found.value is False else "unknown"
        return self._cause(kind, f"{self._event} is not {self.step}: {found}", tested=found, locus=locus)

    # Closures.

    def _counts(self) -> Iterator[Cause]:
        yield from too_few(self.rules, self.run, self.edge.leaves, self.step, self.event)
        loop = self.edge.loop
        if loop is None:
            return
        spec, name = self.automaton.closures[loop], self.rules.names.closures[loop]
        if spec.max is not None and self.run.counts.get(loop, 0) >= spec.max:
            text = f"{name} has its {spec.max} events, so {self._event} is not taken"
            yield self._cause("full", text, bound=spec.max, actual=spec.max + 1, locus=("closure_max", loop))
        elif loop in self.run.closed:
            why = "its `until` came true" if spec.until is not None else "the run goes on without more of it"
            yield self._cause("closed", f"{name} is closed: {why}", locus=("until", loop))

    def _greedy(self) -> Iterator[Cause]:
        for closure in self.edge.leaves:
            if self.automaton.closures[closure].loop is Loop.GREEDY:
                name = self.rules.names.closures[closure]
                text = f"{self._event} fits {name} too, which is greedy and takes it: it does not become {self.step}"
                yield self._cause("greedy", text, locus=("greedy", closure))

    # Order and time.

    def _neighbours(self) -> Iterator[Cause]:
        mark = self.mark
        if mark is None or self.edge.arrow is not Arrow.NEXT or self.taken.index == mark.index + 1:
            return
        text = f"{self._event} is not the very next event after {self.rules.called(mark.event)}"
        yield self._cause("contiguity", text, locus=("arrow", self.edge.position))

    def _windows(self) -> Iterator[Cause]:
        time, run, edge = self.event.time, self.run, self.edge
        within = self.moves.within
        if within is not None and run.taken and (span := self.moves.span(run, time)) > within:
            yield self._too_long("window", f"within {duration_text(within)}", within, span, ("within",))
        mark = self.mark
        if edge.gap is not None and mark is not None and time - mark.event.time > edge.gap:
            locus = ("gap", edge.position)
            rule = f"within {duration_text(edge.gap)} between neighbours"
            yield self._too_long("step_window", rule, edge.gap, time - mark.event.time, locus)
        begins = {**run.scopes, **{s: self.moves.scope_start(s, mark, time) for s in edge.opens}}
        for scope in edge.inside:
            bound = self.automaton.scopes[scope].bound
            if scope in begins and time - begins[scope] > bound:
                rule = f"{self.step} within {duration_text(bound)}"
                yield self._too_long("step_window", rule, bound, time - begins[scope], ("scope", scope))

    def _too_long(self, kind: str, rule: str, bound: int, actual: int, locus: tuple[Any, ...]) -> Cause:
        since = "its first event" if kind == "window" else "the event it is measured from"
        text = (
            f"{self._event} came {span_text(actual)} after {since}, "
            f"{span_text(actual - bound)} too late for `{rule}`"
        )
        return self._cause(kind, text, rule=rule, bound=bound, actual=actual, locus=locus)


def too_few(
    rules: Rules, run: Run, leaves: tuple[int, ...], step: str | None, event: Event | None
) -> Iterator[Cause]:
    """Closures that may not be left yet."""
    for closure in leaves:
        spec, had = rules.plan.automaton.closures[closure], run.counts.get(closure, 0)
        if had < spec.min:
            name = rules.names.closures[closure]
            rounds = "events" if not name.startswith("(") else "rounds"
            text = f"{name} has {had} of the {spec.min} {rounds} it needs"
            yield Cause(
                "count", text, step or name, event, bound=spec.min, actual=had, locus=("closure_min", closure)
            )


def before_start(
    rules: Rules, moves: Moves, edge: Edge, taken: Taken, earlier: list[Event]
) -> Iterator[Cause]:
    """`NOT X within d -> B`: the X that came before."""
    for absence in edge.absences:
        spec = rules.plan.automaton.absences[absence]
        recent: list[list[Event]] = [[] for _ in rules.plan.automaton.absences]
        for event in earlier:
            if not rules.tests.absences[absence].fits_alone(event):
                continue
            recent[absence] = [event]
            if not moves.begun_by(replace(edge, absences=(absence,)), taken, recent):
                rule = f"NOT {node_text(spec.node.step)}{_within(spec.node.within)}"
                text = f"{rules.called(event)} came before {rules.called(taken.event)}, and `{rule}` rules it out"
                step = rules.names.positions[edge.position]
                yield Cause("absence", text, step, taken.event, event, rule=rule, locus=("absence", absence))
                break


def ruled_out(
    rules: Rules, moves: Moves, run: Run, edge: Edge | None, absences: tuple[int, ...], taken: Taken
) -> Iterator[Cause]:
    """What an event between two others does to a run: guards and absences, with their rule."""
    seen = rules.tests.look_at(taken.event)
    name = rules.called(taken.event)
    step = None if edge is None else rules.names.positions[edge.position]
    for number, (spec, fits) in enumerate(zip(rules.plan.guards, seen.guards, strict=True)):
        inside = fits and run.state != START and moves.guarded(run, spec.guard.start, spec.guard.end)
        if inside and moves.guard_holds(run, spec, taken):
            rule = guard_text(spec.guard)
            yield Cause(
                "guard",
                f"{name} ended the run: `{rule}`",
                step,
                by=taken.event,
                rule=rule,
                locus=("guard", number),
            )
    mark = run.mark(edge.component if edge is not None else ())
    for absence in absences:
        if seen.absences[absence] and moves.absence_broken(run, absence, mark, taken):
            node = rules.plan.automaton.absences[absence].node
            bound = rules.plan.pattern.within if edge is None and node.within is None else node.within
            rule = f"NOT {'next ' if node.next else ''}{node_text(node.step)}{_within(bound)}"
            text = f"{name} came where `{rule}` allows none"
            yield Cause("absence", text, step, by=taken.event, rule=rule, locus=("absence", absence))


def _within(bound: int | None) -> str:
    return "" if bound is None else f" within {duration_text(bound)}"
