"""A run: one partial match. Immutable; a fork is a second object."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheid.pattern.event import Event
from cepheid.plan.automaton import Component


@dataclass(frozen=True, slots=True)
class Taken:
    """An event a run holds: at which position, as which event of the partition, with which rank in its time."""

    position: int
    event: Event
    index: int  # running number of the partition's events
    rank: int  # among the partition's relevant events of the same time


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Where a run is, what it holds, and what of its future is already ruled out."""

    start: int  # index of its first event: the copies of one start are one family
    state: int
    taken: tuple[Taken, ...]
    binds: dict[str, tuple[Event, ...]]
    counts: dict[int, int]  # rounds of each closure it has been in
    # Closures that take no more; -1 - closure: a greedy one that its `until` has closed.
    closed: frozenset[int] = frozenset()
    blocked: frozenset[int] = frozenset()  # bases of edges, and -1 - accept, stopped by an absence
    marks: dict[Component, Taken] = field(default_factory=dict)  # the last event of each part
    scopes: dict[int, int] = field(default_factory=dict)  # when each scope began
    path: tuple[tuple[int, int], ...] = ()  # (edge, event) of every move but those into and inside closures
    late: bool = False
    weight: int = 1  # how many runs this one stands for, where runs are only counted

    @property
    def first(self) -> Taken:
        return self.taken[0]

    @property
    def last(self) -> Taken:
        return self.taken[-1]

    @property
    def start_time(self) -> int:
        return self.first.event.time if not self.late else min(t.event.time for t in self.taken)

    @property
    def end_time(self) -> int:
        return max(t.event.time for t in self.taken)

    def events(self) -> tuple[Event, ...]:
        return tuple(t.event for t in self.taken)

    def indexes(self) -> frozenset[int]:
        return frozenset(t.index for t in self.taken)

    def mark(self, component: Component) -> Taken | None:
        """The last event of a component; of the nearest one around it if it has none yet."""
        while component not in self.marks:
            if not component:
                return None
            component = component[:-1]
        return self.marks[component]

    def with_closed(self, *closures: int) -> Run:
        return replace(self, closed=self.closed.union(closures))
