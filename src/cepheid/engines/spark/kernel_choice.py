"""Which streams of a unit the kernel can take, as far as it is known without their columns."""

from __future__ import annotations

from cepheid.engines.program import PlannedStream
from cepheid.engines.spark.layout import Layout
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.plan.automaton import START


def check_stream(planned: PlannedStream, layout: Layout) -> None:
    if planned.feeds_on:
        raise Unsupported("it feeds on another stream")
    if len(planned.plan.key) != layout.keys:
        raise Unsupported("its key is finer than what it shares with others")
    if not layout.exact_key:
        raise Unsupported("its key is worked out in Python")


def streams_for_kernel(work: Work) -> list[str]:
    """The streams of a stream job that the kernel may take. What feeds another is done together with it."""
    if any(s.feeds_on for s in work.program):
        return []
    return [s.name for s in work.program if why_not_streaming(s, work.layout, work.late_memory) is None]


def why_not_streaming(planned: PlannedStream, layout: Layout, late_memory: int) -> str | None:
    try:
        check_stream(planned, layout)
    except Unsupported as reason:
        return str(reason)
    if late_memory and any(edge.absences for edge in planned.plan.automaton.out[START]):
        return "a late event may need to know what came before it"
    return None
