"""How far runs come, how many are open, and how they end: counted while the reference matcher works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from cepheid.explain.over_time import Levels
from cepheid.explain.words import Names
from cepheid.matching import lifecycle
from cepheid.matching.keys import lookup_key
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run, Taken
from cepheid.matching.tests import Seen
from cepheid.pattern.duration import duration
from cepheid.plan.plan import Plan

_ENDINGS: dict[type[lifecycle.RunEvent], str] = {
    lifecycle.Negated: "killed",
    lifecycle.Expired: "expired",
    lifecycle.Dropped: "dropped",
    lifecycle.Evicted: "evicted",
}


@dataclass(frozen=True)
class Reached:
    """Of the events that began a run, how many came as far as a step, and how runs ended after it."""

    step: str
    starts: int
    endings: tuple[tuple[str, int], ...] = ()


class Census:
    """An observer of one plan. A start is an event that begins runs: its copies count once in the funnel."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names = Names(plan)
        self.open: Counter[int] = Counter()  # runs by state
        self.levels: dict[int, Levels] = {}
        self.total = Levels()
        self.largest = 0  # runs of one partition
        self.events = 0
        self._span: tuple[int, int] | None = None
        self.keys: set[Hashable] = set()
        self._starts: list[set[tuple[str, int]]] = [set() for _ in plan.automaton.positions]
        self._matched: set[tuple[str, int]] = set()
        self._ended: list[Counter[str]] = [Counter() for _ in plan.automaton.positions]
        self._before: Counter[int] = Counter()
        self._time = 0
        self._left: Counter[int] | None = None  # what was open when the input ended

    # What was found.

    def funnel(self) -> tuple[Reached, ...]:
        """Step by step, and last how many starts became a match."""
        steps = zip(self.names.positions, self._starts, self._ended, strict=True)
        found = [Reached(name, len(starts), tuple(ended.items())) for name, starts, ended in steps]
        return (*found, Reached("match", len(self._matched)))

    def open_by_step(self) -> dict[str, int]:
        """The runs that are open now, or were when the input ended."""
        counts = self.open if self._left is None else self._left
        return {self.names.states[state]: n for state, n in sorted(counts.items()) if n}

    def peaks(self) -> dict[str, int]:
        """The most that were ever open after each step."""
        return {self.names.states[state]: level.peak for state, level in sorted(self.levels.items())}

    @property
    def seconds(self) -> float:
        """From the first event to the last."""
        return 0.0 if self._span is None else (self._span[1] - self._span[0]) / duration("1s")

    # What the matcher tells.

    def before_event(self, partition: Partition, seen: Seen, taken: Taken) -> None:
        self._before, self._time = _by_state(partition.runs), taken.event.time
        first, last = self._span or (self._time, self._time)
        self._span = min(first, self._time), max(last, self._time)
        self.events += 1
        self.keys.add(lookup_key(partition.key, self.plan.inferred_key))

    def after_event(self, partition: Partition) -> None:
        self._changed(partition)

    def before_time(self, partition: Partition, deadline: int) -> None:
        self._before, self._time = _by_state(partition.runs), deadline

    def after_time(self, partition: Partition) -> None:
        self._changed(partition)

    def at_end(self, partition: Partition, time: int) -> None:
        """Closures that the end has closed are no longer open, so what is open is counted anew."""
        self._left = (self._left or Counter()) + _by_state(partition.runs)

    def complete(self, partition: Partition, runs: list[Run], given: list[Run]) -> None:
        pass

    def told(
        self,
        partition: Partition,
        kind: type[lifecycle.RunEvent],
        run: Run,
        time: int,
        details: dict[str, Any],
    ) -> None:
        start = (run.first.event.type, run.first.event.seq)  # events of other streams are numbered anew
        if kind is lifecycle.Completed:
            self._matched.add(start)
        elif kind in _ENDINGS:
            self._ended[run.last.position][_ENDINGS[kind]] += 1
        else:
            for taken in run.taken if kind is lifecycle.Started else run.taken[-1:]:
                self._starts[taken.position].add(start)

    def _changed(self, partition: Partition) -> None:
        after = _by_state(partition.runs)
        self.largest = max(self.largest, len(partition.runs))
        if after == self._before:
            return
        for state in {*after, *self._before}:
            change = after[state] - self._before[state]
            if change:
                self.open[state] += change
                self.levels.setdefault(state, Levels()).set(self._time, self.open[state])
        self.total.set(self._time, sum(self.open.values()))


def _by_state(runs: list[Run]) -> Counter[int]:
    return Counter(run.state for run in runs)
