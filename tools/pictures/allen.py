"""The picture of Allen's thirteen relations: which one holds is asked of the graph engine."""

from __future__ import annotations

from html import escape

import cepheid

RELATIONS = [
    "before",
    "meets",
    "overlaps",
    "starts",
    "during",
    "finishes",
    "equals",
    "finished_by",
    "contains",
    "started_by",
    "overlapped_by",
    "met_by",
    "after",
]
B = (4, 8)
FIRSTS = (
    (0, 2),
    (1, 4),
    (2, 6),
    (4, 6),
    (5, 7),
    (6, 8),
    (4, 8),
    (2, 8),
    (3, 9),
    (4, 10),
    (6, 10),
    (8, 11),
    (9, 11),
)
UNIT, LEFT, ROW, TOP = 34, 30, 44, 44


def allen() -> str:
    """One row for each pair of intervals, named by the relation that holds."""
    patterns = "\n".join(
        f'graph pattern {r} {{ concurrent {{ stage a {{ .kind = "a" }} stage b {{ .kind = "b" }} }} a {r} b }}'
        for r in RELATIONS
    )
    parts = []
    for row, first in enumerate(FIRSTS):
        graph = cepheid.Graph().add("x", "kind", "a", *first).add("y", "kind", "b", *B)
        (found,) = graph.find(patterns)
        y = TOP + ROW * row
        parts += [_bar(first, y, "#2563a8"), _bar(B, y + 13, "#b45309")]
        parts.append(_text(LEFT + 12 * UNIT, y + 13, f"a {found.pattern} b", 13))
    ticks = [_text(LEFT + UNIT * t - 4, 26, str(t), 10) for t in range(12)]
    width, height = LEFT + 12 * UNIT + 180, TOP + ROW * len(FIRSTS)
    body = "\n".join([*ticks, *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="ui-monospace, Menlo, Consolas, monospace">\n'
        "<title>allen</title>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="#e2e8f0"/>\n{body}\n</svg>\n'
    )


def _bar(interval: tuple[int, int], y: int, colour: str) -> str:
    start, end = interval
    return f'<rect x="{LEFT + start * UNIT}" y="{y}" width="{(end - start) * UNIT}" height="9" rx="3" fill="{colour}"/>'


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="#1f2937">{escape(text)}</text>'
