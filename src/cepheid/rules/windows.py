"""What tests of time say of the distance between events: intervals through and, or and not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cepheid.pattern.expr import Binary, Expr, Unary, walk
from cepheid.pattern.time_test import TimeTest
from cepheid.rules.closures import INF, bounds, place

Bounds = tuple[float, float]
ANY: Bounds = (-INF, INF)


def has_time(expr: Expr) -> bool:
    return any(isinstance(node, TimeTest) for node in walk(expr))


# --- the hull: one interval that holds whenever the test is true --------------------------------------------------


def hull(expr: Expr, left: int, right: int, wanted: bool = True) -> Bounds | None:
    """Bounds of the time of one event less that of another if the test is `wanted`; None if it cannot be.

    All but tests of time may be either true or false.
    """
    match expr:
        case TimeTest():
            return _hull_of_test(expr, left, right, wanted)
        case Unary(op="not", operand=operand):
            return hull(operand, left, right, not wanted)
        case Binary(op="and" | "or"):
            parts = [hull(e, left, right, wanted) for e in (expr.left, expr.right)]
            return _both(*parts) if (expr.op == "and") is wanted else _either(*parts)
    return ANY


def _hull_of_test(expr: TimeTest, left: int, right: int, wanted: bool) -> Bounds | None:
    ends = (place(expr.left), place(expr.right))
    low, high = bounds(expr)
    if ends == (right, left):
        low, high = -high, -low
    elif ends != (left, right):
        return ANY
    if wanted:
        return (low, high) if low <= high else None
    return _around([gap for gap in ((-INF, low - 1), (high + 1, INF)) if gap[0] < INF and gap[1] > -INF])


def _both(a: Bounds | None, b: Bounds | None) -> Bounds | None:
    if a is None or b is None:
        return None
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else None


def _either(a: Bounds | None, b: Bounds | None) -> Bounds | None:
    return _around([x for x in (a, b) if x is not None])


def _around(parts: list[Bounds]) -> Bounds | None:
    return (min(p[0] for p in parts), max(p[1] for p in parts)) if parts else None


# --- distances: bounds carried on from event to event -------------------------------------------------------------


class Distances:
    """`most[a][b]`: the time of a less that of b is never more. Shortest ways through all tests."""

    def __init__(self, events: Sequence[int]) -> None:
        self.events = tuple(events)
        self.most = {a: {b: 0 if a == b else INF for b in self.events} for a in self.events}

    def demand(self, a: int, b: int, between: Bounds | None) -> None:
        """The time of a less that of b lies between."""
        low, high = (1.0, -1.0) if between is None else between
        self.most[a][b] = min(self.most[a][b], high)
        self.most[b][a] = min(self.most[b][a], -low)

    def close(self) -> bool:
        """Carry bounds on; False if they contradict each other."""
        most = self.most
        for middle in self.events:
            for a in self.events:
                for b in self.events:
                    most[a][b] = min(most[a][b], most[a][middle] + most[middle][b])
        return all(most[a][a] >= 0 for a in self.events)


def demand_tests(distances: Distances, tests: Sequence[Expr]) -> None:
    """All pairs of events, by all tests."""
    events = distances.events
    for test in tests:
        if has_time(test):
            for i, a in enumerate(events):
                for b in events[:i]:
                    distances.demand(a, b, hull(test, a, b))


# --- the latest time an absent event could have -------------------------------------------------------------------

Times = list[Bounds]  # apart, in order
ALWAYS: Times = [ANY]


def latest_of(tests: Sequence[Expr], own: int) -> Callable[[Any], int | None]:
    """Given the other events: the last time at which the tests of time leave room; None if there is no last."""
    timed = [t for t in tests if has_time(t)]
    plain = [_own_bounds(t, own) for t in timed]
    if all(p is not None for p in plain):
        return _latest_of_plain([p for p in plain if p is not None])

    def latest(objects: Any) -> int | None:
        room = ALWAYS
        for test in timed:
            room = _common(room, _room(test, own, objects, True))
        return int(room[-1][1]) if room and room[-1][1] < INF else None

    return latest


def _own_bounds(test: Expr, own: int) -> tuple[int, Bounds] | None:
    """Of a plain test of time of the absent event: which other event, and the bounds against it."""
    if not isinstance(test, TimeTest) or own not in (place(test.left), place(test.right)):
        return None
    low, high = bounds(test)
    if place(test.left) == own:
        return place(test.right), (low, high)
    return place(test.left), (-high, -low)


def _latest_of_plain(tests: list[tuple[int, Bounds]]) -> Callable[[Any], int | None]:
    def latest(objects: Any) -> int | None:
        low, high = ANY
        for other, (least, most) in tests:
            time = objects[other].time
            low, high = max(low, time + least), min(high, time + most)
        return int(high) if low <= high < INF else None

    return latest


def _room(expr: Expr, own: int, objects: Any, wanted: bool) -> Times:
    match expr:
        case TimeTest():
            found = _own_bounds(expr, own)
            if found is None:
                low, high = bounds(expr)
                true = low <= objects[place(expr.left)].time - objects[place(expr.right)].time <= high
                return ALWAYS if true is wanted else []
            other, (low, high) = found
            time = objects[other].time
            inside = [(time + low, time + high)] if low <= high else []
            return inside if wanted else _outside(inside)
        case Unary(op="not", operand=operand):
            return _room(operand, own, objects, not wanted)
        case Binary(op="and" | "or"):
            a, b = (_room(e, own, objects, wanted) for e in (expr.left, expr.right))
            return _common(a, b) if (expr.op == "and") is wanted else _together(a, b)
    return ALWAYS


def _common(a: Times, b: Times) -> Times:
    parts = [(max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b]
    return sorted(p for p in parts if p[0] <= p[1])


def _together(a: Times, b: Times) -> Times:
    result: Times = []
    for low, high in sorted(a + b):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result


def _outside(times: Times) -> Times:
    """All other times, which are whole numbers."""
    result, low = [], -INF
    for begin, end in times:
        if begin > low:
            result.append((low, begin - 1))
        low = end + 1
    return [*result, (low, INF)] if low < INF else result
