"""`cepheid watch`: a stream on the screen, from the file it writes beside its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cepheid.engines.local.writers import json_line
from cepheid.engines.spark.stream_view import StreamView, ViewedStream, find_progress, viewed
from cepheid.explain.lengths import short_length

_BLOCKS = "▁▂▃▄▅▆▇█"
_OLD = 60.0  # seconds without a micro-batch that are worth a colour


def watch(place: str, every: float, once: bool, format: str) -> None:
    """Draws until Ctrl-C; with `once`, prints one view."""
    path = find_progress(place)
    if format == "json":
        click.echo(json_line(viewed(path, time.time()).as_dict()))
        return
    console = Console(highlight=False)
    if once or not console.is_terminal:
        console.print(drawn(viewed(path, time.time()), path))
        return
    first = drawn(viewed(path, time.time()), path)
    with suppress(KeyboardInterrupt), Live(first, console=console, auto_refresh=False) as live:
        while True:
            time.sleep(every)
            live.update(drawn(viewed(path, time.time()), path), refresh=True)


def drawn(view: StreamView, path: Path) -> RenderableType:
    return Group(_title(view, path), Text(), _figures(view), Text(), _streams(view))


def _title(view: StreamView, path: Path) -> Text:
    title = Text(view.query or path.parent.resolve().name, "bold")
    words, style = {
        True: ("running", "green"),
        False: ("ended: its process is gone", "red"),
        None: (f"on {view.host}", "dim"),
    }[view.running]
    title.append(f"  {words}", style)
    title.append(f"  {path.parent.resolve()}", "dim")
    return title


def _figures(view: StreamView) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value, style in _rows(view):
        table.add_row(Text(name, "dim"), Text(value, style))
    return table


def _rows(view: StreamView) -> Iterator[tuple[str, str, str]]:
    old = "yellow" if view.age > _OLD else ""
    yield "micro-batch", f"{view.batch:,}, {_length(view.age)} ago, took {_length(view.seconds)}", old
    yield "events", f"{view.events:,}, {view.rate:,.1f} a second  {sparkline(view.rates)}", ""
    if view.watermark is None or view.lag is None:
        yield "watermark", "none yet", "dim"
    else:
        yield "watermark", f"{_moment(view.watermark)}, {_length(view.lag)} behind the clock", ""
    yield "state", f"{view.keys:,} keys with open runs, {view.waiting:,} events wait for the watermark", ""
    yield "late", f"{view.late:,} matched late, {view.too_late:,} too late", "yellow" if view.too_late else ""
    yield "dead letters", f"{view.dead_letters:,}", "yellow" if view.dead_letters else ""


def _streams(view: StreamView) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("pattern", "matches", "last batch", "timeouts", "open runs by step"):
        table.add_column(name, justify="right" if name in ("matches", "last batch", "timeouts") else "left")
    for stream in view.streams:
        table.add_row(
            Text(stream.name, "bold"),
            f"{stream.matches:,}",
            f"+{stream.last_matches:,}",
            f"{stream.timeouts:,}",
            _open(stream),
        )
    return table


def _open(stream: ViewedStream) -> Text:
    if stream.open is None:
        return Text("not known", "dim")
    held = [f"{step} {count:,}" for step, count in stream.open.items() if count]
    return Text("  ".join(held)) if held else Text("none", "dim")


def sparkline(values: tuple[float, ...]) -> str:
    """
    >>> sparkline((0.0, 5.0, 10.0))
    '▁▄█'
    """
    most = max(values, default=0.0)
    if most <= 0:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[int(v / most * (len(_BLOCKS) - 1))] for v in values)


def _length(seconds: float) -> str:
    sign = "-" if seconds < 0 else ""
    return sign + short_length(round(abs(seconds) * 1_000_000, -3))


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
