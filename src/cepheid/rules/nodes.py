"""The nodes behind the entrance: each extends tuples by one more object, and hands them on.

An element is stored only where a join with events that are still to come asks for it, and as long as one asks. A join
with facts looks them up when the tuple comes, and never again: facts that come later are not for events before them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr, Field, walk
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.chains import Keeping, Step, as_matched, moved, sides_of
from cepheid.rules.closures import INF, NOW, Test, bounds, place, places, test_in_two_worlds, test_of
from cepheid.rules.discriminations import EventNode, FactNode, FactTable
from cepheid.rules.keys import Key, key_in_two_worlds, key_of
from cepheid.rules.memory import Element, Index, MemoryPlan, Objects, as_before, as_now
from cepheid.rules.objects import Fact

if TYPE_CHECKING:
    from cepheid.rules.network import Network
    from cepheid.rules.productions import Production
    from cepheid.rules.working import Working

Receive = Callable[["Working", Objects], None]
Asked = tuple[tuple[int, float], ...]  # (place, how long after it): until the least of these dates


class Node:
    """Tuples that have passed the same steps."""

    def __init__(
        self, net: Network, number: int, parent: Node | None, wants: Any, step: Step | None, label: str
    ) -> None:
        self.number, self.parent, self.wants, self.step = number, parent, wants, step
        self.join: Any = None  # what it is the outcome of
        self.labels: tuple[str, ...] = () if parent is None else parent.labels
        if step is None or not step.absent:
            self.labels = (*self.labels, label)
        self.width = len(self.labels)
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.facts: tuple[tuple[int, FactNode], ...] = () if parent is None else parent.facts
        self.events: tuple[int, ...] = () if parent is None else parent.events
        # What must stay true of the facts: tests between them, and facts that must not be.
        self.holds: tuple[tuple[frozenset[int], Test], ...] = () if parent is None else parent.holds
        self.absent: tuple[NoFactLook, ...] = () if parent is None else parent.absent
        self.children: dict[Step, Node] = {}
        self.looks: list[FactLook | NoFactLook] = []
        self.joins: list[EventJoin] = []
        self.looking_back: list[EventJoin] = []  # joins with events that may be older than the tuple
        self.productions: list[Production] = []
        self.memory: MemoryPlan | None = None
        self.waits: MemoryPlan | None = (
            None  # tuples that are complete, but for an absence still to be judged
        )
        self.asked: set[Asked] = set()
        self.single: tuple[int, float] | None = None  # if nothing else is asked
        # Of the tuples that came; at the beginning of a chain they are what its discrimination counts.
        self.count = net.counter() if parent is not None else None
        self.receive: Receive = self._receive

    def settle(self) -> None:
        """The network is complete: a node that does one thing only needs not ask what else to do."""
        kept = self.storing()
        if kept is not None:
            assert self.memory is not None
            self.receive = _storing(self.count, self.memory.number, *kept)
        elif not self.looks and self.memory is None and len(self.productions) == 1:
            self.receive = _completing(self.count, self.productions[0])

    def firing(self) -> Production | None:
        """If tuples only fire one rule here, at once, and have an object for each of its lines."""
        if self.looks or self.memory is not None or len(self.productions) != 1:
            return None
        (production,) = self.productions
        return production if production.at_once and None not in production.places else None

    def storing(self) -> tuple[int, float] | None:
        """If tuples are only stored here: after which event, and for how long."""
        if self.looks or self.looking_back or self.productions or self.memory is None:
            return None
        return self.single

    def _receive(self, working: Working, objects: Objects) -> None:
        if self.count is not None:
            working.journal.append(self.count)
        for production in self.productions:
            production.complete(working, objects)
        for look in self.looks:
            look.run(working, objects)
        if self.memory is not None:
            until = self.until(objects)
            if until >= working.clock:
                working.memory(self.memory.number).add(objects, until)
            for join in self.looking_back:
                join.look_back(working, objects)

    def until(self, objects: Objects) -> float:
        """The last date at which one of the joins may need the tuple."""
        if self.single is not None:
            at, most = self.single
            date: float = objects[at].time + most
            return date
        return max(date_of(asked, objects) for asked in self.asked)

    def ask(self, keeping: Keeping) -> None:
        """A join says how long it needs tuples."""
        asked = self.asked | {keeping.after}
        single: dict[int, float] = {}
        for (at, most), *more in filter(None, asked):
            if not more:
                single[at] = max(most, single.get(at, most))
        self.asked = {a for a in asked if len(a) != 1} | {((at, most),) for at, most in single.items()}
        pairs = [pair for one in self.asked for pair in one] if len(self.asked) == 1 else []
        self.single = pairs[0] if len(pairs) == 1 else None

    def still_holds(self, working: Working, element: Element, changed: Any) -> bool:
        """A fact of a stored tuple has changed: are the tests of facts still true?"""
        objects = element.objects
        at = {p for p, _ in self.facts if objects[p].cell is changed}
        if any(p in at and node not in changed.seen_by for p, node in self.facts):
            return False
        worlds = (objects, as_now(objects))
        if not all(test(worlds) for involved, test in self.holds if involved & at):
            return False
        return not any(look.forbidden_now(working, worlds) for look in self.absent if look.involved & at)


def _storing(count: int | None, number: int, at: int, most: float) -> Receive:
    def receive(working: Working, objects: Objects) -> None:
        if count is not None:
            working.journal.append(count)
        until = objects[at].time + most
        if until >= working.clock:
            (working.memories[number] or working.memory(number)).add(objects, until)

    return receive


def _completing(count: int | None, production: Production) -> Receive:
    complete = production.complete

    def receive(working: Working, objects: Objects) -> None:
        if count is not None:
            working.journal.append(count)
        complete(working, objects)

    return receive


def date_of(asked: Asked, objects: Objects) -> float:
    return min((objects[at].time + most for at, most in asked), default=INF)


class FactLook:
    """Joins a tuple with the facts that are there."""

    def __init__(self, step: Step, wants: FactNode, child: Node) -> None:
        self.step, self.wants, self.child = step, wants, child
        own = child.width - 1
        known, new = keys_of(step, own)
        self.table = wants.table(new)
        self.involved = frozenset().union(*map(places, step.fact_tests)) - {own}
        if step.late:
            self.key = key_in_two_worlds(known)
            self.test = test_of(tuple(step.event_tests))
        else:
            self.key = key_of(known)
            self.test = test_of(tuple(step.fact_tests | step.event_tests))
            self.rest = test_of(rest_of(step, step.fact_tests | step.event_tests, own))
        self.fact_test = test_in_two_worlds(tuple(step.fact_tests))
        self.run = self._run_late if step.late else self._run

    def _run(self, working: Working, objects: Objects) -> None:
        there = working.facts_of(self.wants)
        if self.table is None or self.key is None:
            self._join(working, there.members, objects, self.test)
            return
        key, table = self.key(objects), there.tables[self.table]
        found = table.facts.get(key)
        if found is not None:
            self.on_found(working, table, found, key, objects)

    def on_found(
        self, working: Working, table: FactTable, found: dict[Any, Fact], key: Any, objects: Objects
    ) -> None:
        """Facts of the key that the tuple has."""
        exact = table.plain and (key.__class__ is str or key.__class__ is int)
        self._join(working, found, objects, self.rest if exact else self.test)

    def _join(self, working: Working, found: dict[Any, Fact], objects: Objects, test: Test | None) -> None:
        receive, apart = self.child.receive, self.step.apart
        for fact in found.values():
            if apart and fact is objects[0]:
                continue
            joined = (*objects, fact)
            if test is None or test(joined):
                receive(working, joined)

    def _candidates(self, working: Working, seen: Any) -> Any:
        return _facts_for(working, self.wants, self.table, self.key, seen)

    def _run_late(self, working: Working, objects: Objects) -> None:
        """Events have come since the first: the fact must have been there then, and have held ever since."""
        first = objects[0].number
        for now in self._candidates(working, (objects, as_now(objects))):
            then = now.cell.before(first)
            if then is None:
                continue
            found = (*objects, then)
            if (self.test is None or self.test(found)) and self._has_held(found, first):
                self.child.receive(working, found)

    def _has_held(self, objects: Objects, first: int) -> bool:
        cell = objects[-1].cell
        own = self.wants.whole_test
        if own is not None and not all(own((state,)) for state in cell.states_since(first)):
            return False
        if self.fact_test is None:
            return True
        cells = {cell, *(objects[p].cell for p in self.involved if objects[p].__class__ is Fact)}
        return all(
            self.fact_test((objects, as_before(objects, moment))) for moment in _moments(cells, first, INF)
        )


def _facts_for(working: Working, wants: FactNode, table: int | None, key: Key | None, seen: Any) -> Any:
    """Facts as they are now, by a key if there is one."""
    there = working.facts_of(wants)
    if table is None or key is None:
        return there.members.values()
    value = key(seen)
    return () if value is None else there.tables[table].facts.get(value, {}).values()


def _moments(cells: Any, first: int, last: float) -> set[int]:
    """Just before an operation, and after each change of these facts since."""
    changes = {state.number + 1 for cell in cells for state in cell.states_since(first)}
    return {first, *(k for k in changes if first < k <= last)}


class NoFactLook:
    """Lets a tuple pass if there is no such fact. For a stored tuple there must not be one later, either."""

    def __init__(self, step: Step, wants: FactNode, child: Node) -> None:
        self.step, self.wants, self.child = step, wants, child
        own = child.width  # a place that only its tests know
        known, new = keys_of(step, own)
        self.table = wants.table(new)
        self.key = key_in_two_worlds(known)
        self.test = test_in_two_worlds(tuple(step.fact_tests))
        self.involved = frozenset().union(*map(places, step.fact_tests)) - {own}
        # By what a new fact finds the stored tuples that it ends, if it does not depend on how facts are now.
        self.steady = known if known and all(map(_is_steady, known)) else None
        self.fact_key = key_of(new)

    def index_in(self, memory: MemoryPlan) -> int | None:
        return None if self.steady is None else memory.index([as_matched(e) for e in self.steady], 0)

    def run(self, working: Working, objects: Objects) -> None:
        if self.forbidden_now(working, (objects, as_now(objects))):
            return
        if self.step.late and self._was_forbidden(working, objects):
            return
        self.child.receive(working, objects)

    def forbidden_now(self, working: Working, worlds: tuple[Objects, Objects]) -> bool:
        found = _facts_for(working, self.wants, self.table, self.key, worlds)
        return any(self.forbids(worlds, fact) for fact in found)

    def forbids(self, worlds: tuple[Objects, Objects], fact: Fact) -> bool:
        then, now = worlds
        return self.test is None or self.test(((*then, fact), (*now, fact)))

    def _was_forbidden(self, working: Working, objects: Objects) -> bool:
        """At some moment since the first event."""
        first, own = objects[0].number, self.wants.whole_test
        cells = {objects[p].cell for p in self.involved if objects[p].__class__ is Fact}
        for state, end in working.past.get(self.wants.wants.type, ()):
            if end < first or not (own is None or own((state,))):
                continue
            if self._met(objects, state, cells, first, end):
                return True
        if not cells:
            return False
        there = working.facts_of(self.wants).members.values()
        return any(self._met(objects, fact, cells, first, INF) for fact in there)

    def _met(self, objects: Objects, state: Fact, cells: Any, first: int, last: float) -> bool:
        begin = max(first, state.number + 1)
        moments = {begin, *(k for k in _moments(cells, begin, last) if k > begin)}
        return any(self.forbids((objects, as_before(objects, k)), state) for k in moments)


class EventJoin:
    """Joins stored tuples with an event that comes, and tuples that come with events that are stored."""

    def __init__(
        self, net: Network, step: Step, wants: EventNode, parent: Node, child: Node, same: bool
    ) -> None:
        self.net, self.step, self.wants, self.parent, self.child = net, step, wants, parent, child
        self.same = same  # the event that the chain began with may be this one, too
        self.count = net.counter()  # of the pairs that were tried
        own = child.width - 1
        known, new = keys_of(step, own)
        self.tuple_key, self.event_key = key_of(known), key_of(new)
        self.exprs = known, new
        self.test = test_of(tuple(step.event_tests))
        rest = rest_of(step, step.event_tests, own)
        self.rest = test_of(rest)
        self.against, self.low, self.high = span_of(step.event_tests, own)
        # Where the key is known to be equal, only this time is still to be asked.
        self.only_time = len(rest) == 1 and isinstance(rest[0], TimeTest)
        assert parent.memory is not None
        self.memory, self.index = parent.memory.number, parent.memory.index(known, self.against)
        self.event_index: int | None = None
        self.asked: set[Asked] = set()

    def store_events(self) -> None:
        if self.wants.memory is None:
            self.wants.memory = self.net.memory(None)
        if self.event_index is None:
            self.event_index = self.wants.memory.index(self.exprs[1], 0)

    def on_event(self, working: Working, event: Any) -> None:
        key = () if self.event_key is None else self.event_key((event,))
        index = working.memory(self.memory).indexes[self.index]
        found = index.table.get(key)
        if found is not None:
            self.on_found(working, index, found, key, event)

    def on_found(self, working: Working, index: Index, found: list[Element], key: Any, event: Any) -> None:
        """Tuples of the key that the event has."""
        exact = index.plain and (key.__class__ is str or key.__class__ is int)
        receive, time, low, high = self.child.receive, event.time, self.low, self.high
        elements = found if len(found) == 1 else index.narrowed(found, time - high, time - low)
        working.journal += [self.count] * len(elements)
        if exact and self.only_time:
            against = self.against
            for element in elements:
                objects = element.objects
                if low <= time - objects[against].time <= high:
                    receive(working, (*objects, event))
            return
        test = self.rest if exact else self.test
        for element in elements:
            joined = (*element.objects, event)
            if test is None or test(joined):
                receive(working, joined)

    def look_back(self, working: Working, objects: Objects) -> None:
        """Events that came before the tuple was complete, but not before its first event."""
        first, apart, test = objects[0].number, self.step.apart, self.test
        for event in self._events_for(working, objects):
            if event.number < first or (apart and event.number == first):
                continue
            working.journal.append(self.count)
            found = (*objects, event)
            if test is None or test(found):
                self.child.receive(working, found)

    def _events_for(self, working: Working, objects: Objects) -> Any:
        if self.same:
            return [objects[0]] if self.wants in working.passed else []
        assert self.wants.memory is not None
        assert self.event_index is not None
        key = () if self.tuple_key is None else self.tuple_key(objects)
        if key is None:
            return ()
        index, time = (
            working.memory(self.wants.memory.number).indexes[self.event_index],
            objects[self.against].time,
        )
        found = index.between(key, time + self.low, time + self.high)
        return [element.objects[0] for element in found]


def keys_of(step: Step, own: int) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """What the tuple has, and what the new object has (its place is 0 there)."""
    known = tuple(k for k, _ in step.keys)
    return known, tuple(as_matched(moved(new, {own: 0})) for _, new in step.keys)


def _is_steady(expr: Expr) -> bool:
    """Does it look at nothing that may change: at events, and at identities?"""
    return not any(
        isinstance(node, Field) and node.path and str(node.alias).endswith(NOW) for node in walk(expr)
    )


def rest_of(step: Step, tests: frozenset[Expr], own: int) -> tuple[Expr, ...]:
    """The tests that are still to be asked where the key is known to be equal."""
    if len(step.keys) != 1:
        return tuple(tests)
    return tuple(t for t in tests if sides_of(t, own) != [step.keys[0]])


def span_of(tests: Any, own: int) -> tuple[int, float, float]:
    """A plain test of time of the new event: against which other, and how long after it."""
    for test in sorted((t for t in tests if isinstance(t, TimeTest)), key=repr):
        low, high = bounds(test)
        if place(test.left) == own:
            return place(test.right), low, high
        if place(test.right) == own:
            return place(test.left), -high, -low
    return 0, -INF, INF
