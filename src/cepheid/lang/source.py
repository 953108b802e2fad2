"""A source text, and places in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.errors import Place


@dataclass(frozen=True)
class Source:
    text: str
    name: str = "query"

    def place(self, item: Any) -> Place | None:
        """The place of a token or a tree; None for an empty tree."""
        meta = getattr(item, "meta", item)
        if getattr(meta, "line", None) is None:
            return None
        return Place(meta.line, meta.column, meta.end_line, meta.end_column, self.text, self.name)
