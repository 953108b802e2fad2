"""The options of `cepheid run` that are about Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cepheid.cli.running import Request

Command = TypeVar("Command", bound=Callable[..., Any])
OUTPUTS = ("table", "json", "csv", "parquet")
_OF_FILES = ("json", "csv", "parquet", "orc", "text")
_SPARK_ONLY = {
    "source_format": "--source-format",
    "source_schema": "--source-schema",
    "options": "--option",
    "conf": "--conf",
    "streaming": "--streaming",
    "checkpoint": "--checkpoint",
    "trigger": "--trigger",
    "buckets": "--buckets",
    "end_type": "--end-type",
    "idle_after": "--idle-after",
}


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, what = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE.")
        found[name] = what
    return found


def on_spark(command: Command) -> Command:
    """Adds them."""
    for option in reversed(
        (
            click.option(
                "--source-format",
                metavar="FORMAT",
                help="Spark: what EVENTS is, where its name does not say it: kafka, orc, ...",
            ),
            click.option(
                "--option",
                "options",
                multiple=True,
                callback=_pairs,
                metavar="NAME=VALUE",
                help="Spark: an option of the source; may be repeated.",
            ),
            click.option("--source-schema", metavar="DDL", help='Spark: "type string, time timestamp, ..."'),
            click.option(
                "--conf",
                multiple=True,
                callback=_pairs,
                metavar="NAME=VALUE",
                help="Spark: a setting of the session; may be repeated.",
            ),
            click.option("--streaming", is_flag=True, help="Spark: go on with what comes, until Ctrl-C."),
            click.option(
                "--checkpoint", metavar="DIR", help="Spark streaming: where it keeps how far it has come."
            ),
            click.option(
                "--trigger",
                metavar="WHEN",
                help="Spark streaming: available-now, or how often, as '10 seconds'.",
            ),
            click.option(
                "--buckets", type=click.IntRange(1), metavar="N", help="Spark streaming: see the docs."
            ),
            click.option(
                "--end-type", metavar="TYPE", help="Spark streaming: an event that ends the stream."
            ),
            click.option(
                "--idle-after",
                metavar="DURATION",
                help="Spark streaming: let time go on by the clock when nothing comes.",
            ),
        )
    ):
        command = option(command)
    return command


def formats(format: str, source_format: str | None, engine: str) -> tuple[str, str | None]:
    """What comes out, what goes in: on Spark one option serves both where they cannot be confused."""
    if format in OUTPUTS:
        return format, source_format
    if engine == "spark" and source_format is None:
        return "table", format
    listed = ", ".join(repr(name) for name in OUTPUTS)
    raise click.BadParameter(f"{format!r} is not one of {listed}.", param_hint="'--format'")


def may_lack_events(source_format: str | None) -> bool:
    """A topic or a table may be named by options alone."""
    return source_format is not None and source_format not in _OF_FILES


def refuse_spark_options(request: Request) -> None:
    for name, option in _SPARK_ONLY.items():
        if getattr(request, name):
            raise click.UsageError(f"{option} is for --engine spark.")
