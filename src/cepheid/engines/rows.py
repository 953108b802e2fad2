"""Matches as rows: the columns of `.emit`, or the default ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cepheid.engines.program import PlannedStream
from cepheid.matching.evaluate import Moment, compile_value
from cepheid.matching.found import Match, Pending, Timeout
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.times import from_microseconds


@dataclass(frozen=True)
class _MatchFacts:
    """What the match functions of an expression may ask for."""

    id: str
    start: datetime
    end: datetime
    count: int


def match_row(planned: PlannedStream, match: Match) -> dict[str, Any]:
    """One row of the answer."""
    row = match_fields(planned, match)
    if planned.plan.pattern.eager:
        row["provisional"] = match.provisional
    return row


def match_fields(planned: PlannedStream, match: Match) -> dict[str, Any]:
    if planned.stream.outputs is None:
        return _default(planned, match)
    facts = _MatchFacts(match.id, from_microseconds(match.start), from_microseconds(match.end), match.count)
    moment = Moment(None, match.binds, None, match.key, facts)
    return {
        output.name: _whole(planned, output.expr.alias, match.binds)
        if isinstance(output.expr, Field) and output.expr.alias is not None and not output.expr.path
        else compile_value(output.expr, keys=planned.plan.key_names)(moment)
        for output in planned.stream.outputs
    }


def _default(planned: PlannedStream, match: Match) -> dict[str, Any]:
    return {
        "match_id": match.id,
        "start": from_microseconds(match.start),
        "end": from_microseconds(match.end),
        **dict(zip(planned.plan.key_names, match.key, strict=False)),
        **{alias: _whole(planned, alias, match.binds) for alias in planned.plan.aliases},
    }


def _whole(planned: PlannedStream, alias: str, binds: dict[str, tuple[Event, ...]]) -> Any:
    events = [dict(e.fields) for e in binds.get(alias, ())]
    if planned.plan.aliases[alias]:
        return events
    return events[-1] if events else None


def timeout_row(planned: PlannedStream, timeout: Timeout) -> dict[str, Any]:
    return {
        "start": from_microseconds(timeout.start),
        "deadline": from_microseconds(timeout.deadline),
        "reached": timeout.reached,
        "waiting_for": list(timeout.waiting_for),
        **dict(zip(planned.plan.key_names, timeout.key, strict=False)),
        **{alias: _whole(planned, alias, timeout.binds) for alias in planned.plan.aliases},
    }


def pending_row(planned: PlannedStream, pending: Pending) -> dict[str, Any]:
    return {
        "start": from_microseconds(pending.start),
        "deadline": None if pending.deadline is None else from_microseconds(pending.deadline),
        **dict(zip(planned.plan.key_names, pending.key, strict=False)),
        **{alias: _whole(planned, alias, pending.binds) for alias in planned.plan.aliases},
    }
