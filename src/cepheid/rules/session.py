"""A session of rules: operations come one after the other, and each tells what happened.

Times are microseconds and never go back. What one operation makes is found at once, before any action; actions become
operations in a queue that is emptied before the next input. An input that fails changes nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.pattern.rule_model import RuleSet
from cepheid.rules import flow
from cepheid.rules.actions import Operation
from cepheid.rules.closures import INF
from cepheid.rules.handlers import Handler
from cepheid.rules.happenings import Asserted, Fired, Happening, Modified, Released, Retracted, Skipped
from cepheid.rules.inspection import NodeView, WaitingView, network_view, waiting_view
from cepheid.rules.memory import Cell
from cepheid.rules.objects import Event, Fact, Thing
from cepheid.rules.productions import place_in_order
from cepheid.rules.program import RuleProgram
from cepheid.rules.saving import put_state, state_of
from cepheid.rules.working import SUM_AFTER, Working

Fields = Mapping[str, Any]
GONE, NO_CHANGE = "it is gone", "nothing changes"
RECENT = 100  # firings, of which an error tells the rules


class RuleSession:
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
        self.program = rules if isinstance(rules, RuleProgram) else RuleProgram(rules, tick)
        self.max_firings, self.tell_released = max_firings, tell_released
        self._start()

    def _start(self) -> None:
        self.working = Working(self.program.network, self._released if self.tell_released else None)
        self._cells: dict[tuple[str, Any], Cell] = {}
        self._named: dict[tuple[str, bool], int] = {}
        self._handlers: dict[str, Handler | None] = {}  # of types that have come
        self.clock: int | None = None
        self.number = 0
        self.firings = 0
        self.skipped: Counter[tuple[str, str]] = Counter()
        self._told: list[Happening] = []
        self._queue: deque[Operation] = deque()
        self._budget = self.max_firings
        self._last: Event | None = None

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
        for type, fields, time, identity in events:
            mark, before = len(journal), number
            try:
                if time != clock:
                    if mark > SUM_AFTER:
                        mark = working.begin()
                    if silent and clock is not None and time > clock and not working.dates:
                        self._set_clock(time)  # all that `_turn` has to do
                    else:
                        past = self._turn(time)
                        number = self.number
                    clock = time
                if identity is None:
                    identity = self._identity(type, True, fields, None)
                number += 1
                self.number = number
                try:
                    handler = handlers[type]
                except KeyError:
                    handler = self._handler(type)
                if handler is not None:
                    handler(fields, time, identity, number)
                    if not made and not past:
                        continue
                    self._follow(None, past)
                else:
                    self._follow(self._event(type, fields, identity, None), past)
            except BaseException:
                self._take_back(before, mark)
                raise
            told += past
            past, number = [], self.number
            if mark > SUM_AFTER:
                working.begin()
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
        self._told = told
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
        self._queue.clear()
        self._last = None
        self.working.take_back(mark)
        self.number = number

    def _input(self, time: int | None, operation: Operation) -> list[Happening]:
        with self._whole() as told:
            if time is None:
                time = 0 if self.clock is None else self.clock
            told += self._turn(time)
            self._told = told
            self._set_budget()
            self._queue.append(operation)
            self._run()
        return told

    def _turn(self, time: int) -> list[Happening]:
        """Time moves on, or stays; what that leads to."""
        self._told = []
        if self.clock is None or time > self.clock:
            if self.working.dates:
                self._pass_dates(time)
            self._set_clock(time)
        elif time < self.clock:
            raise InputMistake(
                f"time goes back: {time} comes after {self.clock}",
                code="time_goes_back",
                hint="sort what comes by time",
            )
        return self._told

    def _set_clock(self, time: int) -> None:
        self.working.journal.append((self._set_clock_back, self.clock))
        self.clock = time
        self.working.move_to(time)

    def _set_clock_back(self, time: int | None) -> None:
        self.clock = time
        self.working.clock = -INF if time is None else time

    def _follow(self, event: Event | None, told: list[Happening]) -> None:
        """What an event leads to; None: its way through the network is done."""
        self._told = told
        self._set_budget()
        if event is not None:
            self._send(event)
        if self.working.made:
            self._carry_out()
        if self.tell_released:
            self._release_last()
        if self._queue:
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

    def _set_budget(self) -> None:
        """What waits is not the doing of this operation, so it is not counted against it."""
        working = self.working
        self._budget = self.max_firings + (working.waiting_count() if working.net.waits else 0)

    def _pass_dates(self, time: float) -> None:
        """Dates of waiting come in order, each after all operations of its time."""
        working = self.working
        self._set_budget()
        while (date := working.next_date()) < time:
            self._set_clock(int(date))
            working.judge(int(date))
            self._carry_out()
            self._run()

    def _run(self) -> None:
        queue = self._queue
        while queue:
            queue.popleft()()
            if self.working.made:
                self._carry_out()
            if self.tell_released:
                self._release_last()

    # Operations. Each has a number.

    def do_assert_fact(self, type: str, fields: Fields, identity: Any, firing: int | None) -> None:
        identity = self._identity(type, False, fields, identity)
        if (type, identity) in self._cells:
            self.do_update(type, identity, lambda: fields, f"assert {type}", firing, whole=True)
            return
        self.number += 1
        fact = Fact(type, identity, dict(fields), self.number, self.now)
        cell = fact.cell = Cell(fact)
        self._cells[type, identity] = cell
        self.working.journal.append((self._cells.pop, (type, identity)))
        if firing is not None:
            self.tell(Asserted(fact, self.now, firing))
        flow.assert_fact(self.working, cell)

    def do_update(
        self,
        type: str,
        identity: Any,
        changes: Callable[[], Fields],
        action: str,
        firing: int | None,
        whole: bool = False,
    ) -> None:
        cell = self._cells.get((type, _hashable(identity)))
        if cell is None:
            self._skip(action, GONE, firing)
            return
        old = cell.now
        fields = dict(changes()) if whole else {**old.fields, **changes()}
        if fields == old.fields:
            if firing is not None:
                self._skip(action, NO_CHANGE, firing)
            return
        self.number += 1
        new = Fact(type, cell.identity, fields, self.number, self.now, cell)
        change = Event(type, cell.identity, {**fields, "old": dict(old.fields)}, self.number, self.now, new)
        if firing is not None:
            self.tell(Modified(new, old, self.now, firing))
        flow.update_fact(self.working, cell, new, change)

    def do_retract_fact(self, type: str, identity: Any, action: str, firing: int | None) -> None:
        cell = self._cells.pop((type, _hashable(identity)), None)
        if cell is None:
            self._skip(action, GONE, firing)
            return
        self.working.journal.append((self._put_cell_back, cell))
        self.number += 1
        if firing is not None:
            self.tell(Retracted(cell.now, self.now, firing))
        flow.retract_fact(self.working, cell, self.number)

    def _put_cell_back(self, cell: Cell) -> None:
        """In the order in which they came."""
        cells = sorted([*self._cells.values(), cell], key=lambda c: c.born)
        self._cells.clear()
        self._cells.update({(c.type, c.identity): c for c in cells})

    def do_assert_event(self, type: str, fields: Fields, identity: Any, firing: int | None) -> None:
        identity = self._identity(type, True, fields, identity)
        self.number += 1
        self._send(self._event(type, fields, identity, firing))

    def _event(self, type: str, fields: Fields, identity: Any, firing: int | None) -> Event:
        event = Event(type, identity, dict(fields), self.number, self.now)
        if type in self.program.retractable:
            event.held = []
        if firing is not None:
            self.tell(Asserted(event, self.now, firing))
        return event

    def _send(self, event: Event) -> None:
        flow.send_event(self.working, event)
        self._last = event

    def do_retract_event(self, event: Event, action: str, firing: int | None) -> None:
        if event.retracted:
            self._skip(action, GONE, firing)
            return
        self.number += 1
        if firing is not None:
            self.tell(Retracted(event, self.now, firing))
        flow.retract_event(self.working, event)

    def _retract_events(self, type: str, identity: Any) -> None:
        self.number += 1
        for event in self.events():
            if (event.type, event.identity) == (type, identity) and event.fact is None:
                flow.retract_event(self.working, event)

    @property
    def now(self) -> int:
        assert self.clock is not None
        return self.clock

    def as_now(self, thing: Thing | None) -> Thing | None:
        """A fact as it is now, of a change the fact; as it was matched if it is gone."""
        if thing is None or (isinstance(thing, Event) and thing.fact is None):
            return thing
        cell = self._cells.get((thing.type, thing.identity))
        if cell is not None:
            return cell.now
        return thing.fact if isinstance(thing, Event) else thing

    def _identity(self, type: str, event: bool, fields: Fields, given: Any) -> Any:
        if given is not None:
            return _hashable(given)
        key = self.program.keys.get((type, event))
        if key is None:
            return self._next_number(type, event)
        found = fields.get(key)
        if found is None:
            raise InputMistake(
                f"this `{type}` has no `{key}`, which is its key", code="missing_key", hint="give it a value"
            )
        return _hashable(found)

    def _next_number(self, type: str, event: bool) -> int:
        before = self._named.get((type, event), 0)
        self.working.journal.append((self._set_named, (type, event), before))
        number = before + 1
        while not event and (type, number) in self._cells:
            number += 1
        self._named[type, event] = number
        return number

    def _set_named(self, kind: tuple[str, bool], number: int) -> None:
        if number:
            self._named[kind] = number
        else:
            del self._named[kind]

    # Firings.

    def tell(self, happening: Happening) -> None:
        self._told.append(happening)

    def _skip(self, action: str, reason: str, firing: int | None) -> None:
        self.working.journal.append((self._unskip, (action, reason)))
        self.skipped[action, reason] += 1
        self.tell(Skipped(action, reason, self.now, firing))

    def _unskip(self, what: tuple[str, str]) -> None:
        self.skipped[what] -= 1
        if not self.skipped[what]:
            del self.skipped[what]

    def _carry_out(self) -> None:
        """All that one operation has made, in order; none is taken back by another."""
        made, now, told, queue = self.working.made, self.now, self._told, self._queue
        firings = sorted(made, key=place_in_order) if len(made) > 1 else made[:]
        made.clear()
        self.working.journal.append((setattr, self, "firings", self.firings))
        actions = self.program.actions
        for rule, things in firings:
            number = self.firings = self.firings + 1
            self._budget -= 1
            if self._budget < 0:
                self._stop()
            told.append(Fired(rule.rule.name, now, rule.objects(things), number))
            for act in actions[rule.number]:
                operation = act(self, things, number)
                if operation is not None:
                    queue.append(operation)

    def _stop(self) -> None:
        fired = [h.rule for h in self._told if isinstance(h, Fired)][-RECENT:]
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(fired))
        raise LimitReached(
            f"one operation made more than {self.max_firings} firings; the last were of {names}",
            code="max_firings",
            hint="these rules may feed themselves: let their conditions become false, or raise max_firings",
        )

    # What is there.

    def facts(self) -> list[Fact]:
        return [cell.now for cell in self._cells.values()]

    def events(self) -> list[Event]:
        """Those that a rule may still use, in order."""
        found = {
            id(t): t
            for memory in self.working.there()
            for element in memory.elements()
            for t in element.objects
            if isinstance(t, Event)
        }
        return sorted(found.values(), key=lambda e: e.number)

    def waiting(self) -> list[WaitingView]:
        """Firings that only wait for events not to come."""
        return waiting_view(self)

    def network(self) -> list[NodeView]:
        """All nodes: what they are asked, who shares them, what they store and until when."""
        return network_view(self)

    def _release_last(self) -> None:
        """An event that no node has stored when it came."""
        event, self._last = self._last, None
        holders = self.working.holders
        if event is not None and holders is not None and event not in holders.counts:
            self._released(event)

    def _released(self, event: Event) -> None:
        if event.fact is None and not event.retracted:
            self.tell(Released(event, self.now))

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


def _hashable(identity: Any) -> Hashable:
    try:
        hash(identity)
    except TypeError:
        raise InputMistake(
            f"{identity!r} cannot be the identity of an object",
            code="bad_identity",
            hint="use a text or a number",
        ) from None
    return identity  # type: ignore[no-any-return]
