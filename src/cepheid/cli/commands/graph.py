"""`cepheid graph`."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.arguments import table_format, time_unit
from cepheid.cli.reading import read_text


@click.command("graph")
@click.argument("patterns", metavar="FILE.graph")
@click.argument("file", metavar="EDGES")
@click.option("--source", default="source", metavar="COL", help="The column of the node an edge comes from.")
@click.option("--label", default="label", metavar="COL", help="The column of its label.")
@click.option(
    "--target",
    multiple=True,
    metavar="COL",
    help="The column of the node or value it leads to; may be repeated.",
)
@click.option("--start", default="start", metavar="COL", help="The column of the time from which it holds.")
@click.option("--end", metavar="COL", help="The column of its end.  [default: end, if there is one]")
@click.option("--tick", metavar="COL", help="The column of the tick in which it came, for deadlines.")
@click.option("--time", metavar="COL", help="EDGES is a log of events, and this is the column of their time.")
@click.option(
    "--node", metavar="COL", help="With --time: the column of an event's name.  [default: its number]"
)
@time_unit
@table_format("format_")
@click.option("--out", metavar="PATH", help="Where matches go, instead of the screen.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
def graph_(
    patterns: str,
    file: str,
    target: tuple[str, ...],
    end: str | None,
    time: str | None,
    node: str | None,
    time_unit: str,
    format_: str,
    out: str | None,
    engine: str,
    **columns: Any,
) -> None:
    """Find the graph patterns of FILE.graph in a temporal graph.

    EDGES is a file (.csv, .jsonl, .parquet) of edges, or, with --time, a log: each row is a node, and each of
    its columns an edge of it.

    \b
    cepheid graph hospitality.graph edges.parquet
    cepheid graph deviations.graph log.csv --time time --node event
    cepheid graph hospitality.graph edges/ --engine spark --format parquet --out found.parquet
    """
    from cepheid.cli.graph import find_in_file

    if time is None and node is not None:
        raise click.UsageError("--node is for a log of events: say its --time, too.")
    events = None if time is None else {"time": time, "node": node, "end": end}
    edges = {**columns, "target": list(target) or "target", "end": end}
    find_in_file(read_text(patterns), patterns, file, edges, events, time_unit, engine, format_, out)
