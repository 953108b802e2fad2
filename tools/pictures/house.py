"""The map of the house: the rooms of src/cepheid by the layers of the import contract, and the way of an event."""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDTH, MARGIN, GAP, HIGH = 860, 20, 10, 54
INK, PAPER, EDGE, QUIET = "#1f2937", "#ffffff", "#e2e8f0", "#6b7280"

ROOMS = {
    "cli": "the command line",
    "notebook": "%%cepheid cells",
    "testing": "scenarios, strategies",
    "editor": "language server",
    "engines": "local, columnar, spark, sql, graph, rules: where matchers run",
    "explain": "plans and runs made visible",
    "graph": "temporal graphs",
    "rules": "facts and events",
    "trends": "without listing",
    "forecast": "of open runs",
    "matching": "the reference matcher, and the compiled one",
    "plan": "rewrites, key, tests, automaton",
    "sql_lang": "SQL to model",
    "sigma": "Sigma to model",
    "lang": "text to model",
    "time": "watermark, lateness",
    "pattern": "the model, and its builder in Python",
    "errors": "one root",
}

WAYS = (
    ("a Session", ("read", "buffer until the watermark", "reference matcher", "rows")),
    (
        "a file or table",
        ("read columns", "test by Arrow", "sort by key and time", "kernel, in threads", "columns"),
    ),
    (
        "Spark, a table",
        ("test in Catalyst", "filter, prune", "shuffle and sort", "kernel in Python", "DataFrame"),
    ),
    (
        "Spark, a stream",
        ("test in Catalyst", "pack by bucket", "wait, in state", "kernel, runs in state", "sinks"),
    ),
)
COLOURS = ("#2563a8", "#047857", "#b45309", "#7c3aed")


def layers() -> list[list[str]]:
    """The rooms from the top down, as the contract in pyproject.toml says."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def house() -> str:
    parts, y = [], MARGIN
    for rooms in layers():
        wide = (WIDTH - 2 * MARGIN - GAP * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            parts += _box(MARGIN + place * (wide + GAP), y, wide, HIGH, room, ROOMS[room], "#2563a8")
        y += HIGH + GAP
    parts.append(_text(MARGIN, y + 12, "each layer may import those below it, none above", QUIET, 12))
    return _document("the rooms of src/cepheid", parts, y + 26)


def ways() -> str:
    """What happens to an event on its way to a match, place by place."""
    parts, y = [], MARGIN
    for (name, steps), colour in zip(WAYS, COLOURS, strict=True):
        parts.append(_text(MARGIN, y + 14, name, INK, 13, bold=True))
        wide = (WIDTH - 2 * MARGIN - 24 * (len(steps) - 1)) / len(steps)
        for place, step in enumerate(steps):
            x = MARGIN + place * (wide + 24)
            parts += _box(x, y + 24, wide, 40, step, "", colour)
            if place:
                parts.append(_text(x - 18, y + 48, "→", QUIET, 14))
        y += 84
    return _document("the way of an event", parts, y)


def _box(x: float, y: float, wide: float, high: float, name: str, what: str, colour: str) -> list[str]:
    middle = x + wide / 2
    box = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high}" rx="6" fill="{colour}" '
        f'fill-opacity="0.08" stroke="{colour}"/>'
    )
    if not what:
        return [box, _text(middle, y + high / 2 + 4, name, INK, 12, "middle")]
    return [
        box,
        _text(middle, y + 22, name, colour, 14, "middle", bold=True),
        _text(middle, y + 41, what, INK, 11, "middle"),
    ]


def _text(
    x: float, y: float, text: str, colour: str, size: int, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )


def _document(title: str, parts: list[str], height: int) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" font-family="system-ui, sans-serif">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>\n{body}\n</svg>\n'
    )
