"""Allen's thirteen relations between intervals that may still be open, and the distance each leaves free.

An open interval ends later than anything that is known so far. What depends on when is not known yet: None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.pattern.graph_pattern import Allen, Relation


@dataclass(frozen=True)
class Interval:
    start: int
    end: int | None


_Truth = bool | None
INVERSE = {
    Allen.AFTER: Allen.BEFORE,
    Allen.MET_BY: Allen.MEETS,
    Allen.OVERLAPPED_BY: Allen.OVERLAPS,
    Allen.STARTED_BY: Allen.STARTS,
    Allen.CONTAINS: Allen.DURING,
    Allen.FINISHED_BY: Allen.FINISHES,
}
NO_GAP = frozenset({Allen.MEETS, Allen.MET_BY, Allen.EQUALS})


def related(relation: Relation, left: Interval, right: Interval) -> _Truth:
    """Whether the intervals lie so. Both are as they are known when the time they speak of is over."""
    kind, a, b = relation.kind, left, right
    if kind in INVERSE:
        kind, a, b = INVERSE[kind], right, left
    truth = _RELATIONS[kind](a, b)
    if truth is not True or (relation.low is None and relation.high is None):
        return truth
    return _between(_GAPS[kind](a, b), relation.low, relation.high)


def decided_at(relation: Relation, left: Interval, right: Interval) -> int:
    """When a relation that is true became certain: at the last time it looks at."""
    kind, a, b = relation.kind, left, right
    if kind in INVERSE:
        kind, a, b = INVERSE[kind], right, left
    if kind in (Allen.BEFORE, Allen.MEETS):
        return b.start
    times = [a.start, b.start, *([] if a.end is None else [a.end])]
    if kind is Allen.STARTS and (relation.low is not None or relation.high is not None) and b.end is not None:
        times.append(b.end)
    return max(times)


def _less(one: int | None, other: int | None) -> _Truth:
    """An end, or any time. None as an end is later than all that is known, but of two it is not known which."""
    if one is None:
        return None if other is None else False
    return True if other is None else one < other


def _equal(one: int | None, other: int | None) -> _Truth:
    if one is None and other is None:
        return None
    return one == other


def _both(*truths: _Truth) -> _Truth:
    if any(t is False for t in truths):
        return False
    return None if any(t is None for t in truths) else True


_RELATIONS: dict[Allen, Callable[[Interval, Interval], _Truth]] = {
    Allen.BEFORE: lambda a, b: _less(a.end, b.start),
    Allen.MEETS: lambda a, b: _both(_equal(a.end, b.start), a.start < b.start),
    Allen.OVERLAPS: lambda a, b: _both(a.start < b.start, _less(b.start, a.end), _less(a.end, b.end)),
    Allen.STARTS: lambda a, b: _both(a.start == b.start, _less(a.end, b.end)),
    Allen.DURING: lambda a, b: _both(b.start < a.start, _less(a.end, b.end)),
    Allen.FINISHES: lambda a, b: _both(b.start < a.start, _equal(a.end, b.end)),
    Allen.EQUALS: lambda a, b: _both(a.start == b.start, _equal(a.end, b.end)),
}
_GAPS: dict[Allen, Callable[[Interval, Interval], int | None]] = {
    Allen.BEFORE: lambda a, b: None if a.end is None else b.start - a.end,
    Allen.OVERLAPS: lambda a, b: None if a.end is None else a.end - b.start,
    Allen.STARTS: lambda a, b: None if a.end is None or b.end is None else b.end - a.end,
    Allen.DURING: lambda a, b: a.start - b.start,
    Allen.FINISHES: lambda a, b: a.start - b.start,
}


def _between(gap: int | None, low: int | None, high: int | None) -> _Truth:
    if gap is None:
        return None
    return (low is None or gap >= low) and (high is None or gap <= high)
