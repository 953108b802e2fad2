"""Values as JSON text and back, exactly: times, decimals, bytes and nested values keep their type."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cepheid.pattern.duration import duration
from cepheid.pattern.times import EPOCH, from_microseconds


def dump(value: Any) -> str:
    """
    >>> load(dump({"at": from_microseconds(5), "n": Decimal("1.10")}))["n"]
    Decimal('1.10')
    """
    return json.dumps(encode(value), ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Any:
    return decode(json.loads(text))


def encode(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"$d": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"$t": [encode(v) for v in value]}
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=EPOCH.tzinfo)
        return {"$at": duration(aware - EPOCH)}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"$for": duration(value)}
    if isinstance(value, Decimal):
        return {"$n": str(value)}
    if isinstance(value, bytes):
        return {"$b": base64.b64encode(value).decode()}
    raise TypeError(f"a {type(value).__name__} cannot be kept in a snapshot")


def decode(value: Any) -> Any:
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    match tag:
        case "$d":
            return {decode(k): decode(v) for k, v in inner}
        case "$t":
            return tuple(decode(v) for v in inner)
        case "$at":
            return from_microseconds(inner)
        case "$date":
            return date.fromisoformat(inner)
        case "$for":
            return timedelta(microseconds=inner)
        case "$n":
            return Decimal(inner)
    return base64.b64decode(inner)
