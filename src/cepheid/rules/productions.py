"""The ends of chains: a tuple is complete. Absences are judged, now or when time has passed their date."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cepheid.rules.chains import Absence, Chain
from cepheid.rules.closures import INF, test_of
from cepheid.rules.discriminations import EventNode
from cepheid.rules.keys import key_of
from cepheid.rules.memory import Objects, Waiting
from cepheid.rules.nodes import Node, keys_of, span_of
from cepheid.rules.resolve import FACT, ReadyRule
from cepheid.rules.windows import latest_of

if TYPE_CHECKING:
    from cepheid.rules.network import Network
    from cepheid.rules.working import Working


Firing = tuple[ReadyRule, tuple[Any, ...]]  # a rule and one object for each line (None: there is to be none)


def place_in_order(firing: Firing) -> tuple[Any, ...]:
    """Priority, numbers of events, order of rules, numbers of states of facts."""
    rule, things = firing
    events: list[int] = []
    facts: list[int] = []
    for line, thing in zip(rule.lines, things, strict=True):
        if thing is not None:
            (facts if line.kind == FACT else events).append(thing.number)
    return -rule.rule.priority, sorted(events), rule.number, facts, events


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
        self.memory, self.index = wants.memory.number, wants.memory.index(new, 0)

    def finds(self, working: Working, objects: Objects) -> bool:
        key = () if self.key is None else self.key(objects)
        if key is None:
            return False
        index, time, test = (
            working.memory(self.memory).indexes[self.index],
            objects[self.against].time,
            self.test,
        )
        for element in index.between(key, time + self.low, time + self.high):
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
        self.rule, self.node, self.looks = chain.rule, node, looks
        self.count = net.counter()
        at = dict(chain.at)
        self.places = tuple(at.get(line.number) for line in chain.rule.lines)
        self.things = _picker(self.places)
        # A rule of facts alone must not fire again when a fact that forbade it is gone again.
        self.once = not chain.rule.events and bool(chain.rule.absent(FACT))
        self.at_once = not looks and not self.once
        self.complete = self._fire if self.at_once else self._complete

    def _complete(self, working: Working, objects: Objects) -> None:
        if self.once and not self._first_time(working, objects):
            return
        dated = []
        for look in self.looks:
            date = look.latest(objects)
            if date is not None and date > working.clock:
                dated.append((date, look))
            elif look.finds(working, objects):
                return
        if dated:
            dated.sort(key=lambda pair: pair[0])
            self._wait(working, objects, dated)
        else:
            self._fire(working, objects)

    def _fire(self, working: Working, objects: Objects) -> None:
        working.journal.append(self.count)
        working.made.append((self.rule, self.things(objects)))

    def _first_time(self, working: Working, objects: Objects) -> bool:
        facts = [objects[p] for p in self.places if p is not None]
        numbers = tuple(f.number for f in facts)
        fired = working.fired.setdefault(self.rule.number, set())
        if numbers in fired:
            return False
        fired.add(numbers)
        working.journal.append((fired.discard, numbers))
        for fact in facts:
            fact.cell.remember(fired, numbers)
        return True

    def _wait(self, working: Working, objects: Objects, dated: list[tuple[int, NoEventLook]]) -> None:
        assert self.node.waits is not None
        element = working.memory(self.node.waits.number).add(objects, INF)
        assert isinstance(element, Waiting)
        element.production, element.absences = self, dated
        working.wait(element, dated[0][0])

    def judge(self, working: Working, element: Waiting, date: int) -> None:
        """Time has passed a date."""
        working.journal.append((setattr, element, "absences", element.absences))
        judged = [look for due, look in element.absences if due == date]
        element.absences = element.absences[len(judged) :]
        if any(look.finds(working, element.objects) for look in judged):
            element.memory.remove(element)
        elif element.absences:
            working.wait(element, element.absences[0][0])
        else:
            element.memory.remove(element)
            self._fire(working, element.objects)
