"""What a working memory holds: facts, which change, and events, which happen once. Times are microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Fact:
    """A fact in one of its states. Nobody changes it: an update makes another one with the same identity."""

    type: str
    identity: Any
    fields: Mapping[str, Any]
    number: int  # of the operation that made this state
    time: int
    cell: Any = field(default=None, repr=False)  # where a session keeps its states

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened. Of a change: the fact's new fields, the old ones as `old`, and the fact."""

    type: str
    identity: Any
    fields: Mapping[str, Any]
    number: int
    time: int
    fact: Fact | None = None  # of a change: the fact right after it
    retracted: bool = field(default=False, repr=False)  # by a rule or from outside, not by the clock
    held: Any = field(default=None, repr=False)  # where a session keeps it, if it may be retracted

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)


Thing = Fact | Event
