"""Why a pattern did not match: the cause by its kind, the runs that got furthest, changes that would have matched.

The cause is found by trying: each rule of the pattern is loosened by itself, and where that gives a match, the
events of that match are held against the pattern as it is. What stands against them is the cause, with its values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.explain.changes import Change, exact, loosenings, nearest_types, size, unread
from cepheid.explain.event_words import event_names
from cepheid.explain.examining import Placed, Timeline, examine
from cepheid.explain.failing import Rules
from cepheid.explain.furthest import Attempt, furthest
from cepheid.explain.happenings import Dropped, Evicted, Trace, Withheld
from cepheid.explain.loosest import loosest
from cepheid.explain.recorder import trace
from cepheid.explain.searching import Found, Goal, find, planned
from cepheid.explain.words import shown_pattern
from cepheid.matching.evaluate import compile_value
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.run import Taken
from cepheid.pattern.event import Event
from cepheid.pattern.model import Pattern
from cepheid.plan.automaton import START
from cepheid.plan.plan import Plan

_BUDGET = 1_000_000  # for all that is tried together
_EXAMINED = 50  # matches of one loosened pattern that are looked at
_SHOWN = 3  # attempts and near misses
# Of changes that would all have done, those that leave more of the pattern's shape come first.
_SHAPE = {"no_event_of_type": 1, "order": 2, "partition": 3, "missing": 4, "emission": 5}


@dataclass(frozen=True)
class NearMiss:
    """A change with which it would have matched: it was tried, and these are the events it gave."""

    text: str
    changes: tuple[str, ...]
    kinds: tuple[str, ...]
    events: tuple[Event, ...]
    pattern: Pattern = field(repr=False)
    now: int | None = None


@dataclass(frozen=True)
class WhyNot:
    """The answer. `str()` of it is text for people, and notebooks show it as HTML."""

    stream: str
    pattern: str
    cause: Cause
    causes: tuple[Cause, ...]  # the cause, and what else stands against the same events
    furthest: tuple[Attempt, ...]
    near_misses: tuple[NearMiss, ...]
    matches: tuple[tuple[Event, ...], ...]  # in what was looked at
    expected: tuple[Event, ...]
    events: int
    partitions: int
    types: tuple[tuple[str, int], ...]
    untried: tuple[str, ...] = ()  # changes that would have taken too long to try
    notes: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    id_column: str = "id"

    @property
    def matched(self) -> bool:
        """Is there a match after all?"""
        return self.cause.kind == "matched"

    def as_dict(self) -> dict[str, Any]:
        """Plain data: events by what they are called, times in microseconds."""
        from cepheid.explain.why_not_data import why_not_data

        return why_not_data(self)

    def __str__(self) -> str:
        from cepheid.explain.why_not_text import why_not_text

        return why_not_text(self)

    def _repr_html_(self) -> str:
        from cepheid.explain.why_not_text import why_not_html

        return why_not_html(self)


def why_not(
    plan: Plan,
    events: Sequence[Event],
    *,
    expected: Sequence[Event] = (),
    exactly: bool = False,
    now: int | None = None,
    id_column: str = "id",
    notes: tuple[str, ...] = (),
) -> WhyNot:
    """Why the events (in total order) are not a match of the plan; with `expected`, why those are not.

    A match may hold more than what was expected, unless `exactly`.
    """
    goal = Goal.of(expected, exactly)
    return _Inquiry(plan, events, expected, goal, now, id_column, notes).answer()


@dataclass(frozen=True)
class _Candidate:
    """Events that match a loosened pattern, and what the pattern as it is has against them."""

    placed: tuple[Placed, ...]
    causes: tuple[Cause, ...]
    change: Change | None = None  # what was loosened to find them

    def rank(self) -> tuple[Any, ...]:
        shape = max(_SHAPE.get(c.kind, 0) for c in self.causes)
        return len(self.causes), shape, max(size(c) for c in self.causes)


class _Inquiry:
    def __init__(
        self,
        plan: Plan,
        events: Sequence[Event],
        expected: Sequence[Event],
        goal: Goal,
        now: int | None,
        id_column: str,
        notes: tuple[str, ...],
    ) -> None:
        self.plan, self.events, self.now, self.notes = plan, events, now, notes
        self.expected = tuple(sorted(expected, key=Event.place_in_order))
        self.rules = Rules.of(plan, id_column)
        self.goal = goal
        self.types = Counter(e.type for e in events)
        self.key_of = [compile_value(e) for e in plan.key]
        self.timelines = self._timelines()
        self.trace: Trace = trace(plan, events, now, passes=False, id_column=id_column)
        self.untried: list[str] = []
        self.budget = _BUDGET

    def answer(self) -> WhyNot:
        given = [m.events for m in self.trace.matches if self.goal.reached(m.events)]
        if given:
            return self._told((_matched(self.rules, given[0]),), ())
        if not self.events:
            return self._told((Cause("no_events", "there are no events to match"),), ())
        candidates = self._expected() or self._single()
        attempts = furthest(self.rules, self.trace, self.timelines, self._key)
        misses = self._near_misses([*candidates, *self._of_attempts(attempts)])
        causes = self._static() or (candidates[0].causes if candidates else ())
        if not causes:
            causes = attempts[0].causes if attempts else (self._never_began(),)
        return self._told(tuple(causes), misses, attempts)

    def _told(
        self,
        causes: tuple[Cause, ...],
        misses: tuple[NearMiss, ...],
        attempts: tuple[Attempt, ...] = (),
    ) -> WhyNot:
        return WhyNot(
            self.plan.name,
            str(shown_pattern(self.plan.pattern)),
            causes[0],
            causes,
            attempts[:_SHOWN],
            misses,
            tuple(m.events for m in self.trace.matches),
            self.expected,
            len(self.events),
            len(self.timelines),
            tuple(self.types.most_common()),
            tuple(self.untried),
            self.notes,
            self.plan.key_names,
            self.rules.id_column,
        )

    # Keys and the places of events in their partitions.

    def _key(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)

    def _timelines(self) -> dict[Any, list[Taken]]:
        found: dict[Any, list[Taken]] = {}
        for event in self.events:
            line = found.setdefault(lookup_key(self._key(event), self.plan.inferred_key), [])
            line.append(Taken(-1, event, len(line) + 1, -1))
        return found

    def _timeline(self, placed: Sequence[Placed]) -> Timeline:
        keys = {lookup_key(self._key(p.event), self.plan.inferred_key) for p in placed}
        if len(keys) == 1:
            return self.timelines[keys.pop()]
        return [Taken(-1, event, i + 1, -1) for i, event in enumerate(self.events)]

    def _examined(self, placed: tuple[Placed, ...]) -> tuple[Cause, ...]:
        keys = [self._key(p.event) for p in placed]
        if self.plan.inferred_key:  # the equalities that made the key say it better
            keys = [()] * len(placed)
        return tuple(examine(self.rules, placed, self._timeline(placed), keys, self.now))

    # What cannot match whatever else is changed.

    def _static(self) -> tuple[Cause, ...]:
        found = []
        for position in self.plan.automaton.positions:
            kind = position.step.type
            if kind in self.types or not self._needed(position.index):
                continue
            near = tuple(nearest_types(kind, unread(self.plan, list(self.types))))
            hint = f": the nearest that came are {', '.join(f'`{n}`' for n in near)}" if near else ""
            text = f"no event of type `{kind}` came{hint}"
            step = self.rules.names.positions[position.index]
            found.append(Cause("no_event_of_type", text, step, names=near, rule=kind))
        return tuple(found) + tuple(self._of_no_step())

    def _of_no_step(self) -> Iterator[Cause]:
        """Expected events that no step could ever take."""
        taken = {p.step.type for p in self.plan.automaton.positions}
        for event in self.expected:
            if event.type not in taken:
                near = tuple(nearest_types(event.type, list(taken)))
                text = f"{self.rules.called(event)} is of type `{event.type}`, which no step of the pattern takes"
                yield Cause("type", text, event=event, names=near)

    def _needed(self, position: int) -> bool:
        """Is there no way to the end without it?"""
        seen, todo = {START}, [START]
        while todo:
            for edge in self.plan.automaton.out[todo.pop()]:
                if edge.position != position and edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)
        return not any(a.state in seen for a in self.plan.automaton.accepts)

    def _never_began(self) -> Cause:
        first = [p for p in self.plan.automaton.positions if p.index in self.plan.automaton.first_positions]
        steps = " or ".join(self.rules.names.positions[p.index] for p in first)
        types = tuple(p.step.type for p in first)
        return Cause("missing", f"no event could be {steps}, with which a run begins", steps, names=types)

    # Candidates.

    def _find(self, plan: Plan, events: Sequence[Event], now: int | None) -> Found:
        found = find(plan, events, self.goal, now, self.budget)
        self.budget -= found.spent
        return found

    def _expected(self) -> list[_Candidate]:
        """The events that were expected, each at the step it could be."""
        plan = planned(loosest(self.plan)) if self.expected else None
        if plan is None:
            return []
        found = self._find(plan, self.expected, None)
        return self._candidates(found)

    def _single(self) -> list[_Candidate]:
        """One rule loosened at a time."""
        first, last = self.events[0].time, self.events[-1].time
        reached = max(last, self.now if self.now is not None else last)
        best: list[_Candidate] = []
        for change in loosenings(self.plan, last - first + 1, list(self.types), reached):
            plan = planned(change.apply(self.plan.pattern))
            if plan is None:
                continue
            now = change.now if change.now is not None else self.now
            found = self._find(plan, self.events, now)
            if found.undecided:
                self.untried.append(change.text)
            best += self._candidates(found, change)[:1]
        return _distinct(sorted(best, key=_Candidate.rank))

    def _candidates(self, found: Found, change: Change | None = None) -> list[_Candidate]:
        made = []
        for placed in found.runs[:_EXAMINED]:
            causes = self._examined(placed)
            if not causes and change is not None:
                causes = (self._by_change(change, placed),)
            if causes:
                made.append(_Candidate(placed, causes, change))
        return sorted(made, key=_Candidate.rank)

    def _by_change(self, change: Change, placed: tuple[Placed, ...]) -> Cause:
        """Nothing stands against the events themselves: others were preferred, or what they made was taken away."""
        events = [p.event for p in placed]
        names = event_names(events, self.rules.id_column)
        mine = {id(e) for e in events}
        other = next((m.events for m in self.trace.matches if mine & {id(e) for e in m.events}), None)
        why = self._lost(mine)
        if other is not None:
            shared = [e for e in events if id(e) in {id(o) for o in other}]
            used = event_names(shared, self.rules.id_column)
            text = f"{names} fit, but {used} is in the match ({event_names(other, self.rules.id_column)})"
            return Cause(change.kind, text + why, by=other[-1], event=shared[-1], locus=change.locus)
        return Cause(
            change.kind,
            f"{names} fit, but are not given{why or f': they are {change.text}'}",
            locus=change.locus,
        )

    def _lost(self, mine: set[int]) -> str:
        """What the trace says of a run of these events."""
        for run in reversed(self.trace.runs):
            held = {id(e) for _, e in run.held}
            if held <= mine and isinstance(run.end, (Dropped, Evicted)):
                return f": {run.end.reason if isinstance(run.end, Dropped) else run.end.limit}"
        for frame in self.trace.frames:
            for happened in frame.happened:
                if (
                    isinstance(happened, Withheld)
                    and {id(e) for _, e in self.trace.runs[happened.run].held} == mine
                ):
                    return f": {happened.reason}"
        return ""

    def _of_attempts(self, attempts: tuple[Attempt, ...]) -> list[_Candidate]:
        return [_Candidate((), a.causes) for a in attempts if all(c.locus for c in a.causes)]

    # Near misses: nothing is said that was not tried.

    def _near_misses(self, candidates: list[_Candidate]) -> tuple[NearMiss, ...]:
        found: dict[str, NearMiss] = {}
        for candidate in candidates:
            miss = self._tried(candidate)
            if miss is not None:
                found.setdefault(miss.text, miss)
            if len(found) >= _SHOWN:
                break
        return tuple(found.values())

    def _tried(self, candidate: _Candidate) -> NearMiss | None:
        changes: dict[Any, Change] = {}
        for cause in candidate.causes:
            change = exact(cause, self.plan) or self._rule_of(cause) or candidate.change
            if change is None:
                return None
            # Of two events that miss one threshold the farther one counts: it is tried last and kept.
            known = changes.get(change.locus)
            if known is None or size(cause) > size(
                next(c for c in candidate.causes if c.locus == cause.locus)
            ):
                changes[change.locus] = change
        return self._verified(list(changes.values()))

    def _rule_of(self, cause: Cause) -> Change | None:
        """A change that is the same whatever the values are."""
        first, last = self.events[0].time, self.events[-1].time
        known = loosenings(self.plan, last - first + 1, list(self.types), last)
        return next((c for c in known if c.locus == cause.locus and c.kind == cause.kind), None)

    def _verified(self, changes: list[Change]) -> NearMiss | None:
        pattern, now = self.plan.pattern, self.now
        for change in sorted(changes, key=lambda c: c.last):
            pattern = change.apply(pattern)
            now = change.now if change.now is not None else now
        plan = planned(pattern)
        found = Found() if plan is None else self._find(plan, self.events, now)
        if not found.runs:
            return None
        texts = tuple(c.text for c in changes)
        events = tuple(p.event for p in found.runs[0])
        return NearMiss(_would(texts), texts, tuple(c.kind for c in changes), events, pattern, now)


def _would(texts: tuple[str, ...]) -> str:
    said = [t if t.startswith(("without", "under", "with ", "once")) else f"with {t}" for t in texts]
    return f"would match {' and '.join(said)}"


def _matched(rules: Rules, events: Sequence[Event]) -> Cause:
    return Cause("matched", f"it did match: ({event_names(events, rules.id_column)})", event=events[-1])


def _distinct(candidates: list[_Candidate]) -> list[_Candidate]:
    """Several loosened patterns may find the same thing."""
    seen: dict[Any, _Candidate] = {}
    for candidate in candidates:
        key = tuple((c.kind, c.locus, id(c.event), id(c.by)) for c in candidate.causes)
        seen.setdefault(key, candidate)
    return list(seen.values())
