"""`cepheid why-not` and `cepheid debug`."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.arguments import asked_about, event_columns, query_and_events


@click.command("why-not")
@click.argument("files", nargs=-1, metavar="[FILE.cep] EVENTS")
@click.option(
    "--expect",
    default="",
    metavar="ID,ID",
    help="The events expected to match, by their id or, without one, by their number from 1.",
)
@click.option("--exactly", is_flag=True, help="With --expect: a match of these events and no others.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@asked_about
@event_columns
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

    text, name, events = query_and_events(files, query)
    show_why_not(text, name, events, format=format_, time=time_column, type=type_column, **others)


@click.command("debug")
@click.argument("files", nargs=-1, metavar="[FILE.cep] EVENTS")
@click.option("--to", type=click.IntRange(1), metavar="N", help="Print step N and leave.")
@click.option("--html", metavar="PATH", help="Write a page to step through in a browser instead.")
@asked_about
@event_columns
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

    text, name, events = query_and_events(files, query)
    show_steps(text, name, events, time=time_column, type=type_column, **others)
