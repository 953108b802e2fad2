"""Where elements (tuples of objects, or single events) are stored: found by equal values, let go at their dates."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr
from cepheid.rules.closures import INF
from cepheid.rules.keys import Key, key_of
from cepheid.rules.objects import Event, Fact

if TYPE_CHECKING:
    from cepheid.rules.journal import Journal
    from cepheid.rules.nodes import Node

Objects = tuple[Any, ...]
TIDY = 64  # after so many additions a list is cleared of what is gone
NARROW = 8  # a shorter list is looked through without searching for a time


class Element:
    __slots__ = ("alive", "key", "memory", "objects", "until")
    objects: Objects
    until: float  # the last date at which it is needed
    memory: Memory
    key: Any  # in the index of its memory; if there are more, the keys in all of them
    alive: bool


class Waiting(Element):
    """A tuple that is complete, but for absences that are judged at their dates."""

    __slots__ = ("absences", "production")
    production: Any  # to fire
    absences: list[tuple[int, Any]]  # what is judged when


class Index:
    """Elements by a key (all of them, if there is none); those of one key in the order of an event's time."""

    __slots__ = ("key", "order", "plain", "table", "time")

    def __init__(self, key: Key, order: int, time: Callable[[Element], int]) -> None:
        self.key, self.order, self.time = key, order, time
        self.plain = True  # all keys are texts or whole numbers: what is found is equal, no need to compare
        self.table: dict[Any, list[Element]] = {}

    def insert(self, element: Element, key: Any) -> None:
        if self.plain and key.__class__ is not int and key.__class__ is not str:
            self.plain = False
        found = self.table.get(key)
        if found is None:
            self.table[key] = [element]
            return
        time = element.objects[self.order].time
        if found[-1].objects[self.order].time <= time:
            found.append(element)
        else:
            found.insert(bisect_right(found, time, key=self.time), element)

    def remove(self, element: Element, key: Any) -> None:
        found = self.table[key]
        if len(found) == 1:
            del self.table[key]
        elif found[0] is element:
            del found[0]
        else:
            found.remove(element)

    def between(self, key: Any, low: float, high: float) -> Sequence[Element]:
        """Those of a key with times in an interval, and maybe others: the test itself is asked afterwards."""
        found = self.table.get(key)
        return () if found is None else self.narrowed(found, low, high)

    def narrowed(self, found: list[Element], low: float, high: float) -> Sequence[Element]:
        if len(found) < NARROW:
            return found
        begin = 0 if low == -INF else bisect_left(found, low, key=self.time)
        end = len(found) if high == INF else bisect_right(found, high, key=self.time)
        return found if (begin, end) == (0, len(found)) else found[begin:end]


class Timers:
    """Which memory has something to let go at which date."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Memory]] = []
        self.count = 0

    def ask(self, date: float, memory: Memory) -> None:
        self.count += 1
        heappush(self.heap, (date, self.count, memory))

    def pass_to(self, time: float) -> None:
        """All that was needed until some date before this time is let go."""
        heap = self.heap
        while heap and heap[0][0] < time:
            date, _, memory = heappop(heap)
            memory.let_go(date)


class Holders:
    """How many elements hold each event; tells which events are held no longer."""

    def __init__(self, released: Callable[[Event], None]) -> None:
        self.counts: Counter[Event] = Counter()
        self.released = released

    def hold(self, element: Element) -> None:
        self.counts.update(t for t in element.objects if isinstance(t, Event))

    def let_go(self, element: Element) -> None:
        for thing in element.objects:
            if isinstance(thing, Event):
                self.counts[thing] -= 1
                if not self.counts[thing]:
                    del self.counts[thing]
                    self.released(thing)


class MemoryPlan:
    """What a memory is for, the same in all sessions. `node`: whose tuples they are; of single events there is none."""

    def __init__(self, number: int, node: Node | None, kind: type[Element], traced: bool) -> None:
        self.number, self.node, self.kind = number, node, kind
        self.traced = traced  # may an event in it be retracted by a rule?
        self.fact_places: tuple[int, ...] = () if node is None else tuple(p for p, _ in node.facts)
        self.indexes: list[tuple[Key, int, Callable[[Element], int]]] = []
        self.exprs: list[tuple[Expr, ...]] = []  # by which they are
        self._known: dict[Any, int] = {}

    def index(self, exprs: Sequence[Expr], order: int) -> int:
        """The place of the index by these values; joins that look things up in the same way share one."""
        name = (tuple(exprs), order)
        if name not in self._known:
            self._known[name] = len(self.indexes)
            self.indexes.append((key_of(exprs) or _no_key, order, _time_at(order)))
            self.exprs.append(tuple(exprs))
        return self._known[name]


def _no_key(objects: Any) -> Any:
    return ()


def _time_at(order: int) -> Callable[[Element], int]:
    return lambda element: element.objects[order].time


class Memory:
    """The elements of one plan in one session. What is done to it is noted in the session's journal."""

    __slots__ = (
        "by_date",
        "count",
        "fact_places",
        "forever",
        "holders",
        "indexes",
        "journal",
        "kind",
        "most",
        "node",
        "only",
        "timers",
        "traced",
        "watched",
    )

    def __init__(self, plan: MemoryPlan, timers: Timers, holders: Holders | None, journal: Journal) -> None:
        self.node, self.kind, self.traced, self.fact_places = (
            plan.node,
            plan.kind,
            plan.traced,
            plan.fact_places,
        )
        self.timers, self.holders, self.journal = timers, holders, journal
        self.watched = plan.traced or holders is not None
        self.count = 0
        self.indexes = [Index(*index) for index in plan.indexes]
        self.only = self.indexes[0] if len(self.indexes) == 1 else None
        self.by_date: dict[float, list[Element]] = {}  # and what was taken out since
        self.forever: dict[Element, None] = {}  # what has no date
        self.most = 0  # elements at one time

    def elements(self) -> Iterator[Element]:
        for due in self.by_date.values():
            for element in due:
                if element.alive:
                    yield element
        yield from self.forever

    def in_order(self) -> list[Element]:
        """Of their objects, whatever came in between."""
        return sorted(self.elements(), key=_numbers)

    def add(self, objects: Objects, until: float) -> Element:
        only = self.only
        # First what may fail: keys are computed from values.
        key = only.key(objects) if only is not None else [index.key(objects) for index in self.indexes]
        element = self.kind()
        element.objects = objects
        element.until = until
        element.memory = self
        element.key = key
        element.alive = True
        self.count += 1
        if self.count > self.most:
            self.rise()
        if only is None:
            self._index(element)
        elif key is not None:
            if only.plain and key not in only.table and (key.__class__ is int or key.__class__ is str):
                only.table[key] = [element]  # as `insert` does
            else:
                only.insert(element, key)
        for at in self.fact_places:
            objects[at].cell.elements[element] = None
        self.journal.append(element)
        if until < INF:
            due = self.by_date.get(until)
            if due is None:
                self.by_date[until] = [element]
                self.timers.ask(until, self)
            else:
                due.append(element)
        else:
            self.forever[element] = None
        if self.watched:
            self._watch(element)
        return element

    def rise(self) -> None:
        self.journal.append((setattr, self, "most", self.most))
        self.most = self.count

    def _index(self, element: Element) -> None:
        if self.only is not None:
            if element.key is not None:
                self.only.insert(element, element.key)
            return
        for index, key in zip(self.indexes, element.key, strict=True):
            if key is not None:
                index.insert(element, key)

    def _watch(self, element: Element) -> None:
        if self.holders is not None:
            self.holders.hold(element)
        if self.traced:
            self._trace(element)

    def _trace(self, element: Element) -> None:
        """What retracts an event finds its elements."""
        for thing in element.objects:
            if thing.__class__ is Event and thing.held is not None:
                thing.held.append(element)
                if len(thing.held) % TIDY == 0:
                    thing.held = [e for e in thing.held if e.alive]

    def _put_back(self, element: Element) -> None:
        """What was taken out."""
        element.alive = True
        self.count += 1
        if element.until == INF:
            self.forever[element] = None
        self._index(element)
        for at in self.fact_places:
            element.objects[at].cell.elements[element] = None
        if self.holders is not None:
            self.holders.hold(element)

    def remove(self, element: Element) -> None:
        if element.alive:
            self.journal.append((self._put_back, element))
            self.take_out(element)

    def take_out(self, element: Element) -> None:
        element.alive = False
        self.count -= 1
        self.forever.pop(element, None)
        if self.only is not None:
            if element.key is not None:
                self.only.remove(element, element.key)
        else:
            for index, key in zip(self.indexes, element.key, strict=True):
                if key is not None:
                    index.remove(element, key)
        for at in self.fact_places:
            element.objects[at].cell.elements.pop(element, None)  # a fact may be there twice
        if self.holders is not None:
            self.holders.let_go(element)

    def let_go(self, date: float) -> None:
        """What is needed until this date only."""
        due = self.by_date.pop(date)
        gone = [element for element in due if element.alive]
        self.journal.append((self._bring_back, date, gone, due))
        only = self.only
        if only is None or self.holders is not None:
            for element in gone:
                self.take_out(element)
            return
        table, places = only.table, self.fact_places
        self.count -= len(gone)
        for element in gone:  # as `take_out` does
            element.alive = False
            key = element.key
            if key is not None:
                if len(table[key]) == 1:
                    del table[key]
                else:
                    only.remove(element, key)
            for at in places:
                element.objects[at].cell.elements.pop(element, None)

    def _bring_back(self, date: float, gone: list[Element], due: list[Element]) -> None:
        """With what had been taken out before its date: that may be put back as well."""
        for element in gone:
            self._put_back(element)
        self.by_date[date] = due
        self.timers.ask(date, self)


def _numbers(element: Element) -> tuple[list[int], int]:
    """Equal tuples are only of rules that wait for different things."""
    waits = element.production.count if isinstance(element, Waiting) else 0
    return [thing.number for thing in element.objects], waits


class Cell:
    """One fact from its assert to its retraction."""

    __slots__ = ("born", "elements", "fired", "identity", "now", "past", "seen_by", "type")

    def __init__(self, now: Fact) -> None:
        self.type, self.identity = now.type, now.identity
        self.born = now.number  # in which order they came
        self.now = now
        self.past: list[tuple[Fact, int]] = []  # earlier states, each with the number that ended it
        self.seen_by: tuple[Any, ...] = ()  # the discriminations that it passes now
        self.elements: dict[Element, None] = {}
        self.fired: list[tuple[Any, Any]] = []  # firings of rules without events, not to be repeated

    def remember(self, fired: set[Any], numbers: Any) -> None:
        self.fired.append((fired, numbers))
        if len(self.fired) % TIDY == 0:
            self.fired = [(f, n) for f, n in self.fired if n in f]

    def before(self, number: int) -> Fact | None:
        """Its state just before an operation, as far as it is kept."""
        if self.now.number < number:
            return self.now
        for state, _ in reversed(self.past):
            if state.number < number:
                return state
        return None

    def states_since(self, number: int) -> Iterator[Fact]:
        """All its states from just before an operation until now."""
        for state, end in self.past:
            if end >= number:
                yield state
        yield self.now


def as_now(objects: Objects) -> Objects:
    """Facts in the state they have now."""
    return tuple(t.cell.now if t.__class__ is Fact else t for t in objects)


def as_before(objects: Objects, number: int) -> Objects:
    """Facts in the state they had just before an operation."""
    return tuple(t.cell.before(number) if t.__class__ is Fact else t for t in objects)
