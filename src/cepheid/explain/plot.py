"""Matches as plots for notebooks: a Vega-Lite specification, and the same as SVG where nothing reads those."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from cepheid.errors import InputMistake
from cepheid.explain.charts import BARS, COLORS, Span, axis, span_of
from cepheid.explain.event_words import clock
from cepheid.explain.lengths import short_length
from cepheid.pattern.times import from_microseconds

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"  # a name: it is not fetched
MIME = "application/vnd.vegalite.v5+json"
TIMELINE, COUNTS = "timeline", "counts"
MOST_SHOWN = 200  # matches of a timeline
_WIDTH, _LEFT, _ROW = 640, 150, 18
_COLORS = ("#3867b5", "#c2571a", "#2c8a5b", "#8b4fb3", "#b0375b", "#8a7a1e")


@dataclass(frozen=True)
class PlottedMatch:
    """When a match began and ended, in microseconds, and what it is about."""

    stream: str
    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Plot:
    """`timeline`: each match as a line from its start to its end; `counts`: how many ended when."""

    kind: str
    matches: tuple[PlottedMatch, ...]

    def __post_init__(self) -> None:
        if self.kind not in (TIMELINE, COUNTS):
            raise InputMistake(
                f"there is no plot {self.kind!r}", code="bad_option", hint=f"use {TIMELINE} or {COUNTS}"
            )

    @property
    def shown(self) -> tuple[PlottedMatch, ...]:
        return self.matches[:MOST_SHOWN] if self.kind == TIMELINE else self.matches

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification."""
        return {"$schema": SCHEMA, "width": _WIDTH - _LEFT, **(_SPECS[self.kind](self))}

    def to_svg(self) -> str:
        """The same, drawn: it needs nothing else."""
        return _DRAWN[self.kind](self)

    def save(self, path: str | PathLike[str]) -> None:
        """As .json (Vega-Lite), .svg or .html, by the name of the file."""
        ending = Path(path).suffix.lower()
        texts = {".json": json.dumps(self.to_dict(), indent=1), ".svg": self.to_svg(), ".html": self._page()}
        if ending not in texts:
            raise InputMistake(
                f"a plot cannot be saved as {ending or 'a file without an ending'}",
                code="bad_option",
                hint="name it .json, .svg or .html",
            )
        Path(path).write_text(texts[ending], encoding="utf-8")

    def _page(self) -> str:
        title = html.escape(self._title())
        return f'<!doctype html><meta charset="utf-8"><title>{title}</title>{self._repr_html_()}\n'

    def _title(self) -> str:
        count = len(self.matches)
        whole = f"{count:,} match{'' if count == 1 else 'es'}"
        return whole if len(self.shown) == count else f"the first {len(self.shown):,} of {whole}"

    def __repr__(self) -> str:
        return f"<{self.kind} of {self._title()}>"

    def _repr_html_(self) -> str:
        return f'<div class="cepheid-plot"><p>{html.escape(self._title())}</p>{self.to_svg()}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Notebooks take the first that they know: Vega-Lite, then SVG in HTML."""
        return {MIME: self.to_dict(), "text/html": self._repr_html_(), "text/plain": repr(self)}


# Vega-Lite.


def _timeline_spec(plot: Plot) -> dict[str, Any]:
    values = [
        {
            "match": row,
            "stream": m.stream,
            "label": m.label,
            "start": _iso(m.start),
            "end": _iso(m.end),
            "took": short_length(m.end - m.start),
        }
        for row, m in enumerate(plot.shown, 1)
    ]
    time = {"type": "temporal", "title": "time (UTC)", "scale": {"type": "utc"}}
    shared = {
        "y": {"field": "match", "type": "ordinal", "axis": {"labelExpr": _labels(plot), "title": None}},
        "color": {"field": "stream", "type": "nominal", "scale": {"range": list(_COLORS)}},
        "tooltip": [{"field": name} for name in ("stream", "label", "start", "end", "took")],
    }
    start, end = {"x": {"field": "start", **time}}, {"x": {"field": "end", **time}}
    return {
        "data": {"values": values},
        "height": {"step": _ROW},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {**shared, **start, "x2": {"field": "end"}},
            },
            {"mark": {"type": "point", "filled": True, "size": 60}, "encoding": {**shared, **end}},
        ],
    }


def _labels(plot: Plot) -> str:
    """An expression of Vega: the label of a row, as the rows themselves are numbers."""
    return f"{json.dumps([m.label for m in plot.shown])}[datum.value - 1]"


def _counts_spec(plot: Plot) -> dict[str, Any]:
    values = [
        {"stream": stream, "from": _iso(start), "to": _iso(end), "matches": count}
        for stream, start, end, count in _parts(plot)
    ]
    return {
        "data": {"values": values},
        "height": 160,
        "mark": "bar",
        "encoding": {
            "x": {"field": "from", "type": "temporal", "title": "time (UTC)", "scale": {"type": "utc"}},
            "x2": {"field": "to"},
            "y": {"field": "matches", "type": "quantitative", "axis": {"tickMinStep": 1}},
            "color": {"field": "stream", "type": "nominal", "scale": {"range": list(_COLORS)}},
            "tooltip": [{"field": name} for name in ("stream", "from", "to", "matches")],
        },
    }


def _parts(plot: Plot) -> Iterable[tuple[str, int, int, int]]:
    """How many matches of a stream ended in each of some equal parts of the time."""
    span = span_of(m.end for m in plot.matches)
    if span is None:
        return
    length = max(1, -(-(span[1] - span[0] + 1) // BARS))
    counts: dict[tuple[str, int], int] = {}
    for match in plot.matches:
        place = (match.stream, (match.end - span[0]) // length)
        counts[place] = counts.get(place, 0) + 1
    for (stream, part), count in sorted(counts.items(), key=lambda item: (item[0][1], item[0][0])):
        yield stream, span[0] + part * length, span[0] + (part + 1) * length, count


def _iso(time: int) -> str:
    return from_microseconds(time).isoformat().replace("+00:00", "Z")


# SVG.


def _timeline_svg(plot: Plot) -> str:
    rows = plot.shown
    span = span_of(t for m in rows for t in (m.start, m.end))
    colors = _colors(rows)
    parts = []
    for row, match in enumerate(rows):
        y, color = _ROW * row + 12, _COLORS[colors[match.stream]]
        a, b = _x(match.start, span), _x(match.end, span)
        told = f"{match.stream} {match.label}: {clock(match.start)}, {short_length(match.end - match.start)}"
        parts.append(
            f'<g stroke="{color}" fill="{color}"><title>{html.escape(told)}</title>'
            f'<line x1="{a:.1f}" y1="{y}" x2="{b:.1f}" y2="{y}" stroke-width="2"/>'
            f'<circle cx="{b:.1f}" cy="{y}" r="4"/></g>'
            f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{html.escape(_short(match.label))}</text>'
        )
    return _svg(_ROW * len(rows) + 8, parts, span, colors, "matches over time")


def _counts_svg(plot: Plot) -> str:
    parts, high = list(_parts(plot)), 160
    span = (parts[0][1], max(end for _, _, end, _ in parts)) if parts else None
    colors = _colors(plot.matches)
    stacked: dict[int, int] = {}
    for _, start, _, count in parts:
        stacked[start] = stacked.get(start, 0) + count
    most, drawn, below = max(stacked.values(), default=1), [], dict.fromkeys(stacked, 0)
    for stream, start, end, count in parts:
        x, width = _x(start, span), _x(end, span) - _x(start, span)
        y = high - high * (below[start] + count) / most
        below[start] += count
        told = f"{stream}: {count:,} from {clock(start)}"
        drawn.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(1.0, width - 1):.1f}" height="{high * count / most:.1f}" '
            f'fill="{_COLORS[colors[stream]]}"><title>{html.escape(told)}</title></rect>'
        )
    drawn.append(f'<text x="{_LEFT - 10}" y="12" text-anchor="end">{most:,}</text>')
    return _svg(high, drawn, span, colors, "how many matches ended when")


def _svg(high: int, parts: Sequence[str], span: Span | None, colors: dict[str, int], label: str) -> str:
    ticks = [
        f'<text x="{_LEFT + (_WIDTH - _LEFT - 10) * place / 100:.1f}" y="{high + 16}" text-anchor="middle">'
        f"{html.escape(text)}</text>"
        for place, text in axis(span)
    ]
    streams = [
        f'<circle cx="{_LEFT + 6}" cy="{high + 34 + 18 * i}" r="5" fill="{_COLORS[color]}"/>'
        f'<text x="{_LEFT + 18}" y="{high + 38 + 18 * i}">{html.escape(stream)}</text>'
        for i, (stream, color) in enumerate(colors.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {high + 30 + 18 * len(streams)}" '
        f'style="max-width:{_WIDTH}px" role="img" aria-label="{label}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor">{"".join([*parts, *ticks, *streams])}</svg>'
    )


def _x(time: int, span: Span | None) -> float:
    if span is None or span[1] == span[0]:
        return float(_LEFT)
    return _LEFT + (_WIDTH - _LEFT - 10) * (time - span[0]) / (span[1] - span[0])


def _colors(matches: Iterable[PlottedMatch]) -> dict[str, int]:
    streams = dict.fromkeys(m.stream for m in matches)
    return {stream: i % COLORS for i, stream in enumerate(streams)}


def _short(text: str) -> str:
    return text if len(text) <= 20 else text[:19] + "…"


_SPECS = {TIMELINE: _timeline_spec, COUNTS: _counts_spec}
_DRAWN = {TIMELINE: _timeline_svg, COUNTS: _counts_svg}
