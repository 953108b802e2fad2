"""What a node or a value may be: plain values that can be compared, joined and kept in a snapshot."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from cepheid.engines.local.events import plain
from cepheid.errors import InputMistake

_KINDS = (bool, int, float, str, bytes, Decimal, date, timedelta)  # a datetime is a date


def plain_value(value: Any, what: str) -> Any:
    """
    >>> plain_value(float("nan"), "target")
    Traceback (most recent call last):
    cepheid.errors.InputMistake: an edge without a target
      hint: leave edges out that lead nowhere
    """
    found = plain(value)
    if found is None:
        raise InputMistake(
            f"an edge without a {what}", code="null_node", hint="leave edges out that lead nowhere"
        )
    if not isinstance(found, _KINDS):
        raise InputMistake(
            f"a {type(value).__name__} cannot be the {what} of an edge",
            code="bad_value",
            hint="nodes and values are texts, numbers, bools, times and durations; of a list, make several edges",
        )
    return found
