"""One partition of the reference matcher: its open runs, and what an event or the passing of time does to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.matching import lifecycle
from cepheid.matching.emission import distinct, in_order, maximal
from cepheid.matching.found import Findings, Match, Pending, Timeout
from cepheid.matching.ids import key_text, match_id, text_word
from cepheid.matching.keys import lookup_key
from cepheid.matching.limits import too_many_matches, too_many_runs
from cepheid.matching.moment import Moment
from cepheid.matching.moves import Moves
from cepheid.matching.observer import Observer
from cepheid.matching.run import Run, Taken
from cepheid.matching.skip import resume_after
from cepheid.matching.snapshot import EventTable
from cepheid.matching.tests import PlanTests, Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import Arrow, Emission, Loop, OnLimit
from cepheid.plan.automaton import START, Edge
from cepheid.plan.plan import Plan


@dataclass
class Collected:
    """What one call found, before it is handed out."""

    matches: list[Match] = field(default_factory=list)
    timeouts: list[Timeout] = field(default_factory=list)

    def findings(self) -> Findings:
        return Findings(tuple(self.matches), tuple(self.timeouts))


class Partition:
    """The general case: every start opens a run. `every` and `stnm` have subclasses."""

    one_way = False  # are the copies of a run that differ in what they keep of closures one run?

    def __init__(
        self, plan: Plan, tests: PlanTests, key: tuple[Any, ...], listener: lifecycle.Listener | None
    ) -> None:
        self.plan = plan
        self.key = key
        self.moves = Moves(plan, tests, key)
        self.tests = tests
        self.listener = listener
        self.observer: Observer | None = None
        self.identity = (text_word(plan.identity), text_word(key_text(lookup_key(key, plan.inferred_key))))
        self.runs: list[Run] = []
        self.index = 0  # of the last event seen
        self.time: int | None = None  # of the last event that was not late
        self.rank = -1
        self.late_seen: dict[int, int] = {}  # how many late events of a time there were
        self.recent: list[list[Event]] = [
            [] for _ in plan.automaton.absences
        ]  # for absences before the start
        self.matched: set[int] = set()  # starts that had a match
        self.furthest: dict[int, Run] = {}  # expired copies of starts that still have open ones
        self.evicted = 0
        self.scheduled: int | None = None  # when the matcher looks at it again
        self.found = Collected()
        self.emitted: list[Run] | None = None  # runs that gave a match, for a matcher that asks for them
        self.beside: Any = None  # what a matcher that does more than to match keeps of the key

    # The three things that happen: an event, time passing, the end.

    def on_event(self, event: Event) -> Findings:
        seen = self.tests.look_at(event)
        taken_as = self._numbered(event, seen)
        if self.observer is not None:
            self.observer.before_event(self, seen, taken_as)
        self._check_absences(seen, taken_as)
        complete = self._decide_next_absences(taken_as)
        complete += self._advance(seen, taken_as)
        self._finish(complete, event.time)
        self._remember(seen)
        self._limit(event.time)
        if len(self.matched) > 2 * len(self.runs) + 16:  # starts that are gone need no memory
            self.matched &= {r.start for r in self.runs}
        if self.observer is not None:
            self.observer.after_event(self)
        return self._answer()

    def pass_by(self, event: Event) -> None:
        """An event that passes no test alone, in order, of a plan that looks at no other: it is only counted."""
        self.index += 1
        if event.rank is None and event.time != self.time:
            self.time, self.rank = event.time, -1

    def on_time(self, time: int) -> Findings:
        """Time has passed every moment before `time`."""
        while (deadline := self.next_deadline()) is not None and deadline < time:
            if self.observer is not None:
                self.observer.before_time(self, deadline)
            self._pass(deadline)
            if self.observer is not None:
                self.observer.after_time(self)
        return self._answer()

    def on_end(self, time: int) -> Findings:
        """Nothing comes after `time`: closures at the end are closed, absences not yet certain are pending."""
        before = self.on_time(time)
        while held := [r for r in self.runs if self._held(r)]:
            self.runs = [r for r in self.runs if not self._held(r)]
            self._finish(held, time)
        if self.observer is not None:
            self.observer.at_end(self, time)
        pending = tuple(self._pending(r) for r in in_order(self.runs) if self.moves.waiting(r))
        return before + replace(self._answer(), pending=pending)

    def _answer(self) -> Findings:
        found, self.found = self.found, Collected()
        return found.findings()

    @property
    def idle(self) -> bool:
        """Nothing that a later event could need."""
        return not self.runs and not any(self.recent) and not self.late_seen

    def next_look(self, late_memory: int) -> int | None:
        """When time has passed this, something is to be done here, or to be forgotten."""
        moments = [self.next_deadline()]
        moments += [min(self.late_seen) + late_memory] if self.late_seen else []
        moments += [
            e.time + self._bound(a) + late_memory for a, kept in enumerate(self.recent) for e in kept[:1]
        ]
        if self.idle:
            moments.append(self.time)
        return min((m for m in moments if m is not None), default=None)

    def forget(self, before: int) -> None:
        """No event of such a time can come any more."""
        self.late_seen = {time: n for time, n in self.late_seen.items() if time >= before}
        self.recent = [
            [e for e in kept if e.time >= before - self._bound(a)] for a, kept in enumerate(self.recent)
        ]

    def _bound(self, absence: int) -> int:
        return self.plan.automaton.absences[absence].node.within or 0

    # An event.

    def _numbered(self, event: Event, seen: Seen) -> Taken:
        self.index += 1
        if event.late:  # its time has been counted already: late events of a time are counted by themselves
            before = self.late_seen.get(event.time, 0)
            if seen.relevant:
                self.late_seen[event.time] = before + 1
            return Taken(-1, event, self.index, -1 - before)
        if event.rank is not None:  # counted where all events of its time were at hand
            return Taken(-1, event, self.index, event.rank)
        if event.time != self.time:
            self.time, self.rank = event.time, -1
        if seen.relevant:
            self.rank += 1
        return Taken(-1, event, self.index, self.rank)

    def _check_absences(self, seen: Seen, taken: Taken) -> None:
        """Negation is checked before advancement."""
        kept = []
        for run in self.runs:
            left, by = self.moves.violated(run, seen, taken)
            if left is None:
                self._tell(lifecycle.Negated, run, taken.event.time, event=taken.event, by=by)
            else:
                kept.append(self._until(left, taken))
        self.runs = kept

    def _until(self, run: Run, taken: Taken) -> Run:
        """`all B until p`: p closes every closure the run is in."""
        for closure in self.plan.automaton.closures_of[run.state]:
            test = self.tests.untils[closure]
            if test is not None and test(Moment(taken.event, run.binds, None, self.key)):
                greedy = self.plan.automaton.closures[closure].loop is Loop.GREEDY
                run = run.with_closed(closure, -1 - closure) if greedy else run.with_closed(closure)
        return run

    def _decide_next_absences(self, taken: Taken) -> list[Run]:
        """`A -> NOT next X` at the end is certain as soon as another event came."""
        complete = []
        for i, run in enumerate(self.runs):
            for accept in self.moves.waiting(run):
                nodes = [self.plan.automaton.absences[a].node for a in accept.absences]
                if all(n.next for n in nodes) and run.last.index + 1 == taken.index:
                    complete.append(replace(run, path=(*run.path, (-1, taken.event.time))))
                    self.runs[i] = replace(run, blocked=run.blocked | {-1 - accept.index})
        before = taken.index - 1
        self.runs = [r for r in self.runs if self.moves.can_go_on(r, before) or self._held(r)]
        return complete

    def _advance(self, seen: Seen, taken: Taken) -> list[Run]:
        """Every run is offered the event; every start opens a run. The answer is what is complete now."""
        complete, kept = [], []
        for family in _families(self.runs):
            stay, done = self._offer(family, seen, taken)
            kept += stay
            complete += done
        stay, done = self._start(seen, taken)
        self.runs = kept + stay
        return complete + done

    def _offer(self, family: list[Run], seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        """What becomes of the copies of one start: those still open, those complete."""
        kept: list[Run] = []
        complete: list[Run] = []
        for copies in _by_path(family):
            ways = [(run, self._choose(self.moves.fitting(run, seen, taken))) for run in copies]
            for run, edges in self._together(ways):
                self._move(run, edges, seen, taken, kept, complete)
        return kept, complete

    def _together(self, ways: list[tuple[Run, list[Edge]]]) -> list[tuple[Run, list[Edge]]]:
        """Of copies that only differ in what they keep of closures: where some move on, the others are gone."""
        if not self.one_way:
            return ways
        return [(run, edges) for run, edges in ways if any(map(self.moves.moves_on, edges))] or ways

    def _choose(self, edges: list[Edge]) -> list[Edge]:
        """Of the ways an event fits: all of them."""
        return edges

    def _move(
        self,
        run: Run,
        edges: list[Edge],
        seen: Seen,
        taken: Taken,
        kept: list[Run],
        complete: list[Run],
    ) -> None:
        stay = self._staying(run, edges, taken)
        if self._closed_by(run, edges, seen, taken):
            complete.append(run)
            stay = None
        for edge in edges:
            new = self.moves.extended(run, edge, replace(taken, position=edge.position))
            self._tell_advanced(new, edge, taken, forked=stay is not None)
            self._settle(new, taken, kept, complete)
        if stay is not None:
            kept.append(stay)

    def _staying(self, run: Run, edges: list[Edge], taken: Taken) -> Run | None:
        """The copy that does not take the event, if it still has something to wait for."""
        for edge in edges:
            if edge.loop is None and edge.arrow is not Arrow.ANY:
                return None
            if edge.loop is not None and self.plan.automaton.closures[edge.loop].loop in (
                Loop.ALL,
                Loop.GREEDY,
            ):
                run = run.with_closed(edge.loop)
        if self._held(run) and edges and not self.moves.extensions(run, taken.index):
            return None  # its longer copy is held instead
        if self.moves.can_go_on(run, taken.index) or self._held(run):
            return run
        return None

    def _settle(self, run: Run, taken: Taken, kept: list[Run], complete: list[Run]) -> None:
        """A run that has just taken an event: is it complete, does it go on?"""
        goes_on = bool(self.moves.extensions(run, taken.index))
        if self.moves.complete(run):
            if not (self._waits and goes_on):
                complete.append(run)
        elif self.plan.pattern.eager and run.last.position in self._repeated:
            self._provisional(run, taken)
        if goes_on or self.moves.waiting(run):
            kept.append(run)

    @property
    def _waits(self) -> bool:
        return self.plan.emission is Emission.LONGEST

    @property
    def _repeated(self) -> set[int]:
        return {p.index for p in self.plan.automaton.positions if p.repeated}

    def _held(self, run: Run) -> bool:
        """Complete, but a closure at the end may still grow: `longest` waits."""
        return self._waits and self.moves.complete(run)

    def _closed_by(self, run: Run, edges: list[Edge], seen: Seen, taken: Taken) -> bool:
        """Does this event, which the run does not take, close its closure at the end?"""
        if edges or not self._held(run):
            return False
        before = self.moves.extensions(run, taken.index - 1)
        after = self.moves.extensions(run, taken.index)
        if not after:
            return True
        types = {self.plan.automaton.positions[e.position].step.type for e in before}
        return seen.event.type in types

    def _start(self, seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        kept: list[Run] = []
        complete: list[Run] = []
        empty = Run(taken.index, START, (), {}, {})
        edges = [e for e in self.plan.automaton.out[START] if self.moves.fits(empty, e, seen, taken)]
        edges = self._choose([e for e in edges if self.moves.begun_by(e, taken, self.recent)])
        for edge in edges:
            new = self.moves.extended(empty, edge, replace(taken, position=edge.position))
            self._tell(lifecycle.Started, new, taken.event.time, event=taken.event)
            self._settle(new, taken, kept, complete)
        return kept, complete

    def _remember(self, seen: Seen) -> None:
        """Events that an absence before the start looks back at."""
        for edge in self.plan.automaton.out[START]:
            for absence in edge.absences:
                if seen.absences[absence]:
                    self.recent[absence].append(seen.event)

    # Completion: emission, then skip.

    def _finish(self, complete: list[Run], detected: int) -> None:
        for run in self._given(complete):
            self._emit(run, detected)

    def _given(self, complete: list[Run]) -> list[Run]:
        chosen = self._chosen(complete)
        if self.observer is not None:
            self.observer.complete(self, complete, chosen)
        return chosen

    def _chosen(self, complete: list[Run]) -> list[Run]:
        """Of the runs complete at one moment, those that are given out, skipping applied between them."""
        runs = in_order(distinct(complete))
        if self.plan.emission is Emission.LONGEST:
            runs = maximal(runs)
        chosen: list[Run] = []
        skipped = 0
        for run in runs:
            if run.first.index <= skipped:
                continue
            chosen.append(run)
            resume = resume_after(self.plan.pattern.skip, run, self.plan.automaton)
            if resume is not None:
                skipped = max(skipped, resume)
                self._drop_skipped(skipped)
        self._count_matches_of_one_run(chosen)
        return chosen

    def _count_matches_of_one_run(self, chosen: list[Run]) -> None:
        most = self.plan.pattern.limits.max_matches
        counts: dict[int, int] = {}
        for run in chosen:
            counts[run.start] = counts.get(run.start, 0) + 1
            if counts[run.start] > most:
                raise too_many_matches(self.plan)

    def _emit(self, run: Run, detected: int) -> None:
        match = self._match(run, detected)
        self.matched.add(run.start)
        self.furthest.pop(run.start, None)
        self.found.matches.append(match)
        if self.emitted is not None:
            self.emitted.append(run)
        self._tell(lifecycle.Completed, run, detected, match_id=match.id)

    def _fingerprint(self, run: Run) -> str:
        """What tells a match from the others of its partition."""
        return match_id(0, 0, _sorted_places(run))

    def _match(self, run: Run, detected: int, provisional: bool = False) -> Match:
        ends = [when for edge, when in run.path if edge == -1]  # an absence was awaited
        return Match(
            match_id(*self.identity, _sorted_places(run)),
            self.key,
            tuple(sorted(run.events(), key=Event.place_in_order)),
            run.binds,
            run.start_time,
            ends[-1] if ends else run.end_time,
            detected,
            run.late,
            provisional,
            run.weight,
        )

    def _provisional(self, run: Run, taken: Taken) -> None:
        self.found.matches.append(self._match(run, taken.event.time, provisional=True))

    def _drop_skipped(self, last: int) -> None:
        kept = []
        for run in self.runs:
            if min(run.indexes()) <= last:
                self._tell(lifecycle.Dropped, run, run.end_time, reason="skipped")
            else:
                kept.append(run)
        self.runs = kept

    # Time.

    def next_deadline(self) -> int | None:
        """The next moment whose passing changes something."""
        ends = [end for run in self.runs if (end := self._deadline(run)) is not None]
        return min(ends) if ends else None

    def _deadline(self, run: Run) -> int | None:
        ends = [self.moves.absence_deadline(run, a) for a in self.moves.waiting(run)]
        if not self.moves.waiting(run) or self.plan.pattern.within is not None:
            ends.append(self.moves.last_chance(run, self.index))
        known = [e for e in ends if e is not None]
        if not known:
            return None
        # An event may close what was left to wait for: a bound that is over then ends with this moment.
        over = None if run.late else self.time
        return min(known) if over is None else max(min(known), over)

    def _pass(self, deadline: int) -> None:
        """Time has gone past a deadline: absences become certain, windows end."""
        complete: list[Run] = []
        kept, expired = [], []
        for run in self.runs:
            if self._deadline(run) != deadline or not self._in_turn(run, complete):
                kept.append(run)
                continue
            ends = {a.index: self.moves.absence_deadline(run, a) for a in self.moves.waiting(run)}
            certain = {a: end for a, end in ends.items() if end is not None and end <= deadline}
            if certain:
                complete.append(replace(run, path=(*run.path, (-1, min(certain.values())))))
                run = replace(run, blocked=run.blocked.union(-1 - a for a in certain))
            chance = self.moves.last_chance(run, self.index)
            if (chance is not None and chance <= deadline) or not self.moves.can_go_on(run, self.index):
                if self._held(run):
                    complete.append(run)
                elif not certain:
                    expired.append(run)
            else:
                kept.append(run)
        self.runs = kept
        self._finish(complete, deadline)
        self._expire(expired, deadline)

    def _in_turn(self, run: Run, complete: list[Run]) -> bool:
        """May a deadline end a run while others wait to be given out that it made complete?"""
        return True

    def _expire(self, expired: list[Run], deadline: int) -> None:
        open_starts = {r.start for r in self.runs}
        for run in expired:
            self._tell(lifecycle.Expired, run, deadline, deadline=deadline)
            best = self.furthest.get(run.start)
            if run.start not in self.matched and (best is None or len(run.taken) > len(best.taken)):
                self.furthest[run.start] = run
        for start in sorted({r.start for r in expired} - open_starts):
            if start in self.furthest:
                furthest = self.furthest.pop(start)
                if self.plan.pattern.timeouts:
                    self.found.timeouts.append(self._timeout(furthest, deadline))
        self.matched &= open_starts

    def _timeout(self, run: Run, deadline: int) -> Timeout:
        steps = self.plan.automaton.positions
        waiting = tuple(
            dict.fromkeys(steps[e.position].step.type for e in self.plan.automaton.out[run.state])
        )
        last = steps[run.last.position].step
        return Timeout(
            self.key, run.events(), run.binds, run.start_time, deadline, last.alias or last.type, waiting
        )

    def _pending(self, run: Run) -> Pending:
        deadline = self.moves.absence_deadline(run, self.moves.waiting(run)[0])
        return Pending(self.key, run.events(), run.binds, run.start_time, deadline)

    # Limits.

    def _limit(self, time: int) -> None:
        limits = self.plan.pattern.limits
        if len(self.runs) <= limits.max_runs:
            return
        if limits.on_limit is OnLimit.ERROR:
            raise too_many_runs(self.plan)
        surplus = len(self.runs) - limits.max_runs
        oldest = sorted(self.runs, key=lambda r: r.start)[:surplus]
        for run in oldest:
            self._tell(lifecycle.Evicted, run, time, limit="max_runs")
        gone = {id(r) for r in oldest}
        self.runs = [r for r in self.runs if id(r) not in gone]
        self.evicted += surplus

    # Snapshot: everything but the plan.

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        """Plain data beside the runs; events by their number."""
        return {
            "index": self.index,
            "time": self.time,
            "rank": self.rank,
            "late_seen": list(self.late_seen.items()),
            "recent": [[events.number(e) for e in kept] for kept in self.recent],
            "matched": sorted(self.matched),
            "evicted": self.evicted,
        }

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        self.index, self.time, self.rank = state["index"], state["time"], state["rank"]
        self.late_seen = dict(state["late_seen"])
        self.recent = [[events[i] for i in kept] for kept in state["recent"]]
        self.matched = set(state["matched"])
        self.evicted = state["evicted"]

    # Telling.

    def _tell(self, kind: type[lifecycle.RunEvent], run: Run, time: int, **details: Any) -> None:
        if self.listener is not None:
            self.listener(kind(self.plan.name, self.key, run.start, time, run.events(), **details))
        if self.observer is not None:
            self.observer.told(self, kind, run, time, details)

    @contextmanager
    def _untold(self) -> Iterator[None]:
        """What happens in here has been told, or is told afterwards as a whole."""
        listener, observer = self.listener, self.observer
        self.listener = self.observer = None
        try:
            yield
        finally:
            self.listener, self.observer = listener, observer

    def _tell_advanced(self, run: Run, edge: Edge, taken: Taken, forked: bool) -> None:
        step = self.plan.automaton.positions[edge.position].step
        self._tell(
            lifecycle.Advanced,
            run,
            taken.event.time,
            event=taken.event,
            step=step.alias or step.type,
            forked=forked,
        )


def _sorted_places(run: Run) -> list[tuple[int, int, int]]:
    """(place, time, rank) of each event, in the order of time."""
    places = [(t.position, t.event.time, t.rank) for t in run.taken]
    return sorted(places, key=lambda p: (p[1], p[2], p[0]))


def _families(runs: list[Run]) -> Iterable[list[Run]]:
    """The copies of one start together, oldest start first."""
    families: dict[int, list[Run]] = {}
    for run in runs:
        families.setdefault(run.start, []).append(run)
    return [families[start] for start in sorted(families)]


def _by_path(family: list[Run]) -> Iterable[list[Run]]:
    paths: dict[tuple[tuple[int, int], ...], list[Run]] = {}
    for run in family:
        paths.setdefault(run.path, []).append(run)
    return paths.values()


__all__ = ["Partition"]
