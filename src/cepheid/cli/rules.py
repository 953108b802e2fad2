"""`cepheid rules`: rules over files of facts and events."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

from cepheid.cli.summary import waiting
from cepheid.cli.words import cell
from cepheid.engines.local.writers import write_rows, write_table
from cepheid.engines.rules.run import run_rules
from cepheid.engines.rules.session import Rules
from cepheid.engines.rules.tables import RuleResults
from cepheid.engines.rules.told import Told
from cepheid.errors import InputMistake, nearest


def run_on_files(
    text: str,
    name: str,
    facts: tuple[str, ...],
    events: tuple[str, ...],
    patterns: str | None,
    show: str | None,
    format_: str,
    out: str | None,
    **options: Any,
) -> None:
    with waiting("replaying"):
        found = run_rules(
            text,
            facts=_tables(facts),
            events=_tables(events),
            patterns=patterns,
            source=name,
            **{key: value for key, value in options.items() if value is not None},
        )
    if show == "explanations":
        click.echo(found.explain())
    elif show is not None:
        write_table(_table(found, show), out, format_)
    elif format_ == "json":
        write_rows(map(_row, found.told), out)
    else:
        write_table(_in_words(found), out, format_)


def show_network(text: str, name: str, patterns: str | None, format_: str) -> None:
    click.echo(Rules(text, patterns=patterns, source=name).explain(format_))


def _tables(given: tuple[str, ...]) -> Any:
    """`PATH` has a column of types, `Alarm=PATH` is of one type."""
    typed = dict(one.split("=", 1) for one in given if "=" in one)
    plain = [one for one in given if "=" not in one]
    if typed and plain:
        raise click.UsageError("Give each file a type, TYPE=PATH, or none of them.")
    return typed or plain or None


def _table(found: RuleResults, show: str) -> pa.Table:
    tables = {
        **found.matches,
        **found.events,
        **found.facts,
        **found.emitted,
        "firings": found.firings,
        "skipped": found.skipped,
    }
    if show not in tables:
        known = list(tables)
        raise InputMistake(
            f"there is nothing called `{show}` in the answer",
            code="unknown_stream",
            hint=nearest(show, known) or f"there are {', '.join(known)}",
        )
    return tables[show]


def _row(told: Told) -> dict[str, Any]:
    row = {"time": told.time, "what": told.kind, "name": told.name, "rule": told.rule, "firing": told.firing}
    if told.kind == "fired":
        return {**row, "objects": {name: thing.id for name, thing in told.objects.items()}}
    if told.kind == "skipped":
        return {**row, "reason": told.reason}
    return {**row, "id": told.id, "fields": told.fields}


def _in_words(found: RuleResults) -> pa.Table:
    columns: dict[str, list[str]] = {"time": [], "what": [], "name": [], "rule": [], "values": []}
    for one in found.told:
        values = {n: o.id for n, o in one.objects.items()} if one.kind == "fired" else one.fields
        shown = " ".join(f"{name}={cell(value)}" for name, value in values.items()) or one.reason or ""
        for name, text in zip(
            columns, (cell(one.time), one.kind, one.name, one.rule or "", shown), strict=True
        ):
            columns[name].append(text)
    return pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()})
