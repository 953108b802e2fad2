"""`cepheid report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cepheid.cli.arguments import event_columns, query_and_events
from cepheid.cli.running import Request, run_request


@click.command("report")
@click.argument("files", nargs=-1, required=True, metavar="FILE.cep EVENTS | CHECKPOINT_OR_QUERY")
@click.option("-e", "--query", metavar="TEXT", help="The query itself, instead of FILE.cep.")
@click.option("--out", default="report.html", show_default=True, metavar="PATH", help="Where the page goes.")
@click.option("--title", metavar="TEXT", help="What the page is called.")
@click.option("--stream", metavar="NAME", help="Only this stream.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@event_columns
@click.option(
    "--partition-by", multiple=True, metavar="COL", help="For streams that do not say it themselves."
)
@click.option("--now", metavar="TIME", help="How far time has come when the input ends.")
@click.option("--disorder", metavar="DURATION", help="Wait so long for events that are out of order.")
@click.option("--lateness", metavar="DURATION", help="Still match events that come so much later.")
@click.option(
    "--late", type=click.Choice(["drop", "dead-letter", "fail"]), help="What becomes of events later still."
)
@click.option(
    "--bad-rows", type=click.Choice(["fail", "skip"]), help="What becomes of rows that are no events."
)
@click.option("-q", "--quiet", is_flag=True, help="No summary and no progress.")
def report_(
    files: tuple[str, ...],
    query: str | None,
    out: str,
    title: str | None,
    engine: str,
    time_column: str,
    type_column: str,
    quiet: bool,
    **others: Any,
) -> None:
    """Write one HTML page about a run: what was found, when, how far runs came, how many were open.

    With FILE.cep and EVENTS it runs them, as `cepheid run --report` does. Of a stream that runs or has run, its
    checkpoint or its name is enough. The page needs no network.

    \b
    cepheid report fraud.cep payments.jsonl --out fraud.html
    cepheid report /data/parcels/checkpoint --out parcels.html
    """
    if len(files) == 1 and query is None and not files[0].endswith(".cep"):
        from cepheid.cli.stream_report import report_stream

        report_stream(files[0], Path(out), title)
    else:
        text, name, events = query_and_events(files, query)
        request = Request(
            text,
            name,
            events,
            format="none",
            report=out,
            title=title or "What was found",
            engine="spark" if engine == "spark" else "reference",
            time=time_column,
            type=type_column,
            quiet=quiet,
            **others,
        )
        if engine == "spark":
            from cepheid.cli.on_spark import run_on_spark

            run_on_spark(request)
        else:
            run_request(request)
    if not quiet:
        click.echo(f"wrote {out}", err=True)
