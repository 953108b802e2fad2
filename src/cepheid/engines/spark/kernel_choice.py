"""Which streams of a unit the kernel can take, as far as it is known without their columns."""

from __future__ import annotations

from dataclasses import replace

from cepheid.engines.columnar.choice import why_not_alone
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.spark.layout import Layout
from cepheid.engines.spark.work import Work
from cepheid.plan.automaton import START


def streams_for_kernel(work: Work) -> list[str]:
    """Those nothing speaks against; what their columns hold may still do so."""
    reasons = why_not_kernel(work.program, work.layout, work.late_memory)
    return [name for name, reason in reasons.items() if reason is None]


def why_not_kernel(program: Program, layout: Layout, late_memory: int = 0) -> dict[str, str | None]:
    """For each stream what speaks against the kernel, or None."""
    return {planned.name: _why_not(planned, program, layout, late_memory) for planned in program}


def _why_not(planned: PlannedStream, program: Program, layout: Layout, late_memory: int) -> str | None:
    if planned.plan.trends is not None:
        return "it aggregates trends"
    if planned.plan.forecast is not None:
        return "it forecasts its open runs"
    reason = why_not_shared(planned, program, layout)
    if reason is not None:
        return reason
    if late_memory and any(edge.absences for edge in planned.plan.automaton.out[START]):
        return "a late event may need to know what came before it"
    return None


def why_not_shared(planned: PlannedStream, program: Program, layout: Layout) -> str | None:
    """By its place among the streams of its unit, and by their common key."""
    reason = why_not_alone(planned, program)
    if reason is not None:
        return reason
    if len(planned.plan.key) != layout.keys:
        return "its key is finer than what it shares with others"
    if not layout.exact_key:
        return "its key is worked out in Python"
    return None


def only(work: Work, names: list[str]) -> Work:
    """The same work for some of its streams."""
    streams = tuple(s for s in work.program if s.name in names)
    return replace(work, program=replace(work.program, streams=streams))
