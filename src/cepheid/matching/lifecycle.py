"""A run's life as typed events, for listeners: `--trace`, the debugger, the graph engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cepheid.pattern.event import Event


@dataclass(frozen=True)
class RunEvent:
    """Something that happened to a run. `run` numbers runs of a partition by their start; `taken` is what it holds."""

    stream: str
    key: tuple[Any, ...]
    run: int
    time: int
    taken: tuple[Event, ...]


@dataclass(frozen=True)
class Started(RunEvent):
    event: Event


@dataclass(frozen=True)
class Advanced(RunEvent):
    event: Event
    step: str
    forked: bool  # a copy stayed where the run was


@dataclass(frozen=True)
class Completed(RunEvent):
    match_id: str


@dataclass(frozen=True)
class Negated(RunEvent):
    event: Event
    by: str  # the absence or guard that was violated


@dataclass(frozen=True)
class Expired(RunEvent):
    deadline: int


@dataclass(frozen=True)
class Evicted(RunEvent):
    """Dropped by a limit's policy."""

    limit: str


@dataclass(frozen=True)
class Dropped(RunEvent):
    """Ended by another match: its events were used (`stnm`) or skipped, or a newer start took its place."""

    reason: str


Listener = Callable[[RunEvent], None]
