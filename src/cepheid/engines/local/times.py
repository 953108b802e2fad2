"""Times as users write them, to and from whole microseconds since 1970 in UTC."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cepheid.errors import InputMistake
from cepheid.pattern.times import EPOCH

# How many of the unit make a second.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(value: Any, unit: str = "s") -> int:
    """A time however it is written; a number is an epoch in `unit`, a time without a zone is UTC.

    >>> to_microseconds("1970-01-01T01:00:00+01:00"), to_microseconds(1.5), to_microseconds(2, "ms")
    (0, 1500000, 2000)
    """
    if isinstance(value, str):
        return (_parse(value) - EPOCH) // _MICROSECOND
    if isinstance(value, (bool, type(None))):
        raise _bad_time(value)
    if isinstance(value, (int, float, Decimal)):
        return _from_number(value, unit)
    if isinstance(value, date):
        return (_aware(value) - EPOCH) // _MICROSECOND
    return _from_numpy(value, unit)


def from_microseconds(microseconds: int) -> datetime:
    """An aware datetime in UTC. Numbers come from users here: what is no time is their mistake, with a hint.

    >>> from_microseconds(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        shown = f"{microseconds:,}" if abs(microseconds) < 10**30 else "that many"
        raise InputMistake(
            f"{shown} microseconds since 1970 lie outside the years 1 to 9999",
            code="bad_time",
            hint='a number is epoch seconds unless time_unit is "ms", "us" or "ns"',
        ) from None


def aware(value: datetime) -> datetime:
    """In UTC; a time without a zone is UTC already."""
    if value.tzinfo is UTC:
        return value
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:  # the zone pushes it out of the years 1 to 9999
        raise _bad_time(value) from None


def _aware(value: date) -> datetime:
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value != value:  # pandas.NaT is a datetime
        raise _bad_time(value)
    if hasattr(value, "to_pydatetime"):  # pandas.Timestamp: its nanoseconds are cut off
        return aware(value.to_pydatetime(warn=False))
    return aware(value)


def _parse(text: str) -> datetime:
    try:
        return aware(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise _bad_time(text) from None


def _from_number(value: float | Decimal, unit: str) -> int:
    if isinstance(value, int):
        return value * 10**6 // PER_SECOND[unit]
    if not math.isfinite(value):
        raise _bad_time(value)
    return round(value * 10**6 / PER_SECOND[unit])


def _from_numpy(value: Any, unit: str) -> int:
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind == "M" and str(value) != "NaT":
        return int(value.astype("datetime64[us]").astype("int64"))
    if kind in ("i", "u", "f"):
        return _from_number(value.item(), unit)
    raise _bad_time(value)


def _bad_time(value: Any) -> InputMistake:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return InputMistake(
        f"{shown} is not a time",
        code="bad_time",
        hint="a time is ISO 8601 text such as 2024-05-01T10:00:00Z, a datetime, or a number (epoch seconds "
        "unless `time_unit` says otherwise)",
    )
