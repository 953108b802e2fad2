"""A variable-order Markov model of symbols: all context trees up to a depth at once, each weighted by how well it did.

Every node is a context, the last symbols read backwards, and knows what followed it. A node either predicts by itself
or leaves it to its longer contexts; the weight of the two is their evidence (Bayes, with even odds before the first
symbol). So a source of a low order is not blurred by contexts that are longer than they need be, and one of a high
order gets them as soon as the data bear them out. All of it follows from the counts, in whatever order they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.context_counts import BEGINNING, ContextTable, Ints

Floats = NDArray[np.float64]
_EXACT = 64  # counts below are summed up one by one, those above by Stirling's series


@dataclass(frozen=True)
class Laws:
    """The tree as an automaton that reads symbols: where each leads, what is foretold there.

    Its states are the beginnings of contexts, in the order of time: the longest one that the symbols so far end with
    tells which context holds, also when a short context is followed by a long one. They are sorted by their last
    symbol, and each symbol has at least the state of itself alone.
    """

    next: list[list[int]]  # by state and symbol
    chances: Floats  # of the next symbol: [state, symbol]
    depths: list[int]  # how many symbols of context each state's law looks at
    last: Ints  # the last symbol of each state; BEGINNING where none is known
    first: int  # where a key begins

    def at(self, recent: Sequence[int]) -> int:
        """The state after the symbols, given the last one first."""
        state = self.first if BEGINNING in recent else 0
        for symbol in reversed([s for s in recent if s != BEGINNING]):
            state = self.next[state][symbol] if symbol < len(self.next[state]) else 0
        return state


def laws_of(table: ContextTable, depth: int, most_states: int) -> Laws:
    """The contexts worth telling apart, not longer than `depth`; shorter ones, where there would be too many states."""
    tree = _Tree.of(table, depth)
    while True:
        foretold = tree.foretold(depth)
        if depth <= 1 or len(foretold) <= most_states:
            laws = _automaton(foretold, table.symbols)
            if depth <= 1 or len(laws.next) <= most_states:
                return laws
        depth -= 1


@dataclass(frozen=True)
class _Level:
    """All contexts of one length. `parents`: of one symbol less."""

    parents: Ints
    codes: Ints
    ends: NDArray[np.bool_]  # nothing came before
    laws: Floats
    evidence: Floats  # log of what the context foretold of all that followed it


@dataclass(frozen=True)
class _Tree:
    levels: list[_Level]
    odds: list[Floats]  # log of: a context predicts by itself : its children do

    @classmethod
    def of(cls, table: ContextTable, depth: int) -> _Tree:
        levels = _levels(table, min(depth, table.contexts.shape[1]))
        odds = [np.zeros(len(levels[-1].codes))]
        whole: NDArray[np.floating[Any]] = levels[-1].evidence
        for level, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
            children = np.bincount(below.parents, whole, len(level.codes))
            odds.insert(0, level.evidence - children)
            whole = children + np.logaddexp(0.0, odds[0]) - log(2.0)
        return cls(levels, odds)

    def foretold(self, depth: int) -> dict[int, tuple[int, Floats]]:
        """By the code of each context that is worth it: its length, and the law of the next symbol."""
        root = self.levels[0]
        found = {0: (0, root.laws[0])}
        chosen = np.zeros(1, np.int64)
        before, rest = (
            np.zeros_like(root.laws),
            np.ones(1),
        )  # what shorter contexts say; the weight that is left
        for length, level in enumerate(self.levels[1 : depth + 1], 1):
            above, odds = self.levels[length - 1], self.odds[length - 1]
            # One symbol back is always told apart: gaps depend on it.
            splits = np.ones(1, np.bool_) if length == 1 else (odds < 0.0) & ~above.ends
            stays = rest / (1.0 + np.exp(-np.clip(odds[chosen], -700.0, 700.0)))
            here, left = before + stays[:, None] * above.laws[chosen], rest - stays
            place = np.full(len(above.codes), -1, np.int64)
            place[chosen[splits[chosen]]] = np.flatnonzero(splits[chosen])
            own = np.flatnonzero(place[level.parents] >= 0)
            from_ = place[level.parents[own]]
            chosen, before, rest = own, here[from_], left[from_]
            laws = before + rest[:, None] * level.laws[own]
            found.update(
                (code, (length, law)) for code, law in zip(level.codes[own].tolist(), laws, strict=True)
            )
        return found


def _levels(table: ContextTable, depth: int) -> list[_Level]:
    """From the empty context to the longest. The rows of a context lie together when all are sorted."""
    order = np.lexsort(table.contexts.T[::-1])
    contexts, counts = table.contexts[order], table.counts[order]
    starts, codes, base = np.zeros(1, np.int64), np.zeros(1, np.int64), table.symbols + 2
    new = np.zeros(max(len(contexts) - 1, 0), np.bool_)
    levels = [_level(np.zeros(0, np.int64), codes, np.zeros(1, np.bool_), counts.sum(axis=0)[None])]
    for back in range(depth):
        new |= contexts[1:, back] != contexts[:-1, back]
        own = np.concatenate([[0], 1 + np.flatnonzero(new)])[: len(contexts)]
        parents = np.searchsorted(starts, own, side="right") - 1
        symbols = contexts[own, back]
        codes = codes[parents] + (symbols + 2) * base**back
        levels.append(_level(parents, codes, symbols == BEGINNING, np.add.reduceat(counts, own, axis=0)))
        starts = own
    return levels


def _level(parents: Ints, codes: Ints, ends: NDArray[np.bool_], counts: Ints) -> _Level:
    """One imagined symbol is spread over all that are known."""
    share, totals = 1.0 / counts.shape[1], counts.sum(axis=1)
    laws = (counts + share) / (totals + 1.0)[:, None]
    evidence = _log_rising(counts, share).sum(axis=1) - _log_rising(totals, 1.0)
    return _Level(parents, codes, ends, laws, evidence)


def _log_rising(counts: Ints, first: float) -> Floats:
    """log of first * (first + 1) * ..., so many factors."""
    few: Floats = np.concatenate([[0.0], np.cumsum(np.log(np.arange(_EXACT) + first))])
    found = few[np.minimum(counts, _EXACT)]
    big = counts > _EXACT
    if big.any():
        found[big] += _log_gamma(counts[big] + first) - _log_gamma(np.array(_EXACT + first))
    return found


def _log_gamma(x: Any) -> Any:
    """Stirling's series; of numbers above 64 nothing is lost."""
    return (x - 0.5) * np.log(x) - x + 0.5 * log(2 * pi) + 1 / (12 * x) - 1 / (360 * x**3)


def _automaton(foretold: dict[int, tuple[int, Floats]], symbols: int) -> Laws:
    """A context is a number here: its digits are its symbols, the last one the lowest."""
    base = symbols + 2
    powers: list[int] = [base**length for length in range(max(length for length, _ in foretold.values()) + 3)]
    lengths = {0: 0, BEGINNING + 2: 1} | {symbol + 2: 1 for symbol in range(symbols)}
    for code, (length, _) in foretold.items():
        for dropped in range(length):  # of the latest
            lengths.setdefault(code // powers[dropped], length - dropped)
    texts = sorted(lengths, key=lambda code: (code % base or 1, code))
    numbers = {code: number for number, code in enumerate(texts)}

    def after(code: int, symbol: int) -> int:
        """The longest ending that is a beginning."""
        length = lengths[code] + 1
        code = code * base + symbol + 2
        while code not in numbers:
            length -= 1
            code %= powers[length]
        return numbers[code]

    def context(code: int) -> int:
        length = 0
        while length < lengths[code] and code % powers[length + 1] in foretold:
            length += 1
        return code % powers[length]

    own = [foretold[context(code)] for code in texts]
    return Laws(
        [[after(code, symbol) for symbol in range(symbols)] for code in texts],
        np.array([law for _, law in own]).reshape(len(texts), symbols),
        [length for length, _ in own],
        np.array([(code % base or 1) - 2 for code in texts], np.int64),
        numbers[BEGINNING + 2],
    )
