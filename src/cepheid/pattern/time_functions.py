"""Functions of times. All of them see UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

from cepheid.errors import nearest
from cepheid.pattern.times import EPOCH
from cepheid.pattern.values import BadArgument, as_utc

_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_SECOND_PARTS = {"second": 1_000_000, "millisecond": 1_000, "microsecond": 1}


def part(name: str) -> Callable[[date], int]:
    return lambda value: int(getattr(as_utc(value), name))


def day_of_week(value: date) -> int:
    return as_utc(value).isoweekday() % 7 + 1


def epoch(value: date) -> float:
    return (as_utc(value) - EPOCH).total_seconds()


def truncate(unit: str, value: date) -> datetime:
    unit, moment = known_unit(unit), as_utc(value)
    if unit in _SECOND_PARTS:
        size = _SECOND_PARTS[unit]
        return moment.replace(microsecond=moment.microsecond // size * size)
    if unit in ("minute", "hour"):
        return moment.replace(minute=0 if unit == "hour" else moment.minute, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return day.replace(month=month, day=1)


def known_unit(unit: str) -> str:
    name = unit.lower()
    if name not in _UNITS:
        hint = nearest(name, _UNITS) or "the units are " + ", ".join(_UNITS)
        raise BadArgument(f"`{unit}` is not a unit of time", "wrong_arguments", hint)
    return name
