"""What every matcher does, wherever it runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol

from cepheid.matching.found import Findings
from cepheid.matching.snapshot import Kept
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

    def snapshot(self) -> bytes:
        """Everything open runs need, as Arrow IPC with a version."""

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot."""

    # State key by key, for engines that keep it so. A key goes by its text.

    def keys(self) -> Iterator[str]:
        """The keys that have state."""

    def __len__(self) -> int:
        """How many keys have state."""

    def take_touched(self) -> list[str]:
        """The keys whose state changed, or went, since the last call."""

    def kept(self, key: str) -> Kept | None:
        """The state of a key; None if it has none."""

    def absorb(self, rows: Iterable[Kept]) -> None:
        """Take on the state of some keys, and leave the others as they are."""

    def forget(self, keys: Iterable[str]) -> None:
        """As if there had never been an event of these keys."""
