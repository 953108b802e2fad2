"""`cepheid run --engine spark`: bounded input, to the screen or to files that Spark writes."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import click

from cepheid.cli.interrupts import ends_the_program
from cepheid.cli.reporting import Notes
from cepheid.cli.running import Request, bar_wanted, drive, instant, side_outputs
from cepheid.cli.sinks import open_sink
from cepheid.cli.spark_job import BatchJob, opened
from cepheid.cli.summary import Tally, summary, waiting
from cepheid.engines.options import Options, make_options
from cepheid.engines.program import compile, declarations_of, partitioned
from cepheid.engines.spark.collecting import already_there, written
from cepheid.engines.spark.sources import FILES, Reading
from cepheid.pattern.types import STRING, TIMESTAMP

_NOT_ON_SPARK = {
    "trace": "--trace",
    "sort": "--sort and --no-sort",
    "memory": "--memory",
    "bad_rows_out": "--bad-rows-out",
}
_ONLY_STREAMING = {
    "checkpoint": "--checkpoint",
    "trigger": "--trigger",
    "disorder": "--disorder",
    "lateness": "--lateness",
    "late": "--late",
    "dead_letters": "--dead-letters",
    "buckets": "--buckets",
    "end_type": "--end-type",
    "idle_after": "--idle-after",
}
_ONLY_BATCH = {"now": "--now"}


def run_on_spark(request: Request) -> None:
    _refuse_contradictions(request)
    _check_text(request)
    if request.streaming:
        from cepheid.cli.streaming import run_stream

        run_stream(request, reading_of(request))
        return
    options = _options(request)
    given = opened(request.text, request.name, reading_of(request), options, request.conf, request.quiet)
    shown = request.report is not None or request.unfinished is not None
    job = BatchJob(given, options, request.stream, whole_events=shown)
    with ends_the_program():
        if request.out in (None, "-"):
            _to_screen(job, request)
        else:
            _to_files(job, request)


def _check_text(request: Request) -> None:
    """Mistakes in the text are said before Spark starts."""
    declarations = partitioned(declarations_of(request.text, request.name), request.partition_by)
    compile(declarations, None, request.name, {request.time: TIMESTAMP, request.type: STRING})


def _to_screen(job: BatchJob, request: Request) -> None:
    streams = job.streams
    with ExitStack() as stack:
        unfinished, foretold = side_outputs(request, stack)
        sink = stack.enter_context(open_sink(job, streams, request.format, request.out, request.limit))
        notes = Notes(job, streams) if request.report else None
        bar = bar_wanted(request)
        tally, elapsed = drive(job, streams, sink, None, notes, bar, unfinished, foretold)
    _count(job, request)
    if notes is not None and request.report:
        source = f"{request.name} over {_source(request)}"
        notes.write(Path(request.report), source, tally, elapsed, request.title)
    _say(job, tally, elapsed, request)


def _to_files(job: BatchJob, request: Request) -> None:
    """Nothing of what is found comes here but its number."""
    folder, tally = job.given.located(str(request.out)), Tally()
    unfinished = None if request.unfinished is None else job.given.located(request.unfinished)
    foretold = None if request.forecasts is None else job.given.located(request.forecasts)
    _refuse_present(job, str(request.out))
    format = "parquet" if request.format == "table" else request.format
    began = time.perf_counter()
    with waiting("matching on Spark", not request.quiet):
        found = written(job.job, job.streams, folder, format, request.limit, unfinished, foretold)
    elapsed = time.perf_counter() - began
    for (kind, stream), count in found.items():
        counts = {
            "match": job.counters.matches,
            "pending": tally.pending,
            "timeout": tally.timeouts,
            "forecast": tally.forecasts,
        }.get(kind)
        if counts is not None and stream in job.streams:
            counts[stream] = count
    _count(job, request)
    _say(job, tally, elapsed, request)


def _refuse_present(job: BatchJob, folder: str) -> None:
    """Before hours of work, where we can look."""
    for name in job.streams:
        if "://" not in folder and Path(folder, name).exists():
            raise already_there(f"{folder}/{name}")


def _count(job: BatchJob, request: Request) -> None:
    """Files are read again for it, by one column. Other sources may be slow, and are not."""
    if job.given.format in FILES and not (request.quiet and request.report is None):
        with waiting("counting the events", not request.quiet):
            job.count_events()


def _say(job: BatchJob, tally: Tally, elapsed: float, request: Request) -> None:
    if not request.quiet:
        for line in summary(job, job.streams, tally, elapsed):
            click.echo(line, err=True)


def reading_of(request: Request) -> Reading:
    return Reading(
        request.events or None,
        request.source_format,
        request.options,
        request.source_schema,
        request.streaming,
        request.bad_rows == "skip",
    )


def _source(request: Request) -> str:
    return request.events or str(request.source_format)


def _options(request: Request) -> Options:
    return make_options(
        request.time,
        request.type,
        request.order,
        time_unit=request.time_unit,
        partition_by=request.partition_by,
        now=instant(request.now),
        models=request.model,
    )


def _refuse_contradictions(request: Request) -> None:
    _refuse(request, _NOT_ON_SPARK, "{} is not for Spark: it is the local engine's.")
    if request.bad_rows == "dead-letter":
        raise click.UsageError(
            "Spark does not keep rows that are no events: --bad-rows is fail or skip there."
        )
    if not request.streaming:
        _refuse(request, _ONLY_STREAMING, "{} is for --streaming: Spark sorts what is bounded as a whole.")
        return
    _refuse(request, _ONLY_BATCH, "{} is for bounded input, not for --streaming.")
    if request.report is not None:
        raise click.UsageError(
            "--report is for bounded input. Of a stream, `cepheid report CHECKPOINT` makes a page at any time."
        )
    if request.checkpoint is None:
        raise click.UsageError("--streaming needs --checkpoint DIR, where Spark keeps how far it has come.")
    if request.disorder is None:
        raise click.UsageError("--streaming needs --disorder DURATION: how far events may be out of order.")


def _refuse(request: Request, names: dict[str, str], why: str) -> None:
    for name, option in names.items():
        if getattr(request, name) not in (None, False):
            raise click.UsageError(why.format(option))
