"""Operations of a session, each with a number: what they do, and the firings they lead to, with their actions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from cepheid.errors import InputMistake, LimitReached
from cepheid.rules import flow
from cepheid.rules.actions import Operation
from cepheid.rules.handlers import Handler
from cepheid.rules.happenings import Asserted, Fired, Happening, Modified, Released, Retracted, Skipped
from cepheid.rules.memory import Cell, Waiting
from cepheid.rules.objects import Event, Fact, Thing
from cepheid.rules.productions import place_in_order
from cepheid.rules.program import RuleProgram
from cepheid.rules.working import Working

Fields = Mapping[str, Any]
GONE, NO_CHANGE = "it is gone", "nothing changes"
RECENT = 100  # firings, of which an error tells the rules


class Operating:
    def __init__(self, program: RuleProgram, max_firings: int, tell_released: bool) -> None:
        self.program, self.max_firings, self.tell_released = program, max_firings, tell_released
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
        self.told: list[Happening] = []  # by the input at hand
        self.queue: deque[Operation] = deque()
        self._budget = self.max_firings
        self._last: Event | None = None

    def _run(self) -> None:
        queue = self.queue
        while queue:
            queue.popleft()()
            if self.working.made:
                self._carry_out()
            if self.tell_released:
                self._release_last()

    def _set_budget(self, since: int | None = None) -> None:
        """What waits already is not the doing of this operation, so it is not counted against it.

        `since`: where the journal of the operation begins, if it has begun.
        """
        working = self.working
        self._budget = self.max_firings
        if working.net.waits:
            began = () if since is None else working.journal[since:]
            self._budget += working.waiting_count() - sum(isinstance(note, Waiting) for note in began)

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
        cell = self._cells.get((type, hashable(identity)))
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
        cell = self._cells.pop((type, hashable(identity)), None)
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
            return hashable(given)
        key = self.program.keys.get((type, event))
        if key is None:
            return self._next_number(type, event)
        found = fields.get(key)
        if found is None:
            raise InputMistake(
                f"this `{type}` has no `{key}`, which is its key", code="missing_key", hint="give it a value"
            )
        return hashable(found)

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
        self.told.append(happening)

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
        made, now = self.working.made, self.clock
        assert now is not None
        firings = sorted(made, key=place_in_order) if len(made) > 1 else made[:]
        made.clear()
        self.working.journal.append((setattr, self, "firings", self.firings))
        fire = self.program.fire
        for rule, things in firings:
            number = self.firings = self.firings + 1
            self._budget -= 1
            if self._budget < 0:
                self._stop()
            fire[rule.number](self, things, number, now)

    def _stop(self) -> None:
        fired = [h.rule for h in self.told if isinstance(h, Fired)][-RECENT:]
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(fired))
        raise LimitReached(
            f"one operation made more than {self.max_firings} firings; the last were of {names}",
            code="max_firings",
            hint="these rules may feed themselves: let their conditions become false, or raise max_firings",
        )

    # What is there, and which events nobody needs any more.

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

    def _release_last(self) -> None:
        """An event that no node has stored when it came."""
        event, self._last = self._last, None
        holders = self.working.holders
        if event is not None and holders is not None and event not in holders.counts:
            self._released(event)

    def _released(self, event: Event) -> None:
        """Those that are let go together are told in the order in which they came, whoever held them."""
        if event.fact is not None or event.retracted:
            return
        at = len(self.told)
        while at and _came_later(self.told[at - 1], event, self.now):
            at -= 1
        self.told.insert(at, Released(event, self.now))


def _came_later(told: Happening, event: Event, now: int) -> bool:
    return isinstance(told, Released) and told.time == now and told.event.number > event.number


def hashable(identity: Any) -> Hashable:
    """What can be the identity of an object."""
    try:
        hash(identity)
    except TypeError:
        raise InputMistake(
            f"{identity!r} cannot be the identity of an object",
            code="bad_identity",
            hint="use a text or a number",
        ) from None
    return identity  # type: ignore[no-any-return]
