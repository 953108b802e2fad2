"""All matches of a partition under `subsets` as a diagram: counted, looked into, drawn from without being listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

from cepheid.errors import InputMistake
from cepheid.matching.found import Match
from cepheid.matching.ids import match_id
from cepheid.matching.run import Taken
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan
from cepheid.trends.forest import NO_SET, Forest

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class MatchDiagram:
    """The matches of one partition, in the order in which they come. Made by `cepheid.diagrams`."""

    key: tuple[Any, ...]
    moments: tuple[tuple[int, int], ...]  # when matches were complete, and the root of their family
    forest: Forest
    at: tuple[Taken, ...]  # the event of each item
    plan: Plan
    identity: tuple[int, int]
    make_row: Callable[[Match], Row]

    def __repr__(self) -> str:
        return f"<{self.count()} matches of {len({t.index for t in self.at})} events in {self.size()} nodes>"

    def count(self) -> int:
        """How many matches there are, exactly, for any number."""
        return sum(self.forest.count(root) for _, root in self.moments)

    def size(self) -> int:
        """How many nodes the diagram has."""
        return len({node for _, root in self.moments for node in self.forest.nodes(root)})

    def __iter__(self) -> Iterator[Row]:
        """The matches as rows, one by one, in the order in which listing gives them."""
        for when, root in self.moments:
            for items in self.forest.in_order(root):
                yield self._row(items, when)

    def first(self, k: int) -> list[Row]:
        """The first k of them."""
        return list(islice(self, k))

    def sample(self, k: int = 1, *, seed: int | None = None) -> list[Row]:
        """k matches, each drawn from all of them with equal chances; one may be drawn twice."""
        whole, random = self.count(), Random(seed)
        if not whole:
            raise InputMistake("there is no match to draw from", code="no_match", hint="ask count() first")
        return [self._drawn(random.randrange(whole), random) for _ in range(k)]

    def _drawn(self, number: int, random: Random) -> Row:
        for when, root in self.moments:
            if number < self.forest.count(root):
                return self._row(self.forest.sample(root, random), when)
            number -= self.forest.count(root)
        raise AssertionError(number)

    def contains(self, steps: Iterable[tuple[str, Row]]) -> bool:
        """Is there a match of exactly these events, each at the step of this name?

        An event is given by some of its fields: `[("a", {"id": 1}), ("b", {"id": 2}), ("b", {"id": 5})]`.
        """
        wanted = list(steps)
        found: list[list[int]] = [self._items(name, fields) for name, fields in wanted]
        return any(self._holds(root, found, []) for _, root in self.moments)

    def _holds(self, root: int, choices: list[list[int]], chosen: list[int]) -> bool:
        """Equal events are different ones: any of them may be meant, each once."""
        if len(chosen) == len(choices):
            return self.forest.contains(root, chosen)
        more = (item for item in choices[len(chosen)] if item not in chosen)
        return any(self._holds(root, choices, [*chosen, item]) for item in more)

    def _items(self, name: str, fields: Row) -> list[int]:
        steps = [p.index for p in self.plan.automaton.positions if name in (p.step.alias, p.step.type)]
        if not steps:
            raise InputMistake(f"no step is called `{name}`", code="unknown_alias")
        width = len(self.plan.automaton.positions)
        return [
            item for item, taken in enumerate(self.at) if item % width in steps and _has(taken.event, fields)
        ]

    def restrict(self, test: Callable[[Row, Row], bool]) -> MatchDiagram:
        """The matches in which every two neighbours pass a test, which is given their fields, the earlier one first."""

        def fits(one: int, other: int) -> bool:
            return bool(test(dict(self.at[one].event.fields), dict(self.at[other].event.fields)))

        left = ((when, self.forest.restricted(root, fits)) for when, root in self.moments)
        return replace(self, moments=tuple(m for m in left if m[1] != NO_SET))

    def _row(self, items: list[int], when: int) -> Row:
        positions, width = self.plan.automaton.positions, len(self.plan.automaton.positions)
        taken = [replace(self.at[item], position=item % width) for item in items]
        binds: dict[str, tuple[Event, ...]] = {}
        for t in taken:
            alias = positions[t.position].step.alias
            if alias is not None:
                binds[alias] = (*binds.get(alias, ()), t.event)
        events = tuple(t.event for t in taken)
        places = sorted(((t.position, t.event.time, t.rank) for t in taken), key=lambda p: (p[1], p[2], p[0]))
        found = Match(match_id(*self.identity, places), self.key, events, binds, events[0].time, when, when)
        return self.make_row(found)


def _has(event: Event, fields: Row) -> bool:
    return all(event.fields.get(name) == value for name, value in fields.items())
