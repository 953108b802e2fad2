"""Graph patterns over Spark DataFrames of edges or events: a lazy DataFrame of all matches.

The stages of a pattern become joins, from the first to the last: by the variables they share, at later times; what
must not be is an anti-join. `graph_paths.py` reads a pattern so, `graph_stages.py` makes the joins.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.graph.reading import EdgeColumns, EventColumns
from cepheid.engines.spark.graph_answer import Found, found_by, table
from cepheid.engines.spark.graph_edges import (
    EdgeFrame,
    EventFrame,
    Frame,
    SparkEdges,
    checked_input,
    is_number,
    times_of,
)
from cepheid.engines.spark.graph_paths import TooManyWays, Ways
from cepheid.engines.spark.graph_stages import StageJoins
from cepheid.engines.spark.graph_whole import found_as_whole
from cepheid.engines.spark.inputs import Input, arrow_schema
from cepheid.engines.spark.setup import check_worker_python
from cepheid.errors import CepheidWarning, InputMistake
from cepheid.graph.threads import ReadyPattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def edge_frame(df: DataFrame, columns: EdgeColumns, unit: str, partition: str | None = None) -> EdgeFrame:
    """The DataFrame as edges; everything about its columns is checked here."""
    arrow = _arrow(df)
    end = columns.end if columns.end is not None else ("end" if "end" in arrow.names else None)
    given = checked_input(arrow, columns, (columns.start, end), unit, partition)
    _check_times(given)
    frame = EdgeFrame(df, columns, given, partition)
    frame.targets("")  # what cannot be one is refused
    return frame


def event_frame(df: DataFrame, columns: EventColumns, unit: str, partition: str | None = None) -> EventFrame:
    if columns.node is None:
        raise InputMistake(
            "the rows of a Spark DataFrame have no numbers to be called by",
            code="no_node",
            hint='name the column that says which node a row is: node="id"',
        )
    given = checked_input(_arrow(df), columns, (columns.time, columns.end), unit, partition)
    _check_times(given)
    return EventFrame(df, columns, given, partition)


def _check_times(given: Input) -> None:
    for name in given.columns.times():
        kind = given.kind(name)
        if not (
            is_number(kind) or pa.types.is_temporal(kind) or pa.types.is_string(kind)
        ) or pa.types.is_duration(kind):
            raise InputMistake(
                f"the column `{name}` holds {kind}, which is no time",
                code="bad_time",
                hint="a time is a timestamp, a date, a number, or ISO 8601 text",
            )


def _arrow(df: DataFrame) -> pa.Schema:
    check_worker_python(df)
    if df.isStreaming:
        raise InputMistake(
            "a graph is looked at as a whole, and a stream is never whole",
            code="stream",
            hint="give a bounded DataFrame; a Sifter takes edges that come one by one",
        )
    return arrow_schema(df)


def find_on_spark(patterns: Sequence[ReadyPattern], frames: tuple[Frame, ...]) -> DataFrame:
    """All matches: pattern, bindings, intervals, first, last, decided."""
    times = times_of(frames)
    found = [_found(pattern, frames, checked=number > 0) for number, pattern in enumerate(patterns)]
    return table(found, times, frames[0].partition)


def _found(pattern: ReadyPattern, frames: tuple[Frame, ...], checked: bool) -> Found:
    def joins() -> StageJoins:
        return StageJoins(SparkEdges(frames, pattern.pattern.deadline is not None, checked))

    by_joins = joins()
    try:
        ways = Ways(pattern, by_joins).all()
    except TooManyWays as refused:
        warnings.warn(
            f"`{pattern.name}`: all edges with its labels are looked at as one partition, by one core ({refused})",
            CepheidWarning,
            stacklevel=5,
        )
        return found_as_whole(pattern, joins())
    return found_by(pattern, ways, by_joins)
