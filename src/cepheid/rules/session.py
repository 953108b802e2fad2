"""A session of rules: operations come one after the other, and each tells what happened.

Times are microseconds and never go back. What one operation makes is found at once, before any action; actions become
operations in a queue that is emptied before the next input. An input that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cepheid.errors import InputMistake
from cepheid.pattern.rule_model import RuleSet
from cepheid.rules.actions import Operation
from cepheid.rules.closures import INF
from cepheid.rules.handlers import Handler
from cepheid.rules.happenings import Happening
from cepheid.rules.inspection import NodeView, WaitingView, network_view, waiting_view
from cepheid.rules.objects import Event
from cepheid.rules.operating import Fields, Operating
from cepheid.rules.program import RuleProgram
from cepheid.rules.saving import put_state, state_of
from cepheid.rules.working import SUM_AFTER


class RuleSession(Operating):
    """
    >>> from cepheid.pattern.rule_model import Emit, EventCondition, Rule, Shape
    >>> rule = Rule("Any", (EventCondition(Shape("Alarm"), "a"),), (Emit("seen", ()),))
    >>> session = RuleSession(RuleSet((rule,)))
    >>> [type(h).__name__ for h in session.assert_event("Alarm", {"level": 3}, time=10)]
    ['Fired', 'Emitted']
    """

    def __init__(
        self,
        rules: RuleSet | RuleProgram,
        *,
        tick: int = 1_000_000,
        max_firings: int = 10_000,
        tell_released: bool = False,
    ) -> None:
        """Of a program, which has its tick, many sessions can be made; each takes no time to make."""
        program = rules if isinstance(rules, RuleProgram) else RuleProgram(rules, tick)
        super().__init__(program, max_firings, tell_released)

    # Operations from outside.

    def assert_fact(
        self, type: str, fields: Fields, identity: Any = None, time: int | None = None
    ) -> list[Happening]:
        """A fact is there from now on; one with this identity that is there already becomes like this."""
        return self._input(time, lambda: self.do_assert_fact(type, fields, identity, None))

    def update_fact(
        self, type: str, identity: Any, changes: Fields, time: int | None = None
    ) -> list[Happening]:
        name = f"update {type}"
        return self._input(time, lambda: self.do_update(type, identity, lambda: changes, name, None))

    def retract_fact(self, type: str, identity: Any, time: int | None = None) -> list[Happening]:
        return self._input(time, lambda: self.do_retract_fact(type, identity, f"retract {type}", None))

    def assert_event(self, type: str, fields: Fields, time: int, identity: Any = None) -> list[Happening]:
        return self.assert_events(((type, fields, time, identity),))

    def assert_events(
        self, events: Iterable[tuple[str, Fields, int, Any]], told: list[Happening] | None = None
    ) -> list[Happening]:
        """Many events, in order: type, fields, time, identity (None: they are numbered).

        Each is an input of its own: if one fails, those before it have happened, and what they told is in the `told`
        that was given.
        """
        told = [] if told is None else told
        working, handlers, silent = self.working, self._handlers, not self.tell_released
        working.begin()
        journal, made = working.journal, working.made
        clock, number = self.clock, self.number
        past: list[Happening] = []  # what the time before the event has led to
        try:
            for type, fields, time, identity in events:
                since = mark = len(journal)
                before = number
                try:
                    if time != clock:
                        if mark > SUM_AFTER:
                            mark = working.begin()
                        if silent and clock is not None and time > clock and not working.dates:
                            self._set_clock(time)  # all that `_turn` has to do
                        else:
                            self.number = number
                            past = self._turn(time)
                            number = self.number
                        clock, since = time, len(journal)
                    if identity is None:
                        identity = self._identity(type, True, fields, None)
                    number += 1
                    try:
                        handler = handlers[type]
                    except KeyError:
                        handler = self._handler(type)
                    if handler is not None:
                        handler(fields, time, identity, number)
                        if not made and not past:
                            continue
                        self.number = number
                        self._follow(None, past, since)
                    else:
                        self.number = number
                        self._follow(self._event(type, fields, identity, None), past, since)
                except BaseException:
                    number = before
                    self._take_back(before, mark)
                    raise
                told += past
                past, number = [], self.number
                if mark > SUM_AFTER:
                    working.begin()
        finally:
            self.number = number
        return told

    def retract_event(self, type: str, identity: Any, time: int | None = None) -> list[Happening]:
        """All events of this identity are taken back."""
        return self._input(time, lambda: self._retract_events(type, identity))

    def advance(self, time: int) -> list[Happening]:
        """Time moves on: what waits for dates before it is judged."""
        return self._input(time, lambda: None)

    def finish(self) -> list[Happening]:
        """No more operations will come: all dates pass."""
        return self.pass_dates(INF)

    def next_date(self) -> int | None:
        """The first on which there is something to do although nothing comes."""
        date = self.working.next_date()
        return None if date == INF else int(date)

    def pass_dates(self, before: float) -> list[Happening]:
        """Dates before a time pass, and the clock stands at the last of them: more may come of its time."""
        with self._whole() as told:
            self._pass_dates(before)
        return told

    @contextmanager
    def _whole(self) -> Iterator[list[Happening]]:
        """An input: if it fails, all is as it was before."""
        told: list[Happening] = []
        self.told = told
        number, mark = self.number, self.working.begin()
        try:
            yield told
        except BaseException:
            self._take_back(number, mark)
            raise
        self.working.tidy()

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Inputs that come in it are one: if one fails, or something else, none of them has come."""
        number = self.number
        self.working.begin()
        self.working.as_one = True
        try:
            yield
        except BaseException:
            self._take_back(number, 0)
            raise
        finally:
            self.working.as_one = False
        self.working.tidy()

    def _take_back(self, number: int, mark: int) -> None:
        """As it was when the journal was so long."""
        self.queue.clear()
        self._last = None
        self.working.take_back(mark)
        self.number = number

    def _input(self, time: int | None, operation: Operation) -> list[Happening]:
        with self._whole() as told:
            if time is None:
                time = 0 if self.clock is None else self.clock
            told += self._turn(time)
            self.told = told
            self._set_budget()
            self.queue.append(operation)
            self._run()
        return told

    def _turn(self, time: int) -> list[Happening]:
        """Time moves on, or stays; what that leads to."""
        self.told = []
        if self.clock is None or time > self.clock:
            if self.working.dates:
                self._pass_dates(time)
            self._set_clock(time)
        elif time < self.clock:
            raise InputMistake(
                f"time goes back: {self.program.shown(time)} comes after {self.program.shown(self.clock)}",
                code="time_goes_back",
                hint="sort what comes by time",
            )
        return self.told

    def _set_clock(self, time: int) -> None:
        self.working.journal.append((_set_clock_back, self, self.clock))
        self.clock = time
        self.working.move_to(time)

    def _follow(self, event: Event | None, told: list[Happening], since: int) -> None:
        """What an event leads to; None: its way through the network is done. `since`: where its journal begins."""
        self.told = told
        self._set_budget(since)
        if event is not None:
            self._send(event)
        if self.working.made:
            self._carry_out()
        if self.tell_released:
            self._release_last()
        if self.queue:
            self._run()
            self.working.tidy()

    def _handler(self, type: str) -> Handler | None:
        """The first event of a type; None: it takes the long way through the network."""
        handler: Handler | None = None
        if not self.tell_released:  # all events must be there to be told of
            known = self.program.network.handlers
            binding = known.get(type)
            if binding is not None:
                handler = binding(self.working)
            elif type not in known:
                handler = _ignore
        self._handlers[type] = handler
        return handler

    def _pass_dates(self, time: float) -> None:
        """Dates of waiting come in order, each after all operations of its time."""
        working = self.working
        self._set_budget()
        while (date := working.next_date()) < time:
            self._set_clock(int(date))
            working.judge(int(date))
            self._carry_out()
            self._run()

    # What is there.

    def waiting(self) -> list[WaitingView]:
        """Firings that only wait for events not to come."""
        return waiting_view(self)

    def network(self) -> list[NodeView]:
        """All nodes: what they are asked, who shares them, what they store and until when."""
        return network_view(self)

    # Snapshots.

    def snapshot(self) -> bytes:
        """All that is known, but for the rules themselves."""
        return state_of(self)

    def restore(self, state: bytes) -> None:
        """Go on where another session of the same rules was."""
        self._start()
        put_state(self, state)
        self.working.begin()


def _ignore(fields: Fields, time: int, identity: Any, number: int) -> None:
    """No rule asks for events of this type."""


def _set_clock_back(session: RuleSession, time: int | None) -> None:
    session.clock = time
    session.working.clock = -INF if time is None else time
