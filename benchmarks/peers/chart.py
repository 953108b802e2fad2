"""The figures as a picture: bars on a logarithmic scale, legible on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

_LEFT, _RIGHT, _BAR, _GAP, _HEAD = 130, 700, 15, 5, 34
_WIDTH = 860
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600; font-size: 14px }
.faint { fill: #6e7781; font-size: 11px }
.grid { stroke: #d0d7de; stroke-width: 1 }
.bar { fill: #8c959f }
.ours { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .faint { fill: #8d96a0 }
  .grid { stroke: #30363d }
  .bar { fill: #6e7681 }
  .ours { fill: #58a6ff }
}
"""


@dataclass(frozen=True)
class Bar:
    query: str
    peer: str
    events: int
    rate: float | None  # events a second
    why_not: str = ""
    wrong: bool = False


def svg(results: Sequence[Bar]) -> str:
    """One group of bars a query, one bar an engine; a line of text where an engine has no figure."""
    rates = [r.rate for r in results if r.rate]
    low, high = floor(log10(min(rates))), ceil(log10(max(rates)))
    queries = list(dict.fromkeys(r.query for r in results))
    height = 30 + len(queries) * _HEAD + len(results) * (_BAR + _GAP) + 20
    parts = [_axis(low, high, height)]
    y = 30
    for query in queries:
        parts.append(f'<text class="head" x="10" y="{y + 22}">{escape(query)}</text>')
        y += _HEAD
        for result in (r for r in results if r.query == query):
            parts.append(_line(result, y, low, high))
            y += _BAR + _GAP
    title = "<title>Events a second, by query and engine, on a logarithmic scale</title>"
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    body = "\n".join(parts)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return f"{head}\n{title}\n<style>{_STYLE}</style>\n{body}\n</svg>\n"


def _axis(low: int, high: int, height: int) -> str:
    marks = []
    for power in range(low, high + 1):
        x = _place(10.0**power, low, high)
        marks.append(f'<line class="grid" x1="{x:.0f}" x2="{x:.0f}" y1="24" y2="{height - 10}"/>')
        marks.append(f'<text class="faint" x="{x:.0f}" y="16" text-anchor="middle">{10**power:,}/s</text>')
    return "\n".join(marks)


def _line(result: Bar, y: int, low: int, high: int) -> str:
    name = f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(result.peer)}</text>'
    if result.rate is None:
        why = "another answer" if result.wrong else result.why_not.splitlines()[0]
        short = why if len(why) < 100 else why[:97] + "..."
        return f'{name}<text class="faint" x="{_LEFT}" y="{y + 12}">{escape(short)}</text>'
    end = _place(result.rate, low, high)
    kind = "bar ours" if result.peer.startswith("cepheid") else "bar"
    bar = f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{end - _LEFT:.1f}" height="{_BAR}" rx="2"/>'
    figure = f"{result.rate:,.0f}/s, {result.events:,} events"
    return f'{name}{bar}<text class="faint" x="{end + 5:.1f}" y="{y + 12}">{figure}</text>'


def _place(rate: float, low: int, high: int) -> float:
    """Where a rate lies; the lowest power of ten is at the left edge."""
    return _LEFT + (log10(rate) - low) / max(high - low, 1) * (_RIGHT - _LEFT)
