"""What is done to a working memory: operations with their times, in the order they count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

ASSERT, UPDATE, RETRACT, EVENT, RETRACT_EVENT = "assert", "update", "retract", "event", "retract event"
END = "end"  # of the interval in which a fact is so: retracted, unless it is asserted anew at that time
FACT_OPERATIONS = (ASSERT, UPDATE, RETRACT)
BEGINNING = 0  # 1970


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that comes from outside. Times are microseconds."""

    kind: str
    type: str
    time: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    identity: Any = None
    place: int = 0  # in the order it was given
    always: bool = False  # so from the beginning: the time is not yet known

    def order(self) -> tuple[int, int, int]:
        """By time; at one time what changes facts before events; then as given."""
        return (self.time, self.kind in (EVENT, RETRACT_EVENT), self.place)


def in_order(operations: Iterable[Operation], now: int | None = None) -> list[Operation]:
    """Sorted; what was always so comes first, at the time it is now, or in 1970, or earlier if something else is."""
    given = list(operations)
    if any(o.always for o in given):
        start = min([BEGINNING, *(o.time for o in given if not o.always)]) if now is None else now
        given = [replace(o, time=start, always=False) if o.always else o for o in given]
    return sorted(given, key=Operation.order)


def with_ends(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Operations in order, where an interval that ends is a retraction, or none if the fact goes on at that time."""
    for _, together in groupby(operations, key=lambda o: o.time):
        now = list(together)
        if not any(o.kind == END for o in now):
            yield from now
            continue
        goes_on = {(o.type, o.identity) for o in now if o.kind == ASSERT}
        for o in now:
            if o.kind != END:
                yield o
            elif (o.type, o.identity) not in goes_on:
                yield replace(o, kind=RETRACT)
