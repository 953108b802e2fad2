"""Functions that choose among values, nulls among them."""

from __future__ import annotations

from typing import Any

from cepheid.pattern.values import equal, extreme


def coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def null_if(a: Any, b: Any) -> Any:
    return None if a is not None and b is not None and equal(a, b) else a


def least(*values: Any) -> Any:
    return extreme(values, largest=False)


def greatest(*values: Any) -> Any:
    return extreme(values, largest=True)
