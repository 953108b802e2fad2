"""Where partitions lie as text until their key or their moment comes. What is taken is no longer there."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Protocol

from cepheid.matching.snapshot import Kept


class Shelf(Protocol):
    def __bool__(self) -> bool:
        """Can there be anything?"""

    def take(self, key: str) -> Kept | None:
        """The partition of a key."""

    def take_due(self, time: int) -> Iterable[Kept]:
        """The partitions whose moment is before `time`; others may come with them."""

    def take_all(self) -> Iterable[Kept]:
        """Whatever is left."""

    def next_moment(self) -> int | None:
        """The first moment of those that are left."""


class MemoryShelf:
    """Partitions in memory, as a snapshot brought them."""

    def __init__(self, rows: Iterable[Kept] = ()) -> None:
        self.rows = {kept.key: kept for kept in rows}
        self.moments = [(kept.moment, kept.key) for kept in self.rows.values() if kept.moment is not None]
        heapq.heapify(self.moments)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def take(self, key: str) -> Kept | None:
        return self.rows.pop(key, None)

    def take_due(self, time: int) -> list[Kept]:
        found: list[Kept] = []
        while self.moments and self.moments[0][0] < time:
            kept = self.rows.pop(heapq.heappop(self.moments)[1], None)
            found += [kept] if kept is not None else []
        return found

    def take_all(self) -> list[Kept]:
        rows, self.rows, self.moments = self.rows, {}, []
        return list(rows.values())

    def next_moment(self) -> int | None:
        while self.moments and self.moments[0][1] not in self.rows:
            heapq.heappop(self.moments)
        return self.moments[0][0] if self.moments else None
