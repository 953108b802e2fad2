"""What every matcher does, wherever it runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol

from cepheid.matching.found import Findings
from cepheid.matching.shelf import Shelf
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

    shelf: Shelf  # where keys lie that are not in memory

    def take_touched(self) -> list[str]:
        """The keys whose state changed, or went, since the last call."""

    def kept(self, key: str) -> Kept | None:
        """The state of a key that is in memory; None if it has none."""

    def put_away(self, keys: Iterable[str]) -> None:
        """The shelf has these as they are: they need not be in memory."""
