"""`cepheid run --engine spark --streaming`: one query, what it finds by micro-batch, until it ends or Ctrl-C."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from cepheid.cli.interrupts import noted
from cepheid.cli.jobs import stream_names
from cepheid.cli.running import Request
from cepheid.cli.sinks import TABLE_ROWS, Row, Sink, console_on, open_sink, show_table
from cepheid.cli.spark_job import Opened, opened
from cepheid.engines.local.bad_rows import BadRows
from cepheid.engines.local.events import plain
from cepheid.engines.local.reading import Progress
from cepheid.engines.options import Options, make_options
from cepheid.engines.program import Program
from cepheid.engines.rows import match_columns
from cepheid.engines.session import Counters, Found
from cepheid.engines.spark.collecting import flat
from cepheid.engines.spark.failures import in_our_words
from cepheid.engines.spark.inputs import plan_input
from cepheid.engines.spark.metrics import observed_in
from cepheid.engines.spark.sinks import Given
from cepheid.engines.spark.sources import Reading
from cepheid.engines.spark.writing import write_stream
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.pattern.duration import duration
from cepheid.pattern.types import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK = 0.5  # seconds between two looks at the query


class StreamJob:
    """What sinks know of the job; its findings come by micro-batch, not by `steps`."""

    progress: Progress | None = None
    last_time: int | None = None

    def __init__(self, program: Program, late: bool) -> None:
        self.program, self.late = program, late
        self.counters = Counters(matches={s.name: 0 for s in program})
        self.bad = BadRows()
        self.batches: set[int] = set()

    def columns(self, stream: str) -> list[tuple[str, Type]]:
        return match_columns(self.program[stream], self.late)

    def steps(self) -> Iterator[list[Found]]:
        return iter(())

    def warnings(self) -> list[str]:
        return []

    def look_at(self, query: StreamingQuery) -> None:
        """Adds what Spark has counted in the micro-batches since the last look."""
        for progress in query.recentProgress:
            sums = observed_in(progress)
            if sums is None or progress.batchId in self.batches:
                continue
            self.batches.add(progress.batchId)
            self.counters.late += sums["late"]
            self.counters.too_late += sums["too_late"]
            for name in self.counters.matches:
                self.counters.matches[name] += sums.get(f"matches.{name}", 0)


class LiveTables:
    """A table for what each micro-batch brought."""

    def __init__(self, job: StreamJob, limit: int | None) -> None:
        self.job, self.limit = job, TABLE_ROWS if limit is None else limit
        self.rows: dict[str, list[Row]] = {}

    def take(self, stream: str, row: Row) -> None:
        self.rows.setdefault(stream, []).append(row)

    def flush(self) -> None:
        console = console_on(sys.stdout)
        for stream, rows in self.rows.items():
            columns = [name for name, _ in self.job.columns(stream)]
            show_table(console, stream, columns, rows[: self.limit], len(rows))
        self.rows = {}
        sys.stdout.flush()

    finish = flush


def run_stream(request: Request, reading: Reading) -> None:
    settings, trigger = _settings(request), trigger_of(request.trigger)
    options = make_options(**settings)
    given = opened(request.text, request.name, reading, options, request.conf, request.quiet)
    job = _planned(given, options)
    streams = stream_names(job.program, request.stream)
    with ExitStack() as stack, in_our_words():
        sinks = stack.enter_context(_sinks(job, streams, request, given))
        with _said_aloud(request.quiet):
            query = write_stream(
                given.declarations,
                given.df,
                checkpoint=given.located(str(request.checkpoint)),
                matches=sinks,
                timeouts=_placed(request.unfinished, given),
                forecasts=_placed(_below(request.forecasts, "forecast"), given),
                outcomes=_placed(_below(request.forecasts, "outcome"), given),
                dead_letters=_placed(request.dead_letters, given),
                trigger=trigger,
                idle_after=request.idle_after,
                **settings,
            )
        _until_it_ends(query, job, request)
    _summary(job, streams, request)


def _below(folder: str | None, kind: str) -> str | None:
    return None if folder is None else f"{folder}/{kind}"


def _planned(given: Opened, options: Options) -> StreamJob:
    program, _ = plan_input(given.declarations, given.df, options)
    return StreamJob(program, options.lateness is not None and options.lateness.threshold > 0)


def _settings(request: Request) -> dict[str, Any]:
    policy = request.late or ("dead-letter" if request.dead_letters else "fail")
    return {
        "models": request.model,
        "time": request.time,
        "type": request.type,
        "order": request.order,
        "time_unit": request.time_unit,
        "partition_by": request.partition_by,
        "disorder": request.disorder,
        "lateness": request.lateness,
        "too_late": policy,
        "buckets": request.buckets,
        "end_type": request.end_type,
    }


def trigger_of(text: str | None) -> dict[str, Any] | None:
    """
    >>> trigger_of("available-now"), trigger_of("10 seconds")
    ({'availableNow': True}, {'processingTime': '10000 milliseconds'})
    """
    if text is None:
        return None
    if text.replace("_", "-").lower() in ("available-now", "availablenow"):
        return {"availableNow": True}
    try:
        return {"processingTime": f"{-(-duration(text) // 1000)} milliseconds"}
    except CepheidError:
        raise click.BadParameter(
            f"{text!r} is neither available-now nor a duration such as '10 seconds'.",
            param_hint="'--trigger'",
        ) from None


# --- where the rows go ---------------------------------------------------------------------------------------


@contextmanager
def _sinks(
    job: StreamJob, streams: list[str], request: Request, given: Opened
) -> Iterator[Mapping[str, Given]]:
    if request.out is not None and request.out != "-":
        folder = given.located(request.out)
        yield {name: _folder(f"{folder}/{name}", request.format) for name in streams}
        return
    _refuse_connect()
    with ExitStack() as stack:
        sink: Sink = LiveTables(job, request.limit)
        if request.format != "table":
            sink = stack.enter_context(open_sink(job, streams, request.format, None, request.limit))
        yield {name: _shown(sink, name) for name in streams}


def _placed(path: str | None, given: Opened) -> str | None:
    return None if path is None else given.located(path)


def _folder(place: str, format: str) -> Given:
    if format in ("table", "parquet"):
        return place

    def write(rows: DataFrame, batch: int) -> None:
        # A micro-batch that comes again replaces its own folder.
        options = {"header": "true"} if format == "csv" else {"ignoreNullFields": "false"}
        if not rows.isEmpty():
            fit = flat(rows) if format == "csv" else rows
            fit.write.mode("overwrite").format(format).options(**options).save(f"{place}/batch={batch}")

    return write


def _shown(sink: Sink, stream: str) -> Callable[[DataFrame, int], None]:
    def show(rows: DataFrame, batch: int) -> None:
        for row in rows.toArrow().to_pylist():
            sink.take(stream, plain(row))
        sink.flush()

    return show


def _refuse_connect() -> None:
    from pyspark.sql.utils import is_remote

    if is_remote():
        raise click.UsageError(
            "Over Spark Connect a stream's rows stay on the server: say where they go with --out."
        )


# --- while it runs -------------------------------------------------------------------------------------------


@contextmanager
def _said_aloud(quiet: bool) -> Iterator[None]:
    """Warnings about the plan as lines of ours."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CepheidWarning)
        yield
    for warning in heard if not quiet else ():
        click.echo(f"warning: {warning.message}", err=True)


def _until_it_ends(query: StreamingQuery, job: StreamJob, request: Request) -> None:
    """Raises what the query failed by, or KeyboardInterrupt when it was stopped."""
    with noted() as stopped, _status(job, request) as show:
        while query.isActive and not stopped.wait(_LOOK):
            job.look_at(query)
            show()
        if stopped.is_set():
            query.stop()
        job.look_at(query)
    if stopped.is_set():
        _summary(job, stream_names(job.program, request.stream), request)
        raise KeyboardInterrupt
    query.awaitTermination()


@contextmanager
def _status(job: StreamJob, request: Request) -> Iterator[Callable[[], None]]:
    """How far it is, on a terminal where no rows run through it."""
    if request.quiet or request.out in (None, "-") or not sys.stderr.isatty():
        yield lambda: None
        return
    with Console(stderr=True).status("waiting for events") as status:
        yield lambda: status.update(_progress(job))


def _progress(job: StreamJob) -> str:
    count = len(job.batches)
    found = sum(job.counters.matches.values())
    return f"{count:,} micro-batch{'es' if count != 1 else ''}, {found:,} match{'es' if found != 1 else ''}"


def _summary(job: StreamJob, streams: list[str], request: Request) -> None:
    if request.quiet:
        return
    count = len(job.batches)
    click.echo(f"{count:,} micro-batch{'es' if count != 1 else ''}", err=True)
    click.echo("matches: " + ", ".join(f"{n} {job.counters.matches[n]:,}" for n in streams), err=True)
    if job.counters.late:
        click.echo(f"late: {job.counters.late:,}, matched as they came", err=True)
    if job.counters.too_late:
        fate = "kept as dead letters" if request.dead_letters else "dropped"
        click.echo(f"too late: {job.counters.too_late:,}, {fate}", err=True)
