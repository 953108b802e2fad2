"""`cepheid rules`."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.arguments import table_format
from cepheid.cli.reading import read_text


@click.command("rules")
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
@table_format("format_")
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
