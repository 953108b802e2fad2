"""`diagrams`: the matches of a stream under `subsets`, one diagram a partition, none of them listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheid.engines.local.run import Job
from cepheid.engines.network import events_for
from cepheid.engines.options import make_options
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.rows import RowMaker
from cepheid.errors import InputMistake, PatternMistake
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.model import Emission, TrendColumn, TrendRows, Trends
from cepheid.plan.plan import Plan
from cepheid.plan.planner import plan_pattern
from cepheid.trends.classes import Futures
from cepheid.trends.families import DiagramPartition, Families
from cepheid.trends.match_diagram import MatchDiagram


def diagrams(query: object, events: Any, *, stream: str | None = None, **options: Any) -> list[MatchDiagram]:
    """The matches of a stream under `.subsets()`, as a diagram for each partition that has any.

    A diagram is counted, sampled, restricted and iterated without its matches being listed.

    Args:
        query: A query whose stream has `.subsets()`.
        events: As in `match`.
        stream: The stream that is wanted, where the query has several.
        options: All that `run` takes.

    >>> rows = [{"type": "B", "time": i} for i in range(1, 101)]
    >>> rows = [{"type": "A", "time": 0}, *rows, {"type": "C", "time": 101}]
    >>> (found,) = diagrams("A -> all B as b -> C .subsets() .emit(n: count(b))", rows)
    >>> found.count() == 2**100 - 1
    True
    >>> found.first(2)
    [{'n': 1}, {'n': 1}]
    """
    job = Job(query, events, make_options(**options))
    planned = job.program.last if stream is None else job.program[stream]
    _check(planned, job)
    plan = _as_trends(planned, job.program)
    matcher = _DiagramMatcher(plan)
    rows = sorted((e for batch in job.source.batches() for e in batch), key=Event.place_in_order)
    matcher.on_batch(events_for(planned, rows))
    times = [t for t in (job.options.now, rows[-1].time if rows else None) if t is not None]
    matcher.on_end(max(times, default=0))
    found = [_diagram(p, planned) for p in matcher.partitions.values() if isinstance(p, DiagramPartition)]
    return [diagram for diagram in found if diagram.moments]


def _check(planned: PlannedStream, job: Job) -> None:
    pattern = planned.plan.pattern
    if (
        planned.plan.trends is not None
        or planned.plan.counting
        or planned.plan.emission is not Emission.SUBSETS
    ):
        raise PatternMistake(
            f"`{planned.name}` does not list matches under subsets, and a diagram is of those",
            code="no_diagram",
            place=pattern.place,
            hint="end the pattern with .subsets(), without .trend_aggregate and count_matches()",
        )
    if planned.feeds_on or job.options.lateness is not None:
        raise InputMistake(
            f"`{planned.name}`: diagrams are of events that are all there",
            code="no_diagram",
            hint="leave out `disorder` and `lateness`, and streams that feed each other",
        )


def _as_trends(planned: PlannedStream, program: Program) -> Plan:
    """The plan that counts the same matches: its classes are what a diagram is made of."""
    counted = Trends((TrendColumn("$n", "count_trends"),), TrendRows.FINAL, planned.plan.pattern.place)
    pattern = replace(planned.stream.pattern, trends=counted)
    plan, own = plan_pattern(pattern, program.schema, planned.name), planned.plan
    return replace(
        plan, key=own.key, key_names=own.key_names, inferred_key=own.inferred_key, identity=own.identity
    )


class _DiagramMatcher(ReferenceMatcher):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.futures = Futures(plan)

    def _new_partition(self, values: tuple[Any, ...]) -> DiagramPartition:
        assert self.plan.trends is not None
        return DiagramPartition(
            self.plan,
            self.tests,
            values,
            None,
            trends=self.plan.trends,
            measures=Families(self.plan.automaton.positions),
            futures=self.futures,
        )


def _diagram(partition: DiagramPartition, planned: PlannedStream) -> MatchDiagram:
    measures = partition.measures
    return MatchDiagram(
        partition.key,
        tuple(partition.moments),
        measures.forest,
        tuple(measures.at),
        planned.plan,
        partition.identity,
        RowMaker(planned).row,
    )
