"""Values, events and times in few words, for tables and traces."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cepheid.engines.local.writers import cell_text
from cepheid.explain.event_words import clock, moment_text
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds

_MOST_ITEMS = 4


def moment(value: datetime | int) -> str:
    """A time as one reads it: no zone (it is UTC), no zeros behind the second.

    >>> moment(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    return clock(value) if isinstance(value, int) else moment_text(value)


def cell(value: Any) -> str:
    """A value of a table; an event as its fields, a list of events one below the other."""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Mapping):
        return fields_text(value)
    if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        lines = [fields_text(v) for v in value[:_MOST_ITEMS]]
        more = len(value) - _MOST_ITEMS
        return "\n".join(lines + ([f"... {more} more"] if more > 0 else []))
    return cell_text(value)


def fields_text(fields: Mapping[str, Any], without: tuple[str, ...] = ()) -> str:
    """
    >>> fields_text({"type": "A", "v": 1, "w": None})
    'type=A v=1'
    """
    shown = ((n, v) for n, v in fields.items() if n not in without and v is not None)
    return " ".join(f"{name}={moment(v) if isinstance(v, datetime) else cell_text(v)}" for name, v in shown)


def event_text(event: Event, without: tuple[str, ...] = ("type", "time"), most: int = 5) -> str:
    """
    >>> event_text(Event("Login", 0, {"type": "Login", "user": "ann"}))
    'Login(user=ann)'
    """
    fields = {n: v for n, v in event.fields.items() if n not in without and not _is_time(event, v)}
    kept = dict(list(fields.items())[:most])
    return f"{event.type}({fields_text(kept)}{' ...' if len(fields) > most else ''})" if kept else event.type


def _is_time(event: Event, value: Any) -> bool:
    """Whatever the time column is called: the time stands elsewhere in the line."""
    return isinstance(value, datetime) and value == from_microseconds(event.time)
