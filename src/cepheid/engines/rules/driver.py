"""Rules at work, and patterns beside them: a match is an event of the rules, what rules emit one of the patterns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from cepheid.engines.network import MakeMatcher, reference
from cepheid.engines.program import Program
from cepheid.engines.rules.feeding import fed_to_patterns
from cepheid.engines.rules.operations import EVENT, Intervals, Operation
from cepheid.engines.rules.patterns import Patterns
from cepheid.engines.rules.told import Told, told_of
from cepheid.matching.found import Findings
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds
from cepheid.rules.happenings import Happening
from cepheid.rules.program import RuleProgram
from cepheid.rules.session import RuleSession


@dataclass(frozen=True)
class _ForPatterns:
    type: str
    fields: dict[str, Any]
    time: int


@dataclass(frozen=True)
class _ForRules:
    stream: str
    fields: dict[str, Any]
    time: int


_Queue = deque[_ForPatterns | _ForRules]
_DONE: AbstractContextManager[None] = nullcontext()


def _seen_by_patterns(event: Operation) -> dict[str, Any]:
    """To patterns times are timestamps, also where tables and rules count them."""
    fields = dict(event.fields)
    if event.stamped is not None:
        fields[event.stamped] = from_microseconds(event.time)
    return fields


class Driver:
    """One working memory. Operations come in order of time, all times in microseconds.

    What happens at one time happens in this order: rules see the operation, patterns see it if it is an event, then
    each sees what the other made of it. What is only certain because time has passed (an absence) comes after all else
    of its time: first that of rules, then that of patterns.
    """

    def __init__(
        self,
        rules: RuleProgram,
        program: Program | None = None,
        *,
        max_firings: int = 10_000,
        make: MakeMatcher = reference,
    ) -> None:
        self.session = RuleSession(rules, max_firings=max_firings)
        self.patterns = None if program is None else Patterns(program, make)
        self.seen = 0  # events the patterns were given
        self.clock: int | None = None
        self.inside: Intervals = set()  # of facts that come with intervals
        self._read = fed_to_patterns(program)

    def apply(self, operation: Operation) -> list[Told]:
        with self._whole():
            told = self._pass(operation.time)
            happened = self._done(operation)
            self.clock = operation.time
            queue: _Queue = deque()
            if operation.kind == EVENT and operation.type in self._read:
                queue.append(_ForPatterns(operation.type, _seen_by_patterns(operation), operation.time))
            return told + self._settle(happened, queue)

    def advance(self, time: int) -> list[Told]:
        """Time has come this far: dates before it have passed."""
        with self._whole():
            told = self._pass(time) + self._settle(self.session.advance(time))
            self.clock = time
            return told

    def finish(self) -> list[Told]:
        """Nothing will come any more: all dates pass, and patterns end."""
        with self._whole():
            told = self._pass(None)
            if self.patterns is not None:
                told += self._after_patterns(self.patterns.on_end(self.clock or 0))
            return told + self._settle(self.session.finish())

    def _whole(self) -> AbstractContextManager[None]:
        """A step that fails changes nothing. Without patterns the session sees to it."""
        return _DONE if self.patterns is None else self._with_patterns(self.patterns)

    @contextmanager
    def _with_patterns(self, patterns: Patterns) -> Iterator[None]:
        mark, seen, clock = patterns.begin(), self.seen, self.clock
        try:
            with self.session.as_one():
                yield
        except BaseException:
            patterns.take_back(mark)
            self.seen, self.clock = seen, clock
            raise

    def _done(self, operation: Operation) -> list[Happening]:
        session, o = self.session, operation
        match o.kind:
            case "assert":
                return session.assert_fact(o.type, o.fields, o.identity, o.time)
            case "update":
                return session.update_fact(o.type, o.identity, o.fields, o.time)
            case "retract":
                return session.retract_fact(o.type, o.identity, o.time)
            case "event":
                return session.assert_event(o.type, o.fields, o.time, o.identity)
            case "retract event":
                return session.retract_event(o.type, o.identity, o.time)
        raise AssertionError(o.kind)

    def _pass(self, until: int | None) -> list[Told]:
        """Dates before a time, in order. Without patterns the session does it by itself."""
        told: list[Told] = []
        while self.patterns is not None and (date := self.next_date()) is not None:
            if until is not None and date >= until:
                break
            self.clock = date
            told += self._settle(self.session.pass_dates(date + 1))
            told += self._after_patterns(self.patterns.on_events((), date + 1))
        return told

    def next_date(self) -> int | None:
        """When time has passed this, there is something to do without any operation."""
        matched = None if self.patterns is None else self.patterns.next_look()
        return min((d for d in (self.session.next_date(), matched) if d is not None), default=None)

    # Rules and patterns, each with what the other made.

    def _settle(self, happened: Iterable[Happening], queue: _Queue | None = None) -> list[Told]:
        told: list[Told] = []
        queue = deque() if queue is None else queue
        self._note(happened, told, queue)
        while queue and self.patterns is not None:
            item = queue.popleft()
            if isinstance(item, _ForPatterns):
                found = self.patterns.on_events([self._event(item)])
                queue.extend(self._matches(found, told))
            else:
                time = max(item.time, self.clock or item.time)
                self._note(self.session.assert_event(item.stream, item.fields, time), told, queue)
        return told

    def _note(self, happened: Iterable[Happening], told: list[Told], queue: _Queue) -> None:
        for one in told_of(happened):
            told.append(one)
            seen = one.kind == "emitted" or (one.kind == "asserted" and one.event)
            if seen and one.name in self._read:
                queue.append(_ForPatterns(one.name, dict(one.fields), one.time))

    def _event(self, item: _ForPatterns) -> Event:
        self.seen += 1
        fields = {"time": from_microseconds(item.time), **item.fields, "type": item.type}
        return Event(item.type, item.time, fields, (), self.seen)

    def _after_patterns(self, found: dict[str, Findings]) -> list[Told]:
        told: list[Told] = []
        matches = deque(self._matches(found, told))
        return told + self._settle((), matches)

    def _matches(self, found: dict[str, Findings], told: list[Told]) -> list[_ForPatterns | _ForRules]:
        """Matches are told, and go on to the rules, in the order in which they became certain."""
        assert self.patterns is not None
        made: list[_ForPatterns | _ForRules] = []
        for name, findings in found.items():
            for match in findings.matches:
                fields = self.patterns.rows[name].fields(match)
                told.append(Told("matched", name, match.detected, fields=self.patterns.rows[name].row(match)))
                made.append(_ForRules(name, fields, match.detected))
        return sorted(made, key=lambda one: one.time)
