"""`cepheid graph`: graph patterns over a file of edges, or over a log whose rows are events."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.cli.summary import waiting
from cepheid.cli.words import cell
from cepheid.engines.graph.graph import Graph
from cepheid.engines.graph.matches import Match, Matches
from cepheid.engines.graph.patterns import graph_patterns
from cepheid.engines.local.writers import write_rows, write_table


def find_in_file(
    text: str,
    name: str,
    file: str,
    columns: dict[str, Any],
    events: dict[str, Any] | None,
    time_unit: str,
    format_: str,
    out: str | None,
) -> None:
    patterns = graph_patterns(text, name)
    with waiting("reading"):
        graph = Graph(time_unit=time_unit)
        if events is None:
            graph.read(file, **columns)
        else:
            graph.read_events(file, **events)
    with waiting("looking"):
        found = graph.find(patterns)
    _write(found, format_, out)


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
