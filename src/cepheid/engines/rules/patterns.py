"""The patterns beside rules, with a way back: a step of rules and patterns that fails is taken back in both."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.engines.network import MakeMatcher, Network
from cepheid.engines.program import Program
from cepheid.matching.found import Findings
from cepheid.pattern.event import Event

_AT_LEAST = 256  # steps between two snapshots,
_BYTES_A_STEP = 64  # and more of them if the state is large: so a snapshot is no great part of the work


class Patterns:
    """Matchers cannot take anything back. So what they were given since a snapshot is kept, and given to new ones."""

    def __init__(self, program: Program, make: MakeMatcher) -> None:
        self._program, self._make = program, make
        self._network = Network(program, make)
        self._snapshot: bytes | None = None  # None: there was nothing yet
        self._given: list[tuple[tuple[Event, ...], int | None]] = []  # since then
        self._most = _AT_LEAST
        self.rows = self._network.rows

    def on_events(self, events: Sequence[Event], watermark: int | None = None) -> dict[str, Findings]:
        self._given.append((tuple(events), watermark))
        return self._network.on_events(events, watermark)

    def on_end(self, time: int) -> dict[str, Findings]:
        """Nothing comes after it, so it is not to be given again."""
        return self._network.on_end(time)

    def next_look(self) -> int | None:
        return self._network.next_look()

    def begin(self) -> int:
        """Of a step; what it is taken back to."""
        if len(self._given) >= self._most:
            self._start_from(self._network.snapshot())
        return len(self._given)

    def take_back(self, mark: int) -> None:
        del self._given[mark:]
        self._network = Network(self._program, self._make, rows=self.rows)
        if self._snapshot is not None:
            self._network.restore(self._snapshot)
        for events, watermark in self._given:
            self._network.on_events(events, watermark)

    def snapshot(self) -> bytes:
        return self._network.snapshot()

    def restore(self, state: bytes) -> None:
        self._network.restore(state)
        self._start_from(state)

    def _start_from(self, snapshot: bytes) -> None:
        self._snapshot, self._given = snapshot, []
        self._most = max(_AT_LEAST, len(snapshot) // _BYTES_A_STEP)
