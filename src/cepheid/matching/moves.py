"""How a run moves: which edges an event fits, the run it becomes, what absences rule out, when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cepheid.matching.moment import Moment
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import PlanTests, Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import Arrow, Loop
from cepheid.plan.automaton import Accept, Edge
from cepheid.plan.plan import Plan


class Moves:
    """The rules of one plan, for one partition key. No state of its own."""

    def __init__(self, plan: Plan, tests: PlanTests, key: tuple[Any, ...]) -> None:
        self.plan = plan
        self.automaton = plan.automaton
        self.tests = tests
        self.key = key
        self.within = plan.pattern.within
        self.components = {e.base: e.component for e in plan.automaton.edges}

    # Taking an event.

    def fitting(self, run: Run, seen: Seen, taken: Taken) -> list[Edge]:
        """Every edge on which the run can take the event, in the order of preference."""
        edges = [e for e in self.automaton.out[run.state] if self.fits(run, e, seen, taken)]
        return [e for e in edges if not self.left_too_early(run, e, seen, taken)]

    def fits(self, run: Run, edge: Edge, seen: Seen, taken: Taken) -> bool:
        if not seen.positions[edge.position] or not self.open(run, edge):
            return False
        mark = run.mark(edge.component)
        if mark is not None and not self._reached(edge, mark, taken):
            return False
        if not self._in_time(run, edge, mark, taken.event.time):
            return False
        return self._tested(run, edge, mark, taken)

    def open(self, run: Run, edge: Edge) -> bool:
        """Is this way still open to the run, whatever event comes?"""
        if edge.base in run.blocked or not self._may_leave(run, edge.leaves):
            return False
        if edge.loop is None:
            return True
        most = self.automaton.closures[edge.loop].max
        return edge.loop not in run.closed and (most is None or run.counts[edge.loop] < most)

    def _may_leave(self, run: Run, closures: Iterable[int]) -> bool:
        return all(run.counts.get(c, 0) >= self.automaton.closures[c].min for c in closures)

    def _reached(self, edge: Edge, mark: Taken, taken: Taken) -> bool:
        """Later than the event before it; for `next`, the very next one."""
        if edge.arrow is Arrow.NEXT and taken.index != mark.index + 1:
            return False
        return not taken.event.late or _after(taken.event, mark.event)

    def _in_time(self, run: Run, edge: Edge, mark: Taken | None, time: int) -> bool:
        if self.within is not None and run.taken and self.span(run, time) > self.within:
            return False
        if edge.gap is not None and mark is not None and time - mark.event.time > edge.gap:
            return False
        begins = {**run.scopes, **{s: self.scope_start(s, mark, time) for s in edge.opens}}
        return all(time - begins[s] <= self.automaton.scopes[s].bound for s in edge.inside)

    def span(self, run: Run, time: int) -> int:
        return max(time, run.end_time) - min(time, run.start_time)

    def scope_start(self, scope: int, mark: Taken | None, time: int) -> int:
        from_previous = self.automaton.scopes[scope].from_previous
        return mark.event.time if from_previous and mark is not None else time

    def _tested(self, run: Run, edge: Edge, mark: Taken | None, taken: Taken) -> bool:
        previous = mark.event if mark is not None else None
        moment = Moment(taken.event, run.binds, previous, self.key)
        if not self.tests.positions[edge.position].holds(moment):
            return False
        whole = self.tests.edges[edge.index]
        return whole is None or whole(Moment(None, self.bound(run, edge, taken), None, self.key))

    def left_too_early(self, run: Run, edge: Edge, seen: Seen, taken: Taken) -> bool:
        """A greedy closure may not be left on an event it could take."""
        if edge.loop is not None:
            return False
        for closure in edge.leaves:
            ended = -1 - closure in run.closed
            if self.automaton.closures[closure].loop is Loop.GREEDY and not ended:
                reopened = replace(run, closed=run.closed - {closure})
                loops = (e for e in self.automaton.out[run.state] if e.loop == closure)
                if any(self.fits(reopened, loop, seen, taken) for loop in loops):
                    return True
        return False

    def extended(self, run: Run, edge: Edge, taken: Taken) -> Run:
        """The run after it took the event on this edge."""
        return replace(
            run,
            state=edge.target,
            taken=(*run.taken, taken),
            binds=self.bound(run, edge, taken),
            counts=self._counted(run, edge),
            closed=run.closed.difference(edge.enters, (-1 - c for c in edge.enters)),
            blocked=frozenset(b for b in run.blocked if not self._same_part(b, edge)),
            marks=_marked(run, edge, taken),
            scopes=self._scoped(run, edge, taken),
            path=run.path
            if edge.enters or self._in_a_round(edge)
            else (*run.path, (edge.index, taken.index)),
            late=run.late or taken.event.late,
        )

    def bound(self, run: Run, edge: Edge, taken: Taken) -> dict[str, tuple[Event, ...]]:
        alias = self.automaton.positions[edge.position].step.alias
        if alias is None:
            return run.binds
        return {**run.binds, alias: (*run.binds.get(alias, ()), taken.event)}

    def _counted(self, run: Run, edge: Edge) -> dict[int, int]:
        if edge.loop is None and not edge.enters:
            return run.counts
        counts = {**run.counts, **dict.fromkeys(edge.enters, 1)}
        if edge.loop is not None:
            counts[edge.loop] = run.counts[edge.loop] + 1
        return counts

    def _same_part(self, base: int, edge: Edge) -> bool:
        """An absence is over when its own part of the pattern moves on."""
        part = edge.component if edge.clears is None else edge.clears
        return self.components.get(base, ())[: len(part)] == part

    def _in_a_round(self, edge: Edge) -> bool:
        """Does the edge stay inside a closure? Then it is not a move of the run as a whole."""
        inside = self.automaton.closures_of
        return edge.loop is not None or bool(inside[edge.source] & inside[edge.target] - {*edge.leaves})

    def moves_on(self, edge: Edge) -> bool:
        """Does the run as a whole move on with it, so that no copy stays behind?"""
        return edge.arrow is Arrow.FIRST and not self._in_a_round(edge)

    def _scoped(self, run: Run, edge: Edge, taken: Taken) -> dict[int, int]:
        if not edge.opens:
            return run.scopes
        mark = run.mark(edge.component)
        return {**run.scopes, **{s: self.scope_start(s, mark, taken.event.time) for s in edge.opens}}

    # Absence: checked before advancement.

    def violated(self, run: Run, seen: Seen, taken: Taken) -> tuple[Run | None, str]:
        """The run with the ways an event rules out removed; None (and by what) if none is left."""
        for spec, fits in zip(self.plan.guards, seen.guards, strict=True):
            if (
                fits
                and self.guarded(run, spec.guard.start, spec.guard.end)
                and self.guard_holds(run, spec, taken)
            ):
                return None, f"unless {spec.guard.step.type}"
        if not any(seen.absences):
            return run, ""
        stopped = {
            e.base for e in self.automaton.out[run.state] if self._stops(run, e.absences, e, seen, taken)
        }
        stopped |= {
            -1 - a.index
            for a in self.automaton.accepting[run.state]
            if self._stops(run, a.absences, None, seen, taken)
        }
        if not stopped - run.blocked:
            return run, ""
        left = replace(run, blocked=run.blocked | stopped)
        return (left if self.can_go_on(left, taken.index - 1) else None), f"NOT {taken.event.type}"

    def guarded(self, run: Run, start: str | None, end: str | None) -> bool:
        return (start is None or bool(run.binds.get(start))) and (end is None or not run.binds.get(end))

    def guard_holds(self, run: Run, spec: Any, taken: Taken) -> bool:
        opened = run.first.event if spec.guard.start is None else run.binds[spec.guard.start][0]
        if taken.event.late and not _after(taken.event, opened):
            return False
        tests = self.tests.guards[self.plan.guards.index(spec)]
        return tests.holds(Moment(taken.event, run.binds, None, self.key))

    def _stops(
        self, run: Run, absences: tuple[int, ...], edge: Edge | None, seen: Seen, taken: Taken
    ) -> bool:
        mark = run.mark(edge.component if edge is not None else ())
        return any(seen.absences[a] and self.absence_broken(run, a, mark, taken) for a in absences)

    def absence_broken(self, run: Run, absence: int, mark: Taken | None, taken: Taken) -> bool:
        node = self.automaton.absences[absence].node
        if mark is not None:
            if taken.event.late and not _after(taken.event, mark.event):
                return False
            if node.next and taken.index != mark.index + 1:
                return False
            if node.within is not None and taken.event.time - mark.event.time > node.within:
                return False
        return self.tests.absences[absence].holds(Moment(taken.event, run.binds, None, self.key))

    def begun_by(self, edge: Edge, taken: Taken, recent: list[list[Event]]) -> bool:
        """`NOT X within d -> B`: may a run start here, given the X events before?"""
        binds = {}
        alias = self.automaton.positions[edge.position].step.alias
        if alias is not None:
            binds[alias] = (taken.event,)
        for absence in edge.absences:
            bound = self.automaton.absences[absence].node.within or 0
            tests = self.tests.absences[absence]
            for event in recent[absence]:
                near = taken.event.time - bound <= event.time and _after(taken.event, event)
                if near and tests.holds(Moment(event, binds, None, self.key)):
                    return False
        return True

    # Being complete, and being able to go on.

    def complete(self, run: Run) -> bool:
        """Is the pattern complete here and now (no absence still to wait for)?"""
        return any(not a.absences and self.accepted(run, a) for a in self.automaton.accepting[run.state])

    def accepted(self, run: Run, accept: Accept) -> bool:
        if -1 - accept.index in run.blocked or not self._may_leave(run, accept.leaves):
            return False
        test = self.tests.accepts[accept.index]
        return test is None or test(Moment(None, run.binds, None, self.key))

    def waiting(self, run: Run) -> list[Accept]:
        """Trailing absences that hold so far."""
        return [a for a in self.automaton.accepting[run.state] if a.absences and self.accepted(run, a)]

    def extensions(self, run: Run, index: int) -> list[Edge]:
        """Edges the run may still take after the event with this index."""
        return [
            e for e in self.automaton.out[run.state] if self.open(run, e) and self._can_be_next(run, e, index)
        ]

    def _can_be_next(self, run: Run, edge: Edge, index: int) -> bool:
        mark = run.mark(edge.component)
        return edge.arrow is not Arrow.NEXT or mark is None or mark.index >= index

    def can_go_on(self, run: Run, index: int) -> bool:
        return bool(self.extensions(run, index)) or bool(self.waiting(run))

    # Time.

    def absence_deadline(self, run: Run, accept: Accept) -> int | None:
        """When a trailing absence becomes certain; None if only the next event can tell."""
        mark = run.mark(())
        assert mark is not None
        ends = []
        for absence in accept.absences:
            own = self.automaton.absences[absence].node.within
            if own is not None:
                ends.append(mark.event.time + own)
            elif self.within is not None:
                ends.append(run.start_time + self.within)
            else:
                return None
        return max(ends)

    def last_chance(self, run: Run, index: int) -> int | None:
        """The last time at which the run could still take an event; None if there is no such bound."""
        ends: list[int] = []
        for edge in self.extensions(run, index):
            end = self._edge_end(run, edge)
            if end is None:
                ends = []
                break
            ends.append(end)
        window = None if self.within is None else run.start_time + self.within
        bound = max(ends) if ends else None
        return window if bound is None else bound if window is None else min(window, bound)

    def _edge_end(self, run: Run, edge: Edge) -> int | None:
        mark = run.mark(edge.component)
        ends = []
        if edge.gap is not None and mark is not None:
            ends.append(mark.event.time + edge.gap)
        for s in edge.inside:
            bound = self.automaton.scopes[s].bound
            if s not in edge.opens:
                ends.append(run.scopes[s] + bound)
            elif self.automaton.scopes[s].from_previous and mark is not None:
                ends.append(mark.event.time + bound)
        return min(ends) if ends else None


def _after(event: Event, other: Event) -> bool:
    return event.place_in_order() > other.place_in_order()


def _marked(run: Run, edge: Edge, taken: Taken) -> dict[Any, Taken]:
    """The event is the last one of its part and of every part around it; parts inside it begin anew."""
    part = edge.component
    over = part if edge.clears is None else edge.clears
    kept = {c: t for c, t in run.marks.items() if c[: len(over)] != over}
    return {**kept, **{part[:i]: taken for i in range(len(part) + 1)}}
