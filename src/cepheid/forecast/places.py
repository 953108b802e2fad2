"""Which runs of a partition are one and the same to a forecast, and what of their state decides what becomes of them.

Copies of a run that hold the same events are one unit: they share their past, and it is complete when one of them is.
Where a start has one run (`stnm`, `every`), all of it is one unit, known by the first event: the run may lose events to
others and take new ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cepheid.forecast.certainty import MOST_COUNTED, rounds, why_uncertain
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run
from cepheid.pattern.event import Event
from cepheid.pattern.model import Arrow, Selection, SkipTo
from cepheid.plan.plan import Plan

Held = tuple[Event, ...]  # the events of a unit, in the order they were taken (or only the first): its name
_MOST_OLDER = 3


@dataclass(frozen=True, slots=True)
class Unit:
    """`place`: its number among the places the model knows; `start`: the time of its first event."""

    place: int
    runs: tuple[Run, ...]
    start: int


class Places:
    """Tells the place of a run: its state, and what else its future depends on."""

    def __init__(self, plan: Plan) -> None:
        self.automaton = plan.automaton
        self.counted = [min(rounds(c), MOST_COUNTED) for c in plan.automaton.closures]
        self.certain = why_uncertain(plan) is None
        self.neighbours = any(e.arrow is Arrow.NEXT for e in plan.automaton.edges) or any(
            a.node.next for a in plan.automaton.absences
        )
        self.by_start = plan.pattern.selection is Selection.STNM or plan.pattern.every is not None
        # Where runs use events up for each other, it matters how many stand before a run.
        self.queued = plan.pattern.selection is Selection.STNM or plan.pattern.skip.to is not SkipTo.NONE
        # Is a run at the same place as long as it takes no event?
        self.lasting = not self.neighbours and not self.queued

    def name(self, taken: Held) -> Held:
        return taken[:1] if self.by_start else taken

    def place(self, runs: Iterable[Run], partition: Partition) -> tuple[Any, ...]:
        return tuple(sorted(self._place(run, partition) for run in runs))

    def _place(self, run: Run, partition: Partition) -> tuple[Any, ...]:
        inside = sorted(self.automaton.closures_of[run.state])
        place: tuple[Any, ...] = (
            run.state,
            tuple((c, min(run.counts.get(c, 0), self.counted[c])) for c in inside),
            tuple(c for c in inside if c in run.closed),
            tuple(sorted(run.blocked)),
        )
        if self.neighbours:
            place = (*place, run.last.index == partition.index)
        if self.queued:
            older = len({r.start for r in partition.runs if r.start < run.start})
            place = (*place, min(older, _MOST_OLDER))
        return place
