"""Matches as rows: the columns of `.emit`, or the default ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cepheid.engines.program import PlannedStream, Program
from cepheid.matching.evaluate import compile_value
from cepheid.matching.found import Findings, Foretold, Match, Outcome, Pending, Timeout
from cepheid.matching.moment import Moment, Value
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.forecast_values import FORECAST_VALUES
from cepheid.pattern.model import Output
from cepheid.pattern.times import from_microseconds
from cepheid.pattern.types import BOOL, STRING, TIMESTAMP, Type, list_of
from cepheid.plan.check_forecast import FIXED_COLUMNS, forecast_columns, run_columns
from cepheid.plan.validate import output_types


@dataclass(frozen=True)
class _MatchFacts:
    """What the match functions of an expression may ask for."""

    id: str
    start: datetime
    end: datetime
    count: int


class RowMaker:
    """Makes the rows of one stream; its expressions are compiled once."""

    def __init__(self, planned: PlannedStream) -> None:
        self.planned = planned
        trends = planned.plan.trends
        keys = planned.plan.key_names + (() if trends is None else trends.names)
        self.values = [(o, compile_value(o.expr, keys=keys)) for o in planned.stream.outputs or ()]
        forecast = planned.plan.forecast
        self.forecast_values = [
            (o, compile_value(o.expr, keys=(*keys, *FORECAST_VALUES)))
            for o in (forecast.outputs if forecast is not None else None) or ()
        ]

    def row(self, match: Match) -> dict[str, Any]:
        """One row of the answer."""
        row = self.fields(match)
        if self.planned.plan.pattern.eager:
            row["provisional"] = match.provisional
        return row

    def fields(self, match: Match) -> dict[str, Any]:
        """The columns of `.emit`, or the default ones: what a derived event carries."""
        if self.planned.stream.outputs is None:
            return _default(self.planned, match)
        facts = _MatchFacts(
            match.id, from_microseconds(match.start), from_microseconds(match.end), match.count
        )
        moment = Moment(None, match.binds, None, match.key, facts)
        return {output.name: self._value(output, value, moment) for output, value in self.values}

    def forecast(self, found: Foretold) -> dict[str, Any]:
        """One forecast: its default columns, or what it is scored by and the columns of its own `.emit`."""
        values = dict(zip(FORECAST_VALUES, found.values, strict=True))
        row = {"run_id": found.run_id, "time": from_microseconds(found.time), "event": found.event}
        if not self.forecast_values:
            return {**row, "start": from_microseconds(found.start), **self._keys(found.key), **values}
        row |= {name: values[name] for name in FIXED_COLUMNS if name in values}
        moment = Moment(None, found.binds, None, (*found.key, *found.values))
        return row | {o.name: self._value(o, value, moment) for o, value in self.forecast_values}

    def outcome(self, found: Outcome) -> dict[str, Any]:
        return {
            "run_id": found.run_id,
            "time": from_microseconds(found.time),
            "event": found.event,
            "start": from_microseconds(found.start),
            **self._keys(found.key),
            "outcome": found.outcome,
        }

    def _keys(self, key: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.planned.plan.key_names, key, strict=False))

    def _value(self, output: Output, value: Value, moment: Moment) -> Any:
        expr = output.expr
        if isinstance(expr, Field) and expr.alias is not None and not expr.path:
            return _whole(self.planned, expr.alias, moment.binds)
        return value(moment)


def _default(planned: PlannedStream, match: Match) -> dict[str, Any]:
    trends = planned.plan.trends
    if trends is not None:
        names = (*planned.plan.key_names, *trends.names)
        return {"time": from_microseconds(match.end), **dict(zip(names, match.key, strict=True))}
    return {
        "match_id": match.id,
        "start": from_microseconds(match.start),
        "end": from_microseconds(match.end),
        **dict(zip(planned.plan.key_names, match.key, strict=False)),
        **{alias: _whole(planned, alias, match.binds) for alias in planned.plan.aliases},
    }


def _whole(planned: PlannedStream, alias: str, binds: Mapping[str, tuple[Event, ...]]) -> Any:
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


def side_rows(maker: RowMaker, found: Findings) -> Iterator[tuple[str, dict[str, Any]]]:
    """All but the matches: kind and row."""
    yield from (("timeout", timeout_row(maker.planned, t)) for t in found.timeouts)
    yield from (("pending", pending_row(maker.planned, p)) for p in found.pending)
    yield from (("outcome", maker.outcome(o)) for o in found.outcomes)
    yield from (("forecast", maker.forecast(f)) for f in found.forecasts)


def match_columns(planned: PlannedStream, late: bool) -> list[tuple[str, Type]]:
    """The columns of a stream's matches; where late events are matched, which of them are late."""
    added = [("late", BOOL)] if late and planned.stream.outputs is None else []
    return [*planned.columns, *added]


def side_columns(program: Program, stream: str, kind: str) -> list[tuple[str, Type]]:
    """The columns of timeouts, pending absences, forecasts and their outcomes."""
    planned = program[stream]
    if kind == "forecast":
        return list(forecast_columns(planned.stream, planned.plan, program.schema))
    if kind == "outcome":
        return [*run_columns(planned.plan, program.schema).items(), ("outcome", STRING)]
    plain = replace(planned.stream, outputs=None)
    own = ("match_id", "start", "end", "provisional")
    taken = [c for c in output_types(plain, planned.plan, program.schema) if c[0] not in own]
    reached = [("reached", STRING), ("waiting_for", list_of(STRING))] if kind == "timeout" else []
    return [("start", TIMESTAMP), ("deadline", TIMESTAMP), *reached, *taken]
