"""Rows of text as aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

Line = str  # without its indent
Row = tuple[str, ...]


def aligned(rows: Sequence[Row], indent: int = 0) -> list[Line]:
    """Columns two spaces apart.

    >>> aligned([("a", "b"), ("long", "c")])
    ['a     b', 'long  c']
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [" " * indent + line for line in lines]
