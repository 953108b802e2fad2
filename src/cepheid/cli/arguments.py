"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cepheid.cli.reading import read_text

Command = TypeVar("Command", bound=Callable[..., Any])


time_unit = click.option(
    "--time-unit",
    type=click.Choice(["s", "ms", "us", "ns"]),
    default="s",
    help="What a time that is a number counts since 1970.",
)


def table_format(name: str) -> Callable[[Command], Command]:
    """`name`: what the command calls the argument."""
    return click.option(
        "--format",
        name,
        type=click.Choice(["table", "json", "csv", "parquet"]),
        default="table",
        show_default=True,
    )


def event_columns(command: Command) -> Command:
    """How events are read, wherever events are read."""
    for option in (
        time_unit,
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


def asked_about(command: Command) -> Command:
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


def query_and_events(
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
    if files[1].endswith(".cep") and not files[0].endswith(".cep"):
        raise click.UsageError(f"The query comes first: {files[1]} {files[0]}")
    return read_text(files[0]), *files
