"""`cepheid demo`: the shipped day of payments, on Spark, on the screen and as a report."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from cepheid.cli.jobs import AnyJob, stream_names
from cepheid.cli.reporting import Notes
from cepheid.cli.running import drive
from cepheid.cli.sinks import TableSink
from cepheid.cli.summary import summary, waiting
from cepheid.demo import EVENTS, QUERY
from cepheid.engines.local.run import Job
from cepheid.engines.options import Options

REPORT = "cepheid-demo.html"


def run_demo(folder: Path, engine: str = "auto") -> None:
    click.echo(f"A day of card payments: is somebody up to something?\n{_near(QUERY)}\n{_near(EVENTS)}\n")
    job = _job(engine)
    streams = stream_names(job.program)
    sink, notes = TableSink(job, streams, None, None), Notes(job, streams)
    tally, elapsed = drive(job, streams, sink, notes=notes, bar=True)
    for line in summary(job, streams, tally, elapsed):
        click.echo(line)
    path = folder / REPORT
    notes.write(path, f"{QUERY.name} over {EVENTS.name}", tally, elapsed, "A day of card payments")
    click.echo(f"report: {path}")


def _job(engine: str) -> AnyJob:
    if engine == "spark" or (engine == "auto" and find_spec("pyspark") is not None):
        return _spark_job()
    if engine == "auto":
        click.echo("pyspark is not installed (pip install 'cepheid[spark]'): this is the local engine.\n")
    return Job(QUERY.read_text(encoding="utf-8"), EVENTS, Options(), source_name=str(QUERY))


def _spark_job() -> AnyJob:
    from cepheid.cli.spark_job import BatchJob, opened
    from cepheid.engines.spark.sources import Reading

    text = QUERY.read_text(encoding="utf-8")
    given = opened(text, str(QUERY), Reading(str(EVENTS)), Options(), {}, quiet=False)
    # FraudRing joins cards by their shop, so it has no key in common with what it feeds on: no news here.
    job = BatchJob(given, Options(), whole_events=True, advise=False)
    with waiting("counting the events"):
        job.count_events()
    return job


def _near(path: Path) -> Path:
    """From here, where that is shorter."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
