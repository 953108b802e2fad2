"""The matcher of a plan: the reference matcher, whose partitions aggregate where the plan asks for trends."""

from __future__ import annotations

from typing import Any

from cepheid.errors import InputMistake
from cepheid.matching.lifecycle import Listener
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.tests import PlanTests
from cepheid.plan.linear_trends import linear_trends
from cepheid.plan.linked_trends import is_indexed, linked_trends
from cepheid.plan.plan import Plan
from cepheid.trends.by_class import ByClass
from cepheid.trends.by_neighbour import ByNeighbour
from cepheid.trends.by_state import ByState
from cepheid.trends.classes import Futures
from cepheid.trends.measures import Measures


class TrendMatcher(ReferenceMatcher):
    """One plan with `.trend_aggregate`, all its partitions."""

    def __init__(self, plan: Plan, listener: Listener | None = None, **options: Any) -> None:
        super().__init__(plan, listener, **options)
        assert plan.trends is not None
        self.trends, self.futures, self.linear = plan.trends, Futures(plan), linear_trends(plan)
        self.linked = linked_trends(plan)
        self.measures = Measures(plan.trends.columns, plan.automaton.positions)
        if self.late_memory:
            raise no_late_trends(plan.name)

    def _new_partition(self, values: tuple[Any, ...]) -> Partition:
        own = (self.plan, self.tests, values, self.listener)
        if self.linear is not None:
            return ByState(*own, trends=self.trends, measures=self.measures, linear=self.linear)
        if self.linked is not None and is_indexed(self.linked):
            return ByNeighbour(*own, trends=self.trends, measures=self.measures, linked=self.linked)
        return ByClass(*own, trends=self.trends, measures=self.measures, futures=self.futures)


def no_late_trends(name: str) -> InputMistake:
    """Why a stream with aggregates over trends cannot take late events."""
    return InputMistake(
        f"`{name}` aggregates trends, and an aggregate that was given out cannot be taken back",
        code="late_trends",
        hint="leave out `lateness`; a larger `disorder` waits longer for events out of order",
    )


def matcher_of(
    plan: Plan, listener: Listener | None = None, *, tests: PlanTests | None = None, late_memory: int = 0
) -> ReferenceMatcher:
    kind = ReferenceMatcher if plan.trends is None else TrendMatcher
    return kind(plan, listener, tests=tests, late_memory=late_memory)
