"""`cepheid sigma`: Sigma rules as patterns, printed, or run over events."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.running import Request, run_request
from cepheid.engines.program import compile
from cepheid.engines.sigma import translated
from cepheid.pattern.text import program_text


def pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """`NAME=FIELD` options."""
    found = {}
    for text in given:
        name, sign, field = text.partition("=")
        if not sign or not name or not field:
            raise click.UsageError(f"{option} {text}: write it as NAME=FIELD.")
        found[name] = field
    return found


def sigma_rules(text: str, name: str, events: str | None, naming: dict[str, Any], **others: Any) -> None:
    """Print the program, or run it and show the matches of the rules that the text wants matches of."""
    translation = translated(text, source=name, **naming)
    program = program_text(compile(translation.declarations).declarations, "\n    ")
    if events is None:
        click.echo(program, nl=False)
        return
    # Without a column of types every row is an event of the one type that the patterns read.
    run_request(Request(program, name, events, only=translation.wanted, type="", **others))
