"""`cepheid sigma`: Sigma rules as patterns, printed, or run over events."""

from __future__ import annotations

from typing import Any

import click

from cepheid.cli.arguments import table_format, time_unit
from cepheid.cli.reading import read_text
from cepheid.cli.running import Request, run_request
from cepheid.engines.program import compile
from cepheid.engines.sigma import translated
from cepheid.pattern.text import program_text


@click.command()
@click.argument("rule", metavar="RULE.yml")
@click.argument("events", required=False, metavar="[EVENTS]")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=FIELD",
    help="The field of the events that a name in the rules means; may be repeated.",
)
@click.option("--flat", is_flag=True, help="A dot in a name is part of it, and leads into no field.")
@click.option("--keywords", multiple=True, metavar="FIELD", help="Where keywords are looked for.")
@click.option(
    "--logsource",
    multiple=True,
    metavar="PART=FIELD",
    help="The field that tells the category, product or service of the log source.",
)
@click.option("--time", default="time", metavar="COL", help="The column of the event's time.")
@click.option("--order", multiple=True, metavar="COL", help="Orders events of one time; may be repeated.")
@time_unit
@table_format("format")
@click.option("--out", metavar="PATH", help="Where matches go, instead of the screen.")
@click.option("--now", metavar="TIME", help="How far time has come when the input ends.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Rows shown of each rule (table: 50).")
@click.option("-q", "--quiet", is_flag=True, help="No summary and no progress.")
def sigma(
    rule: str,
    events: str | None,
    fields: tuple[str, ...],
    flat: bool,
    keywords: tuple[str, ...],
    logsource: tuple[str, ...],
    **others: Any,
) -> None:
    """Turn the Sigma rules of RULE.yml into patterns; with EVENTS, run them and show what they find.

    \b
    cepheid sigma brute_force.yml > brute_force.cep
    cepheid sigma brute_force.yml logons.jsonl --time @timestamp --field User=user.name
    """
    naming = {
        "fields": _pairs("--field", fields),
        "flat": flat,
        "keywords": keywords,
        "logsource": _pairs("--logsource", logsource),
    }
    _show(read_text(rule), rule, events, naming, **others)


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """`NAME=FIELD` options."""
    found = {}
    for text in given:
        name, sign, field = text.partition("=")
        if not sign or not name or not field:
            raise click.UsageError(f"{option} {text}: write it as NAME=FIELD.")
        found[name] = field
    return found


def _show(text: str, name: str, events: str | None, naming: dict[str, Any], **others: Any) -> None:
    """Print the program, or run it and show the matches of the rules that the text wants matches of."""
    translation = translated(text, source=name, **naming)
    program = program_text(compile(translation.declarations).declarations, "\n    ")
    if events is None:
        click.echo(program, nl=False)
        return
    # Without a column of types every row is an event of the one type that the patterns read.
    run_request(Request(program, name, events, only=translation.wanted, type="", **others))
