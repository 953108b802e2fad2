"""Durations: `500ms 5s 30m 1h 7d 2w`, `"5 minutes"`, `timedelta`; inside, whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from cepheid.errors import PatternMistake, Place, nearest

MICROSECONDS = {"us": 1, "ms": 1_000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
MICROSECONDS["w"] = 7 * MICROSECONDS["d"]

_WORDS = {
    "us": ("us", "microsecond", "microseconds"),
    "ms": ("ms", "millisecond", "milliseconds", "msec"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "w": ("w", "week", "weeks"),
}
UNITS = {word: unit for unit, words in _WORDS.items() for word in words}

_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def duration(value: str | int | float | timedelta, place: Place | None = None) -> int:
    """Microseconds in a duration however it is written; a bare number is seconds.

    >>> duration("5 minutes") == duration("5m") == duration(300)
    True
    """
    if isinstance(value, timedelta):
        return (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round(value * 10**6)
    return _parse(str(value), place)


def _parse(text: str, place: Place | None) -> int:
    found, at, total = False, 0, 0
    while at < len(text) and (part := _TEXT.match(text, at)):
        unit = UNITS.get(part[2]) or UNITS.get(part[2].lower())
        if unit is None:
            raise PatternMistake(
                f"`{part[2]}` is not a unit of time",
                code="bad_duration",
                place=place,
                hint=nearest(part[2], list(UNITS)) or "the units are us, ms, s, m, h, d, w",
            )
        total += (
            round(float(part[1]) * MICROSECONDS[unit])
            if "." in part[1]
            else int(part[1]) * MICROSECONDS[unit]
        )
        found, at = True, part.end()
    if not found or text[at:].strip():
        raise PatternMistake(
            f"`{text}` is not a duration",
            code="bad_duration",
            place=place,
            hint='write for example 500ms, 5s, 30m, 1h, 7d, 2w or "5 minutes"',
        )
    return total


def duration_text(microseconds: int) -> str:
    """The shortest exact spelling.

    >>> duration_text(90 * 10**6), duration_text(7_200 * 10**6)
    ('90s', '2h')
    """
    for unit in ("w", "d", "h", "m", "s", "ms"):
        if microseconds and microseconds % MICROSECONDS[unit] == 0:
            return f"{microseconds // MICROSECONDS[unit]}{unit}"
    return f"{microseconds}us" if microseconds else "0s"
