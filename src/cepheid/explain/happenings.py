"""What happened to runs, event by event: plain records, made by the recorder and read by why-not and the debugger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.matching.found import Match
from cepheid.matching.run import Run
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class Happening:
    """Something that happened to a run, which goes by its number in the trace."""

    run: int


@dataclass(frozen=True)
class Began(Happening):
    step: str


@dataclass(frozen=True)
class Advanced(Happening):
    """`run` is what became of `from_run` when it took the event as `step`; with `forked` that one waits on as well."""

    step: str
    from_run: int
    forked: bool


@dataclass(frozen=True)
class Looped(Advanced):
    """Another event of a closure."""


@dataclass(frozen=True)
class Passed(Happening):
    """The event did not fit, and the run waits on. `causes`: why, for each way on that wants such a type."""

    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Blocked(Happening):
    """The event closed one way on; the run has others."""

    by: str


@dataclass(frozen=True)
class Killed(Happening):
    """`kind` is guard, absence, contiguity, or closed (by `until`); `rule` is what the pattern says."""

    kind: str
    rule: str


@dataclass(frozen=True)
class Expired(Happening):
    """`window` is the bound that ended, at `deadline`."""

    window: str
    bound: int
    deadline: int


@dataclass(frozen=True)
class Matched(Happening):
    match_id: str


@dataclass(frozen=True)
class Withheld(Happening):
    """Complete, but not given out."""

    reason: str


@dataclass(frozen=True)
class Dropped(Happening):
    """Ended by another match, by a skip strategy, by a newer start."""

    reason: str


@dataclass(frozen=True)
class Evicted(Happening):
    limit: str


@dataclass(frozen=True)
class Waiting(Happening):
    """The input ended and the absence is not yet certain."""

    deadline: int | None


@dataclass(frozen=True)
class TracedRun:
    """A run as one thread: from the frame in which it came to the one in which it went (it is not in that one)."""

    number: int
    key: tuple[Any, ...]
    parent: int | None  # the run it comes from, by taking one event more
    state: int
    held: tuple[tuple[str, Event], ...]  # step and event, in the order they were taken
    born: int
    gone: int | None
    end: Happening | None  # how it ended; None: still open, or moved on
    moved: bool  # it ended by becoming its children
    run: Run = field(repr=False, compare=False)


@dataclass(frozen=True)
class Frame:
    """One step of the matcher: an event offered to its partition, or time passing a deadline, or the end."""

    number: int
    kind: str  # event, time, end
    time: int
    key: tuple[Any, ...]
    event: Event | None
    happened: tuple[Happening, ...]

    @property
    def changes(self) -> bool:
        """Did anything happen beyond being passed over?"""
        return any(not isinstance(h, Passed) for h in self.happened)


@dataclass(frozen=True)
class Trace:
    """Everything that happened."""

    plan: Plan
    frames: tuple[Frame, ...]
    runs: tuple[TracedRun, ...]
    matches: tuple[Match, ...]

    def open_at(self, frame: int, key: tuple[Any, ...] | None = None) -> list[TracedRun]:
        """The runs that are open after a frame."""
        return [
            r
            for r in self.runs
            if r.born <= frame and (r.gone is None or r.gone > frame) and key in (None, r.key)
        ]

    def keys(self) -> list[tuple[Any, ...]]:
        """The partitions, in the order they came."""
        return list(dict.fromkeys(f.key for f in self.frames if f.event is not None))
