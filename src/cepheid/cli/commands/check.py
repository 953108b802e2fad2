"""`cepheid check` and `cepheid explain`: everything but running."""

from __future__ import annotations

import click

from cepheid.cli.arguments import event_columns
from cepheid.cli.checking import check_query, explain_query
from cepheid.cli.reading import read_text


@click.command()
@click.argument("file", metavar="FILE.cep")
@click.option("--schema", metavar="EVENTS", help="Check fields and types against these events.")
@event_columns
def check(
    file: str, schema: str | None, time_column: str, type_column: str, order: tuple[str, ...], time_unit: str
) -> None:
    """Read and plan FILE.cep without running it."""
    check_query(
        read_text(file), file, schema, time=time_column, type=type_column, order=order, time_unit=time_unit
    )


@click.command()
@click.argument("file", metavar="FILE.cep")
@click.option("--mermaid", is_flag=True, help="As a Mermaid diagram.")
@click.option("--stream", metavar="NAME", help="Only this stream.")
@click.option("--schema", metavar="EVENTS", help="Check fields and types against these events.")
@click.option(
    "--events", metavar="EVENTS", help="The same, and match the first of them to see how much is kept open."
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Events a second: how many runs can be open then.",
)
@click.option("--keys", type=click.IntRange(1), metavar="N", help="With --rate: over how many keys they go.")
@click.option(
    "--engine",
    type=click.Choice(["reference", "spark"]),
    default="reference",
    show_default=True,
    help="spark: what Spark does itself, what it moves, what is left to the matcher.",
)
@event_columns
def explain(
    file: str,
    mermaid: bool,
    stream: str | None,
    schema: str | None,
    events: str | None,
    rate: float | None,
    keys: int | None,
    engine: str,
    time_column: str,
    type_column: str,
    order: tuple[str, ...],
    time_unit: str,
) -> None:
    """Show how each stream of FILE.cep is matched: plan, automaton, windows, what is kept, where tests run, warnings.

    \b
    cepheid explain fraud.cep --rate 5000 --keys 100000
    cepheid explain fraud.cep --events payments.jsonl
    cepheid explain fraud.cep --mermaid
    """
    if keys is not None and rate is None:
        raise click.UsageError("--keys says over how many keys the events of --rate go.")
    if "-" in (events, schema):
        raise click.UsageError("The events are read more than once, so they cannot come from standard input.")
    columns = {"time": time_column, "type": type_column, "order": order, "time_unit": time_unit}
    if engine == "spark":
        from cepheid.cli.explaining import explain_on_spark

        if mermaid:
            raise click.UsageError("--mermaid draws the pattern: leave out --engine spark.")
        if rate is not None:
            raise click.UsageError("--rate is about the pattern: leave out --engine spark.")
        explain_on_spark(read_text(file), file, events or schema, stream=stream, **columns)
        return
    explain_query(
        read_text(file),
        file,
        events or schema,
        stream=stream,
        mermaid=mermaid,
        rate=rate,
        keys=keys,
        sampled=events is not None,
        **columns,
    )
