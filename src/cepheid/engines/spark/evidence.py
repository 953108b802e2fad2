"""What was found as one text: values keep their exact types on the way to the driver, and a match its events."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.engines.local.events import plain
from cepheid.engines.session import Found
from cepheid.engines.spark.output import EVIDENCE, WHOLE_EVIDENCE, Payload
from cepheid.matching.found import Match
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event

# When it became certain, to sort by; the finding itself.
_COLUMNS = (("at", pa.int64()), ("text", pa.string()))


def evidence_payload(stream: str, whole: bool) -> Payload:
    """All findings of a stream, of whatever kind, each with what is behind it. `whole`: all fields of events."""
    return Payload(WHOLE_EVIDENCE if whole else EVIDENCE, stream, _COLUMNS)


def evidence(item: Found, kind: str = EVIDENCE) -> Found:
    """A finding as a row of the payload. What is still open sorts behind all matches."""
    match = item.match
    body = {"kind": item.kind, "row": plain(item.row), "match": None if match is None else _parts(match)}
    at = None if match is None else match.detected
    return Found(item.stream, kind, {"at": at, "text": dump(body)})


def found_by(stream: str, text: str) -> Found:
    """The finding again, on the driver."""
    body = load(text)
    match = None if body["match"] is None else _match(body["match"])
    return Found(stream, body["kind"], body["row"], match)


def _parts(match: Match) -> dict[str, Any]:
    numbers = {id(event): i for i, event in enumerate(match.events)}
    return {
        "id": match.id,
        "key": match.key,
        "events": [(e.type, e.time, dict(e.fields)) for e in match.events],
        # By number: an event under its name is the very event of the list.
        "binds": {
            alias: [numbers[id(e)] for e in events if id(e) in numbers]
            for alias, events in match.binds.items()
        },
        "times": (match.start, match.end, match.detected),
        "late": match.late,
        "provisional": match.provisional,
        "count": match.count,
    }


def _match(parts: dict[str, Any]) -> Match:
    events = tuple(Event(kind, time, fields) for kind, time, fields in parts["events"])
    binds = {alias: tuple(events[i] for i in numbers) for alias, numbers in parts["binds"].items()}
    start, end, detected = parts["times"]
    return Match(
        parts["id"],
        parts["key"],
        events,
        binds,
        start,
        end,
        detected,
        parts["late"],
        parts["provisional"],
        parts["count"],
    )


__all__ = ["evidence", "evidence_payload", "found_by"]
