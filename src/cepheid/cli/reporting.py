"""Collects what the HTML report shows while a job runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cepheid import __version__
from cepheid.cli.jobs import AnyJob
from cepheid.cli.summary import Tally
from cepheid.cli.words import cell, event_text
from cepheid.engines.program import Program
from cepheid.engines.session import Found
from cepheid.errors import InputMistake
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
        self.first: int | None = None

    def take(self, item: Found) -> None:
        name, match = item.stream, item.match
        if match is None:
            return
        self.times[name].append(match.detected)
        self.first = match.start if self.first is None else min(self.first, match.start)
        if len(self.rows[name]) < _ROWS:
            self.rows[name].append([_shown(item.row.get(c)) for c in self.columns[name]])
        if len(self.samples[name]) < _SAMPLES:
            self.samples[name].append(self._sample(item, match))

    def write(
        self, path: Path, source: str, tally: Tally, elapsed: float, title: str = "What was found"
    ) -> None:
        page = render_report(self._report(source, tally, elapsed, title))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page, encoding="utf-8")
        except OSError as failure:
            raise InputMistake(f"cannot write {path}: {failure.strerror}", code="cannot_write") from None

    def _report(self, source: str, tally: Tally, elapsed: float, title: str) -> RunReport:
        counters, last = self.job.counters, self.job.last_time
        return RunReport(
            title=title,
            source=source,
            streams=[self._stream(name, tally) for name in self.streams],
            events=counters.events,
            elapsed=elapsed,
            span=None if self.first is None or last is None else (self.first, max(last, self.first)),
            facts=[
                ("late", counters.late),
                ("too late", counters.too_late),
                ("bad rows", self.job.bad.count),
                ("pending", sum(tally.pending.values())),
                ("timeouts", sum(tally.timeouts.values())),
            ],
            warnings=self.job.warnings(),
            made=f"Made by Cepheid {__version__}.",
            timed=self.job.progress is not None,
        )

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
        )

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
