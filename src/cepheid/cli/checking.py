"""`cepheid check` and `cepheid explain`: everything but running."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cepheid.engines.explaining import explain
from cepheid.engines.local.events import scan_schema
from cepheid.engines.local.run import Job
from cepheid.engines.options import make_options
from cepheid.engines.program import PlannedStream, Program, compile
from cepheid.explain.advice import warnings
from cepheid.explain.words import Names
from cepheid.pattern.types import Schema


def check_query(text: str, name: str, events: str | None, **columns: Any) -> None:
    program, schema = _compiled(text, name, events, columns)
    streams = list(program)
    click.echo(f"ok: {len(streams)} stream{'s' if len(streams) != 1 else ''}")
    for planned in streams:
        click.echo(f"  {_about(planned)}")
    for warning in [*_unseen(program, schema), *_advice(program)]:
        click.echo(f"warning: {warning}", err=True)


def explain_query(
    text: str,
    name: str,
    events: str | None,
    *,
    stream: str | None,
    mermaid: bool,
    rate: float | None = None,
    keys: int | None = None,
    sampled: bool = True,
    **columns: Any,
) -> None:
    options = make_options(**columns)
    found = explain(
        text,
        events,
        options,
        stream=stream,
        rate=rate,
        keys=keys,
        sampled=sampled and not mermaid,
        source=name,
    )
    click.echo((found.mermaid() if mermaid else str(found)).rstrip("\n"))


def _compiled(
    text: str, name: str, events: str | None, columns: dict[str, Any]
) -> tuple[Program, Schema | None]:
    if events is None:
        return compile(text, None, name), None
    job = Job(text, events, make_options(**columns), source_name=name)
    schema = job.source.schema
    if schema is not None:
        return job.program, schema
    schema = scan_schema(job.source.batches(), job.source.columns)  # JSON lines: the events say it
    return compile(text, schema, name), schema


def _about(planned: PlannedStream) -> str:
    reads = ", ".join(dict.fromkeys(planned.plan.event_types))
    columns = ", ".join(name for name, _ in planned.columns)
    return f"{planned.name}: reads {reads}; gives {columns}"


def _unseen(program: Program, schema: Schema | None) -> Iterator[str]:
    known = schema.names() if schema is not None else []
    for kind in program.event_types if known else ():
        if kind not in known:
            yield f"there is no event of type `{kind}` in the events"


def _advice(program: Program) -> Iterator[str]:
    for planned in program:
        for warning in warnings(planned.plan, Names(planned.plan)):
            yield f"{planned.name}: {warning}"
