"""Partition keys: values that are one key become one Python value that can be looked up."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from cepheid.pattern.values import as_utc


def lookup_key(values: tuple[Any, ...], inferred: bool) -> tuple[Hashable, ...]:
    """What a partition is found by.

    A key the user named tells apart what is not equal. An inferred key only has to keep together what the
    equality tests could find equal: they stay in place, so coarser is safe.

    >>> lookup_key((1, True), inferred=False) == lookup_key((True, 1), inferred=False)
    False
    >>> lookup_key((Decimal("0.1"),), inferred=True) == lookup_key((0.1,), inferred=True)
    True
    """
    return tuple(_coarse(v) if inferred else _exact(v) for v in values)


def _exact(value: Any) -> Hashable:
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (list, tuple)):
        return ("list", *(_exact(v) for v in value))
    if isinstance(value, dict):
        return ("struct", *((k, _exact(v)) for k, v in sorted(value.items())))
    if isinstance(value, datetime):
        return as_utc(value)
    return value  # type: ignore[no-any-return]


def _coarse(value: Any) -> Hashable:
    if isinstance(value, (list, tuple, dict)):
        return "nested"
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return _as_float(value)
    if isinstance(value, date):
        return as_utc(value)
    return _exact(value)


def _as_float(value: int | float | Decimal) -> Hashable:
    try:
        return float(value) + 0.0  # there is one zero
    except OverflowError:
        return "huge"
