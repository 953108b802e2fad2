"""What a sifter tells: threads that advanced, completed, were negated, expired, were excluded or ended from outside.

A match is told as the sifter at hand knows it: times in microseconds, or as its user writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Match = TypeVar("Match")


@dataclass(frozen=True)
class Happening:
    pattern: str
    thread: int
    binds: dict[str, Any]


@dataclass(frozen=True)
class Advanced(Happening):
    """A stage was found; the thread it was found for stays as it was."""

    stage: str
    parent: int | None  # None: it has just begun


@dataclass(frozen=True)
class Completed(Happening, Generic[Match]):
    match: Match


@dataclass(frozen=True)
class Negated(Happening):
    """Something was there that must not be: the place of the `unless` in its block, and what it bound."""

    unless: int
    by: dict[str, Any]


@dataclass(frozen=True)
class Expired(Happening):
    stage: str  # the last that it had found
    elapsed: int  # ticks


@dataclass(frozen=True)
class Excluded(Happening, Generic[Match]):
    """Another alternative of an exclusive choice has completed with the same shared values."""

    by: Match


@dataclass(frozen=True)
class Ended(Happening):
    """From outside: an entity that it has bound was taken away, or its pattern was disabled."""

    stage: str  # the last that it had found


@dataclass(frozen=True)
class TickDelta:
    """What a tick changed, as names of patterns, one for each thread."""

    tick: int
    advanced: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    negated: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    active: int = 0
