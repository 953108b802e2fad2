"""What a session of rules tells: firings, and what their actions did.

Nobody changes one. They are not frozen because frozen ones take three times as long to make, and many are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.rules.objects import Event, Fact, Thing


@dataclass(slots=True)
class Fired:
    """A rule fired. `objects`: what it matched, by variable; without one by the line, as `_2`."""

    rule: str
    time: int
    objects: Mapping[str, Thing]
    number: int


@dataclass(slots=True)
class Emitted:
    stream: str
    fields: Mapping[str, Any]
    time: int
    firing: int


@dataclass(slots=True)
class Asserted:
    """A fact or an event that was not there before."""

    object: Thing
    time: int
    firing: int


@dataclass(slots=True)
class Modified:
    object: Fact
    before: Fact
    time: int
    firing: int


@dataclass(slots=True)
class Retracted:
    object: Thing
    time: int
    firing: int


@dataclass(slots=True)
class Skipped:
    """An action, or an operation from outside (then there is no firing), that had nothing to work on."""

    action: str
    reason: str
    time: int
    firing: int | None


@dataclass(slots=True)
class Released:
    """No rule can use this event any more: it is let go."""

    event: Event
    time: int


Happening = Fired | Emitted | Asserted | Modified | Retracted | Skipped | Released
