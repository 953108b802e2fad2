"""`cepheid graph`: graph patterns over a file of edges, or over a log whose rows are events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.cli.summary import waiting
from cepheid.cli.words import cell
from cepheid.engines.graph.graph import Graph
from cepheid.engines.graph.matches import Match, Matches
from cepheid.engines.graph.patterns import graph_patterns
from cepheid.engines.local.writers import write_rows, write_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_in_file(
    text: str,
    name: str,
    file: str,
    columns: dict[str, Any],
    events: dict[str, Any] | None,
    time_unit: str,
    engine: str,
    format_: str,
    out: str | None,
) -> None:
    patterns = graph_patterns(text, name)
    rows = _frame(file) if engine == "spark" else file
    with waiting("reading"):
        graph = Graph(time_unit=time_unit)
        if events is None:
            graph.read(rows, **columns)
        else:
            graph.read_events(rows, **events)
    with waiting("looking"):
        found = graph.find(patterns)
        if engine == "spark":
            found = _collected(found)
    _write(found, format_, out)


def _frame(path: str) -> DataFrame:
    from cepheid.cli.spark_job import session
    from cepheid.engines.spark.sources import Reading, files, settled

    spark = session()
    return files(spark, settled(spark, Reading(path)))


def _collected(found: DataFrame) -> Matches:
    """The matches that Spark has found, in the order in which they became certain."""
    from cepheid.engines.spark.failures import in_our_words
    from cepheid.engines.spark.graph_answer import match_of

    with in_our_words():
        matches = [match_of(row) for row in found.toArrow().to_pylist()]
    return Matches(sorted(matches, key=lambda m: (m.decided, m.last, repr(m))))


def _write(found: Matches, format_: str, out: str | None) -> None:
    """Nested values as JSON and Parquet have them, in words elsewhere."""
    if format_ == "json":
        write_rows(found.rows(), out)
    else:
        write_table(found.to_arrow() if format_ == "parquet" else _in_words(found), out, format_)


def _in_words(found: Matches) -> pa.Table:
    columns = {"pattern": _pattern, "bindings": _bindings, "stages": _stages}
    return pa.table(
        {name: pa.array([text(match) for match in found], pa.string()) for name, text in columns.items()}
    )


def _pattern(match: Match) -> str:
    return match.pattern


def _bindings(match: Match) -> str:
    return " ".join(f"{name}={cell(value)}" for name, value in match.binds.items())


def _stages(match: Match) -> str:
    return ", ".join(f"{interval.stage} {cell(interval.start)}" for interval in match.intervals)
