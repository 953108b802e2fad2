"""An event as every matcher sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Arrivals from here on are matches of other streams: they come after all events of their time.
DERIVED = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A record with a type and a time in microseconds. Two equal records are two events."""

    type: str
    time: int
    fields: Mapping[str, Any]
    order: tuple[Any, ...] = ()  # the values of the user's order columns
    seq: int = 0  # arrival
    end: int | None = None
    late: bool = field(default=False, kw_only=True)
    passed: int | None = field(default=None, kw_only=True)  # tests answered before the matcher, as bits
    # Its number among the relevant events of its time, where a matcher does not see them all.
    rank: int | None = field(default=None, kw_only=True)

    def place_in_order(self) -> tuple[Any, ...]:
        """Sorts events into the total order: time, order columns (null first), arrival."""
        if self.seq >= DERIVED:
            return (self.time, *((2, 0) for _ in self.order), self.seq)
        return (self.time, *((v is not None, v) for v in self.order), self.seq)
