"""What a matcher reports: matches, pending absences, timeouts, forecasts and what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cepheid.pattern.event import Event


@dataclass(frozen=True)
class Match:
    """A complete match. `end` is the last event's time, or the time an absence became certain."""

    id: str
    key: tuple[Any, ...]
    events: tuple[Event, ...]
    binds: dict[str, tuple[Event, ...]]
    start: int
    end: int
    detected: int  # the time at which it became certain
    late: bool = False
    provisional: bool = False
    count: int = 1  # how many matches this row stands for (count_matches)


@dataclass(frozen=True)
class Pending:
    """An absence that holds so far; `deadline` is when it becomes certain."""

    key: tuple[Any, ...]
    events: tuple[Event, ...]
    binds: dict[str, tuple[Event, ...]]
    start: int
    deadline: int | None


@dataclass(frozen=True)
class Timeout:
    """A run that was evicted by its window without a match."""

    key: tuple[Any, ...]
    events: tuple[Event, ...]
    binds: dict[str, tuple[Event, ...]]
    start: int
    deadline: int
    reached: str  # the step it got to
    waiting_for: tuple[str, ...]


@dataclass(frozen=True)
class Foretold:
    """A forecast of an open run."""

    run_id: str
    key: tuple[Any, ...]
    binds: dict[str, tuple[Event, ...]]
    time: int
    event: int  # the number of the event it was made at, in its partition
    start: int
    values: tuple[Any, ...]  # as in FORECAST_VALUES


@dataclass(frozen=True)
class Outcome:
    """What became of a run that was foretold: completed, ended (without a match), open (the input is over)."""

    run_id: str
    key: tuple[Any, ...]
    events: tuple[Event, ...]
    time: int
    event: int
    start: int
    outcome: str


@dataclass(frozen=True)
class Findings:
    """One answer of a matcher."""

    matches: tuple[Match, ...] = ()
    timeouts: tuple[Timeout, ...] = ()
    pending: tuple[Pending, ...] = ()
    forecasts: tuple[Foretold, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    def __add__(self, other: Findings) -> Findings:
        return merged([self, other])


def merged(parts: Iterable[Findings]) -> Findings:
    """Several answers as one, in their order."""
    matches: list[Match] = []
    timeouts: list[Timeout] = []
    pending: list[Pending] = []
    forecasts: list[Foretold] = []
    outcomes: list[Outcome] = []
    for part in parts:
        matches += part.matches
        timeouts += part.timeouts
        pending += part.pending
        forecasts += part.forecasts
        outcomes += part.outcomes
    return Findings(tuple(matches), tuple(timeouts), tuple(pending), tuple(forecasts), tuple(outcomes))
