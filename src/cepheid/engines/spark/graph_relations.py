"""Allen's relations over columns: the same table as `graph/intervals.py`, of intervals whose edges are all known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.engines.spark.graph_edges import END, END_TICK
from cepheid.engines.spark.graph_stages import HoldAt, greatest
from cepheid.graph.intervals import INVERSE
from cepheid.pattern.graph_pattern import Allen, Relation

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True)
class Span:
    start: Column
    end: Column  # null: open


def is_related(relation: Relation, left: HoldAt, right: HoldAt) -> Column:
    """Whether it is certain; null or false otherwise."""
    kind, a, b = _turned(relation, left, right)
    truth = _RELATIONS[kind](a, b)
    gap = _GAPS[kind](a, b) if kind in _GAPS else None
    if gap is not None and relation.low is not None:
        truth = truth & (gap >= relation.low)
    if gap is not None and relation.high is not None:
        truth = truth & (gap <= relation.high)
    return truth


def decided_at(relation: Relation, left: HoldAt, right: HoldAt) -> Column:
    """When one that is true became certain."""
    kind, a, b = _turned(relation, left, right)
    if kind in (Allen.BEFORE, Allen.MEETS):
        return b.start
    times = [a.start, b.start, a.end]
    if kind is Allen.STARTS and (relation.low is not None or relation.high is not None):
        times.append(b.end)
    return greatest(times)  # without those that are null


def decided_tick(relation: Relation, left: HoldAt, right: HoldAt) -> Column:
    """The latest tick in which an end was told that it looks at."""
    from pyspark.sql import functions as F

    known = decided_at(relation, left, right)
    edges = (*left.own, *right.own)
    ticks = [F.when(edge.column(END) == known, edge.column(END_TICK)) for edge in edges if edge.has_end]
    return greatest([F.lit(0).cast("bigint"), *ticks])


def _turned(relation: Relation, left: HoldAt, right: HoldAt) -> tuple[Allen, Span, Span]:
    one, other = Span(left.time, left.end), Span(right.time, right.end)
    if relation.kind in INVERSE:
        return INVERSE[relation.kind], other, one
    return relation.kind, one, other


def _ends_first(a: Span, b: Span) -> Column:
    return a.end.isNotNull() & (b.end.isNull() | (a.end < b.end))


_RELATIONS: dict[Allen, Callable[[Span, Span], Column]] = {
    Allen.BEFORE: lambda a, b: a.end < b.start,
    Allen.MEETS: lambda a, b: (a.end == b.start) & (a.start < b.start),
    Allen.OVERLAPS: lambda a, b: (a.start < b.start) & (b.start < a.end) & _ends_first(a, b),
    Allen.STARTS: lambda a, b: (a.start == b.start) & _ends_first(a, b),
    Allen.DURING: lambda a, b: (b.start < a.start) & _ends_first(a, b),
    Allen.FINISHES: lambda a, b: (b.start < a.start) & (a.end == b.end),
    Allen.EQUALS: lambda a, b: (a.start == b.start) & (a.end == b.end),
}
_GAPS: dict[Allen, Callable[[Span, Span], Column]] = {
    Allen.BEFORE: lambda a, b: b.start - a.end,
    Allen.OVERLAPS: lambda a, b: a.end - b.start,
    Allen.STARTS: lambda a, b: b.end - a.end,
    Allen.DURING: lambda a, b: a.start - b.start,
    Allen.FINISHES: lambda a, b: a.start - b.start,
}
