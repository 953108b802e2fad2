"""Why something is not a match: one record for every kind of cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cepheid.explain.tested import Tested
from cepheid.pattern.event import Event

# kind -> what it says of the events
KINDS = {
    "no_events": "there is no event at all",
    "no_event_of_type": "no event of a type the pattern needs came",
    "type": "the event is of another type",
    "condition": "a condition is false",
    "unknown": "a condition is unknown, because something is null",
    "window": "the pattern as a whole took longer than `within`",
    "step_window": "a step, a group or the gap in a closure took longer than its own `within`",
    "contiguity": "another event came between two that must be neighbours",
    "guard": "an event that `unless` rules out came",
    "absence": "an event that `NOT` rules out came",
    "pending": "an absence is not yet certain",
    "order": "the events came in another order",
    "partition": "the events are in different partitions",
    "count": "a closure has too few events",
    "full": "a closure has all the events it may have",
    "closed": "a closure takes no more",
    "greedy": "a greedy closure takes the event itself",
    "missing": "no event for a step came after the others",
    "selection": "under `stnm` and `first` a run takes the first event that fits, and an event serves one match",
    "skip": "an earlier match skipped the events",
    "emission": "a longer match of the same moment is given instead",
    "replaced": "under `every` a newer start took the run's place, or the run was busy",
    "limit": "a limit dropped the run",
    "matched": "it did match",
}

Locus = tuple[Any, ...]  # what of the pattern it is about: what to change


@dataclass(frozen=True)
class Cause:
    """One cause. `kind` is a key of `KINDS`; which of the other fields are filled depends on it."""

    kind: str
    text: str
    step: str | None = None  # the step that was not reached
    event: Event | None = None  # the event that did not fit it
    by: Event | None = None  # the event that killed the run or broke the neighbourhood
    tested: Tested | None = None
    rule: str | None = None  # the guard, the absence, the window as the pattern has it
    bound: int | None = None  # of a window, in microseconds; of a closure, a number of events
    actual: int | None = None  # what it would have had to be
    names: tuple[str, ...] = ()  # types that do come, keys the events have
    locus: Locus = field(default=(), repr=False, compare=False)

    @property
    def over(self) -> int | None:
        """By how much a window was exceeded, in microseconds."""
        if self.bound is None or self.actual is None or self.kind not in ("window", "step_window"):
            return None
        return self.actual - self.bound

    def __str__(self) -> str:
        return self.text
