"""The ends of chains: a tuple is complete. Absences are judged, now or when time has passed their date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cepheid.rules.chains import Absence, Chain
from cepheid.rules.closures import test_of
from cepheid.rules.discriminations import EventNode
from cepheid.rules.memory import Objects, Waiting, key_of
from cepheid.rules.nodes import Node, keys_of, span_of
from cepheid.rules.objects import Thing
from cepheid.rules.resolve import FACT, ReadyRule
from cepheid.rules.windows import latest_of

if TYPE_CHECKING:
    from cepheid.rules.network import Network


@dataclass(slots=True, eq=False)
class Firing:
    """A rule and one object for each of its lines (None where it wants that there is none)."""

    rule: ReadyRule
    things: tuple[Any, ...]

    def place_in_order(self) -> tuple[Any, ...]:
        """Priority, numbers of events, order of rules, numbers of states of facts."""
        events: list[int] = []
        facts: list[int] = []
        for line, thing in zip(self.rule.lines, self.things, strict=True):
            if thing is not None:
                (facts if line.kind == FACT else events).append(thing.number)
        return -self.rule.rule.priority, sorted(events), self.rule.number, facts, events

    def objects(self) -> dict[str, Thing]:
        """By variable."""
        things = self.things
        result = {name: things[at] for at, name in self.rule.names}
        for at, name in self.rule.changed_names:
            result[name] = things[at].fact
        return result


class NoEventLook:
    """Is there an event that must not be?"""

    def __init__(self, net: Network, absence: Absence, wants: EventNode, width: int) -> None:
        self.absence, self.wants = absence, wants
        known, new = keys_of(absence.step, width)
        self.key = key_of(known)
        self.test = test_of(tuple(absence.step.event_tests))
        self.latest = latest_of(absence.tests, width)
        self.against, self.low, self.high = span_of(absence.step.event_tests, width)
        wants.ask(self, absence.keep)
        if wants.memory is None:
            wants.memory = net.memory(None)
        self.index = wants.memory.index(new, 0, net.indexes)

    def finds(self, objects: Objects) -> bool:
        key = () if self.key is None else self.key(objects)
        if key is None:
            return False
        time, test = objects[self.against].time, self.test
        for element in self.index.between(key, time + self.low, time + self.high):
            if test is None or test((*objects, element.objects[0])):
                return True
        return False


def _picker(places: tuple[int | None, ...]) -> Callable[[Objects], tuple[Any, ...]]:
    """Of a tuple in the order of a chain: one in the order of the lines."""
    if None not in places and len(places) > 1:
        return itemgetter(*places)
    return lambda objects: tuple(None if p is None else objects[p] for p in places)


class Production:
    """Fires a rule for the tuples of a node."""

    def __init__(self, net: Network, chain: Chain, node: Node, looks: list[NoEventLook]) -> None:
        self.net, self.rule, self.node, self.looks = net, chain.rule, node, looks
        at = dict(chain.at)
        self.places = tuple(at.get(line.number) for line in chain.rule.lines)
        self.things = _picker(self.places)
        # A rule of facts alone must not fire again when a fact that forbade it is gone again.
        self.once = not chain.rule.events and bool(chain.rule.absent(FACT))
        self.fired = 0
        if not looks and not self.once:
            self.complete = self._fire  # type: ignore[method-assign]

    def complete(self, objects: Objects) -> None:
        if self.once and not self._first_time(objects):
            return
        dated = []
        for look in self.looks:
            date = look.latest(objects)
            if date is not None and date > self.net.clock:
                dated.append((date, look))
            elif look.finds(objects):
                return
        if dated:
            dated.sort(key=lambda pair: pair[0])
            self._wait(objects, dated)
        else:
            self._fire(objects)

    def _fire(self, objects: Objects) -> None:
        self.fired += 1
        self.net.made.append(self.firing(objects))

    def firing(self, objects: Objects) -> Firing:
        return Firing(self.rule, self.things(objects))

    def _first_time(self, objects: Objects) -> bool:
        facts = [objects[p] for p in self.places if p is not None]
        numbers = tuple(f.number for f in facts)
        fired = self.net.fired.setdefault(self.rule.number, set())
        if numbers in fired:
            return False
        fired.add(numbers)
        for fact in facts:
            fact.cell.remember(fired, numbers)
        return True

    def _wait(self, objects: Objects, dated: list[tuple[int, NoEventLook]]) -> None:
        assert self.node.waits is not None
        element = self.node.waits.add(objects, float("inf"))
        assert isinstance(element, Waiting)
        element.production, element.absences = self, dated
        self.net.wait(element, dated[0][0])

    def judge(self, element: Waiting, date: int) -> None:
        """Time has passed a date."""
        while element.absences and element.absences[0][0] == date:
            _, look = element.absences.pop(0)
            if look.finds(element.objects):
                element.memory.remove(element)
                return
        if element.absences:
            self.net.wait(element, element.absences[0][0])
            return
        element.memory.remove(element)
        self._fire(element.objects)
