"""Variables: `?e`, and names in back quotes after the mark."""

from __future__ import annotations

from typing import Any


def read_variable(token: Any) -> str:
    return str(token)[1:].strip("`")
