"""`cepheid sql`."""

from __future__ import annotations

import click

from cepheid.cli.arguments import table_format
from cepheid.cli.reading import read_text


@click.command("sql")
@click.argument("file", metavar="FILE.sql")
@click.option("--table", "tables", multiple=True, metavar="NAME=PATH", help="A file or folder of rows.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@table_format("format_")
@click.option("--out", metavar="PATH", help="Where rows go, instead of the screen.")
def sql_(file: str, tables: tuple[str, ...], engine: str, format_: str, out: str | None) -> None:
    """Run the SQL statement in FILE.sql, with MATCH_RECOGNIZE, over tables of files."""
    from cepheid.cli.statement import run_statement

    run_statement(read_text(file), tables, engine, format_, out)
