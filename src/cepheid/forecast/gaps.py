"""How long it is to the next event: a histogram for each pair of symbols, fine in the small and coarse in the big.

Gaps are taken to depend on the symbol before and the symbol after, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.context_tree import BEGINNING

FINENESS = 8  # bins for each doubling
BORROWED = 4.0  # a pair that was seldom seen borrows so many gaps from all pairs with the same symbol after
Floats = NDArray[np.float64]
Pair = tuple[int, int]


@dataclass
class Gaps:
    """By (symbol before, symbol after): bin -> [how many, their sum]."""

    bins: dict[Pair, dict[int, list[int]]] = field(default_factory=dict)
    silent: dict[int, int] = field(default_factory=dict)  # after a symbol nothing came, as long as was waited
    followed: dict[int, int] = field(default_factory=dict)  # after a symbol something came

    def learn(self, before: int, after: int, gap: int) -> None:
        bins = self.bins.setdefault((before, after), {})
        one = bins.setdefault(_bin(gap), [0, 0])
        one[0] += 1
        one[1] += gap
        self.followed[before] = self.followed.get(before, 0) + 1

    def learn_silence(self, before: int) -> None:
        self.silent[before] = self.silent.get(before, 0) + 1

    def goes_on(self, before: int) -> float:
        """The chance that anything comes after a symbol."""
        came, not_came = self.followed.get(before, 0), self.silent.get(before, 0)
        return 1.0 if not not_came else came / (came + not_came)

    def mean(self) -> float:
        every = [one for bins in self.bins.values() for one in bins.values()]
        count = sum(n for n, _ in every)
        return sum(total for _, total in every) / count if count else 0.0

    def commonest(self) -> float:
        """The mean of the fullest bin of all pairs; of two, of the shorter gaps."""
        joined: dict[int, list[int]] = {}
        for bins in self.bins.values():
            for number, (count, total) in bins.items():
                one = joined.setdefault(number, [0, 0])
                one[0] += count
                one[1] += total
        if not joined:
            return 0.0
        count, total = joined[min(joined, key=lambda number: (-joined[number][0], number))]
        return total / count

    def on_grid(self, symbols: int, width: float, size: int) -> Floats:
        """The law of the gap in steps of `width`, 0 to `size`: by symbol before (the last row: any), symbol after.

        What is longer than the grid is left out, so that a law may sum up to less than 1. A gap between two steps is
        shared by them so that the mean stays.
        """
        raw = np.zeros((symbols + 1, symbols, size + 1))
        counts = np.zeros((symbols + 1, symbols))
        for (before, after), bins in self.bins.items():
            own = np.zeros(size + 1)
            for count, total in bins.values():
                _put(own, total / count / width, count)
            number = sum(count for count, _ in bins.values())
            if before != BEGINNING:
                raw[before, after] += own
                counts[before, after] += number
            raw[symbols, after] += own
            counts[symbols, after] += number
        overall, number = raw[symbols].sum(axis=0), counts[symbols].sum()
        pooled = (raw[symbols] + BORROWED * (overall / max(number, 1.0))) / (
            counts[symbols][:, None] + BORROWED
        )
        laws: Floats = (raw + BORROWED * pooled) / (counts[:, :, None] + BORROWED)
        laws[symbols] = pooled
        return laws

    def as_data(self) -> dict[str, Any]:
        return {
            "bins": [[b, a, [[k, *v] for k, v in bins.items()]] for (b, a), bins in self.bins.items()],
            "silent": list(self.silent.items()),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Gaps:
        bins = {(b, a): {k: [n, t] for k, n, t in rows} for b, a, rows in data["bins"]}
        followed: dict[int, int] = {}
        for (before, _), own in bins.items():
            followed[before] = followed.get(before, 0) + sum(n for n, _ in own.values())
        return cls(bins, dict(data["silent"]), followed)


def _bin(gap: int) -> int:
    return 0 if gap <= 0 else 1 + int(FINENESS * log2(gap))


def _put(law: Floats, place: float, count: int) -> None:
    low = int(place)
    part = place - low
    if low < len(law):
        law[low] += count * (1.0 - part)
    if low + 1 < len(law):
        law[low + 1] += count * part
