"""Records what the reference matcher does: an observer that writes a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.explain.failing import Rules, failures, ruled_out
from cepheid.explain.happenings import (
    Advanced,
    Began,
    Blocked,
    Dropped,
    Evicted,
    Expired,
    Frame,
    Happening,
    Killed,
    Looped,
    Matched,
    Passed,
    Trace,
    TracedRun,
    Waiting,
    Withheld,
)
from cepheid.matching import lifecycle
from cepheid.matching.found import Match, merged
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import Seen
from cepheid.pattern.duration import duration_text
from cepheid.pattern.event import Event
from cepheid.pattern.model import Arrow, Emission
from cepheid.plan.plan import Plan

Identity = tuple[tuple[int, int], ...]  # the places and events of a run


def trace(
    plan: Plan, events: Sequence[Event], now: int | None = None, *, passes: bool = True, id_column: str = "id"
) -> Trace:
    """Run the reference matcher over events in total order and write down what happens.

    `passes`: also why each run passed over each event, which is the dear part.
    """
    recorder = Recorder(Rules.of(plan, id_column), passes=passes)
    matcher = ReferenceMatcher(plan, observer=recorder, tests=recorder.rules.tests)
    found = [matcher.on_batch(events)]
    last = max((e.time for e in events), default=0)
    found.append(matcher.on_end(max(last, now if now is not None else last)))
    return recorder.trace(merged(found).matches)


@dataclass
class _Thread:
    """A run while it is being recorded."""

    number: int
    key: tuple[Any, ...]
    parent: int | None
    run: Run
    held: tuple[tuple[str, Event], ...]
    born: int
    gone: int | None = None
    end: Happening | None = None
    moved: bool = False


@dataclass
class _Step:
    """The frame that is being written."""

    kind: str
    time: int
    key: tuple[Any, ...]
    event: Event | None
    taken: Taken | None
    before: dict[Identity, Run]
    happened: list[Happening] = field(default_factory=list)
    ended: set[Identity] = field(default_factory=set)
    created: list[Identity] = field(default_factory=list)


class Recorder:
    """Runs are told apart by the events they hold: a run's parent is the one that holds all but its last."""

    def __init__(self, rules: Rules, *, passes: bool = True) -> None:
        self.rules = rules
        self.passes = passes
        self.events: dict[int, int] = {}  # id of an event -> its number
        self.kept: list[Event] = []  # so that no id is used twice
        self.threads: list[_Thread] = []
        self.open: dict[Identity, int] = {}
        self.last: dict[Identity, int] = {}  # also of runs that are gone
        self.frames: list[Frame] = []
        self.step: _Step | None = None

    # What the matcher tells.

    def before_event(self, partition: Partition, seen: Seen, taken: Taken) -> None:
        self._number(taken.event)
        self._begin("event", partition, taken.event.time, taken.event, taken)

    def after_event(self, partition: Partition) -> None:
        self._compare(partition)
        self._write()

    def before_time(self, partition: Partition, deadline: int) -> None:
        self._begin("time", partition, deadline, None, None)

    def after_time(self, partition: Partition) -> None:
        self._compare(partition)
        self._write()

    def at_end(self, partition: Partition, time: int) -> None:
        step = self._begin("end", partition, time, None, None) if self.step is None else self.step
        for run in partition.runs:
            for accept in partition.moves.waiting(run):
                deadline = partition.moves.absence_deadline(run, accept)
                step.happened.append(Waiting(self._thread(run, partition).number, deadline))
        self._write()

    def told(
        self,
        partition: Partition,
        kind: type[lifecycle.RunEvent],
        run: Run,
        time: int,
        details: dict[str, Any],
    ) -> None:
        step = self._current(partition, time)
        if kind is lifecycle.Started:
            thread = self._thread(run, partition)
            step.happened.append(Began(thread.number, thread.held[-1][0]))
        elif kind is lifecycle.Advanced:
            self._advanced(partition, step, run, details["forked"])
        elif kind is lifecycle.Completed:
            step.happened.append(Matched(self._thread(run, partition).number, details["match_id"]))
        else:
            self._end(partition, step, run, self._ending(partition, kind, run, details))

    def complete(self, partition: Partition, runs: list[Run], given: list[Run]) -> None:
        """What is complete and not given out goes silently, so it is said here."""
        chosen = {self._identity(r) for r in given}
        for run in runs:
            if self._identity(run) not in chosen:
                step = self._current(partition, run.end_time)
                reason = self._withheld(partition, run, given)
                step.happened.append(Withheld(self._thread(run, partition).number, reason))

    def trace(self, matches: tuple[Match, ...]) -> Trace:
        runs = tuple(
            TracedRun(t.number, t.key, t.parent, t.run.state, t.held, t.born, t.gone, t.end, t.moved, t.run)
            for t in self.threads
        )
        return Trace(self.rules.plan, tuple(self.frames), runs, matches)

    # Frames.

    def _begin(
        self, kind: str, partition: Partition, time: int, event: Event | None, taken: Taken | None
    ) -> _Step:
        before = {self._identity(r): r for r in partition.runs}
        self.step = _Step(kind, time, partition.key, event, taken, before)
        return self.step

    def _current(self, partition: Partition, time: int) -> _Step:
        """Closures that the end of the input closes are complete outside of any event."""
        return self.step or self._begin("end", partition, time, None, None)

    def _write(self) -> None:
        step = self.step
        self.step = None
        if step is not None and (step.happened or step.kind == "event"):
            self.frames.append(
                Frame(len(self.frames), step.kind, step.time, step.key, step.event, tuple(step.happened))
            )

    # Runs.

    def _number(self, event: Event) -> int:
        number = self.events.get(id(event))
        if number is None:
            number = self.events[id(event)] = len(self.kept)
            self.kept.append(event)
        return number

    def _identity(self, run: Run) -> Identity:
        return tuple((t.position, self._number(t.event)) for t in run.taken)

    def _thread(self, run: Run, partition: Partition) -> _Thread:
        identity = self._identity(run)
        known = self.last.get(identity)
        if known is not None:
            return self.threads[known]
        names = self.rules.names.positions
        held = tuple((names[t.position], t.event) for t in run.taken)
        parent = self.last.get(identity[:-1])
        thread = _Thread(len(self.threads), partition.key, parent, run, held, len(self.frames))
        self.threads.append(thread)
        self.last[identity] = thread.number
        self._opened(identity, thread)
        return thread

    def _opened(self, identity: Identity, thread: _Thread) -> None:
        self.open[identity] = thread.number
        thread.gone, thread.end, thread.moved = None, None, False
        if self.step is not None:
            self.step.created.append(identity)

    def _advanced(self, partition: Partition, step: _Step, run: Run, forked: bool) -> None:
        thread = self._thread(run, partition)
        parent = thread.parent if thread.parent is not None else thread.number
        kind = Looped if _looped(self.threads[parent].run, run) else Advanced
        step.happened.append(kind(thread.number, thread.held[-1][0], parent, forked))

    def _end(self, partition: Partition, step: _Step, run: Run, how: Happening) -> None:
        step.happened.append(how)
        step.ended.add(self._identity(run))
        self.threads[how.run].end = how

    def _compare(self, partition: Partition) -> None:
        """What was open before and what is now: runs that went without a word, runs that stayed."""
        step = self.step
        assert step is not None
        after = {self._identity(r): r for r in partition.runs}
        for identity, run in after.items():
            thread = self._thread(run, partition)
            if (
                identity not in self.open
            ):  # put back to where it was, without an event that another match used
                self._opened(identity, thread)
        grown = {identity[:-1] for identity in step.created}
        for identity, run in step.before.items():
            if identity in after:
                if self.passes and step.taken is not None:
                    self._stayed(partition, step, run, after[identity], identity in grown)
                continue
            thread = self.threads[self.open.pop(identity)]
            thread.gone = len(self.frames)
            if identity in step.ended:
                continue
            given = any(isinstance(h, (Matched, Withheld)) and h.run == thread.number for h in step.happened)
            if identity in grown:
                thread.moved = True
            elif not given:
                self._end(partition, step, run, self._silent(partition, step, run, thread.number))
        for identity in step.created:
            if identity in self.open and identity not in after:  # came and went in this frame
                self.threads[self.open.pop(identity)].gone = len(self.frames)

    def _stayed(self, partition: Partition, step: _Step, before: Run, now: Run, grown: bool) -> None:
        number = self._thread(before, partition).number
        taken = step.taken
        assert taken is not None
        if now.blocked - before.blocked:
            step.happened.append(Blocked(number, self._rule(partition, before, taken)[1]))
        elif not grown and (causes := self._causes(partition, before, taken)):
            step.happened.append(Passed(number, tuple(causes)))

    def _causes(self, partition: Partition, run: Run, taken: Taken) -> list[Cause]:
        """The nearest way on that wants such an event: those against which more stands say less."""
        found = [
            failures(self.rules, partition.moves, run, edge, taken)
            for edge in self.rules.plan.automaton.out[run.state]
            if self.rules.plan.automaton.positions[edge.position].step.type == taken.event.type
        ]
        wanting = [causes for causes in found if causes]
        return min(wanting, key=len) if wanting else []

    # How a run ends.

    def _ending(
        self, partition: Partition, kind: type[lifecycle.RunEvent], run: Run, details: dict[str, Any]
    ) -> Happening:
        number = self._thread(run, partition).number
        if kind is lifecycle.Negated:
            assert self.step is not None
            assert self.step.taken is not None
            how, rule = self._rule(partition, run, self.step.taken)
            return Killed(number, how, rule or details["by"])
        if kind is lifecycle.Expired:
            return self._expired(partition, run, number, details["deadline"])
        if kind is lifecycle.Evicted:
            return Evicted(number, details["limit"])
        return Dropped(number, details["reason"])

    def _rule(self, partition: Partition, run: Run, taken: Taken) -> tuple[str, str]:
        """The guard or the absence an event violated."""
        automaton = self.rules.plan.automaton
        ways = [(e, e.absences) for e in automaton.out[run.state]]
        ends = [(None, a.absences) for a in automaton.accepting[run.state]]
        for edge, absences in [*ways, *ends]:
            for cause in ruled_out(self.rules, partition.moves, run, edge, absences, taken):
                return cause.kind, cause.rule or ""
        return "absence", ""

    def _expired(self, partition: Partition, run: Run, number: int, deadline: int) -> Expired:
        chance = partition.moves.last_chance(run, partition.index)
        if chance is not None:  # it may have been over already, but for what an event has closed
            deadline = min(deadline, chance)
        within = self.rules.plan.pattern.within
        if within is not None and run.start_time + within == deadline:
            return Expired(number, f"within {duration_text(within)}", within, deadline)
        bound = _own_bound(partition, run, deadline)
        return Expired(number, f"the step's within {duration_text(bound)}", bound, deadline)

    def _silent(self, partition: Partition, step: _Step, run: Run, number: int) -> Happening:
        """A run that went without a word: its neighbour did not come, or other copies of it go on instead."""
        taken = step.taken
        if taken is not None and _broken(partition, run, taken.index):
            return Killed(number, "contiguity", f"the next event had to fit, and {taken.event.type} did not")
        if taken is not None and _until(partition, run, taken):
            return Killed(number, "closed", f"its `until` came true with {self.rules.called(taken.event)}")
        if any(isinstance(h, Matched) for h in step.happened):
            return Dropped(number, "an event it held was used by another match")
        return Dropped(number, "another copy of the run goes on instead")

    def _withheld(self, partition: Partition, run: Run, given: list[Run]) -> str:
        mine = run.indexes()
        if self.rules.plan.emission is Emission.LONGEST and any(mine < g.indexes() for g in given):
            return "a longer match of the same moment is given instead"
        if any(mine == g.indexes() for g in given):
            return "a match of the same events is given already"
        if given:
            return "an earlier match skipped it"
        return "an event of it is used by another match"


def _looped(before: Run, run: Run) -> bool:
    """Did it begin another round of a closure it was in?"""
    return any(run.counts.get(closure, 0) > count for closure, count in before.counts.items())


def _own_bound(partition: Partition, run: Run, deadline: int) -> int:
    """The bound of a step, a group or a closure's gap that ended at this deadline."""
    automaton = partition.plan.automaton
    for edge in automaton.out[run.state]:
        mark = run.mark(edge.component)
        bounds = [] if edge.gap is None or mark is None else [(mark.event.time, edge.gap)]
        for number in edge.inside:
            scope = automaton.scopes[number]
            if number not in edge.opens:
                bounds.append((run.scopes[number], scope.bound))
            elif scope.from_previous and mark is not None:
                bounds.append((mark.event.time, scope.bound))
        for began, bound in bounds:
            if began + bound == deadline:
                return bound
    return deadline - run.last.event.time


def _until(partition: Partition, run: Run, taken: Taken) -> bool:
    """Did the event close a closure that had not enough events yet?"""
    tests = [partition.tests.untils[c] for c in partition.plan.automaton.closures_of[run.state]]
    moment = Moment(taken.event, run.binds, None, partition.key)
    return any(test is not None and test(moment) for test in tests)


def _broken(partition: Partition, run: Run, index: int) -> bool:
    """Had it a way on that only the next event could take?"""
    before = partition.moves.extensions(run, index - 1)
    return any(e.arrow is Arrow.NEXT for e in before) and not partition.moves.extensions(run, index)
