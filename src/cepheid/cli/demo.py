"""`cepheid demo`: the shipped day of payments, on the screen and as a report."""

from __future__ import annotations

from pathlib import Path

import click

from cepheid.cli.reporting import Notes
from cepheid.cli.running import drive
from cepheid.cli.sinks import TableSink
from cepheid.cli.summary import summary
from cepheid.demo import EVENTS, QUERY
from cepheid.engines.local.run import Job
from cepheid.engines.options import Options

REPORT = "cepheid-demo.html"


def run_demo(folder: Path) -> None:
    job = Job(QUERY.read_text(encoding="utf-8"), EVENTS, Options(), source_name=str(QUERY))
    streams = [s.name for s in job.program.declarations.streams]
    click.echo(f"A day of card payments: is somebody up to something?\n{_near(QUERY)}\n{_near(EVENTS)}\n")
    sink, notes = TableSink(job, streams, None, None), Notes(job, streams)
    tally, elapsed = drive(job, streams, sink, notes=notes, bar=True)
    for line in summary(job, streams, tally, elapsed):
        click.echo(line)
    path = folder / REPORT
    notes.write(path, f"{QUERY.name} over {EVENTS.name}", tally, elapsed, "A day of card payments")
    click.echo(f"report: {path}")


def _near(path: Path) -> Path:
    """From here, where that is shorter."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
