"""`cepheid demo`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--out", default="out", show_default=True, metavar="DIR", help="Where the report goes.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="auto is Spark, if pyspark is installed.",
)
def demo(out: str, engine: str) -> None:
    """Find the fraud in a day of card payments, and write a report about it."""
    from cepheid.cli.demo import run_demo

    run_demo(Path(out), engine)
