"""A rule as chains: one for each event that may be its earliest.

A chain begins with that event and pins the facts as they are then; all other events come later. So it is known from the
start which states of facts the tests of events see. What a chain does in which order does not change the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cepheid.pattern.expr import Binary, Expr, Field, Opaque, rewrite
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.closures import INF, NOW, is_identity, place, places
from cepheid.rules.resolve import EVENT, FACT, Line, ReadyRule
from cepheid.rules.windows import Distances, demand_tests, hull

Key = tuple[Expr, Expr]  # what is known, what the new object has; equal


@dataclass(frozen=True)
class Discrimination:
    """Objects of a kind and type that pass tests of themselves alone; their place is 0."""

    kind: str
    type: str
    tests: frozenset[Expr]


@dataclass(frozen=True)
class Step:
    """What is done with a tuple: one more object is joined, or is looked for in vain. Equal steps are one node."""

    wants: Discrimination
    keys: tuple[Key, ...] = ()
    fact_tests: frozenset[Expr] = frozenset()
    event_tests: frozenset[Expr] = frozenset()  # these see facts as they were matched
    absent: bool = False
    late: bool = False  # of a fact: an event has come since the first
    apart: bool = False  # it is not the object that the chain began with


@dataclass(frozen=True)
class Keeping:
    """Bounds for an event that joins: how long after which of the others, and how long before any of them."""

    after: tuple[tuple[int, float], ...]  # (place, most): a tuple is needed until the least of its dates
    before: float  # an event is needed for so long; less than 0: not at all


@dataclass(frozen=True)
class Absence:
    """An event that must not be."""

    step: Step
    tests: tuple[Expr, ...]  # all of them, for the date
    keep: float


@dataclass(frozen=True)
class Chain:
    rule: ReadyRule
    begins: Discrimination
    undone: bool  # it begins with a fact that is gone, and that forbade something
    steps: tuple[tuple[Step, Keeping | None], ...]
    absences: tuple[Absence, ...]
    at: tuple[tuple[int, int], ...]  # line -> place in the tuple


def chains_of(rule: ReadyRule) -> list[Chain]:
    """All of them; chains that tests of time rule out are not there."""
    if rule.events:
        found = [_Builder(rule, first).build() for first in rule.events]
        return [chain for chain in found if chain is not None]
    starts = rule.positive(FACT) + rule.absent(FACT)
    found = [_Builder(rule, first).build() for first in starts]
    return [chain for chain in found if chain is not None]


def discrimination(line: Line) -> Discrimination:
    tests = frozenset(moved(test, {line.number: 0}) for test in line.own)
    return Discrimination(line.kind, line.type, frozenset(as_matched(t) for t in tests))


def moved(expr: Expr, at: dict[int, int]) -> Expr:
    """With other places: those of a chain for those of the lines."""

    def alias(name: str) -> str:
        return f"{at[place(name)]}{NOW if name.endswith(NOW) else ''}"

    def change(node: Expr) -> Expr | None:
        match node:
            case Field(alias=str(name)):
                return replace(node, alias=alias(name))
            case TimeTest(left=left, right=right):
                return replace(node, left=alias(left), right=alias(right))
            case Opaque(aliases=names):
                return replace(node, aliases=tuple(map(alias, names)))
        return None

    return rewrite(expr, change)


def as_matched(expr: Expr) -> Expr:
    """Of one object there is only one world."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias is not None and node.alias.endswith(NOW):
            return replace(node, alias=node.alias.removesuffix(NOW))
        return None

    return rewrite(expr, change)


class _Builder:
    """Takes the lines of a rule one after the other, facts as soon as they are bound to what is there."""

    def __init__(self, rule: ReadyRule, first: Line) -> None:
        self.rule, self.first = rule, first
        self.undone = first.absent
        self.at = {first.number: 0}
        self.width = 1
        self.left = [line for line in rule.lines if line is not first or self.undone]
        self.event_tests = [t for line in rule.events for t in line.others]
        # A chain of facts may begin with any of them: what its tests need comes later.
        self.open_tests = list(first.others) if first.of_fact else []
        self.steps: list[tuple[Step, Keeping | None]] = []
        self.late = False
        self.distances = self._distances()

    def _distances(self) -> Distances | None:
        """Between all events; the first comes first."""
        events = [line.number for line in self.rule.events]
        found = Distances(events)
        demand_tests(found, [t for line in self.rule.lines if not line.absent for t in line.others])
        for other in events:
            if other != self.first.number:
                found.demand(other, self.first.number, (0, INF))
        return found if found.close() else None

    def build(self) -> Chain | None:
        if self.distances is None:
            return None
        while True:
            line = self._next_fact() or self._next_event() or self._any_fact()
            if line is None:
                break
            self._take(line)
        absences = tuple(self._absence(line) for line in self.rule.absent(EVENT))
        at = tuple((line, p) for line, p in self.at.items() if not (self.undone and p == 0))
        return Chain(self.rule, discrimination(self.first), self.undone, tuple(self.steps), absences, at)

    # Which line is next.

    def _ready_facts(self) -> list[Line]:
        bound = set(self.at)
        if self.undone:
            bound.discard(self.first.number)
        return [line for line in self.left if line.of_fact and line.needs <= bound]

    def _next_fact(self) -> Line | None:
        ready = self._ready_facts()
        for line in ready:
            if line.absent:
                return line
        linked = [line for line in ready if self._keys(line, self._tests_with(line))]
        if linked:
            return linked[0]
        return next((line for line in ready if not self._will_be_linked(line)), None)

    def _will_be_linked(self, line: Line) -> bool:
        """Is it tied by equalities, maybe over other facts, to an event that is not there yet?"""
        waiting = {other.number: other for other in self.left if not other.absent}
        tests = [t for other in self.rule.lines if not other.absent for t in other.others]
        pairs = [places(t) & set(waiting) for t in tests if isinstance(t, Binary) and t.op == "=="]
        reached, found = {line.number}, set[int]()
        while reached - found:
            found |= reached
            reached |= {n for pair in pairs if pair & found for n in pair}
        return any(not waiting[n].of_fact for n in reached)

    def _next_event(self) -> Line | None:
        return next((line for line in self.left if not line.of_fact and not line.absent), None)

    def _any_fact(self) -> Line | None:
        return next(iter(self._ready_facts()), None)

    # Its step.

    def _take(self, line: Line) -> None:
        self.left.remove(line)
        if line.absent:
            self.steps.append((self._step(line, self.width), None))
            return
        fact_tests, event_tests = self._tests_with(line)
        keeping = None if line.of_fact else self._keeping(line)
        place = self.width
        self.at[line.number] = place
        self.width += 1
        self.event_tests = [t for t in self.event_tests if t not in event_tests]
        self.open_tests = [t for t in self.open_tests if t not in fact_tests]
        self.steps.append((self._made_step(line, place, fact_tests, event_tests), keeping))
        self.late = self.late or not line.of_fact

    def _tests_with(self, line: Line) -> tuple[list[Expr], list[Expr]]:
        """All tests that can be asked once this line is there."""
        bound = {*self.at, line.number}
        fact_tests = list(line.others) if line.of_fact else []
        fact_tests += [t for t in self.open_tests if places(t) <= bound]
        return fact_tests, [t for t in self.event_tests if places(t) <= bound]

    def _step(self, line: Line, place: int) -> Step:
        """Of something absent."""
        tests = list(line.others)
        return self._made_step(line, place, tests if line.of_fact else [], [] if line.of_fact else tests)

    def _made_step(self, line: Line, place: int, fact_tests: list[Expr], event_tests: list[Expr]) -> Step:
        at = {**self.at, line.number: place}
        keys = tuple((moved(a, at), moved(b, at)) for a, b in self._keys(line, (fact_tests, event_tests)))
        return Step(
            discrimination(line),
            keys,
            frozenset(moved(t, at) for t in fact_tests),
            frozenset(moved(t, at) for t in event_tests),
            absent=line.absent,
            late=self.late and line.of_fact,
            apart=not line.absent and not self.undone and line.number < self.first.number,
        )

    def _keys(self, line: Line, tests: tuple[list[Expr], list[Expr]]) -> list[Key]:
        """Equalities by which objects of this line can be looked up."""
        fact_tests, event_tests = tests
        keys = [key for test in fact_tests for key in sides_of(test, line.number)]
        for test in event_tests:
            for known, own in sides_of(test, line.number):
                # A fact that is joined late is looked up as it is now, but tests of events see it as it was.
                if not (self.late and line.of_fact) or is_identity(own):
                    keys.append((known, own))
        return keys

    # Time.

    def _keeping(self, line: Line) -> Keeping:
        assert self.distances is not None
        most, own = self.distances.most, line.number
        there = [n for n in self.at if n in most]
        after = tuple((self.at[n], most[own][n]) for n in there if most[own][n] < INF)
        others = [most[n][own] for n in there if n != self.first.number]
        return Keeping(after, max(others, default=-1))

    def _absence(self, line: Line) -> Absence:
        assert self.distances is not None
        step = self._step(line, self.width)
        at = {**self.at, line.number: self.width}
        tests = tuple(moved(t, at) for t in line.others)
        return Absence(step, tests, self._keep_absent(line))

    def _keep_absent(self, line: Line) -> float:
        """How long an event matters that must not be: until any of the others can come, and until it is judged."""
        assert self.distances is not None
        events = self.distances.events
        found = Distances([*events, line.number])
        for a in events:
            found.most[a].update(self.distances.most[a])
        demand_tests(found, line.others)
        found.close()
        until_all_are_there = max(found.most[e][line.number] for e in events)
        dates = [
            found.most[e][line.number] + high
            for e in events
            if (high := _highest(line.others, line.number, e)) < INF
        ]
        return max(until_all_are_there, min(dates, default=-INF))


def _highest(tests: Iterable[Expr], own: int, other: int) -> float:
    found = [hull(test, own, other) for test in tests]
    return min((INF if f is None else f[1] for f in found), default=INF)


def sides_of(test: Expr, own: int) -> list[Key]:
    if not isinstance(test, Binary) or test.op != "==":
        return []
    for known, new in ((test.left, test.right), (test.right, test.left)):
        if places(new) == {own} and places(known) and own not in places(known):
            return [(known, new)]
    return []
