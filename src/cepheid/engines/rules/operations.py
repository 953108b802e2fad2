"""What is done to a working memory: operations with their times, in the order they count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from cepheid.errors import InputMistake

ASSERT, UPDATE, RETRACT, EVENT, RETRACT_EVENT = "assert", "update", "retract", "event", "retract event"
BEGIN = "begin"  # of an interval in which a fact is so: asserted
END = "end"  # of it: retracted, unless the fact is asserted anew at that time
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
    stamped: str | None = None  # of an event of a table: the field that is its time

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


Intervals = set[tuple[str, Any]]  # the facts, by type and identity, in whose interval it is now


def without_intervals(
    operations: Iterable[Operation], inside: Intervals, shown: Callable[[int], Any]
) -> Iterator[Operation]:
    """Operations in order, where an interval that begins is an assertion, and one that ends a retraction, or nothing if
    the fact goes on at that time. Two intervals of one fact at once are a mistake.

    `inside` is what is known from before, and is kept up to date. `shown`: times in messages.
    """
    for time, together in groupby(operations, key=lambda o: o.time):
        now = list(together)
        if not any(o.kind in (BEGIN, END) for o in now):
            yield from now
            continue
        inside -= {(o.type, o.identity) for o in now if o.kind == END}
        goes_on = {(o.type, o.identity) for o in now if o.kind in (ASSERT, BEGIN)}
        for o in now:
            name = (o.type, o.identity)
            if o.kind == BEGIN:
                if name in inside:
                    raise _twice(o, shown(time))
                inside.add(name)
                yield replace(o, kind=ASSERT)
            elif o.kind != END:
                yield o
            elif name not in goes_on:
                yield replace(o, kind=RETRACT)


def _twice(operation: Operation, time: Any) -> InputMistake:
    return InputMistake(
        f"{operation.type} {operation.identity} is there twice at {time}",
        code="overlapping_facts",
        hint="end the interval before it: `valid_to` is the first moment at which a fact is no longer so",
    )
