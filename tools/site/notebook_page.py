"""A notebook as a page: its texts, its code and what the code showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def notebook_page(text: str, name: str) -> str:
    """Markdown of a notebook's JSON. Without a heading of its own, its name is the title.

    >>> cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]}
    >>> print(notebook_page(json.dumps({"cells": [cell]}), "sums"))
    # sums
    <BLANKLINE>
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```text
    2
    ```
    <BLANKLINE>
    """
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
    """The richest form there is. HTML stands in one line without blank ones, or Markdown would read it."""
    data = output.get("data", {})
    if "image/png" in data:
        yield f"![output](data:image/png;base64,{''.join(data['image/png']).strip()})"
    elif "text/html" in data:
        lines = (line.strip() for line in "".join(data["text/html"]).splitlines())
        yield f"<div>{' '.join(line for line in lines if line)}</div>"
    elif "text/plain" in data or "text" in output:
        yield _fenced("text", "".join(data.get("text/plain", output.get("text", ""))).rstrip())


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"
