"""What is said about a run when it is over, and while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from cepheid.engines.local.run import Job

_EXAMPLES = 3


class Tally:
    """What was found besides matches, by stream."""

    def __init__(self) -> None:
        self.pending: dict[str, int] = {}
        self.timeouts: dict[str, int] = {}
        self.dead_letters = 0


def summary(job: Job, streams: list[str], tally: Tally, elapsed: float) -> Iterator[str]:
    """One line for each thing worth a word."""
    counters, bad = job.session.counters, job.source.bad
    speed = f", {counters.events / elapsed:,.0f} events/s" if elapsed > 0 else ""
    yield f"{_events(counters.events)} in {elapsed:.2f} s{speed}"
    yield "matches: " + ", ".join(f"{name} {counters.matches[name]:,}" for name in streams)
    yield from _by_stream("pending (not certain when the input ended)", tally.pending)
    yield from _by_stream("timeouts", tally.timeouts)
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


def _events(count: int) -> str:
    return f"{count:,} event{'s' if count != 1 else ''}"


def _by_stream(what: str, counts: dict[str, int]) -> Iterable[str]:
    return [f"{what}: " + ", ".join(f"{name} {n:,}" for name, n in counts.items())] if counts else []


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


class _Bar(Progress):
    """Looks at the job whenever it is drawn, so that the loop does not have to tell it."""

    def __init__(self, job: Job, console: Console) -> None:
        self.job = job
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        super().__init__(*columns, console=console, transient=True)
        self.add_task("reading", total=job.source.progress.total)

    def get_renderables(self) -> Iterable[RenderableType]:
        progress, matching = self.job.source.progress, self.job.session.arrivals.seen
        what = f"matching, {matching:,} events" if matching else "reading"
        for task in self.task_ids:
            self.update(task, completed=progress.done, total=progress.total, description=what)
        return super().get_renderables()


@contextmanager
def progress_bar(job: Job, wanted: bool) -> Iterator[None]:
    """A bar on stderr, where that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield
        return
    with _Bar(job, Console(stderr=True)):
        yield
