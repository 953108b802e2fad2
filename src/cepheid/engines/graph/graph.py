"""A temporal graph in memory, and all matches in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from cepheid.engines.graph.clock import Clock
from cepheid.engines.graph.matches import Matches, user_match
from cepheid.engines.graph.patterns import ready_patterns
from cepheid.engines.graph.reading import EventColumns, RawEdge, edge_columns, take_edges, take_events
from cepheid.engines.graph.values import plain_value
from cepheid.engines.spark.inputs import is_spark
from cepheid.errors import InputMistake
from cepheid.graph.batch import find_all
from cepheid.graph.edges import Edge, Edges, check_edge

if TYPE_CHECKING:
    from cepheid.engines.spark.graph_edges import Frame


class Graph:
    """Edges that hold for a time: in memory, or in DataFrames of Spark, which are only looked at by `find`.

    Args:
        time_unit: What a number as a time counts: `s`, `ms`, `us` or `ns`.

    >>> graph = Graph().add("e1", "kind", "enter", 1).add("e1", "actor", "yann", 1)
    >>> found = graph.find('graph pattern p { stage enter { .kind = "enter", .actor -> ?guest } }')
    >>> found[0].binds
    {'enter': 'e1', 'guest': 'yann'}
    """

    def __init__(self, *, time_unit: str = "s") -> None:
        self._clock = Clock(time_unit)
        self._edges = Edges()
        self._frames: tuple[Frame, ...] = ()  # of Spark

    def __len__(self) -> int:
        if self._frames:
            raise InputMistake(
                "edges in a Spark DataFrame are not counted before they are looked at",
                code="not_counted",
                hint="df.count()",
            )
        return len(self._edges)

    def __repr__(self) -> str:
        if self._frames:
            return f"<edges of {len(self._frames)} Spark DataFrame{'s' if len(self._frames) > 1 else ''}>"
        return f"<{len(self)} edges>"

    def add(
        self, source: Any, label: str, target: Any, start: Any, end: Any = None, *, tick: int = 0
    ) -> Self:
        """An edge from `start` until before `end`; without an end it still holds. The same edge twice is one."""
        self._refuse_both(bool(self._frames))
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
        partition_by: str | None = None,
    ) -> Self:
        """Adds the edges of a pandas, polars or Arrow table, of dicts, of a file (Parquet, CSV, JSON lines), or of a
        DataFrame of Spark.

        Of several columns of targets one has a value in each row. The end is the column `end`, if there is one.
        `partition_by`, of Spark: each value of that column is a graph of its own.
        """
        columns = edge_columns(source, label, target, start, end, tick)
        if is_spark(edges):
            from cepheid.engines.spark.graph_find import edge_frame

            return self._with_frame(edge_frame(edges, columns, self._clock.unit, partition_by))
        _refuse_partitions(partition_by)

        def take(e: RawEdge) -> None:
            self.add(e.source, e.label, e.target, e.start, e.end, tick=e.tick)

        take_edges(edges, columns, self._clock.unit, take)
        return self

    def read_events(
        self,
        events: Any,
        *,
        time: str = "time",
        node: str | None = None,
        end: str | None = None,
        partition_by: str | None = None,
    ) -> Self:
        """Adds a log: each row is a node, and each of its columns that has a value is an edge of it.

        The node's name is that of a column, or else the row's number. Without an end the edges are moments.
        """
        if is_spark(events):
            from cepheid.engines.spark.graph_find import event_frame

            columns = EventColumns(time, node, end)
            return self._with_frame(event_frame(events, columns, self._clock.unit, partition_by))
        _refuse_partitions(partition_by)

        def take(e: RawEdge) -> None:
            self.add(e.source, e.label, e.target, e.start, e.end)

        take_events(events, EventColumns(time, node, end), self._clock, take)
        return self

    def _with_frame(self, frame: Frame) -> Self:
        self._refuse_both(len(self._edges) > 0)
        if self._frames and self._frames[0].partition != frame.partition:
            raise InputMistake(
                "all DataFrames of a graph are partitioned by the same column, or none is",
                code="mixed_partitions",
                hint="give the same partition_by each time",
            )
        self._frames = (*self._frames, frame)
        return self

    def _refuse_both(self, has_others: bool) -> None:
        if has_others:
            raise InputMistake(
                "a graph is in memory or in Spark, not in both",
                code="two_places",
                hint="make a DataFrame of all edges: spark.createDataFrame(...)",
            )

    def find(self, patterns: Any) -> Any:
        """All matches of graph patterns, given as text or as built in Python.

        They are `Matches`; if the edges are in Spark, a lazy DataFrame with the columns of `Matches.to_arrow`.
        """
        ready = ready_patterns(patterns)
        if self._frames:
            from cepheid.engines.spark.graph_find import find_on_spark

            return find_on_spark(ready, self._frames)
        return Matches(user_match(match, self._clock) for match in find_all(ready, self._edges))


def _refuse_partitions(column: str | None) -> None:
    if column is not None:
        raise InputMistake(
            "partition_by is for DataFrames of Spark", code="bad_option", hint="make a Graph of each part"
        )


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
