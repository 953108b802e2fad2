"""`cepheid why-not` and `cepheid debug`: what is asked about, and how the answer is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cepheid.cli.running import instant
from cepheid.engines.local.writers import json_line
from cepheid.engines.options import Options, make_options
from cepheid.engines.why_not import Asked, inquire, traced


def show_why_not(text: str, name: str, events: str, *, format: str, **options: Any) -> None:
    asked, made = _asked(name, **options)
    found = inquire(text, events, made, asked)
    click.echo(json_line(found.as_dict()) if format == "json" else str(found))


def show_steps(
    text: str, name: str, events: str, *, to: int | None, html: str | None, **options: Any
) -> None:
    from cepheid.cli.debugger import debug
    from cepheid.explain.debug_page import debug_page

    asked, made = _asked(name, **options)
    found = traced(text, events, made, asked)
    if html is not None:
        written(html, debug_page(found, f"{name} over {events}", asked.id_column))
    if html is None or to is not None:
        debug(found, to, asked.id_column)


def _asked(
    name: str,
    *,
    stream: str | None,
    key: tuple[str, ...],
    id_column: str,
    now: str | None,
    expect: str = "",
    exactly: bool = False,
    **columns: Any,
) -> tuple[Asked, Options]:
    expected = tuple(e.strip() for e in expect.split(",") if e.strip())
    asked = Asked(stream, _key(key) or None, expected, exactly, id_column, True, name)
    return asked, make_options(now=instant(now), **columns)


def _key(pairs: tuple[str, ...]) -> dict[str, str]:
    """
    >>> _key(("user=ann", "site=x=y"))
    {'user': 'ann', 'site': 'x=y'}
    """
    found = {}
    for pair in pairs:
        column, equals, value = pair.partition("=")
        if not equals or not column:
            raise click.UsageError(f"--key {pair} is not COL=VALUE.")
        found[column] = value
    return found


def written(path: str, page: str) -> None:
    Path(path).write_text(page, encoding="utf-8")
    click.echo(f"wrote {path}", err=True)
