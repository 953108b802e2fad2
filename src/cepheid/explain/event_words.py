"""Events, times and values in few words, where a plan or a run is told to people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from cepheid.pattern.duration import MICROSECONDS, duration
from cepheid.pattern.event import DERIVED, Event
from cepheid.pattern.times import from_microseconds

ID = "id"  # the column events are called by, where they have one
_LONGEST = 60


def event_name(event: Event, column: str = ID) -> str:
    """What an event is called: its id, or its type and its number in the input.

    >>> event_name(Event("Login", 0, {"id": "L7"})), event_name(Event("Login", 0, {}, seq=2))
    ('L7', 'Login #3')
    """
    given = event.fields.get(column)
    number = event.seq + 1 if event.seq < DERIVED else event.seq - DERIVED
    return f"{event.type} #{number}" if given is None else str(given)


def event_names(events: Iterable[Event], column: str = ID) -> str:
    return ", ".join(event_name(e, column) for e in events)


def fields_text(event: Event, without: tuple[str, ...] = ("type", "time", ID), most: int = 5) -> str:
    """
    >>> fields_text(Event("A", 0, {"type": "A", "v": 1, "u": "ann"}))
    'v=1 u="ann"'
    """
    fields = [(n, v) for n, v in event.fields.items() if n not in without and not _is_time(event, v)]
    shown = " ".join(f"{n}={value_text(v)}" for n, v in fields[:most])
    return shown + (" ..." if len(fields) > most else "")


def _is_time(event: Event, value: Any) -> bool:
    return isinstance(value, datetime) and value == from_microseconds(event.time)


def clock(time: int) -> str:
    """
    >>> clock(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    try:
        return moment_text(from_microseconds(time))
    except OverflowError:
        return f"{time}us"


def moment_text(moment: datetime) -> str:
    """Without its zone (it is UTC), and without zeros behind the second."""
    return moment.replace(tzinfo=None).isoformat(" ").rstrip("0" if moment.microsecond else "")


def value_text(value: Any) -> str:
    """A value as the language writes it.

    >>> value_text(None), value_text("ann"), value_text(timedelta(minutes=5)), value_text(0.1 + 0.2)
    ('null', '"ann"', '5m', '0.3')
    """
    match value:
        case None:
            text = "null"
        case bool():
            text = str(value).lower()
        case str():
            text = json.dumps(value, ensure_ascii=False)
        case datetime():
            text = clock(duration(value - from_microseconds(0)))
        case timedelta():
            text = span_text(duration(value))
        case float():
            text = f"{value:.12g}"
        case Mapping():
            text = "{" + ", ".join(f"{k}: {value_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            text = "[" + ", ".join(value_text(v) for v in value) + "]"
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def span_text(microseconds: int) -> str:
    """A length of time, exact: two or more units where one does not do.

    >>> span_text(723_000_000), span_text(90_000_000), span_text(-1_500_000)
    ('12m 3s', '1m 30s', '-1s 500ms')
    """
    if microseconds < 0:
        return f"-{span_text(-microseconds)}"
    parts, left = [], microseconds
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, left = divmod(left, MICROSECONDS[unit])
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts) or "0s"


def round_up(microseconds: int) -> int:
    """A bound that is easy to write: at most a tenth longer.

    >>> span_text(round_up(723_000_000)), span_text(round_up(61_000_001))
    ('13m', '1m 2s')
    """
    for unit in ("d", "h", "m", "s", "ms"):
        rounded = -(-microseconds // MICROSECONDS[unit]) * MICROSECONDS[unit]
        if rounded <= microseconds * 1.1:
            return rounded
    return microseconds


def key_text(names: Iterable[str], values: Iterable[Any]) -> str:
    """
    >>> key_text(["user"], ["ann"])
    'user = "ann"'
    """
    return ", ".join(f"{n} = {value_text(v)}" for n, v in zip(names, values, strict=False))
