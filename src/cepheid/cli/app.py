"""The commands and their options. What they do is in the files beside this one."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from cepheid import __version__
from cepheid.cli.checking import check_query, explain_query
from cepheid.cli.reading import read_text
from cepheid.cli.running import Request, run_request
from cepheid.cli.sigma import sigma
from cepheid.cli.spark_options import formats, may_lack_events, on_spark, refuse_spark_options
from cepheid.errors import CepheidError

Command = TypeVar("Command", bound=Callable[..., Any])
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """Says what went wrong in one message. Exits with 1 for a user's mistake, 130 after Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)
        except BrokenPipeError:  # a reader such as `head` has seen enough
            _close_stdout()
            ctx.exit(0)
        except CepheidError as mistake:
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(f"error: {mistake}", err=True)
            ctx.exit(1)
        except Exception as surprise:
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(_surprised(surprise), err=True)
            ctx.exit(1)


def _surprised(surprise: Exception) -> str:
    if isinstance(surprise, OSError):
        return f"error: {surprise}"
    return (
        f"error: this should not have happened ({type(surprise).__name__}: {surprise}). "
        f"Please report it with the output of `cepheid --debug ...`"
    )


def _close_stdout() -> None:
    """So that Python does not complain once more when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings=HELP)
@click.version_option(__version__, "--version", prog_name="cepheid")
@click.option("--debug", is_flag=True, envvar="CEPHEID_DEBUG", help="Show where an error comes from.")
def main(debug: bool) -> None:
    """Find patterns in events: sequences, repetitions, things that did not happen in time."""


def _columns(command: Command) -> Command:
    """How events are read, wherever events are read."""
    for option in (
        click.option(
            "--time-unit",
            type=click.Choice(["s", "ms", "us", "ns"]),
            default="s",
            help="What a time that is a number counts since 1970.",
        ),
        click.option(
            "--order", multiple=True, metavar="COL", help="Orders events of one time; may be repeated."
        ),
        click.option(
            "--type", "type_column", default="type", metavar="COL", help="The column of the event's type."
        ),
        click.option(
            "--time", "time_column", default="time", metavar="COL", help="The column of the event's time."
        ),
    ):
        command = option(command)
    return command


@main.command()
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
@_columns
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
    text, name, events = _query_and_events(files, query, may_lack_events(source_format))
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


@main.command()
@click.argument("file", metavar="FILE.cep")
@click.option("--schema", metavar="EVENTS", help="Check fields and types against these events.")
@_columns
def check(
    file: str, schema: str | None, time_column: str, type_column: str, order: tuple[str, ...], time_unit: str
) -> None:
    """Read and plan FILE.cep without running it."""
    check_query(
        read_text(file), file, schema, time=time_column, type=type_column, order=order, time_unit=time_unit
    )


@main.command()
@click.argument("file", metavar="FILE.cep")
@click.option("--mermaid", is_flag=True, help="As a Mermaid diagram.")
@click.option("--stream", metavar="NAME", help="Only this stream.")
@click.option("--schema", metavar="EVENTS", help="Check fields and types against these events.")
@click.option(
    "--engine",
    type=click.Choice(["reference", "spark"]),
    default="reference",
    show_default=True,
    help="spark: what Spark does itself, what it moves, what is left to the matcher.",
)
@_columns
def explain(
    file: str,
    mermaid: bool,
    stream: str | None,
    schema: str | None,
    engine: str,
    time_column: str,
    type_column: str,
    order: tuple[str, ...],
    time_unit: str,
) -> None:
    """Show how each stream of FILE.cep is matched."""
    columns = {"time": time_column, "type": type_column, "order": order, "time_unit": time_unit}
    if engine == "spark":
        from cepheid.cli.explaining import explain_on_spark

        if mermaid:
            raise click.UsageError("--mermaid draws the pattern: leave out --engine spark.")
        explain_on_spark(read_text(file), file, schema, stream=stream, **columns)
        return
    explain_query(read_text(file), file, schema, stream=stream, mermaid=mermaid, **columns)


def _asked(command: Command) -> Command:
    """What is looked at one by one."""
    for option in (
        click.option("--now", metavar="TIME", help="How far time has come when the input ends."),
        click.option(
            "--partition-by", multiple=True, metavar="COL", help="For streams that do not say it themselves."
        ),
        click.option("--id", "id_column", default="id", metavar="COL", help="The column events go by."),
        click.option(
            "--key", multiple=True, metavar="COL=VALUE", help="Only this partition; may be repeated."
        ),
        click.option(
            "--pattern", "--stream", "stream", metavar="NAME", help="The stream; else the last one."
        ),
        click.option("-e", "--query", metavar="TEXT", help="The query itself, instead of FILE.cep."),
    ):
        command = option(command)
    return command


@main.command("why-not")
@click.argument("files", nargs=-1, metavar="[FILE.cep] EVENTS")
@click.option(
    "--expect",
    default="",
    metavar="ID,ID",
    help="The events expected to match, by their id or, without one, by their number from 1.",
)
@click.option("--exactly", is_flag=True, help="With --expect: a match of these events and no others.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_asked
@_columns
def why_not_(
    files: tuple[str, ...],
    query: str | None,
    format_: str,
    time_column: str,
    type_column: str,
    **others: Any,
) -> None:
    """Say why a pattern does not match EVENTS: what failed, with the values, and what would have matched.

    \b
    cepheid why-not fraud.cep payments.jsonl --key card=c7
    cepheid why-not fraud.cep payments.jsonl --expect p12,p15
    """
    from cepheid.cli.inquiries import show_why_not

    text, name, events = _query_and_events(files, query)
    show_why_not(text, name, events, format=format_, time=time_column, type=type_column, **others)


@main.command("debug")
@click.argument("files", nargs=-1, metavar="[FILE.cep] EVENTS")
@click.option("--to", type=click.IntRange(1), metavar="N", help="Print step N and leave.")
@click.option("--html", metavar="PATH", help="Write a page to step through in a browser instead.")
@_asked
@_columns
def debug_(
    files: tuple[str, ...],
    query: str | None,
    time_column: str,
    type_column: str,
    **others: Any,
) -> None:
    """Step through EVENTS: which runs are open, what each holds, why it went on, forked, was killed or expired.

    \b
    keys: n next, p back, j to the next change, f one partition after the other, a number and Enter, q quit
    cepheid debug fraud.cep payments.jsonl --key card=c7
    cepheid debug fraud.cep payments.jsonl --html steps.html
    """
    from cepheid.cli.inquiries import show_steps

    text, name, events = _query_and_events(files, query)
    show_steps(text, name, events, time=time_column, type=type_column, **others)


@main.command("sql")
@click.argument("file", metavar="FILE.sql")
@click.option("--table", "tables", multiple=True, metavar="NAME=PATH", help="A file or folder of rows.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv", "parquet"]),
    default="table",
    show_default=True,
)
@click.option("--out", metavar="PATH", help="Where rows go, instead of the screen.")
def sql_(file: str, tables: tuple[str, ...], engine: str, format_: str, out: str | None) -> None:
    """Run the SQL statement in FILE.sql, with MATCH_RECOGNIZE, over tables of files."""
    from cepheid.cli.statement import run_statement

    run_statement(read_text(file), tables, engine, format_, out)


@main.command("forecast-train")
@click.argument("file", metavar="FILE.cep")
@click.argument("events", metavar="EVENTS")
@click.option("--out", required=True, metavar="PATH", help="Where the model goes.")
@_columns
def forecast_train(
    file: str,
    events: str,
    out: str,
    time_column: str,
    type_column: str,
    order: tuple[str, ...],
    time_unit: str,
) -> None:
    """Learn what the forecasts of FILE.cep can learn from EVENTS, and save it."""
    from cepheid.cli.forecasting import train

    train(read_text(file), events, out, time=time_column, type=type_column, order=order, time_unit=time_unit)


@main.command("forecast-report")
@click.argument("file", metavar="FORECASTS")
@click.option("--stream", metavar="NAME", help="Only this stream's forecasts.")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of an alarm.")
@click.option("--html", metavar="PATH", help="Also write a page with the reliability diagram.")
def forecast_report(file: str, stream: str | None, threshold: float, html: str | None) -> None:
    """Hold forecasts against what happened: FORECASTS is what `cepheid run --forecasts` has written.

    \b
    cepheid run fraud.cep payments.jsonl --forecasts foretold.jsonl
    cepheid forecast-report foretold.jsonl --html report.html
    """
    from cepheid.cli.forecasting import report

    report(file, stream, threshold, html)


@main.command("graph")
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
@click.option(
    "--time-unit",
    type=click.Choice(["s", "ms", "us", "ns"]),
    default="s",
    help="What a time that is a number counts since 1970.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv", "parquet"]),
    default="table",
    show_default=True,
)
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


@main.command("rules")
@click.argument("file", metavar="FILE.rules")
@click.option("--facts", multiple=True, metavar="[TYPE=]PATH", help="A file of facts; may be repeated.")
@click.option("--events", multiple=True, metavar="[TYPE=]PATH", help="A file of events; may be repeated.")
@click.option("--patterns", metavar="FILE.cep", help="Patterns whose matches are events of the rules.")
@click.option("--key", metavar="COL", help="Split what rules see by this column.")
@click.option("--time", metavar="COL", help="The column of the time.  [default: time]")
@click.option("--type", "type_", metavar="COL", help="The column of the type.  [default: type]")
@click.option("--id", "id_", metavar="COL", help="The column of the identity.  [default: id]")
@click.option("--until", metavar="TIME", help="Time goes on that far after the last event.")
@click.option(
    "--time-unit", type=click.Choice(["s", "ms", "us", "ns"]), default="s", help="A tick of the clock."
)
@click.option(
    "--max-firings", type=int, metavar="N", help="So many at most for one operation.  [default: 10000]"
)
@click.option(
    "--show",
    metavar="NAME",
    help="A stream, a type, `firings`, `skipped` or `explanations`; all that happened without it.",
)
@click.option(
    "--network", type=click.Choice(["text", "mermaid"]), help="Draw the network of the rules instead."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv", "parquet"]),
    default="table",
    show_default=True,
)
@click.option("--out", metavar="PATH", help="Where the answer goes, instead of the screen.")
def rules_(
    file: str,
    patterns: str | None,
    type_: str | None,
    id_: str | None,
    network: str | None,
    **options: Any,
) -> None:
    """Run the rules of FILE.rules over files of facts and events (.csv, .jsonl, .parquet).

    A fact is a row with valid_from and valid_to, or, in a file with a time, what is done to it (op: assert,
    update, retract). An event is a row with a time.

    \b
    cepheid rules alarms.rules --facts Equipment=equipment.csv --events events.csv
    cepheid rules alarms.rules --network mermaid
    """
    from cepheid.cli.rules import run_on_files, show_network

    program = None if patterns is None else read_text(patterns)
    if network is not None:
        show_network(read_text(file), file, program, network)
        return
    if not options["facts"] and not options["events"]:
        raise click.UsageError("There is nothing to run on: give --facts or --events.")
    run_on_files(read_text(file), file, patterns=program, type=type_, id=id_, **options)


@main.command()
@click.option("--out", default="out", show_default=True, metavar="DIR", help="Where the report goes.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="auto is Spark, if pyspark is installed.",
)
def demo(out: str, engine: str) -> None:
    """Find the fraud in a day of card payments, and write a report about it."""
    from cepheid.cli.demo import run_demo

    run_demo(Path(out), engine)


main.add_command(sigma)


@main.command()
def lsp() -> None:
    """Serve an editor: mistakes, hints, completions and definitions, over standard input and output."""
    from cepheid.cli.lsp import run_server

    run_server()


def _query_and_events(
    files: tuple[str, ...], query: str | None, may_lack_events: bool = False
) -> tuple[str, str, str]:
    if may_lack_events and len(files) == (query is None):
        files = (*files, "")  # the options say what is read
    if query is not None:
        if len(files) != 1:
            raise click.UsageError("With --query there is one argument: EVENTS.")
        return query, "query", files[0]
    if len(files) != 2:
        raise click.UsageError("Two arguments are needed: FILE.cep and EVENTS (or --query TEXT and EVENTS).")
    return read_text(files[0]), *files
