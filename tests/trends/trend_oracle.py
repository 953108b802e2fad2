"""Aggregates over trends by their definition: all matches are listed, and added up one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cepheid.pattern.event import Event
from cepheid.pattern.model import TrendColumn

Binds = Mapping[str, tuple[Event, ...]]


def aggregates(columns: Iterable[TrendColumn], trends: Sequence[Binds]) -> tuple[Any, ...]:
    return tuple(_aggregate(column, trends) for column in columns)


def _aggregate(column: TrendColumn, trends: Sequence[Binds]) -> Any:
    if column.function == "count_trends":
        return len(trends)
    assert column.alias is not None
    held = [event for trend in trends for event in trend.get(column.alias, ())]
    if column.function == "count_events":
        return len(held)
    values = [event.fields[column.path[0]] for event in held]
    known = [value for value in values if value is not None]
    if not known:
        return None
    if column.function == "min_trends":
        return min(known)
    if column.function == "max_trends":
        return max(known)
    exact = sum(map(Fraction, known), Fraction(0))
    if column.function == "avg_trends":
        return float(exact / len(known))
    return float(exact) if any(isinstance(v, float) for v in known) else int(exact)
