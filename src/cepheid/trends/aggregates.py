"""Aggregates over the rows of many keys at once, by the compiled functions. Plans of one shape share the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.pattern.model import TrendColumn, TrendRows
from cepheid.plan.event_tests import EventTest, tests_of
from cepheid.plan.linear_trends import LinearTrends, linear_trends
from cepheid.plan.plan import Plan
from cepheid.trends.columns import MeasureColumns, Numbers
from cepheid.trends.kernel.by_state import CHANGE, EACH, FINAL, MOMENT, aggregate_keys

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

    linear: LinearTrends
    tests: tuple[EventTest, ...]  # of each step
    names: tuple[str | None, ...]  # of each step
    rows: TrendRows

    @classmethod
    def of(cls, plan: Plan) -> TrendShape | None:
        """None: the compiled functions cannot take it."""
        linear = linear_trends(plan)
        if plan.trends is None or linear is None or len(plan.automaton.positions) > MOST_STEPS:
            return None
        if any(len(c.path) > 1 for c in plan.trends.columns):
            return None
        names = tuple(p.step.alias for p in plan.automaton.positions)
        return cls(linear, tuple(tests_of(plan)), names, plan.trends.rows)


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
    weights, masks, kinds = measures.arrays()
    ways = [
        [w.position, w.source, -1 if w.target is None else w.target, w.completes] for w in shape.linear.ways
    ]
    left = np.zeros(len(offsets) - 1, np.bool_)
    within = -1 if shape.linear.within is None else shape.linear.within
    events, totals = aggregate_keys(
        np.asarray(offsets, np.int64),
        np.ascontiguousarray(times),
        np.ascontiguousarray(bits),
        weights,
        masks,
        kinds,
        np.array(ways, np.int64).reshape(-1, 4),
        shape.linear.states,
        np.int64(within),
        np.int64(_WHEN[shape.rows]),
        left,
    )
    return Aggregated(events, totals, measures, np.flatnonzero(left))
