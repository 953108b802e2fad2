"""A run as one HTML page: what was found, how far runs came, how a match looks. Plain data in, from any engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from cepheid.explain.census import Reached
from cepheid.explain.charts import Line, Point, Span, axis, bars, lines, span_of
from cepheid.explain.event_words import clock, moment_text
from cepheid.explain.lengths import short_length
from cepheid.explain.templates import template
from cepheid.pattern.duration import duration

_MANY = 60  # dots in one sample
_COLORS = 6


@dataclass(frozen=True)
class Dot:
    """An event of a match. `alias` is its name in the pattern, or its type where it has none."""

    alias: str
    time: int
    text: str = ""  # the event in words, shown on hover


@dataclass(frozen=True)
class SampleMatch:
    """One match to look at: its events and what it is about."""

    title: str
    dots: tuple[Dot, ...]
    end: int | None = None  # later than the last event where an absence had to become certain


@dataclass(frozen=True)
class StreamReport:
    """What one stream found.

    `times`: when each match became certain, in microseconds; where only sums are known, they are `counts`. `waits`: how
    long after its last event that was. `funnel`: how many starts reached each step, the last is a match.
    """

    name: str
    pattern: str
    count: int
    times: Sequence[int] = ()
    counts: Sequence[Point] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()  # the first ones
    samples: Sequence[SampleMatch] = ()
    notes: Sequence[str] = ()  # pending, timeouts
    waits: Sequence[int] = ()
    funnel: Sequence[Reached] = ()
    open_runs: Sequence[Line] = ()  # by step
    open_now: str = ""  # what was open at the end


@dataclass(frozen=True)
class Chart:
    """Lines over the time of the run."""

    title: str
    lines: Sequence[Line]
    unit: str = ""


@dataclass(frozen=True)
class RunReport:
    """A whole run. `facts` are further totals in the order they are shown; zeros are left out."""

    title: str
    streams: Sequence[StreamReport]
    events: int
    elapsed: float
    source: str = ""
    span: Span | None = None  # the time of the first and the last event
    arrivals: Sequence[Point] = ()  # events over time
    charts: Sequence[Chart] = ()
    facts: Sequence[tuple[str, int | str]] = ()
    warnings: Sequence[str] = ()
    unknown: Sequence[str] = ()  # what this engine does not tell
    made: str = ""  # by what
    timed: bool = True  # False: the seconds are mostly those of an engine's start: no speed is made of them
    clock: bool = False  # the times are the clock's, not the events'


def render_report(report: RunReport) -> str:
    """One self-contained page."""
    span = report.span or span_of(_times(report))
    page: str = template("report.html.j2").render(
        report=report,
        streams=[_stream(s, span) for s in report.streams],
        totals=_totals(report),
        arrivals=bars(report.arrivals, span),
        charts=[(c.title, drawn) for c in report.charts if (drawn := lines(c.lines, span, c.unit))],
        axis=axis(span),
    )
    return page


def _times(report: RunReport) -> list[int]:
    times = [t for s in report.streams for t in s.times]
    times += [t for s in report.streams for t, _ in s.counts]
    times += [t for t, _ in report.arrivals]
    return times + [t for c in report.charts for line in c.lines for t, _ in line.points]


def _totals(report: RunReport) -> list[tuple[str, str]]:
    matches = sum(s.count for s in report.streams)
    speed = f"{report.events / report.elapsed:,.0f}" if report.elapsed > 0 else "-"
    shown = [("events", f"{report.events:,}"), ("matches", f"{matches:,}")]
    shown += [(name, f"{v:,}" if isinstance(v, int) else v) for name, v in report.facts if v]
    shown += [("seconds", f"{report.elapsed:.2f}")]
    return [*shown, ("events a second", speed)] if report.timed else shown


def _stream(stream: StreamReport, span: Span | None) -> dict[str, Any]:
    return {
        "report": stream,
        "bars": bars([*((t, 1) for t in stream.times), *stream.counts], span),
        "open_runs": lines(stream.open_runs, span),
        "funnel": _funnel(stream.funnel),
        "waits": _waits(stream.waits),
        "samples": [_sample(m) for m in stream.samples],
        "rows": [[_cell(v) for v in row] for row in stream.rows],
        "numeric": [_numeric(stream.rows, i) for i in range(len(stream.columns))],
    }


# --- how far runs came, and how long matches took ------------------------------------------------------------


@dataclass(frozen=True)
class _Stage:
    step: str
    starts: str
    width: float
    share: str
    endings: str


def _funnel(funnel: Sequence[Reached]) -> list[_Stage]:
    most = max((stage.starts for stage in funnel), default=0)
    if not most:
        return []
    return [
        _Stage(
            stage.step,
            f"{stage.starts:,}",
            100 * stage.starts / most,
            f"{100 * stage.starts / most:.3g}%",
            ", ".join(f"{n:,} {how}" for how, n in stage.endings),
        )
        for stage in funnel
    ]


def _waits(waits: Sequence[int]) -> list[tuple[str, str]]:
    """How long after its last event a match was certain: the middle, most of them, the longest."""
    if not waits:
        return []
    ordered = sorted(waits)
    picked = [("half of them", 0.5), ("95 of 100", 0.95), ("all", 1.0)]
    return [(name, _certain(ordered[ceil(len(ordered) * part) - 1])) for name, part in picked]


def _certain(wait: int) -> str:
    return f"within {short_length(wait)}" if wait > 0 else "at once"


# --- how a match looks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mark:
    x: float
    color: int
    text: str


@dataclass(frozen=True)
class _Sample:
    title: str
    start: str
    took: str
    marks: list[_Mark]
    legend: list[tuple[int, str, str]]  # color, alias, how many or when
    until: float | None  # where the line goes on to without an event


def _sample(match: SampleMatch) -> _Sample:
    dots = sorted(match.dots, key=lambda d: d.time)
    start = dots[0].time if dots else 0
    end = max([d.time for d in dots] + ([match.end] if match.end is not None else []), default=0)
    length = max(1, end - start)
    aliases = list(dict.fromkeys(d.alias for d in dots))
    marks = [
        _Mark(
            100 * (d.time - start) / length,
            aliases.index(d.alias) % _COLORS,
            f"{d.alias} +{short_length(d.time - start)} {d.text}",
        )
        for d in dots[:_MANY]
    ]
    last = dots[-1].time if dots else 0
    until = 100.0 if end > last else None
    legend = [(i % _COLORS, alias, _where(alias, dots, start)) for i, alias in enumerate(aliases)]
    return _Sample(match.title, clock(start), short_length(end - start), marks, legend, until)


def _where(alias: str, dots: list[Dot], start: int) -> str:
    own = [d for d in dots if d.alias == alias]
    return f"× {len(own)}" if len(own) > 1 else f"+{short_length(own[0].time - start)}"


# --- cells --------------------------------------------------------------------------------------------------


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, timedelta):
        return ("-" if value < timedelta(0) else "") + short_length(abs(duration(value)))
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=_cell)
        return text if len(text) <= 300 else text[:299] + "…"
    return str(value)


def _numeric(rows: Sequence[Sequence[Any]], column: int) -> bool:
    values = [row[column] for row in rows if row[column] is not None]
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
