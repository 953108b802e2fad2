"""Bars and lines over time, worked out as numbers from 0 to 100: pages and notebooks only have to put them down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.explain.event_words import clock
from cepheid.pattern.duration import duration
from cepheid.pattern.times import from_microseconds

BARS = 48
COLORS = 6
Point = tuple[int, float]  # a time in microseconds, and how much
Span = tuple[int, int]

_TICKS = 5  # at most so many and one more on an axis
_YEAR = duration("365d")
_STEPS = [
    *(duration(f"{n}ms") for n in (1, 10, 100)),
    *(duration(f"{n}s") for n in (1, 5, 10, 30, 60, 300, 600, 1800)),
    *(duration(f"{n}h") for n in (1, 2, 3, 6, 12)),
    *(duration(f"{n}d") for n in (1, 2, 7, 30, 90)),
    *(n * _YEAR for n in (1, 2, 5, 10, 20, 50, 100)),
]


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Line:
    """How something went: it stays what it is until the next point."""

    name: str
    points: Sequence[Point]

    @property
    def most(self) -> float:
        return max((value for _, value in self.points), default=0)


@dataclass(frozen=True)
class DrawnLine:
    color: int
    name: str
    path: str  # of an SVG of 100 by 100
    most: str


@dataclass(frozen=True)
class DrawnLines:
    lines: tuple[DrawnLine, ...]
    most: str  # what the top of it is


def span_of(times: Iterable[int]) -> Span | None:
    listed = list(times)
    return (min(listed), max(listed)) if listed else None


def bars(points: Iterable[Point], span: Span | None) -> list[Bar]:
    """How much there is in each of some equal parts of a span; parts without any are left out."""
    listed = list(points)
    if span is None or not listed:
        return []
    start, length = span[0], max(1, span[1] - span[0])
    counts = [0.0] * BARS
    for time, count in listed:
        counts[max(0, min(BARS - 1, (time - start) * BARS // length))] += count
    width, most = 100 / BARS, max(counts)
    return [
        Bar(i * width, width, 100 * n / most, f"{n:,.10g} from {clock(start + i * length // BARS)}")
        for i, n in enumerate(counts)
        if n
    ]


def lines(given: Sequence[Line], span: Span | None, unit: str = "") -> DrawnLines | None:
    """Steps from point to point, on to the end of the span. None where there is nothing to see."""
    most = max((line.most for line in given), default=0)
    if span is None or most <= 0:
        return None
    shown = [line for line in given if line.points]
    return DrawnLines(
        tuple(
            DrawnLine(i % COLORS, line.name, _path(line, span, most), f"{_number(line.most)}{unit}")
            for i, line in enumerate(shown)
        ),
        f"{_number(most)}{unit}",
    )


def _path(line: Line, span: Span, most: float) -> str:
    start, length = span[0], max(1, span[1] - span[0])
    parts = []
    for number, (time, value) in enumerate(line.points):
        x, y = max(0.0, min(100.0, 100 * (time - start) / length)), 100 - 100 * value / most
        parts.append(f"M{x:.2f},{y:.2f}" if not number else f"H{x:.2f}V{y:.2f}")
    return "".join(parts) + "H100"


def _number(value: float) -> str:
    """
    >>> _number(1234), _number(0.5), _number(1234.56)
    ('1,234', '0.5', '1,235')
    """
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def axis(span: Span | None) -> list[tuple[float, str]]:
    """Round times along a span: where (in parts of 100), and what they are called."""
    if span is None:
        return []
    start, length = span[0], max(1, span[1] - span[0])
    step = next((s for s in _STEPS if length <= s * _TICKS), length)
    first = -(-start // step) * step
    return [(100 * (t - start) / length, _clock(t, step)) for t in range(first, span[1] + 1, step)]


def _clock(time: int, step: int) -> str:
    """A time as exact as its step needs it."""
    try:
        moment = from_microseconds(time)
    except OverflowError:
        return f"{time}us"
    if step >= _YEAR:
        return f"{moment:%b %Y}"
    if step >= duration("1d"):
        return f"{moment:%d %b}"
    if step >= duration("1m"):
        return f"{moment:%H:%M}"
    return f"{moment:%H:%M:%S}" if step >= duration("1s") else f"{moment:%H:%M:%S.%f}"[:-3]
