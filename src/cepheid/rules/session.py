"""A session of rules: operations come one after the other, and each tells what happened.

Times are microseconds and never go back. What one operation makes is found at once, before any action; actions become
operations in a queue that is emptied before the next input.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.pattern.rule_model import Retract, RuleSet
from cepheid.rules.actions import Operation, ready_action
from cepheid.rules.happenings import Asserted, Fired, Happening, Modified, Released, Retracted, Skipped
from cepheid.rules.inspection import NodeView, WaitingView, network_view, waiting_view
from cepheid.rules.memory import Cell
from cepheid.rules.network import Network
from cepheid.rules.objects import Event, Fact, Thing
from cepheid.rules.productions import Firing
from cepheid.rules.resolve import ready_rule
from cepheid.rules.saving import put_state, state_of

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
        ruleset: RuleSet,
        *,
        tick: int = 1_000_000,
        max_firings: int = 10_000,
        tell_released: bool = False,
    ) -> None:
        self.ruleset, self.tick, self.max_firings = ruleset, tick, max_firings
        self.tell_released = tell_released
        self.rules = [ready_rule(rule, n, tick) for n, rule in enumerate(ruleset.rules)]
        self._actions = [[ready_action(a, r) for a in r.rule.actions] for r in self.rules]
        self._retractable = frozenset(
            rule.lines[rule.place_of(action.variable)].type
            for rule in self.rules
            for action in rule.rule.actions
            if isinstance(action, Retract)
        )
        self._keys = {(t.name, t.event): t.key for t in ruleset.types if t.key is not None}
        self._start()

    def _start(self) -> None:
        self._network = Network(
            self.rules, self._released if self.tell_released else None, retractable=self._retractable
        )
        self._cells: dict[tuple[str, Any], Cell] = {}
        self._named: dict[tuple[str, bool], int] = {}
        self.clock: int | None = None
        self.number = 0
        self.firings = 0
        self.skipped: Counter[tuple[str, str]] = Counter()
        self._told: list[Happening] = []
        self._queue: deque[Operation] = deque()
        self._budget = self.max_firings
        self._last: Event | None = None
        self._recent: deque[str] = deque(maxlen=RECENT)

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

    def assert_events(self, events: Iterable[tuple[str, Fields, int, Any]]) -> list[Happening]:
        """Many events, in order: type, fields, time, identity (None: they are numbered)."""
        told = self._begin()
        handlers, made, clock = self._network.handlers, self._network.made, self.clock
        ignore = None if self.tell_released else _ignore
        for type, fields, time, identity in events:
            if time != clock:
                self._turn(time)
                clock = time
            if identity is None:
                identity = self._identity(type, True, fields, None)
            number = self.number = self.number + 1
            handler = handlers.get(type, ignore)
            if handler is not None:
                handler(fields, time, identity, number)
                if not made:
                    continue
            else:
                self._take_event(type, fields, identity, None)
            self._set_budget()
            self._finish_operation()
            self._run()
        return told

    def retract_event(self, type: str, identity: Any, time: int | None = None) -> list[Happening]:
        """All events of this identity are taken back."""
        return self._input(time, lambda: self._retract_events(type, identity))

    def advance(self, time: int) -> list[Happening]:
        """Time moves on: what waits for dates before it is judged."""
        return self._input(time, lambda: None)

    def finish(self) -> list[Happening]:
        """No more operations will come: all dates pass."""
        told = self._begin()
        self._set_budget()
        self._pass_dates(float("inf"))
        return told

    def _begin(self) -> list[Happening]:
        """An input that ended in a mistake leaves nothing to the next."""
        self._queue.clear()
        self._network.made.clear()
        self._told = []
        return self._told

    def _input(self, time: int | None, operation: Operation) -> list[Happening]:
        told = self._begin()
        if time is None:
            time = 0 if self.clock is None else self.clock
        self._turn(time)
        self._set_budget()
        self._queue.append(operation)
        self._run()
        return told

    def _turn(self, time: int) -> None:
        """Time moves on, or stays."""
        if self.clock is None or time > self.clock:
            if self._network.dates:
                self._set_budget()
                self._pass_dates(time)
            self.clock = time
            self._network.move_to(time)
        elif time < self.clock:
            raise InputMistake(
                f"time goes back: {time} comes after {self.clock}",
                code="time_goes_back",
                hint="sort what comes by time",
            )

    def _set_budget(self) -> None:
        """What waits is not the doing of this operation, so it is not counted against it."""
        waits = self._network.waits
        self._budget = self.max_firings + (sum(len(m.elements) for m in waits) if waits else 0)

    def _pass_dates(self, time: float) -> None:
        """Dates of waiting come in order, each after all operations of its time."""
        network = self._network
        while (date := network.next_date()) < time:
            self.clock = int(date)
            network.move_to(date)
            network.judge(int(date))
            self._carry_out()
            self._run()

    def _run(self) -> None:
        queue = self._queue
        while queue:
            queue.popleft()()
            self._finish_operation()

    def _finish_operation(self) -> None:
        if self._network.made:
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
        if firing is not None:
            self.tell(Asserted(fact, self.now, firing))
        self._network.assert_fact(cell)

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
        self._network.update_fact(cell, new, change)

    def do_retract_fact(self, type: str, identity: Any, action: str, firing: int | None) -> None:
        cell = self._cells.pop((type, _hashable(identity)), None)
        if cell is None:
            self._skip(action, GONE, firing)
            return
        self.number += 1
        if firing is not None:
            self.tell(Retracted(cell.now, self.now, firing))
        self._network.retract_fact(cell, self.number)

    def do_assert_event(self, type: str, fields: Fields, identity: Any, firing: int | None) -> None:
        identity = self._identity(type, True, fields, identity)
        self.number += 1
        self._take_event(type, fields, identity, firing)

    def _take_event(self, type: str, fields: Fields, identity: Any, firing: int | None) -> None:
        event = Event(type, identity, dict(fields), self.number, self.now)
        if type in self._retractable:
            event.held = []
        if firing is not None:
            self.tell(Asserted(event, self.now, firing))
        self._network.event(event)
        self._last = event

    def do_retract_event(self, event: Event, action: str, firing: int | None) -> None:
        if event.retracted:
            self._skip(action, GONE, firing)
            return
        self.number += 1
        if firing is not None:
            self.tell(Retracted(event, self.now, firing))
        self._network.retract_event(event)

    def _retract_events(self, type: str, identity: Any) -> None:
        self.number += 1
        for event in self.events():
            if (event.type, event.identity) == (type, identity) and event.fact is None:
                self._network.retract_event(event)

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
        key = self._keys.get((type, event))
        if key is None:
            return self._next_number(type, event)
        found = fields.get(key)
        if found is None:
            raise InputMistake(
                f"this `{type}` has no `{key}`, which is its key", code="missing_key", hint="give it a value"
            )
        return _hashable(found)

    def _next_number(self, type: str, event: bool) -> int:
        number = self._named.get((type, event), 0) + 1
        while not event and (type, number) in self._cells:
            number += 1
        self._named[type, event] = number
        return number

    # Firings.

    def tell(self, happening: Happening) -> None:
        self._told.append(happening)

    def _skip(self, action: str, reason: str, firing: int | None) -> None:
        self.skipped[action, reason] += 1
        self.tell(Skipped(action, reason, self.now, firing))

    def _carry_out(self) -> None:
        """All that one operation has made, in order; none is taken back by another."""
        made = self._network.made
        firings = sorted(made, key=Firing.place_in_order) if len(made) > 1 else made[:]
        made.clear()
        for firing in firings:
            rule, things = firing.rule, firing.things
            name = rule.rule.name
            number = self.firings = self.firings + 1
            self._budget -= 1
            self._recent.append(name)
            if self._budget < 0:
                self._stop()
            self._told.append(Fired(name, self.now, firing.objects(), number))
            for act in self._actions[rule.number]:
                operation = act(self, things, number)
                if operation is not None:
                    self._queue.append(operation)

    def _stop(self) -> None:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(self._recent))
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
            for memory in self._network.memories
            for element in memory.elements
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
        if event is not None and not self._network.holds(event):
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
