"""Pages in a real Chromium: what every one of them must do, and how colours are told apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 400, "height": 800}


@contextmanager
def watched(
    browser: Any, file: Path, size: dict[str, int] | None = None, scheme: str = "light"
) -> Iterator[Any]:
    """A page, which must neither complain nor ask for anything from elsewhere."""
    context = browser.new_context(viewport=size or WIDE, color_scheme=scheme)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda e: problems.append(str(e)))
    opened.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url))
    opened.goto(file.as_uri())
    yield opened
    context.close()
    assert problems == []


def contrast(one: str, two: str) -> float:
    """As the accessibility guidelines reckon it."""
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    parts = [int(p) / 255 for p in color[color.index("(") + 1 : -1].split(",")[:3]]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
