"""Patterns of trends that have a closure in common, as one machine: what they share is looked for once.

A state stands for states of several patterns if the same events come into it and go round in it by the same tests. Then
its partial trends have the same last events, whatever pattern they are of: one search finds those that an event can
follow, and with each of them a total for each pattern.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cepheid.plan.event_tests import EventTest
from cepheid.plan.linked_trends import LinkedTrends, LinkedWay, LinkTest

START = 0
MOST_TESTS = 62  # bits of a word


@dataclass(frozen=True)
class LinkedPattern:
    """The trends of one pattern, whatever its window."""

    linked: LinkedTrends
    tests: tuple[EventTest, ...]  # of each step
    bounded: bool  # has it a window?

    @classmethod
    def of(cls, linked: LinkedTrends, tests: tuple[EventTest, ...]) -> LinkedPattern:
        return cls(replace(linked, within=None), tests, linked.within is not None)

    @cached_property
    def signatures(self) -> tuple[Hashable, ...]:
        """Of each state: what another pattern's must have in common with it to be the same."""
        own = [self._signature(state) for state in range(self.linked.states)]
        return tuple((signature, own[:state].count(signature)) for state, signature in enumerate(own))

    def _signature(self, state: int) -> Hashable:
        linked = self.linked
        entering = frozenset(self.tests[w.position] for w in linked.ways if w.target == state)
        round_ = frozenset(
            (self.tests[w.position], w.tests) for w in linked.ways if w.source == w.target == state
        )
        return entering, round_, linked.keeps_last[state], linked.keeps_named[state]

    @cached_property
    def searches(self) -> frozenset[Hashable]:
        """What it looks for among partial trends: worth sharing."""
        return frozenset(self._search(way) for way in self.linked.ways if way.tests)

    def _search(self, way: LinkedWay) -> Hashable:
        return self.bounded, self.tests[way.position], self.signatures[way.source], way.tests

    def common_steps(self, other: LinkedPattern) -> tuple[int, ...]:
        """The steps whose events look for the same as those of the other pattern do."""
        found = (w.position for w in self.linked.ways if w.tests and self._search(w) in other.searches)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Move:
    """What a way does to the trends of one pattern."""

    pattern: int
    position: int
    completes: bool


@dataclass(frozen=True)
class SharedWay:
    """An event that passes the test, and the links with what a partial trend holds, takes it from state to state."""

    test: int
    source: int
    target: int | None
    names: bool  # it is the event of the step that links name
    links: tuple[LinkTest, ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class SharedTrends:
    """Several patterns as one machine. State 0 is the start of all of them."""

    tests: tuple[EventTest, ...]
    ways: tuple[SharedWay, ...]
    patterns_of: tuple[tuple[int, ...], ...]  # of each state
    keeps_last: tuple[bool, ...]
    keeps_named: tuple[bool, ...]


def share(patterns: Sequence[LinkedPattern]) -> SharedTrends:
    tests = list(dict.fromkeys(test for pattern in patterns for test in pattern.tests))
    states: dict[Hashable, int] = {"start": START}
    within: list[list[int]] = [[]]
    keeps: list[tuple[bool, bool]] = [(False, False)]
    ways: dict[tuple[int, int, int | None, bool, tuple[LinkTest, ...]], list[Move]] = {}
    for number, pattern in enumerate(patterns):
        linked = pattern.linked
        own = [START]
        for state in range(1, linked.states):
            shared = states.setdefault(pattern.signatures[state], len(states))
            if shared == len(within):
                within.append([])
                keeps.append((linked.keeps_last[state], linked.keeps_named[state]))
            within[shared].append(number)
            own.append(shared)
        within[START].append(number)
        for way in linked.ways:
            test, names = tests.index(pattern.tests[way.position]), way.position == linked.named
            target = None if way.target is None else own[way.target]
            moves = ways.setdefault((test, own[way.source], target, names, way.tests), [])
            moves.append(Move(number, way.position, way.completes))
    return SharedTrends(
        tuple(tests),
        tuple(SharedWay(*key, tuple(moves)) for key, moves in ways.items()),
        tuple(map(tuple, within)),
        tuple(last for last, _ in keeps),
        tuple(named for _, named in keeps),
    )


@dataclass
class _Set:
    numbers: list[int] = field(default_factory=list)
    searches: set[Hashable] = field(default_factory=set)
    tests: set[EventTest] = field(default_factory=set)

    def takes(self, pattern: LinkedPattern) -> bool:
        fits = len(self.tests.union(pattern.tests)) <= MOST_TESTS
        return fits and not self.searches.isdisjoint(pattern.searches)


def sharing_sets(patterns: Sequence[LinkedPattern]) -> Iterator[list[int]]:
    """Which patterns are worth one machine, by their numbers: each has a search in common with one before it."""
    sets: list[_Set] = []
    for number, pattern in enumerate(patterns):
        own = next((s for s in sets if s.takes(pattern)), None)
        if own is None:
            own = _Set()
            sets.append(own)
        own.numbers.append(number)
        own.searches |= pattern.searches
        own.tests |= set(pattern.tests)
    yield from (s.numbers for s in sets)
