"""Edges in memory, found by source, by target and by label. They are only added, and closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cepheid.errors import InputMistake


@dataclass(frozen=True, slots=True)
class Edge:
    """Holds from `start` until before `end`; without an end it still holds. Times are microseconds."""

    source: Any
    label: str
    target: Any
    start: int
    end: int | None = None
    tick: int = 0  # in which it came
    end_tick: int = 0  # in which its end was told

    def holds_at(self, time: int) -> bool:
        return self.start <= time and (self.end is None or time < self.end or self.start == self.end == time)


def key_of(value: Any) -> Any:
    """What two values have in common if they are the same: 1 is 1.0, but not true."""
    return ("bool", value) if isinstance(value, bool) else value


class Edges:
    """The same edge twice is one. An edge that comes again with an end is closed."""

    def __init__(self) -> None:
        self.all: list[Edge] = []
        self.latest: int | None = None  # the greatest start
        self._known: dict[tuple[Any, str, Any, int], int] = {}
        self._from: defaultdict[tuple[Any, str], list[int]] = defaultdict(list)
        self._to: defaultdict[tuple[str, Any], list[int]] = defaultdict(list)
        self._labelled: defaultdict[str, list[int]] = defaultdict(list)
        self._newest: list[int] = []  # those that start at `latest`

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, number: int) -> Edge:
        return self.all[number]

    def number(self, edge: Edge) -> int | None:
        """Of the same edge, if it is known."""
        return self._known.get((key_of(edge.source), edge.label, key_of(edge.target), edge.start))

    def add(self, edge: Edge) -> tuple[int, bool]:
        """Its number, and whether anything is new."""
        check_edge(edge)
        identity = (key_of(edge.source), edge.label, key_of(edge.target), edge.start)
        known = self._known.get(identity)
        if known is not None:
            return known, edge.end is not None and self.close(known, edge.end, edge.tick)
        number = len(self.all)
        self._known[identity] = number
        self.all.append(edge)
        self._from[identity[0], edge.label].append(number)
        self._to[edge.label, identity[2]].append(number)
        self._labelled[edge.label].append(number)
        self._note_newest(number, edge.start)
        return number, True

    def close(self, number: int, end: int, tick: int = 0) -> bool:
        """Whether it was open. What is closed cannot be closed otherwise."""
        edge = self.all[number]
        if edge.end == end:
            return False
        self.check_end(number, end)
        self.all[number] = replace(edge, end=end, end_tick=tick)
        return True

    def newest(self) -> tuple[int | None, list[int]]:
        """What `forget_last` needs to know of the time before."""
        return self.latest, self._newest

    def forget_last(self, newest: tuple[int | None, list[int]]) -> None:
        """As if the last one had not come."""
        edge = self.all.pop()
        source, target = key_of(edge.source), key_of(edge.target)
        del self._known[source, edge.label, target, edge.start]
        _drop_last(self._from, (source, edge.label))
        _drop_last(self._to, (edge.label, target))
        _drop_last(self._labelled, edge.label)
        same_time = newest[1] is self._newest and newest[0] == edge.start
        self.latest, self._newest = newest
        if same_time:
            self._newest.pop()

    def check_end(self, number: int, end: int) -> None:
        """May it end so?"""
        edge = self.all[number]
        if edge.end is not None and edge.end != end:
            raise InputMistake(
                f"the edge {_text(edge)} has ended already, at another time", code="closed_twice"
            )
        check_edge(replace(edge, end=end))

    def find(self, source: Any, label: str, target: Any, start: int | None = None) -> int | None:
        """The number of the edge; without a start the one that is open, or else the last."""
        if start is not None:
            return self._known.get((key_of(source), label, key_of(target), start))
        numbers = [n for n in self.leaving(source, label) if key_of(self.all[n].target) == key_of(target)]
        numbers = [n for n in numbers if self.all[n].end is None] or numbers
        return numbers[-1] if numbers else None

    def leaving(self, source: Any, label: str) -> Sequence[int]:
        return self._from.get((key_of(source), label), ())

    def entering(self, label: str, target: Any) -> Sequence[int]:
        return self._to.get((label, key_of(target)), ())

    def labelled(self, label: str) -> Sequence[int]:
        return self._labelled.get(label, ())

    def starting_at(self, time: int) -> Sequence[int]:
        """Those that start at a time; quick for the latest."""
        if time == self.latest:
            return self._newest
        return [number for number, edge in enumerate(self.all) if edge.start == time]

    def _note_newest(self, number: int, start: int) -> None:
        if self.latest is None or start > self.latest:
            self.latest, self._newest = start, [number]
        elif start == self.latest:
            self._newest.append(number)


def _drop_last(index: dict[Any, list[int]], key: Any) -> None:
    index[key].pop()
    if not index[key]:
        del index[key]


def check_edge(edge: Edge) -> None:
    if edge.source is None or edge.target is None:
        raise InputMistake(
            f"the edge {_text(edge)} has no {'source' if edge.source is None else 'target'}", code="null_node"
        )
    if edge.end is not None and edge.end < edge.start:
        raise InputMistake(f"the edge {_text(edge)} ends before it starts", code="end_before_start")


def _text(edge: Edge) -> str:
    return f"{edge.source} -{edge.label}-> {edge.target}"
