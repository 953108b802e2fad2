"""What every matcher does, wherever it runs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Protocol

from cepheid.matching.found import Findings
from cepheid.pattern.event import Event

Key = tuple[Hashable, ...]


class Matcher(Protocol):
    """Serves many keys at once. Events come in total order, or marked late."""

    def on_batch(self, events: Sequence[Event]) -> Findings:
        """Match events in the order given."""

    def on_time(self, time: int) -> Findings:
        """The watermark has reached `time`: every deadline before it has passed."""

    def on_end(self, time: int) -> Findings:
        """The input is over, at `time`."""

    def next_look(self) -> int | None:
        """When time has passed this, there is something to do without any event."""

    def snapshot(self, keys: Iterable[Key] | None = None) -> bytes:
        """Everything the open runs of all keys, or of some, need: Arrow IPC with a version."""

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot."""

    def absorb(self, state: bytes) -> list[Key]:
        """Take on the keys of a snapshot and leave the others as they are."""

    def take_touched(self) -> set[Key]:
        """The keys whose state changed, or went, since the last call."""

    def open_keys(self) -> Collection[Key]:
        """The keys that have state."""

    def holds(self, key: Key) -> bool:
        """Is there any state of this key?"""

    def forget(self, keys: Iterable[Key]) -> None:
        """As if there had never been an event of these keys."""
