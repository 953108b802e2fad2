"""A run as one HTML page: what was found, when, how a match looks. Plain data in: any engine can use it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cepheid.explain.templates import template
from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.times import from_microseconds

BARS = 48
_TICKS = 5  # at most so many and one more on an axis
_STEPS = [
    *(duration(f"{n}ms") for n in (1, 10, 100)),
    *(duration(f"{n}s") for n in (1, 5, 10, 30, 60, 300, 600, 1800)),
    *(duration(f"{n}h") for n in (1, 2, 3, 6, 12)),
    *(duration(f"{n}d") for n in (1, 2, 7, 30, 90, 365)),
]
_MANY = 60  # dots in one sample


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
    """What one stream found. `times`: when each match became certain, in microseconds."""

    name: str
    pattern: str
    count: int
    times: Sequence[int] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()  # the first ones
    samples: Sequence[SampleMatch] = ()
    notes: Sequence[str] = ()  # pending, timeouts


@dataclass(frozen=True)
class RunReport:
    """A whole run. `facts` are further totals in the order they are shown; zeros are left out."""

    title: str
    streams: Sequence[StreamReport]
    events: int
    elapsed: float
    source: str = ""
    span: tuple[int, int] | None = None  # the time of the first and the last event
    facts: Sequence[tuple[str, int | str]] = ()
    warnings: Sequence[str] = ()
    made: str = ""  # by what
    timed: bool = (
        True  # False: the seconds are mostly those of an engine's start, so no speed is made of them
    )


def render_report(report: RunReport) -> str:
    """One self-contained page."""
    span = report.span or _span(t for s in report.streams for t in s.times)
    streams = [
        {
            "report": s,
            "bars": _bars(s.times, span),
            "samples": [_sample(m) for m in s.samples],
            "rows": [[_cell(v) for v in row] for row in s.rows],
            "numeric": [_numeric(s.rows, i) for i in range(len(s.columns))],
        }
        for s in report.streams
    ]
    page: str = template("report.html.j2").render(
        report=report, streams=streams, totals=_totals(report), axis=_axis(span)
    )
    return page


def _totals(report: RunReport) -> list[tuple[str, str]]:
    matches = sum(s.count for s in report.streams)
    speed = f"{report.events / report.elapsed:,.0f}" if report.elapsed > 0 else "-"
    shown = [("events", f"{report.events:,}"), ("matches", f"{matches:,}")]
    shown += [(name, f"{v:,}" if isinstance(v, int) else v) for name, v in report.facts if v]
    shown += [("seconds", f"{report.elapsed:.2f}")]
    return [*shown, ("events a second", speed)] if report.timed else shown


# --- matches over time --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bar:
    x: float  # all in parts of 100
    width: float
    height: float
    text: str


def _bars(times: Sequence[int], span: tuple[int, int] | None) -> list[_Bar]:
    if span is None or not times:
        return []
    start, length = span[0], max(1, span[1] - span[0])
    counts = [0] * BARS
    for time in times:
        counts[max(0, min(BARS - 1, (time - start) * BARS // length))] += 1
    width, most = 100 / BARS, max(counts)
    return [
        _Bar(i * width, width, 100 * n / most, f"{n} from {_moment(start + i * length // BARS)}")
        for i, n in enumerate(counts)
        if n
    ]


def _axis(span: tuple[int, int] | None) -> list[tuple[float, str]]:
    """Round times along the span: where (in parts of 100), and what they are called."""
    if span is None:
        return []
    start, length = span[0], max(1, span[1] - span[0])
    step = next((s for s in _STEPS if length <= s * _TICKS), length)
    first = -(-start // step) * step
    return [(100 * (t - start) / length, _clock(t, step)) for t in range(first, span[1] + 1, step)]


def _span(times: Iterable[int]) -> tuple[int, int] | None:
    listed = list(times)
    return (min(listed), max(listed)) if listed else None


def _clock(time: int, step: int = 1) -> str:
    """A time as exact as its step needs it."""
    try:
        moment = from_microseconds(time)
    except OverflowError:
        return f"{time}us"
    if step >= duration("1d"):
        return f"{moment:%d %b}"
    if step >= duration("1m"):
        return f"{moment:%H:%M}"
    return f"{moment:%H:%M:%S}" if step >= duration("1s") else f"{moment:%H:%M:%S.%f}"[:-3]


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
            aliases.index(d.alias) % 6,
            f"{d.alias} +{_after(d.time - start)} {d.text}",
        )
        for d in dots[:_MANY]
    ]
    last = dots[-1].time if dots else 0
    until = 100.0 if end > last else None
    legend = [(i % 6, alias, _where(alias, dots, start)) for i, alias in enumerate(aliases)]
    return _Sample(match.title, _moment(start), _after(end - start), marks, legend, until)


def _where(alias: str, dots: list[Dot], start: int) -> str:
    own = [d for d in dots if d.alias == alias]
    return f"× {len(own)}" if len(own) > 1 else f"+{_after(own[0].time - start)}"


def _after(microseconds: int) -> str:
    """A length of time, short: two units at most.

    >>> _after(3_725_000_000), _after(1_500_000)
    ('1h 2m', '1.5s')
    """
    if microseconds < 60_000_000:
        return (
            f"{microseconds / 1e6:.3g}s"
            if microseconds >= 1_000_000 or not microseconds
            else duration_text(microseconds)
        )
    seconds = microseconds // 1_000_000
    parts = [
        (seconds // 86400, "d"),
        (seconds // 3600 % 24, "h"),
        (seconds // 60 % 60, "m"),
        (seconds % 60, "s"),
    ]
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return " ".join(f"{n}{unit}" for n, unit in parts[first : first + 2] if n)


def _moment(time: int) -> str:
    try:
        return _time_text(from_microseconds(time))
    except OverflowError:
        return f"{time}us"


# --- cells --------------------------------------------------------------------------------------------------


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _time_text(value)
    if isinstance(value, timedelta):
        return ("-" if value < timedelta(0) else "") + _after(abs(duration(value)))
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=_cell)
        return text if len(text) <= 300 else text[:299] + "…"
    return str(value)


def _time_text(value: datetime) -> str:
    text = f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return text.rstrip("0").rstrip(".")


def _numeric(rows: Sequence[Sequence[Any]], column: int) -> bool:
    values = [row[column] for row in rows if row[column] is not None]
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
