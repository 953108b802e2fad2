"""Aggregates over the rows of many keys at once, by the compiled functions. What plans have in common is done once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.pattern.model import TrendColumn, TrendRows
from cepheid.plan.event_tests import EventTest, tests_of
from cepheid.plan.linear_trends import LinearTrends, linear_trends
from cepheid.plan.linked_trends import LinkedTrends, linked_trends
from cepheid.plan.plan import Plan
from cepheid.plan.shared_closures import MOST_TESTS, LinkedPattern, SharedTrends, share, sharing_sets
from cepheid.trends.columns import FieldColumns, MeasureColumns, Numbers
from cepheid.trends.kernel.by_node import aggregate_linked
from cepheid.trends.kernel.by_state import CHANGE, EACH, FINAL, MOMENT, aggregate_keys
from cepheid.trends.machine_tables import Answer, machine_of, rows_of

_WHEN = {
    TrendRows.CHANGE: CHANGE,
    TrendRows.EACH: EACH,
    TrendRows.MOMENT: MOMENT,
    TrendRows.FINAL: FINAL,
}


@dataclass(frozen=True)
class TrendShape:
    """What plans have in common that differ in nothing but their aggregates."""

    trends: LinearTrends | LinkedTrends
    tests: tuple[EventTest, ...]  # of each step
    names: tuple[str | None, ...]  # of each step
    rows: TrendRows

    @classmethod
    def of(cls, plan: Plan) -> TrendShape | None:
        """None: the compiled functions cannot take it."""
        trends = linear_trends(plan) or linked_trends(plan)
        if plan.trends is None or trends is None or len(plan.automaton.positions) > MOST_TESTS:
            return None
        if any(len(c.path) > 1 for c in plan.trends.columns):
            return None
        names = tuple(p.step.alias for p in plan.automaton.positions)
        return cls(trends, tuple(tests_of(plan)), names, plan.trends.rows)


Pattern = tuple[LinkedPattern, tuple[str | None, ...]]  # with the names of its steps, which aggregates go by


@dataclass(frozen=True)
class TrendSet:
    """Shapes that are aggregated together: one, or some whose patterns have a closure in common."""

    shapes: tuple[TrendShape, ...]

    @cached_property
    def patterns(self) -> dict[Pattern, list[int]]:
        """Linked ones, with the numbers of their shapes: those differ in their windows and rows."""
        found: dict[Pattern, list[int]] = {}
        for number, shape in enumerate(self.shapes):
            if isinstance(shape.trends, LinkedTrends):
                pattern = (LinkedPattern.of(shape.trends, shape.tests), shape.names)
                found.setdefault(pattern, []).append(number)
        return found

    @cached_property
    def shared(self) -> SharedTrends:
        return share([pattern for pattern, _ in self.patterns])

    @property
    def tests(self) -> tuple[EventTest, ...]:
        """The number of a test is the number of its bit."""
        return self.shared.tests if self.patterns else self.shapes[0].tests

    @property
    def alone(self) -> list[TrendSet]:
        return [TrendSet((shape,)) for shape in self.shapes]


def trend_sets(shapes: Iterable[TrendShape]) -> list[TrendSet]:
    """All shapes, each in one set."""
    linked, sets = [], []
    for shape in dict.fromkeys(shapes):
        if isinstance(shape.trends, LinkedTrends):
            linked.append((shape, LinkedPattern.of(shape.trends, shape.tests)))
        else:
            sets.append(TrendSet((shape,)))
    for numbers in sharing_sets([pattern for _, pattern in linked]):
        sets.append(TrendSet(tuple(linked[number][0] for number in numbers)))
    return sets


@dataclass(frozen=True)
class Aggregated:
    """The rows of an answer: the event that made each so, and its totals."""

    events: Numbers  # by their numbers among those given
    totals: Numbers
    measures: MeasureColumns
    left: Numbers  # keys whose totals do not fit into 64 bits

    def value(self, column: TrendColumn) -> pa.Array:
        return self.measures.value(column, self.totals)


def aggregate(
    together: TrendSet,
    plans: Sequence[Sequence[Plan]],
    offsets: Numbers,
    times: Numbers,
    bits: Numbers,
    read: Callable[[str], pa.Array],
) -> list[Aggregated]:
    """The answer of each shape, for its plans, over events that each pass a test: key by key, each key's in order.

    Raises NotWhole.
    """
    columns = FieldColumns(read, len(times))
    # Arrow's arrays cannot be written to, which is another type to numba: it would compile everything again.
    rows = tuple(np.require(numbers, np.int64, ["C", "W"]) for numbers in (offsets, times, bits))
    if together.patterns:
        return _by_node(together, plans, rows, columns)
    (shape,) = together.shapes
    return [_by_state(shape, plans[0], rows, columns)]


_Rows = tuple[Numbers, ...]  # where keys begin, times, which tests each event passes


def _measured(plans: Sequence[Plan], columns: FieldColumns) -> MeasureColumns:
    asked = [c for plan in plans if plan.trends is not None for c in plan.trends.columns]
    return MeasureColumns(asked, plans[0].automaton.positions, columns)


def _by_state(shape: TrendShape, plans: Sequence[Plan], rows: _Rows, columns: FieldColumns) -> Aggregated:
    trends, measures = shape.trends, _measured(plans, columns)
    assert isinstance(trends, LinearTrends)
    ways = [[w.position, w.source, -1 if w.target is None else w.target, w.completes] for w in trends.ways]
    left = np.zeros(len(rows[0]) - 1, np.bool_)
    events, totals = aggregate_keys(
        *rows,
        *measures.arrays(),
        np.array(ways, np.int64).reshape(-1, 4),
        trends.states,
        np.int64(-1 if trends.within is None else trends.within),
        np.int64(_WHEN[shape.rows]),
        left,
    )
    return Aggregated(events, totals, measures, np.flatnonzero(left))


def _by_node(
    together: TrendSet, plans: Sequence[Sequence[Plan]], rows: _Rows, columns: FieldColumns
) -> list[Aggregated]:
    """Several patterns in one machine, and of each the answers for its windows and rows."""
    shapes = list(together.patterns.values())
    measures = [_measured([p for number in own for p in plans[number]], columns) for own in shapes]
    answers = [[_answer(together.shapes[number]) for number in own] for own in shapes]
    offsets, times, bits = rows
    left = np.zeros((len(together.shapes), len(offsets) - 1), np.bool_)
    machine = machine_of(together.shared, [pattern for pattern, _ in together.patterns], measures, answers)
    given = rows_of(together.shared, times, bits, measures, columns)
    counts, events, totals = aggregate_linked(offsets, machine, given, left)
    found: dict[int, Aggregated] = {}
    for number, own in (
        (number, own) for own, numbers in zip(measures, shapes, strict=True) for number in numbers
    ):
        answer, used = len(found), slice(counts[len(found)])
        found[number] = Aggregated(
            events[answer, used].copy(),
            totals[answer, used, : own.width].copy(),
            own,
            np.flatnonzero(left[answer]),
        )
    return [found[number] for number in range(len(together.shapes))]


def _answer(shape: TrendShape) -> Answer:
    within = shape.trends.within
    return -1 if within is None else within, _WHEN[shape.rows]
