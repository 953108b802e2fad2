"""`cepheid run`: how the input is read, the loop, and what is said at the end."""

from __future__ import annotations

import glob
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from cepheid.cli.jobs import AnyJob, stream_names
from cepheid.cli.reporting import Notes
from cepheid.cli.sinks import ParquetSink, Sink, open_sink, opened
from cepheid.cli.summary import Tally, progress_bar, summary
from cepheid.cli.trace import Trace
from cepheid.engines.local.bad_rows import BadRow
from cepheid.engines.local.run import Job
from cepheid.engines.local.writers import json_line
from cepheid.engines.options import Options, make_options
from cepheid.engines.session import Found
from cepheid.errors import InputMistake, TooLate

SORTED_UP_TO = 32 * 2**20
_PACKED = 8  # about how many bytes of text a byte of a packed file is
Write = Callable[[Any], None]


@dataclass(frozen=True)
class Request:
    """The options of `cepheid run`, as they were given."""

    text: str
    name: str  # the query's file
    events: str
    stream: str | None = None
    only: tuple[str, ...] = ()  # streams whose matches are wanted, where it is several
    engine: str = "auto"
    format: str = "table"
    out: str | None = None
    time: str = "time"
    type: str = "type"
    order: tuple[str, ...] = ()
    time_unit: str = "s"
    partition_by: tuple[str, ...] = ()
    now: str | None = None
    disorder: str | None = None
    lateness: str | None = None
    late: str | None = None
    dead_letters: str | None = None
    bad_rows: str | None = None
    bad_rows_out: str | None = None
    unfinished: str | None = None
    forecasts: str | None = None
    model: str | None = None
    sort: bool | None = None
    memory: str | None = None
    trace: bool = False
    limit: int | None = None
    report: str | None = None
    title: str = "What was found"  # of the report
    quiet: bool = False
    # With --engine spark.
    source_format: str | None = None
    source_schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    streaming: bool = False
    checkpoint: str | None = None
    trigger: str | None = None
    buckets: int | None = None
    end_type: str | None = None
    idle_after: str | None = None


def run_request(request: Request) -> None:
    _refuse_contradictions(request)
    with ExitStack() as stack:
        bad = stack.enter_context(letters(request.bad_rows_out, "bad row"))
        dead = stack.enter_context(letters(request.dead_letters, "dead letter"))
        unfinished, foretold = side_outputs(request, stack)
        trace = Trace(_trace_line(request), request.stream) if request.trace else None
        job = _job(request, trace, bad)
        if trace is not None:
            trace.program = job.program
        streams = list(request.only) or stream_names(job.program, request.stream)
        sink = stack.enter_context(open_sink(job, streams, request.format, request.out, request.limit))
        notes = Notes(job, streams) if request.report else None
        tally, elapsed = drive(job, streams, sink, dead, notes, bar_wanted(request), unfinished, foretold)
        stack.pop_all().close()  # files are complete before anything is said about them
    if notes is not None and request.report:
        source = f"{request.name} over {request.events}"
        notes.write(Path(request.report), source, tally, elapsed, request.title)
    if not request.quiet:
        for line in summary(job, streams, tally, elapsed):
            click.echo(line, err=True)


def drive(
    job: AnyJob,
    streams: list[str],
    sink: Sink,
    dead: Write | None = None,
    notes: Notes | None = None,
    bar: bool = False,
    unfinished: Write | None = None,
    foretold: Write | None = None,
) -> tuple[Tally, float]:
    """Runs a job to its end."""
    tally, wanted = Tally(), set(streams)
    began = time.perf_counter()
    try:
        with progress_bar(job, bar):
            for found in _found(job, wanted, sink):
                for item in found:
                    if item.kind == "dead_letter":
                        tally.dead_letters += 1
                        (dead or _nowhere)(item.row)
                    elif item.stream in wanted and item.kind in ("forecast", "outcome"):
                        _take_forecast(item, tally, foretold)
                    elif item.stream in wanted:
                        _take(item, sink, tally, notes, unfinished)
                if found:
                    sink.flush()
    except TooLate as late:
        raise _with_options(late) from None
    elapsed = time.perf_counter() - began
    sink.finish()
    return tally, elapsed


def _found(job: AnyJob, wanted: set[str], sink: Sink) -> Iterator[list[Found]]:
    """What is found; a whole table goes to a sink that takes tables."""
    if not isinstance(job, Job) or not isinstance(sink, ParquetSink):
        yield from job.steps()
        return
    for found in job.answers():
        if isinstance(found, list):
            yield found
        elif found.stream in wanted:
            sink.take_table(found.stream, found.table)


def _take(item: Found, sink: Sink, tally: Tally, notes: Notes | None, unfinished: Write | None) -> None:
    if item.kind == "match":
        sink.take(item.stream, item.row)
        if notes is not None:
            notes.take(item)
    else:
        counts = tally.pending if item.kind == "pending" else tally.timeouts
        counts[item.stream] = counts.get(item.stream, 0) + 1
        (unfinished or _nowhere)({"stream": item.stream, "kind": item.kind, **item.row})


def _take_forecast(item: Found, tally: Tally, foretold: Write | None) -> None:
    if item.kind == "forecast":
        tally.forecasts[item.stream] = tally.forecasts.get(item.stream, 0) + 1
    (foretold or _nowhere)({"stream": item.stream, "kind": item.kind, **item.row})


def side_outputs(request: Request, stack: ExitStack) -> tuple[Write | None, Write | None]:
    """Where runs that did not become matches go, and forecasts."""
    unfinished = stack.enter_context(letters(request.unfinished, "run")) if request.unfinished else None
    foretold = stack.enter_context(letters(request.forecasts, "forecast")) if request.forecasts else None
    return unfinished, foretold


def _nowhere(row: Any) -> None:
    pass


# --- sorted or streamed -------------------------------------------------------------------------------------


def _job(request: Request, trace: Trace | None, bad: Callable[[BadRow], None]) -> Job:
    """Sorting holds all events in memory, so large inputs are sorted only where the compiled matcher does it."""
    # A report shows the events of matches, which the compiled matcher does not make.
    engine = "reference" if request.report else request.engine

    def made(streamed: bool) -> Job:
        options = _options(request, streamed)
        return Job(request.text, request.events, options, trace, request.name, bad, engine)

    streamed = _streamed(request)
    if streamed is not None:
        return made(streamed)
    job = made(streamed=False)
    if not job.choice.others(job.program):
        return job
    _tell_streamed(request)
    return made(streamed=True)


def _streamed(request: Request) -> bool | None:
    """Are events taken as they come? None: only if they would have to be sorted in memory."""
    if request.sort is not None:
        return not request.sort
    if request.disorder or request.lateness or request.late or request.dead_letters or request.events == "-":
        return True
    return False if _size(request.events) <= SORTED_UP_TO else None


def _tell_streamed(request: Request) -> None:
    size = _size(request.events)
    if not request.quiet:
        click.echo(
            f"{request.events} is large (about {size / 2**20:,.0f} MB of events), so events are taken in the "
            f"order of the file; --disorder DURATION allows for disorder, --sort sorts all of it in memory",
            err=True,
        )


def _size(events: str) -> int:
    path = Path(events)
    files = list(path.iterdir()) if path.is_dir() else [path, *map(Path, glob.glob(events, recursive=True))]
    return sum(_text_size(file) for file in set(files) if file.is_file())


def _text_size(file: Path) -> int:
    return file.stat().st_size * (_PACKED if file.suffix.lower() in (".gz", ".parquet") else 1)


def _options(request: Request, streamed: bool) -> Options:
    options = make_options(
        request.time,
        request.type,
        request.order,
        time_unit=request.time_unit,
        partition_by=request.partition_by,
        now=instant(request.now),
        disorder=(request.disorder or 0) if streamed else None,
        lateness=request.lateness,
        too_late=request.late or ("dead-letter" if request.dead_letters else "fail"),
        bad_rows=request.bad_rows or ("dead-letter" if request.bad_rows_out else "fail"),
        memory=None if request.memory is None else size_of(request.memory),
        models=request.model,
    )
    # Standard input may be somebody who waits for an answer to each event, and so may a reader of the trace.
    one_by_one = request.trace or (request.events == "-" and streamed)
    return replace(options, batch_size=1) if one_by_one else options


_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def size_of(text: str) -> int:
    """
    >>> size_of("1.5 GB") == 3 * 2**29
    True
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B?)\s*", text.upper().replace("IB", "B"))
    if found is None:
        raise click.UsageError(f"--memory {text} is not a size: write it as 512MB or 2GB.")
    unit = found[2] if found[2].endswith("B") or not found[2] else found[2] + "B"
    return int(float(found[1]) * _UNITS[unit])


def instant(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _with_options(late: TooLate) -> TooLate:
    hint = (
        "--disorder 10s waits so long for events that are out of order; --sort sorts the whole input in "
        "memory; --lateness 1h still matches what comes later, --late drop|dead-letter goes on without it"
    )
    return TooLate(late.message, code=late.code, place=late.place, hint=hint)


def _refuse_contradictions(request: Request) -> None:
    if request.sort and (request.disorder or request.lateness or request.late or request.dead_letters):
        raise click.UsageError("With --sort no event is late: leave out --disorder, --lateness, --late.")
    if request.dead_letters and request.late not in (None, "dead-letter"):
        raise click.UsageError(f"--dead-letters stays empty with --late {request.late}.")
    if request.bad_rows_out and request.bad_rows not in (None, "dead-letter"):
        raise click.UsageError(f"--bad-rows-out stays empty with --bad-rows {request.bad_rows}.")
    if (
        request.out
        and Path(request.out).is_file()
        and Path(request.out).resolve() == Path(request.events).resolve()
    ):
        raise InputMistake("--out would overwrite the events", code="bad_option")


# --- other output -------------------------------------------------------------------------------------------


@contextmanager
def letters(path: str | None, what: str) -> Iterator[Write]:
    """Writes rows as JSON lines to a file; without one to stderr, so that nothing is lost."""

    def to_stderr(row: BadRow | dict[str, Any]) -> None:
        click.echo(f"{what}: {json_line(dict(row))}", err=True)

    if path is None:
        yield to_stderr
        return
    with opened(path) as file:
        yield lambda row: _write_line(file, row)


def _write_line(file: Any, row: Any) -> None:
    file.write(json_line(dict(row)) + "\n")


def _trace_line(request: Request) -> Callable[[str], None]:
    to_stderr = request.out is None
    return lambda line: click.echo(line, err=to_stderr)


def bar_wanted(request: Request) -> bool:
    """Not where lines of the answer or of the trace would run through it."""
    quiet_screen = (
        request.format in ("table", "parquet") or request.out is not None or not sys.stdout.isatty()
    )
    return quiet_screen and not request.quiet and not request.trace and request.events != "-"
