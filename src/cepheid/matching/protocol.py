"""What every matcher does, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cepheid.matching.found import Findings
from cepheid.pattern.event import Event


class Matcher(Protocol):
    """Serves many keys at once. Events come in total order, or marked late."""

    def on_batch(self, events: Sequence[Event]) -> Findings:
        """Match events in the order given."""

    def on_time(self, time: int) -> Findings:
        """The watermark has reached `time`: every deadline before it has passed."""

    def on_end(self, time: int) -> Findings:
        """The input is over, at `time`."""

    def snapshot(self) -> bytes:
        """Everything open runs need, as Arrow IPC with a version."""

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot."""
