"""What an expression may look at, and what it becomes: a function of the moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.pattern.event import Event


@dataclass(slots=True)  # mutable on purpose: one is reused in the hot loop
class Moment:
    """What an expression may look at."""

    event: Event | None  # the event at hand (bare fields)
    binds: Mapping[str, tuple[Event, ...]]  # alias -> its events, in order; absent or () is not bound
    previous: Event | None = None  # the event of the run taken just before (for a closure's own name)
    key: tuple[Any, ...] = ()  # partition key values, in the order of `keys`
    match: Any = None  # has .id, .start, .end and .count for the match functions


Value = Callable[[Moment], Any]
Test = Callable[[Moment], bool]


@dataclass(frozen=True)
class Names:
    """What names mean where an expression stands."""

    own: str | None  # the closure whose condition this is
    keys: tuple[str, ...]


def constant(value: Any) -> Value:
    return lambda moment: value
