"""`cepheid watch`."""

from __future__ import annotations

import click


@click.command("watch")
@click.argument("place", metavar="CHECKPOINT_OR_QUERY")
@click.option("--once", is_flag=True, help="Print one view and leave.")
@click.option(
    "--every",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["screen", "json"]),
    default="screen",
    show_default=True,
    help="json: one view as one object.",
)
def watch_(place: str, once: bool, every: float, format_: str) -> None:
    """Watch a running stream: rate, watermark, open runs by pattern and step, late events, dead letters.

    CHECKPOINT_OR_QUERY is the folder of its checkpoint, or the name it was given (`write_stream(name=...)`).

    \b
    cepheid watch /data/parcels/checkpoint
    cepheid watch parcels --once
    cepheid watch parcels --format json | jq .lag
    """
    from cepheid.cli.watching import watch

    watch(place, every, once, format_)
