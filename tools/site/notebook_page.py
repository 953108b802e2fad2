"""A notebook as a page: its texts, its code and what the code showed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

TERMINAL = re.compile(r"\x1b\[[\d;]*m")  # colours


def notebook_page(text: str, name: str) -> str:
    """Markdown of a notebook's JSON. Without a heading of its own, its name is the title."""
    parts = [part for cell in json.loads(text)["cells"] for part in _cell(cell)]
    if not (parts and parts[0].startswith("# ")):
        parts.insert(0, f"# {name}")
    return "\n\n".join(parts) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] != "code":
        yield source
    elif source:
        yield _fenced("python", source)
        for output in cell["outputs"]:
            yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    """The richest form there is."""
    data = output.get("data", {})
    if "image/png" in data:
        yield f"![output](data:image/png;base64,{''.join(data['image/png']).strip()})"
    elif "text/html" in data:
        yield f"<div>\n{''.join(data['text/html']).strip()}\n</div>"
    elif "text/plain" in data or "text" in output:
        text = "".join(data.get("text/plain", output.get("text", "")))
        yield _fenced("text", TERMINAL.sub("", text).rstrip())


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"
