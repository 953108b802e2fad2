"""What is said about a run when it is over, and while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from cepheid.cli.jobs import AnyJob
from cepheid.engines.local.reading import Progress as Reading

_EXAMPLES = 3


class Tally:
    """What was found besides matches, by stream."""

    def __init__(self) -> None:
        self.pending: dict[str, int] = {}
        self.timeouts: dict[str, int] = {}
        self.forecasts: dict[str, int] = {}
        self.dead_letters = 0


def summary(job: AnyJob, streams: list[str], tally: Tally, elapsed: float) -> Iterator[str]:
    """One line for each thing worth a word."""
    counters, bad = job.counters, job.bad
    yield _extent(job, elapsed)
    yield "matches: " + ", ".join(f"{name} {counters.matches[name]:,}" for name in streams)
    if counters.events and not any(counters.matches[name] for name in streams):
        yield "nothing matched: `cepheid why-not`, with the same files, says why"
    yield from _by_stream("pending (not certain when the input ended)", tally.pending)
    yield from _by_stream("timeouts", tally.timeouts)
    yield from _by_stream("forecasts", tally.forecasts)
    if counters.late:
        yield f"late: {_events(counters.late)}, matched as they came"
    if counters.too_late:
        fate = "kept as dead letters" if tally.dead_letters else "dropped"
        yield f"too late: {_events(counters.too_late)}, {fate}"
    if bad.count:
        yield f"bad rows: {bad.count:,}"
        for row in bad.examples[:_EXAMPLES]:
            place = f"{row['source']}, line {row['line']}" if row["source"] else f"row {row['line']}"
            yield f"  {place}: {row['reason']}: {_short(row['text'])}"
        if bad.count > _EXAMPLES:
            yield f"  ... and {bad.count - _EXAMPLES:,} more"
    yield from (f"warning: {text}" for text in job.warnings())


def _extent(job: AnyJob, elapsed: float) -> str:
    events = job.counters.events
    if job.progress is not None:
        speed = f", {events / elapsed:,.0f} events/s" if elapsed > 0 else ""
        return f"{_events(events)} in {elapsed:.2f} s{speed}"
    # No speed: of a small input it would be that of Spark's start. And not every source is counted.
    return f"{_events(events)} in {elapsed:.2f} s on Spark" if events else f"{elapsed:.2f} s on Spark"


def _events(count: int) -> str:
    return f"{count:,} event{'s' if count != 1 else ''}"


def _by_stream(what: str, counts: dict[str, int]) -> Iterable[str]:
    return [f"{what}: " + ", ".join(f"{name} {n:,}" for name, n in counts.items())] if counts else []


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


class _Bar(Progress):
    """Looks at the job whenever it is drawn, so that the loop does not have to tell it."""

    def __init__(self, job: AnyJob, reading: Reading, console: Console) -> None:
        self.job, self.reading = job, reading
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        super().__init__(*columns, console=console, transient=True)
        self.add_task("reading", total=reading.total)

    def get_renderables(self) -> Iterable[RenderableType]:
        progress, matching = self.reading, self.job.counters.events
        what = f"matching, {matching:,} events" if matching else "reading"
        for task in self.task_ids:
            self.update(task, completed=progress.done, total=progress.total, description=what)
        return super().get_renderables()


@contextmanager
def progress_bar(job: AnyJob, wanted: bool) -> Iterator[None]:
    """A bar on stderr, where that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield
    elif job.progress is None:
        with waiting("matching on Spark"):
            yield
    else:
        with _Bar(job, job.progress, Console(stderr=True)):
            yield


@contextmanager
def waiting(what: str, wanted: bool = True) -> Iterator[None]:
    """Something that moves on stderr, and for how long; it is gone when what it waits for is done."""
    if not wanted or not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield
