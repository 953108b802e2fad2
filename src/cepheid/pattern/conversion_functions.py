"""Conversions. A string that does not say such a value is null."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.number_functions import WIDE, whole
from cepheid.pattern.times import EPOCH
from cepheid.pattern.values import as_utc, kind_of

_WHOLE_TEXT = re.compile(r"\s*([+-]?\d{1,4000})(?:\.\d*)?\s*", re.ASCII)
_NUMBER_TEXT = re.compile(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*|\s*[+-]?inf(?:inity)?\s*", re.ASCII | re.I
)
_TRUE_TEXT, _FALSE_TEXT = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_truncated = whole(ROUND_DOWN)


def to_int(x: Any) -> int | None:
    if isinstance(x, str):
        found = _WHOLE_TEXT.fullmatch(x)
        return int(found[1]) if found else None
    return int(x) if isinstance(x, bool) else _truncated(x)


def to_float(x: Any) -> float | None:
    if isinstance(x, str) and not _NUMBER_TEXT.fullmatch(x):
        return None
    return float(x)


def to_string(x: Any) -> str | None:
    return _SPELLING[kind_of(x)](x)


def _decoded(x: bytes) -> str | None:
    try:
        return x.decode()
    except UnicodeDecodeError:
        return None


_SPELLING: Mapping[str, Callable[[Any], str | None]] = {
    "bool": lambda x: "true" if x else "false",
    "int": str,
    "float": repr,
    "decimal": lambda x: format(x, "f") if abs(x.adjusted()) <= 400 else str(x),
    "string": str,
    "bytes": _decoded,
    "timestamp": lambda x: as_utc(x).isoformat().replace("+00:00", "Z"),
    "date": lambda x: x.isoformat(),
    "duration": lambda x: duration_text(duration(x)),
}


def to_bool(x: Any) -> bool | None:
    if not isinstance(x, str):
        return bool(x)
    word = x.strip().lower()
    return True if word in _TRUE_TEXT else False if word in _FALSE_TEXT else None


def to_timestamp(x: Any) -> datetime | None:
    try:
        if isinstance(x, str):
            return as_utc(datetime.fromisoformat(x.strip()))
        if isinstance(x, date):
            return as_utc(x)
        if isinstance(x, Decimal):
            return EPOCH + timedelta(microseconds=int(WIDE.multiply(x, 1_000_000)))
        return EPOCH + timedelta(seconds=x)
    except (ValueError, OverflowError):  # not a time, or outside the years 1 to 9999
        return None
