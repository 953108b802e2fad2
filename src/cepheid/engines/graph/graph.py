"""A temporal graph in memory, and all matches in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from cepheid.engines.graph.clock import Clock
from cepheid.engines.graph.matches import Matches, user_match
from cepheid.engines.graph.patterns import ready_patterns
from cepheid.engines.graph.reading import EventColumns, RawEdge, edge_columns, take_edges, take_events
from cepheid.engines.graph.values import plain_value
from cepheid.errors import InputMistake
from cepheid.graph.batch import find_all
from cepheid.graph.edges import Edge, Edges, check_edge


class Graph:
    """Edges that hold for a time.

    >>> graph = Graph().add("e1", "kind", "enter", 1).add("e1", "actor", "yann", 1)
    >>> found = graph.find('graph pattern p { stage enter { .kind = "enter", .actor -> ?guest } }')
    >>> found[0].binds
    {'enter': 'e1', 'guest': 'yann'}
    """

    def __init__(self, *, time_unit: str = "s") -> None:
        self._clock = Clock(time_unit)
        self._edges = Edges()

    def __len__(self) -> int:
        return len(self._edges)

    def __repr__(self) -> str:
        return f"<{len(self)} edges>"

    def add(
        self, source: Any, label: str, target: Any, start: Any, end: Any = None, *, tick: int = 0
    ) -> Self:
        """An edge from `start` until before `end`; without an end it still holds. The same edge twice is one."""
        self._edges.add(made_edge(self._clock, source, label, target, start, end, tick))
        return self

    def close(
        self, source: Any, label: str, target: Any, end: Any, *, start: Any = None, tick: int = 0
    ) -> Self:
        """An open edge ends. Without a start it is the one that is open."""
        number = find_edge(self._edges, self._clock, source, label, target, start)
        self._edges.close(number, self._clock.microseconds(end), tick)
        return self

    def read(
        self,
        edges: Any,
        *,
        source: str = "source",
        label: str = "label",
        target: str | Sequence[str] = "target",
        start: str = "start",
        end: str | None = None,
        tick: str | None = None,
    ) -> Self:
        """Adds the edges of a pandas, polars or Arrow table, of dicts, or of a file (Parquet, CSV, JSON lines).

        Of several columns of targets one has a value in each row. The end is the column `end`, if there is one.
        """
        columns = edge_columns(source, label, target, start, end, tick)

        def take(e: RawEdge) -> None:
            self.add(e.source, e.label, e.target, e.start, e.end, tick=e.tick)

        take_edges(edges, columns, self._clock.unit, take)
        return self

    def read_events(
        self, events: Any, *, time: str = "time", node: str | None = None, end: str | None = None
    ) -> Self:
        """Adds a log: each row is a node, and each of its columns that has a value is an edge of it.

        The node's name is that of a column, or else the row's number. Without an end the edges are moments.
        """

        def take(e: RawEdge) -> None:
            self.add(e.source, e.label, e.target, e.start, e.end)

        take_events(events, EventColumns(time, node, end), self._clock, take)
        return self

    def find(self, patterns: Any) -> Matches:
        """All matches of graph patterns, given as text or as built in Python."""
        ready = ready_patterns(patterns)
        return Matches(user_match(match, self._clock) for match in find_all(ready, self._edges))


def made_edge(
    clock: Clock, source: Any, label: str, target: Any, start: Any, end: Any = None, tick: int = 0
) -> Edge:
    if not isinstance(label, str):
        raise InputMistake(f"{label!r} is no label", code="bad_value", hint="labels are texts")
    begin = clock.microseconds(start)
    until = None if end is None else clock.microseconds(end)
    edge = Edge(plain_value(source, "source"), label, plain_value(target, "target"), begin, until, tick, tick)
    check_edge(edge)
    return edge


def find_edge(edges: Edges, clock: Clock, source: Any, label: str, target: Any, start: Any) -> int:
    """The number of an edge that was added."""
    begin = None if start is None else clock.microseconds(start)
    found = edges.find(plain_value(source, "source"), label, plain_value(target, "target"), begin)
    if found is None:
        when = "" if start is None else f" that starts at {start}"
        raise InputMistake(
            f"there is no edge {source} -{label}-> {target}{when}", code="no_such_edge", hint="add it first"
        )
    return found
