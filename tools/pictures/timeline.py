"""A timeline as SVG: events on an axis, and under it a line for each match."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

LEFT, RIGHT, GAP, CHAR = 28, 28, 50, 7.3
RADIUS, ROW = 17, 26
COLOURS = ("#2563a8", "#b45309", "#047857", "#7c3aed", "#be185d", "#0e7490")
QUIET, BAD, INK, PAPER = "#6b7280", "#b91c1c", "#1f2937", "#ffffff"
IDLE = ("Z", "Tick")  # types that stand for "something else came"


@dataclass(frozen=True)
class Mark:
    """An event on the axis."""

    label: str
    kind: str
    time: int
    note: str = ""
    arrival: int | None = None
    refused: bool = False


@dataclass(frozen=True)
class Line:
    """Under the axis: what a match, or what is pending, holds."""

    labels: tuple[str, ...]
    until: int | None
    text: str
    certain: bool = True


@dataclass(frozen=True)
class Timeline:
    marks: tuple[Mark, ...]
    lines: tuple[Line, ...]
    remark: str = ""  # instead of, or beside, the lines
    settings: str = ""
    timed: bool = False  # are the times worth showing?


@dataclass
class _Axis:
    """Where things stand, from left to right."""

    events: dict[str, float] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    width: float = 0


def picture(title: str, query: str, timelines: Sequence[Timeline]) -> str:
    """One picture: the query, and each of its timelines below the other."""
    colours = _colours(timelines)
    query_lines = query.splitlines()
    y = 30 + 18 * len(query_lines)
    parts, width = [], max(len(line) for line in query_lines) * 7.9 + LEFT + RIGHT
    for number, timeline in enumerate(timelines):
        axis = _axis(timeline)
        if number:
            parts.append(_rule(y - 12))
        drawn, y, wide = _timeline(timeline, axis, y, colours)
        parts += drawn
        width = max(width, wide)
    return _document(title, query_lines, parts, math.ceil(width), math.ceil(y - 14))


def _colours(timelines: Sequence[Timeline]) -> dict[str, str]:
    kinds = dict.fromkeys(mark.kind for timeline in timelines for mark in timeline.marks)
    free = iter(COLOURS * len(kinds))
    return {k: QUIET if k in IDLE else BAD if k == "X" else next(free) for k in kinds}


def _axis(timeline: Timeline) -> _Axis:
    """Longer times stand further apart, but not in proportion: an hour would leave no room for a second."""
    axis = _Axis()
    deadlines = {line.until for line in timeline.lines if line.until is not None}
    times = sorted({mark.time for mark in timeline.marks} | deadlines)
    least = min((b - a for a, b in pairwise(times)), default=1)
    x, edge, before = float(LEFT + RADIUS), 0.0, times[0] if times else 0
    for time in times:
        x += GAP * (1 + 0.45 * math.log2((time - before) / least)) if time > before else 0
        for mark in [mark for mark in timeline.marks if mark.time == time] or [None]:
            half = max(RADIUS + 2, 3.1 * len(mark.note) + 5) if mark else 0
            x = max(x, edge + half)
            edge = x + half
            axis.times.setdefault(time, x)
            if mark:
                axis.events[mark.label] = x
        before = time
    axis.width = max(x + RADIUS, edge)
    return axis


def _timeline(
    timeline: Timeline, axis: _Axis, top: float, colours: dict[str, str]
) -> tuple[list[str], float, float]:
    y = top + RADIUS + (12 if any(mark.arrival for mark in timeline.marks) else 0)
    parts = [
        f'<line x1="{LEFT - 8}" y1="{y}" x2="{_n(axis.width + 8)}" y2="{y}" stroke="#cbd5e1" stroke-width="2"/>'
    ]
    for mark in timeline.marks:
        parts += _mark(mark, axis.events[mark.label], y, colours[mark.kind])
    y += RADIUS + 13
    if any(mark.note for mark in timeline.marks):
        y += 12
    if timeline.timed:
        parts += [_text(x, y, f"{_seconds(t)}", QUIET, 10, "middle") for t, x in axis.times.items()]
        y += 13
    widest = axis.width
    for line in timeline.lines:
        parts += _line(line, axis, y, colours, timeline)
        widest = max(widest, axis.width + 18 + CHAR * len(line.text))
        y += ROW
    for text, colour in ((timeline.remark, _remark_colour(timeline.remark)), (timeline.settings, QUIET)):
        if text:
            parts.append(_text(LEFT - 8, y + 4, text, colour, 12))
            widest = max(widest, LEFT + CHAR * len(text))
            y += ROW - 4
    return parts, y + 14, widest + RIGHT


def _remark_colour(remark: str) -> str:
    return BAD if remark.startswith("error") else QUIET


def _mark(mark: Mark, x: float, y: float, colour: str) -> Iterator[str]:
    dash = ' stroke-dasharray="3 3"' if mark.refused else ""
    fill = PAPER if mark.refused else colour
    yield f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{RADIUS}" fill="{fill}" stroke="{colour}" stroke-width="2"{dash}/>'
    size = 12 if len(mark.label) <= 3 else 10 if len(mark.label) == 4 else 8
    yield _text(x, y + 4, mark.label, colour if mark.refused else PAPER, size, "middle", bold=True)
    if mark.note:
        yield _text(x, y + RADIUS + 13, mark.note, QUIET, 10, "middle")
    if mark.arrival is not None:
        yield _text(x, y - RADIUS - 5, f"{mark.arrival}.", QUIET, 10, "middle")


def _line(line: Line, axis: _Axis, y: float, colours: dict[str, str], timeline: Timeline) -> Iterator[str]:
    kinds = {mark.label: mark.kind for mark in timeline.marks}
    held = [(axis.events[label], colours[kinds[label]]) for label in line.labels if label in axis.events]
    places = [x for x, _ in held] + ([axis.times[line.until]] if line.until is not None else [])
    if places:
        dash = "" if line.certain else ' stroke-dasharray="4 4"'
        yield (
            f'<line x1="{_n(min(places))}" y1="{_n(y)}" x2="{_n(max(places))}" y2="{_n(y)}" '
            f'stroke="{INK if line.certain else QUIET}" stroke-width="2"{dash}/>'
        )
    if line.until is not None and places:
        x = axis.times[line.until]
        yield f'<line x1="{_n(x)}" y1="{_n(y - 7)}" x2="{_n(x)}" y2="{_n(y + 7)}" stroke="{INK}" stroke-width="2"/>'
    for x, colour in held:
        yield f'<circle cx="{_n(x)}" cy="{_n(y)}" r="6" fill="{colour}"/>'
    yield _text(axis.width + 18, y + 4, line.text, INK if line.certain else QUIET, 12)


def _document(title: str, query: Iterable[str], parts: Iterable[str], width: int, height: int) -> str:
    head = [_text(LEFT - 8, 28 + 18 * i, line, INK, 13, bold=True) for i, line in enumerate(query)]
    body = "\n".join([*head, *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}" stroke="#e2e8f0"/>\n{body}\n</svg>\n'
    )


def _rule(y: float) -> str:
    return f'<line x1="{LEFT - 8}" y1="{_n(y)}" x2="{LEFT + 40}" y2="{_n(y)}" stroke="#e2e8f0"/>'


def _text(
    x: float, y: float, text: str, colour: str, size: int, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'xml:space="preserve"{weight}>{escape(text)}</text>'
    )


def _seconds(time: int) -> str:
    return f"{time / 10**6:g}s"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
