"""What followed which context, the last symbols before it: nothing but counts, so that learning takes one step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CONTEXTS = 1 << 16
BEGINNING = -1  # what stands in a context before the first symbol of a key

Context = tuple[int, ...]  # symbols, the last one first
Ints = NDArray[np.int64]


def deepest(symbols: int, wished: int) -> int:
    """How long contexts are, so that there is room for all that can be. One symbol at least: gaps depend on it.

    >>> deepest(4, 5), deepest(9, 5), deepest(64, 5), deepest(4, 0)
    (5, 4, 2, 1)
    """
    depth = 1
    while depth < wished and (symbols + 1) ** (depth + 1) <= MOST_CONTEXTS:
        depth += 1
    return depth


@dataclass(frozen=True)
class ContextTable:
    """The same as arrays: [row, symbols back], with BEGINNING where there is none, and [row, symbol]."""

    contexts: Ints
    counts: Ints

    @property
    def symbols(self) -> int:
        return int(self.counts.shape[1])

    def as_data(self) -> dict[str, Any]:
        return {"contexts": self.contexts.tolist(), "counts": self.counts.tolist()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ContextTable:
        return cls(np.array(data["contexts"], np.int64), np.array(data["counts"], np.int64))


@dataclass
class ContextCounts:
    """Learns symbols one by one."""

    wished: int  # the longest context that is asked for
    symbols: int = 0  # how many are known
    counts: dict[Context, dict[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.depth = deepest(self.symbols, self.wished)

    def learn(self, recent: Context, symbol: int) -> None:
        """`recent`: the symbols before it, the last one first, with BEGINNING where there is none."""
        if symbol >= self.symbols:
            self.meet(symbol)
        counts = self._after(recent)
        counts[symbol] = counts.get(symbol, 0) + 1

    def meet(self, symbol: int) -> None:
        """A symbol that is new. Where there are many, contexts get shorter."""
        self.symbols = symbol + 1
        depth = deepest(self.symbols, self.wished)
        if depth < self.depth:
            self.depth, before, self.counts = depth, self.counts, {}
            for context, counts in before.items():
                self.add(context, counts.items())

    def add(self, context: Context, seen: Iterable[tuple[int, int]]) -> None:
        counts = self._after(context)
        for symbol, count in seen:
            counts[symbol] = counts.get(symbol, 0) + count

    def _after(self, context: Context) -> dict[int, int]:
        context = context[: self.depth]
        counts = self.counts.get(context)
        if counts is None:
            counts = self.counts[context] = {}
        return counts

    def table(self) -> ContextTable:
        contexts = np.array(list(self.counts), np.int64).reshape(len(self.counts), self.depth)
        counts = np.zeros((len(self.counts), self.symbols), np.int64)
        for row, own in enumerate(self.counts.values()):
            counts[row, list(own)] = list(own.values())
        return ContextTable(contexts, counts)

    # As plain data.

    def as_data(self) -> dict[str, Any]:
        counts = [[list(context), list(own.items())] for context, own in self.counts.items()]
        return {"depth": self.wished, "symbols": self.symbols, "counts": counts}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ContextCounts:
        counts = {tuple(context): dict(own) for context, own in data["counts"]}
        return cls(data["depth"], data["symbols"], counts)
