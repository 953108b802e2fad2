"""How long it is to the next event: a histogram for each pair of symbols, fine in the small and coarse in the big.

Gaps are taken to depend on the symbol before and the symbol after, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.context_counts import Ints

FINENESS = 8  # bins for each doubling
BINS = 1 + 64 * FINENESS
BORROWED = 4.0  # a pair that was seldom seen borrows so many gaps from all pairs with the same symbol after
Floats = NDArray[np.float64]
Pair = tuple[int, int]


def bin_of(gap: int) -> int:
    """
    >>> [bin_of(gap) for gap in (0, 1, 2, 3, 4, 1000, 1001, 1100)]
    [0, 1, 9, 13, 17, 80, 80, 81]
    """
    if gap <= 0:
        return 0
    part, doublings = frexp(gap)
    return 1 + FINENESS * (doublings - 1) + int(2 * FINENESS * part) - FINENESS


@dataclass(frozen=True)
class GapTable:
    """A row for each bin of each pair: the two symbols, the number of the bin, how many gaps; and their sum."""

    rows: Ints
    totals: Floats
    silent: Ints  # how often nothing came after each symbol, as long as was waited

    @property
    def symbols(self) -> int:
        return len(self.silent)

    def mean(self) -> float:
        count = int(self.rows[:, 3].sum())
        return float(self.totals.sum()) / count if count else 0.0

    def commonest(self) -> float:
        """The mean of the fullest bin of all pairs; of two, of the shorter gaps."""
        if not len(self.rows):
            return 0.0
        counts = np.bincount(self.rows[:, 2], self.rows[:, 3])
        fullest = int(np.argmax(counts))
        return float(self.totals[self.rows[:, 2] == fullest].sum() / counts[fullest])

    def goes_on(self) -> Floats:
        """The chance that anything comes after each symbol; the last one: after the beginning."""
        came = np.bincount(self.rows[:, 0], self.rows[:, 3], self.symbols)
        went_on: Floats = np.ones(self.symbols + 1)
        once = self.silent > 0
        went_on[:-1][once] = came[once] / (came[once] + self.silent[once])
        return went_on

    def on_grid(self, width: float, size: int) -> Floats:
        """The law of the gap in steps of `width`, 0 to `size`: by symbol before (the last row: any), symbol after.

        What is longer than the grid is left out, so that a law may sum up to less than 1. A gap between two steps is
        shared by them so that the mean stays.
        """
        symbols, length = self.symbols, size + 1
        pairs, counts = self.rows[:, 0] * symbols + self.rows[:, 1], self.rows[:, 3]
        places = self.totals / counts / width
        low = np.minimum(places, length).astype(np.int64)  # beyond the grid all are alike
        part = np.where(low < length, places - low, 0.0)
        spread = np.zeros((symbols**2, length + 2))
        np.add.at(spread, (pairs, low), counts * (1.0 - part))
        np.add.at(spread, (pairs, low + 1), counts * part)
        raw = spread[:, :length].reshape(symbols, symbols, length)
        numbers = np.bincount(pairs, counts, symbols**2).reshape(symbols, symbols, 1)
        every, number = raw.sum(axis=0), numbers.sum(axis=0)
        overall = every.sum(axis=0) / max(number.sum(), 1.0)
        pooled = (every + BORROWED * overall) / (number + BORROWED)
        return np.concatenate([(raw + BORROWED * pooled) / (numbers + BORROWED), pooled[None]])

    def as_data(self) -> dict[str, Any]:
        return {
            "rows": self.rows.tolist(),
            "totals": self.totals.tolist(),
            "silent": self.silent.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GapTable:
        rows = np.array(data["rows"], np.int64).reshape(-1, 4)
        return cls(rows, np.array(data["totals"], np.float64), np.array(data["silent"], np.int64))


@dataclass
class Gaps:
    """By (symbol before, symbol after): bin -> [how many, their sum]."""

    bins: dict[Pair, dict[int, list[int]]] = field(default_factory=dict)
    silent: dict[int, int] = field(default_factory=dict)  # after a symbol nothing came, as long as was waited

    def learn(self, before: int, after: int, gap: int) -> None:
        self.add((before, after), bin_of(gap), 1, gap)

    def add(self, pair: Pair, number: int, count: int, total: int) -> None:
        bins = self.bins.get(pair)
        if bins is None:
            bins = self.bins[pair] = {}
        one = bins.get(number)
        if one is None:
            bins[number] = [count, total]
        else:
            one[0] += count
            one[1] += total

    def learn_silence(self, before: int, count: int = 1) -> None:
        self.silent[before] = self.silent.get(before, 0) + count

    def table(self, symbols: int) -> GapTable:
        silent = np.zeros(symbols, np.int64)
        for before, count in self.silent.items():
            silent[before] = count
        every = [(*pair, k, *one) for pair, bins in self.bins.items() for k, one in bins.items()]
        every.sort()
        rows = np.array([row[:4] for row in every], np.int64).reshape(-1, 4)
        return GapTable(rows, np.array([row[4] for row in every], np.float64), silent)

    def as_data(self) -> dict[str, Any]:
        return {
            "bins": [[b, a, [[k, *v] for k, v in bins.items()]] for (b, a), bins in self.bins.items()],
            "silent": list(self.silent.items()),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Gaps:
        bins = {(b, a): {k: [n, t] for k, n, t in rows} for b, a, rows in data["bins"]}
        return cls(bins, dict(data["silent"]))
