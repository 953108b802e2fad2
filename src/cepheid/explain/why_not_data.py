"""`why_not` as plain data, for `--format json` and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cepheid.explain.causes import Cause
from cepheid.explain.event_words import event_name
from cepheid.explain.furthest import Attempt
from cepheid.explain.happening_words import ended
from cepheid.pattern.event import Event

if TYPE_CHECKING:
    from cepheid.explain.why_not import WhyNot


def why_not_data(found: WhyNot) -> dict[str, Any]:
    """Every name the answer has, but the patterns of near misses."""
    column = found.id_column
    return {
        "stream": found.stream,
        "pattern": found.pattern,
        "matched": found.matched,
        "causes": [_cause(c, column) for c in found.causes],
        "near_misses": [
            {"text": m.text, "kinds": list(m.kinds), "events": _names(m.events, column)}
            for m in found.near_misses
        ],
        "furthest": [_attempt(a, found) for a in found.furthest],
        "matches": [_names(m, column) for m in found.matches],
        "expected": _names(found.expected, column),
        "events": found.events,
        "partitions": found.partitions,
        "types": dict(found.types),
        "untried": list(found.untried),
        "notes": list(found.notes),
    }


def _names(events: tuple[Event, ...], column: str) -> list[str]:
    return [event_name(e, column) for e in events]


def _cause(cause: Cause, column: str) -> dict[str, Any]:
    tested = cause.tested
    said: dict[str, Any] = {
        "kind": cause.kind,
        "text": cause.text,
        "step": cause.step,
        "event": None if cause.event is None else event_name(cause.event, column),
        "by": None if cause.by is None else event_name(cause.by, column),
        "rule": cause.rule,
        "bound": cause.bound,
        "actual": cause.actual,
        "over": cause.over,
        "names": list(cause.names),
    }
    if tested is not None:
        said |= {"test": tested.test, "value": tested.value, "met": tested.met}
        said |= {"left": tested.left, "op": tested.op, "right": tested.right, "nulls": list(tested.nulls)}
    return {name: value for name, value in said.items() if value not in (None, [])}


def _attempt(attempt: Attempt, found: WhyNot) -> dict[str, Any]:
    column = found.id_column
    return {
        "key": dict(zip(found.key_names, attempt.key, strict=False)),
        "held": [{"step": step, "event": event_name(e, column)} for step, e in attempt.held],
        "waiting_for": list(attempt.waiting_for),
        "ended": ended(attempt.end),
        "causes": [_cause(c, column) for c in attempt.causes],
    }
