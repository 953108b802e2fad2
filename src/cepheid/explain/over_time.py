"""Numbers over time in little room: slots of a round length, which become longer as there are more of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.pattern.duration import duration

# Each is a multiple of the one before, so that slots can be put together.
_LENGTHS = [
    duration(text)
    for text in ("1ms", "10ms", "100ms", "1s", "10s", "1m", "10m", "1h", "6h", "1d", "10d", "100d", "1000d")
]
MOST_SLOTS = 600


class _Slots:
    def __init__(self, most: int = MOST_SLOTS) -> None:
        self.most = most
        self.length = _LENGTHS[0]

    def _longer(self) -> int | None:
        """The next length, of which the one now is a part; None: there is none."""
        return next((length for length in _LENGTHS if length > self.length), None)


class Counts(_Slots):
    """How many things happened in each slot."""

    def __init__(self, most: int = MOST_SLOTS) -> None:
        super().__init__(most)
        self.counts: dict[int, int] = {}

    def add(self, time: int, count: int = 1) -> None:
        slot = time // self.length
        self.counts[slot] = self.counts.get(slot, 0) + count
        while len(self.counts) > self.most and (longer := self._longer()) is not None:
            merged: dict[int, int] = {}
            for old, own in self.counts.items():
                new = old * self.length // longer
                merged[new] = merged.get(new, 0) + own
            self.counts, self.length = merged, longer

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def points(self) -> list[tuple[int, int]]:
        """When each slot begins and how many there are in it; empty slots are left out."""
        return [(slot * self.length, count) for slot, count in sorted(self.counts.items())]


@dataclass
class _Level:
    most: int
    last: int


class Levels(_Slots):
    """A number that goes up and down: the most it was in each slot, and where it stood at the slot's end."""

    def __init__(self, most: int = MOST_SLOTS) -> None:
        super().__init__(most)
        self.levels: dict[int, _Level] = {}  # in the order of time
        self.now = 0
        self.peak = 0

    def set(self, time: int, value: int) -> None:
        """From this time on. What comes late counts as if it came now."""
        slot = max(time // self.length, next(reversed(self.levels), time // self.length))
        level = self.levels.get(slot)
        if level is None:
            self.levels[slot] = _Level(max(self.now, value), value)
        else:
            level.most, level.last = max(level.most, value), value
        self.now, self.peak = value, max(self.peak, value)
        while len(self.levels) > self.most and (longer := self._longer()) is not None:
            merged: dict[int, _Level] = {}
            for old, own in self.levels.items():
                new = old * self.length // longer
                before = merged.get(new)
                merged[new] = own if before is None else _Level(max(before.most, own.most), own.last)
            self.levels, self.length = merged, longer

    def points(self) -> Iterator[tuple[int, int]]:
        """A line: the most in each slot, and where it stood until the next slot that has any news."""
        follow = [*self.levels, None]
        for (slot, level), after in zip(self.levels.items(), follow[1:], strict=True):
            yield slot * self.length, level.most
            if level.last != level.most and after != slot + 1:
                yield (slot + 1) * self.length, level.last
