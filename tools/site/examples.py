"""Docstrings as the reference shows them: what begins with `>>>` is a section of examples."""

from __future__ import annotations

import textwrap
from typing import Any

from griffe import Extension, Object


def with_examples(text: str) -> str:
    """The first example and all after it, under a heading that readers of docstrings know."""
    said, mark, shown = text.partition(">>> ")
    if not mark or "Examples:" in said:
        return text
    return f"{said.rstrip()}\n\nExamples:\n{textwrap.indent(mark + shown, '    ')}"


class Examples(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_examples(obj.docstring.value)
