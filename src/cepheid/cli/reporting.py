"""Collects what the HTML report shows while a job runs: of `cepheid run --report`, `cepheid report` and the demo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cepheid import __version__
from cepheid.cli.jobs import AnyJob
from cepheid.cli.summary import Tally
from cepheid.cli.words import cell, event_text
from cepheid.engines.local.observing import Observed
from cepheid.engines.local.run import Job
from cepheid.engines.program import Program
from cepheid.engines.session import Found
from cepheid.errors import InputMistake
from cepheid.explain.charts import Line
from cepheid.explain.report import Dot, RunReport, SampleMatch, StreamReport, render_report
from cepheid.matching.found import Match

_ROWS = 20
_SAMPLES = 3


class Notes:
    """The first rows and matches of each stream, and the time of every match."""

    def __init__(self, job: AnyJob, streams: list[str]) -> None:
        self.job, self.streams = job, streams
        self.times: dict[str, list[int]] = {name: [] for name in streams}
        self.rows: dict[str, list[list[Any]]] = {name: [] for name in streams}
        self.samples: dict[str, list[SampleMatch]] = {name: [] for name in streams}
        self.columns = {name: [c for c, _ in job.columns(name)] for name in streams}
        self.waits: dict[str, list[int]] = {name: [] for name in streams}
        self.first: int | None = None
        self.observed = Observed(job) if isinstance(job, Job) else None  # Spark does not tell of single runs

    def take(self, item: Found) -> None:
        name, match = item.stream, item.match
        if match is None:
            return
        self.times[name].append(match.detected)
        self.waits[name].append(match.detected - max(event.time for event in match.events))
        self.first = match.start if self.first is None else min(self.first, match.start)
        if len(self.rows[name]) < _ROWS:
            self.rows[name].append([_shown(item.row.get(c)) for c in self.columns[name]])
        if len(self.samples[name]) < _SAMPLES:
            self.samples[name].append(self._sample(item, match))

    def write(
        self, path: Path, source: str, tally: Tally, elapsed: float, title: str = "What was found"
    ) -> None:
        write_page(path, render_report(self._report(source, tally, elapsed, title)))

    def _report(self, source: str, tally: Tally, elapsed: float, title: str) -> RunReport:
        counters = self.job.counters
        return RunReport(
            title=title,
            source=source,
            streams=[self._stream(name, tally) for name in self.streams],
            events=counters.events,
            elapsed=elapsed,
            span=self._span(),
            arrivals=self.observed.events.points() if self.observed is not None else (),
            facts=[
                ("late", counters.late),
                ("too late", counters.too_late),
                ("dead letters", tally.dead_letters),
                ("bad rows", self.job.bad.count),
                ("pending", sum(tally.pending.values())),
                ("timeouts", sum(tally.timeouts.values())),
            ],
            warnings=self.job.warnings(),
            unknown=list(self._unknown()),
            made=f"Made by Cepheid {__version__}.",
            timed=self.job.progress is not None,
        )

    def _span(self) -> tuple[int, int] | None:
        """Of all events; where they are not seen, from the first match to the last event."""
        seen = self.observed
        first = self.first if seen is None or seen.first is None else seen.first
        last = self.job.last_time if seen is None or seen.last is None else seen.last
        if first is None or last is None:
            return None
        return first, max([first, last, *(t for times in self.times.values() for t in times)])

    def _unknown(self) -> Iterator[str]:
        if self.observed is None:
            yield (
                "Events over time, how many runs reached each step and how many were open: Spark's tasks find the "
                "matches and tell nothing else. The same query over a sample, on this machine, shows it."
            )
            return
        for name in self.streams:
            if self.job.program[name].plan.trends is not None:
                yield f"{name}: an aggregate of trends keeps totals. There are no runs that could reach a step."
            elif name not in self.observed.census:
                yield f"{name}: the compiled matcher does not count how far runs come."

    def _stream(self, name: str, tally: Tally) -> StreamReport:
        notes = [
            f"{counts[name]:,} {what}"
            for what, counts in (
                ("not yet certain when the input ended", tally.pending),
                ("timeouts", tally.timeouts),
            )
            if counts.get(name)
        ]
        return StreamReport(
            name=name,
            pattern=written(self.job.program, name),
            count=len(self.times[name]),
            times=self.times[name],
            columns=self.columns[name],
            rows=self.rows[name],
            samples=self.samples[name],
            notes=notes,
            waits=self.waits[name],
            **self._runs(name),
        )

    def _runs(self, name: str) -> dict[str, Any]:
        census = self.observed.census.get(name) if self.observed is not None else None
        if census is None:
            return {}
        steps = census.names.states
        lines = [Line(steps[state], list(level.points())) for state, level in sorted(census.levels.items())]
        left = ", ".join(f"{n:,} after {step}" for step, n in census.open_by_step().items())
        return {
            "funnel": census.funnel(),
            "open_runs": lines,
            "open_now": f"open when the input ended: {left or 'none'}; at most {census.total.peak:,} at a time, "
            f"{census.largest:,} in one partition",
        }

    def _sample(self, item: Found, match: Match) -> SampleMatch:
        aliases = {
            id(e): alias for alias, events in match.binds.items() for e in events if not alias.startswith("$")
        }
        dots = tuple(Dot(aliases.get(id(e), e.type), e.time, event_text(e)) for e in match.events)
        return SampleMatch(self._title(item, match), dots, match.detected)

    def _title(self, item: Found, match: Match) -> str:
        """What a match is about: its key, or the first plain value of its row."""
        plan = self.job.program[item.stream].plan
        values = match.key if plan.key else [v for v in item.row.values() if isinstance(v, str)][:1]
        return ", ".join(cell(v) or "null" for v in values) or match.id


def write_page(path: Path, page: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as failure:
        raise InputMistake(f"cannot write {path}: {failure.strerror}", code="cannot_write") from None


def written(program: Program, name: str) -> str:
    """A stream as it stands in its file, after the named patterns it uses; else as the model's text."""
    stream = program[name].stream
    head, body = stream.place, stream.pattern.place
    if (
        head is None
        or body is None
        or not head.text
        or not head.text.splitlines()[head.line - 1 : body.end_line]
    ):
        return str(stream)
    lines = head.text.splitlines()
    own = "\n".join(lines[head.line - 1 : body.end_line])
    used = []
    for pattern in program.declarations.patterns:
        if pattern.place is None or not re.search(
            rf"\b{re.escape(pattern.name or '')}\b", own.partition("=")[2]
        ):
            continue
        begin = re.compile(rf"\s*pattern\s+`?{re.escape(pattern.name or '')}\b", re.IGNORECASE)
        first = next((i for i, line in enumerate(lines) if begin.match(line)), pattern.place.line - 1)
        used.append("\n".join(lines[first : pattern.place.end_line]))
    return "\n\n".join([*used, own])


def _shown(value: Any) -> Any:
    return cell(value) if isinstance(value, (dict, list)) else value
