"""A whole run of streams that may feed each other: stage by stage, a stream after all that it feeds on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cepheid.engines.columnar.choice import Choice
from cepheid.engines.columnar.feeding import stages, with_matches
from cepheid.engines.columnar.groups import StreamPlan
from cepheid.engines.columnar.run import Answer, Work, run
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.program import Program

MakeWork = Callable[[Sequence[StreamPlan], Scan], Work]


def run_staged(program: Program, choice: Choice, scan: Scan, work_of: MakeWork) -> Answer:
    """`scan`: the input. It is read again by stages that look at its events, too."""
    first, *more = stages(choice.streams)
    work = work_of(first.streams, scan)
    answer = run(work)
    now = max((t for t in (work.now, answer.last) if t is not None), default=None)
    for stage in more:
        fed, of_events = with_matches(choice.fed[stage.feeds_on], scan, stage, program, answer.streams)
        work = replace(work_of(stage.streams, fed), of_events=of_events)
        later = replace(work, now=now, on_piece=lambda found: None)
        answer.streams.update(run(later).streams)
    return answer


def feeding(choice: Choice) -> frozenset[str]:
    """The streams that others feed on."""
    return frozenset(name for stream in choice.streams for name in stream.planned.feeds_on)
