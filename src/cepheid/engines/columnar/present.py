"""Which fields an event has, where not all have the same ones: a column beside those of the fields.

A field that an event does not have is null to every test. Only an event that is shown whole is told by it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

PRESENT = "\x00present"  # the name of the column


def names_text(names: Sequence[str]) -> str:
    return json.dumps(names)


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def own_fields(row: dict[str, Any]) -> dict[str, Any]:
    """The fields that an event has, in its own order. Where its columns do not tell: all of them."""
    text = row.get(PRESENT)
    return row if text is None else {name: row[name] for name in _names(text) if name in row}
