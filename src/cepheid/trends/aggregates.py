"""Aggregates over the rows of many keys at once, by the compiled functions. Plans of one shape share the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.pattern.model import TrendColumn, TrendRows
from cepheid.plan.event_tests import EventTest, tests_of
from cepheid.plan.linear_trends import LinearTrends, Way, linear_trends
from cepheid.plan.linked_trends import LinkedTrends, linked_trends
from cepheid.plan.plan import Plan
from cepheid.trends.columns import MeasureColumns, Numbers
from cepheid.trends.kernel.by_node import OPERATORS, aggregate_linked
from cepheid.trends.kernel.by_state import CHANGE, EACH, FINAL, MOMENT, aggregate_keys
from cepheid.trends.ranks import joint_ranks

_WHEN = {
    TrendRows.CHANGE: CHANGE,
    TrendRows.EACH: EACH,
    TrendRows.MOMENT: MOMENT,
    TrendRows.FINAL: FINAL,
}
MOST_STEPS = 62  # bits of a word


@dataclass(frozen=True)
class TrendShape:
    """What two plans have in common that can be aggregated together."""

    trends: LinearTrends | LinkedTrends
    tests: tuple[EventTest, ...]  # of each step
    names: tuple[str | None, ...]  # of each step
    rows: TrendRows

    @classmethod
    def of(cls, plan: Plan) -> TrendShape | None:
        """None: the compiled functions cannot take it."""
        trends = linear_trends(plan) or linked_trends(plan)
        if plan.trends is None or trends is None or len(plan.automaton.positions) > MOST_STEPS:
            return None
        if any(len(c.path) > 1 for c in plan.trends.columns):
            return None
        names = tuple(p.step.alias for p in plan.automaton.positions)
        return cls(trends, tuple(tests_of(plan)), names, plan.trends.rows)


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
    plans: Sequence[Plan],
    shape: TrendShape,
    offsets: Numbers,
    times: Numbers,
    bits: Numbers,
    read: Callable[[str], pa.Array],
) -> Aggregated:
    """Plans of one shape, over events that each fit a step: key by key, each key's in order. Raises NotWhole."""
    columns = [c for plan in plans if plan.trends is not None for c in plan.trends.columns]
    measures = MeasureColumns(columns, plans[0].automaton.positions, read, len(times))
    left = np.zeros(len(offsets) - 1, np.bool_)
    rows = (np.asarray(offsets, np.int64), np.ascontiguousarray(times), np.ascontiguousarray(bits))
    when = np.int64(_WHEN[shape.rows])
    if isinstance(shape.trends, LinearTrends):
        events, totals = _by_state(shape.trends, rows, measures, when, left)
    else:
        events, totals = _by_node(shape.trends, rows, measures, when, left, read)
    return Aggregated(events, totals, measures, np.flatnonzero(left))


_Rows = tuple[Numbers, Numbers, Numbers]
_Found = tuple[Numbers, Numbers]


def _by_state(trends: LinearTrends, rows: _Rows, measures: MeasureColumns, when: Any, left: Any) -> _Found:
    found: _Found = aggregate_keys(
        *rows, *measures.arrays(), _ways(trends.ways), trends.states, _bound(trends.within), when, left
    )
    return found


def _by_node(
    trends: LinkedTrends,
    rows: _Rows,
    measures: MeasureColumns,
    when: Any,
    left: Any,
    read: Callable[[str], pa.Array],
) -> _Found:
    tests = [test for way in trends.ways for test in way.tests]
    spans = np.cumsum([0, *(len(way.tests) for way in trends.ways)])
    coded = [[OPERATORS.index(t.op), t.of, t.lenient] for t in tests]
    ranks = {pair: joint_ranks(*map(read, pair)) for pair in dict.fromkeys((t.field, t.other) for t in tests)}
    sides = [
        np.stack([ranks[t.field, t.other][side] for t in tests]) if tests else np.zeros((0, 0), np.int64)
        for side in (0, 1)
    ]
    keeps = np.array(list(zip(trends.keeps_last, trends.keeps_named, strict=True)), np.int64)
    named = np.int64(-1 if trends.named is None else trends.named)
    found: _Found = aggregate_linked(
        *rows,
        *measures.arrays(),
        _ways(trends.ways),
        spans.astype(np.int64),
        np.array(coded, np.int64).reshape(-1, 3),
        *sides,
        keeps,
        named,
        _bound(trends.within),
        when,
        left,
    )
    return found


def _ways(ways: Sequence[Way]) -> Numbers:
    found = [[w.position, w.source, -1 if w.target is None else w.target, w.completes] for w in ways]
    return np.array(found, np.int64).reshape(-1, 4)


def _bound(within: int | None) -> np.int64:
    return np.int64(-1 if within is None else within)
