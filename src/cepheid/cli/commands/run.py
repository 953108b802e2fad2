"""`cepheid run`."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.arguments import event_columns, query_and_events
from cepheid.cli.running import Request, run_request
from cepheid.cli.spark_options import formats, may_lack_events, on_spark, refuse_spark_options


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE.cep] EVENTS")
@click.option("-e", "--query", metavar="TEXT", help="The query itself, instead of FILE.cep.")
@click.option("--stream", metavar="NAME", help="Only this stream's matches; without it those of all streams.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "reference", "compiled", "spark"]),
    default="auto",
    show_default=True,
    help="auto: in this process, by the compiled matcher where it can (big Parquet files).",
)
@click.option(
    "--format",
    "format_",
    default="table",
    show_default=True,
    metavar="[table|json|csv|parquet]",
    help="json is one object a line. On Spark any other name is the format of EVENTS.",
)
@click.option(
    "--out",
    metavar="PATH",
    help="Where matches go; a directory for csv and parquet of several streams, and on Spark.",
)
@event_columns
@click.option(
    "--partition-by", multiple=True, metavar="COL", help="For streams that do not say it themselves."
)
@click.option("--now", metavar="TIME", help="How far time has come when the input ends.")
@click.option(
    "--disorder", metavar="DURATION", help="Stream, and wait so long for events that are out of order."
)
@click.option(
    "--lateness", metavar="DURATION", help="Stream, and still match events that come so much later."
)
@click.option(
    "--late",
    type=click.Choice(["drop", "dead-letter", "fail"]),
    help="Stream; what becomes of events later still.  [default: fail]",
)
@click.option("--dead-letters", metavar="PATH", help="Where events that came too late go, as JSON lines.")
@click.option(
    "--bad-rows",
    type=click.Choice(["fail", "skip", "dead-letter"]),
    help="What becomes of rows that are no events.  [default: fail]",
)
@click.option("--unfinished", metavar="PATH", help="Where timeouts and pending absences go, as JSON lines.")
@click.option("--forecasts", metavar="PATH", help="Where forecasts and their outcomes go, as JSON lines.")
@click.option("--model", metavar="PATH", help="What forecasts learned before, by `cepheid forecast-train`.")
@click.option("--bad-rows-out", metavar="PATH", help="Where rows that are no events go, as JSON lines.")
@click.option(
    "--sort/--no-sort",
    default=None,
    help="Sort the whole input, or take events as they come. Files up to 32 MB are sorted, and Parquet.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="How much of Parquet is held in memory, such as 2GB; more goes to files.  [default: a quarter of it]",
)
@click.option("--trace", is_flag=True, help="Show each run's life as it happens.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Rows shown of each stream (table: 50).")
@click.option("--report", metavar="PATH", help="Also write an HTML page about the run.")
@click.option("-q", "--quiet", is_flag=True, help="No summary and no progress.")
@on_spark
def run(
    files: tuple[str, ...],
    query: str | None,
    time_column: str,
    type_column: str,
    format_: str,
    order: tuple[str, ...],
    partition_by: tuple[str, ...],
    engine: str,
    source_format: str | None,
    **others: Any,
) -> None:
    """Run the streams of FILE.cep over EVENTS and show what they find.

    EVENTS is a file (.jsonl, .csv, .parquet), a directory or pattern of such files, or - for JSON lines from
    standard input.

    \b
    cepheid run fraud.cep payments.jsonl
    cepheid run fraud.cep 'logs/*.jsonl' --stream CardTesting --format json
    cepheid run -e 'A as a -> B[v > a.v] as b .within(10s)' events.csv
    tail -f events.jsonl | cepheid run fraud.cep - --disorder 5s --format json
    cepheid run fraud.cep payments/ --engine spark --out found
    """
    format_, source_format = formats(format_, source_format, engine)
    text, name, events = query_and_events(files, query, may_lack_events(source_format))
    request = Request(
        text,
        name,
        events,
        time=time_column,
        type=type_column,
        order=order,
        partition_by=partition_by,
        format=format_,
        engine=engine,
        source_format=source_format,
        **others,
    )
    if engine == "spark":
        from cepheid.cli.on_spark import run_on_spark

        run_on_spark(request)
    else:
        refuse_spark_options(request)
        run_request(request)
