"""Where one is in a trace: forward, back, to the next change, in one partition or in all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheid.explain.happenings import Frame, Trace


@dataclass(frozen=True)
class Cursor:
    """A place in a trace. `key` None: all partitions."""

    trace: Trace
    at: int = 0
    key: tuple[Any, ...] | None = None

    @property
    def frame(self) -> Frame:
        return self.trace.frames[self.at]

    def _shown(self, number: int) -> bool:
        return self.key is None or self.trace.frames[number].key == self.key

    def _first(self, numbers: range, *, changes: bool = False) -> Cursor:
        for number in numbers:
            if self._shown(number) and (not changes or self.trace.frames[number].changes):
                return replace(self, at=number)
        return self

    def next(self) -> Cursor:
        return self._first(range(self.at + 1, len(self.trace.frames)))

    def previous(self) -> Cursor:
        return self._first(range(self.at - 1, -1, -1))

    def next_change(self) -> Cursor:
        return self._first(range(self.at + 1, len(self.trace.frames)), changes=True)

    def to(self, step: int) -> Cursor:
        """By the number that is shown, from 1; beyond the ends, to the ends."""
        return replace(self, at=max(0, min(step, len(self.trace.frames)) - 1))

    def filtered(self) -> Cursor:
        """All partitions, then each of them in turn."""
        keys = self.trace.keys()
        turn: list[tuple[Any, ...] | None] = [None, *keys]
        key = turn[(turn.index(self.key) + 1) % len(turn)]
        moved = replace(self, key=key)
        if moved._shown(self.at):
            return moved
        return moved._first(range(self.at, len(self.trace.frames)))._or_before(moved)

    def _or_before(self, origin: Cursor) -> Cursor:
        return self if self._shown(self.at) else origin._first(range(origin.at, -1, -1))
