"""Where elements (tuples of objects, or single events) are stored: found by equal values, let go at their dates."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr, Field
from cepheid.rules.closures import EXACT, INF, Value, lookup_key, place, value_in_two_worlds, value_of
from cepheid.rules.objects import Event, Fact

if TYPE_CHECKING:
    from cepheid.rules.nodes import Node

Objects = tuple[Any, ...]
TIDY = 64  # after so many additions a list is cleared of what is gone
NARROW = 8  # a shorter list is looked through without searching for a time


class Element:
    __slots__ = ("alive", "keys", "memory", "objects", "until")
    keys: list[Any]  # in the indexes of its memory

    def __init__(self, objects: Objects, until: float, memory: Memory) -> None:
        self.objects = objects
        self.until = until  # the last date at which it is needed
        self.memory = memory
        self.alive = True


class Waiting(Element):
    """A tuple that is complete, but for absences that are judged at their dates."""

    __slots__ = ("absences", "production")
    production: Any  # to fire
    absences: list[tuple[int, Any]]  # what is judged when


Key = Callable[[Any], Any]  # None: a null is in it, which equals nothing


def key_of(exprs: Sequence[Expr]) -> Key | None:
    """Of a tuple of objects."""
    if len(exprs) == 1 and isinstance(exprs[0], Field) and len(exprs[0].path) < 2:
        at = place(str(exprs[0].alias))
        return _field_key(at, exprs[0].path[0]) if exprs[0].path else _identity_key(at)
    return _key([value_of(e) for e in exprs])


def key_in_two_worlds(exprs: Sequence[Expr]) -> Key | None:
    return _key([value_in_two_worlds(e) for e in exprs])


def _key(values: list[Value]) -> Key | None:
    if not values:
        return None
    if len(values) == 1:
        return _single_key(values[0])

    def key(objects: Any) -> Any:
        found = tuple(value(objects) for value in values)
        return None if None in found else tuple(map(lookup_key, found))

    return key


def _field_key(at: int, name: str) -> Key:
    def key(objects: Any) -> Any:
        found = objects[at].fields.get(name)
        kind = found.__class__
        if kind is str or (kind is int and -EXACT < found < EXACT):
            return found
        return None if found is None or found != found else lookup_key(found)

    return key


def _identity_key(at: int) -> Key:
    def key(objects: Any) -> Any:
        found = objects[at].identity
        kind = found.__class__
        return found if kind is str or (kind is int and -EXACT < found < EXACT) else lookup_key(found)

    return key


def _single_key(value: Value) -> Key:
    def key(objects: Any) -> Any:
        found = value(objects)
        return found if found is None or found.__class__ is str else lookup_key(found)

    return key


class Index:
    """Elements by a key (all of them, if there is none); those of one key in the order of an event's time."""

    __slots__ = ("key", "order", "plain", "table", "time")

    def __init__(self, key: Key | None, order: int) -> None:
        self.key, self.order = key, order
        self.plain = True  # all keys are texts or whole numbers: what is found is equal, no need to compare
        self.table: dict[Any, list[Element]] = {}
        self.time = lambda element: element.objects[order].time

    def insert(self, found: list[Element], element: Element) -> None:
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


class Memory:
    """`node`: whose tuples they are; of single events there is none."""

    __slots__ = (
        "by_date",
        "elements",
        "fact_places",
        "holders",
        "indexes",
        "kind",
        "most",
        "node",
        "timers",
        "traced",
    )

    def __init__(
        self,
        timers: Timers,
        node: Node | None,
        holders: Holders | None,
        *,
        kind: type[Element] = Element,
        traced: bool = True,
    ) -> None:
        self.timers, self.node, self.holders, self.kind = timers, node, holders, kind
        self.traced = traced  # may an event in it be retracted by a rule?
        self.fact_places: tuple[int, ...] = () if node is None else tuple(p for p, _ in node.facts)
        self.elements: dict[Element, None] = {}
        self.indexes: list[Index] = []
        self.by_date: dict[float, list[Element]] = {}
        self.most = 0  # elements at one time

    def index(self, exprs: Sequence[Expr], order: int, known: dict[Any, Index]) -> Index:
        """The index by these values; joins that look things up in the same way share one."""
        name = (id(self), tuple(exprs), order)
        if name not in known:
            known[name] = Index(key_of(exprs), order)
            self.indexes.append(known[name])
        return known[name]

    def add(self, objects: Objects, until: float) -> Element:
        element = self.kind(objects, until, self)
        elements = self.elements
        elements[element] = None
        if len(elements) > self.most:
            self.most = len(elements)
        keys = element.keys = []
        for index in self.indexes:
            key = () if index.key is None else index.key(objects)
            keys.append(key)
            if key is None:
                continue
            if key.__class__ is not int and key.__class__ is not str:
                index.plain = False
            found = index.table.get(key)
            if found is None:
                index.table[key] = [element]
            else:
                index.insert(found, element)
        if until < INF:
            due = self.by_date.get(until)
            if due is None:
                self.by_date[until] = [element]
                self.timers.ask(until, self)
            else:
                due.append(element)
        for at in self.fact_places:
            objects[at].cell.elements[element] = None
        if self.traced:
            for thing in objects:
                if thing.__class__ is Event and thing.held is not None:
                    thing.held.append(element)
                    if len(thing.held) % TIDY == 0:
                        thing.held = [e for e in thing.held if e.alive]
        if self.holders is not None:
            self.holders.hold(element)
        return element

    def remove(self, element: Element) -> None:
        if not element.alive:
            return
        element.alive = False
        del self.elements[element]
        for index, key in zip(self.indexes, element.keys, strict=True):
            if key is not None:
                index.remove(element, key)
        for at in self.fact_places:
            element.objects[at].cell.elements.pop(element, None)
        if self.holders is not None:
            self.holders.let_go(element)

    def let_go(self, date: float) -> None:
        """As `remove`, for many."""
        elements, indexes, places, holders = self.elements, self.indexes, self.fact_places, self.holders
        for element in self.by_date.pop(date):
            if not element.alive:
                continue
            element.alive = False
            del elements[element]
            for index, key in zip(indexes, element.keys, strict=True):
                if key is not None:
                    index.remove(element, key)
            for at in places:
                element.objects[at].cell.elements.pop(element, None)
            if holders is not None:
                holders.let_go(element)


class Cell:
    """One fact from its assert to its retraction."""

    __slots__ = ("elements", "fired", "identity", "now", "past", "seen_by", "type")

    def __init__(self, now: Fact) -> None:
        self.type, self.identity = now.type, now.identity
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
