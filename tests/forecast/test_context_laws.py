"""The law of the next symbol from counts alone, against its definition written out plainly."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp, lgamma, log

import pytest

from cepheid.forecast.context_counts import BEGINNING, ContextCounts, deepest
from cepheid.forecast.context_laws import laws_of

Context = tuple[int, ...]


def _counted(texts: Sequence[Sequence[int]], depth: int) -> ContextCounts:
    counts = ContextCounts(depth)
    for text in texts:
        recent = (BEGINNING,) * max(depth, 1)
        for symbol in text:
            counts.learn(recent, symbol)
            recent = (symbol, *recent[:-1])
    return counts


class Slow:
    """Every context of every length up to the depth, its counts gathered from the texts."""

    def __init__(self, texts: Sequence[Sequence[int]], symbols: int, depth: int) -> None:
        self.texts, self.symbols, self.depth = texts, symbols, depth
        self.known: dict[Context, list[int]] = {}

    def followed(self, context: Context) -> list[int]:
        if context not in self.known:
            self.known[context] = self._gathered(context)
        return self.known[context]

    def _gathered(self, context: Context) -> list[int]:
        found = [0] * self.symbols
        for text in self.texts:
            for at, symbol in enumerate(text):
                before = [*reversed(text[:at]), BEGINNING]
                if tuple(before[: len(context)]) == context:
                    found[symbol] += 1
        return found

    def children(self, context: Context) -> list[Context]:
        if len(context) == self.depth or context[-1:] == (BEGINNING,):
            return []
        longer = ((*context, symbol) for symbol in range(BEGINNING, self.symbols))
        return [child for child in longer if any(self.followed(child))]

    def own(self, context: Context) -> float:
        """log of what it would have foretold, symbol by symbol, with one imagined symbol spread over all."""
        counts, share = self.followed(context), 1.0 / self.symbols
        return sum(lgamma(n + share) - lgamma(share) for n in counts) - lgamma(sum(counts) + 1.0)

    def whole(self, context: Context) -> float:
        """With its children, at even odds."""
        below = self.children(context)
        if not below:
            return self.own(context)
        return log(0.5 * exp(self.own(context)) + 0.5 * exp(sum(map(self.whole, below))))

    def law(self, text: Sequence[int]) -> tuple[list[float], int]:
        """Of the next symbol after a text; a longer context is asked where it did better than the shorter."""
        context: Context = ()
        before = [*reversed(text), BEGINNING]
        law, rest = [0.0] * self.symbols, 1.0
        while True:
            counts = self.followed(context)
            chances = [(n + 1.0 / self.symbols) / (sum(counts) + 1.0) for n in counts]
            below, own = self.children(context), self.own(context)
            others = sum(map(self.whole, below))
            child = (*context, before[len(context)]) if len(context) < len(before) else None
            splits = not context or own < others
            if not splits or child not in below:
                return [one + rest * chance for one, chance in zip(law, chances, strict=True)], len(context)
            stays = rest / (1.0 + exp(others - own))
            law = [one + stays * chance for one, chance in zip(law, chances, strict=True)]
            context, rest = child, rest - stays


@pytest.mark.parametrize("seed", range(6))
def test_as_defined(seed: int) -> None:
    rng = random.Random(seed)
    symbols, depth = rng.choice([2, 3]), rng.choice([1, 2, 3])
    habits = [[rng.random() ** 4 + 0.02 for _ in range(symbols)] for _ in range(symbols**2)]
    texts = []
    for _ in range(3):
        text = [rng.randrange(symbols), rng.randrange(symbols)]
        while len(text) < 25:
            (symbol,) = rng.choices(range(symbols), habits[text[-1] * symbols + text[-2]])
            text.append(symbol)
        texts.append(text)
    slow = Slow(texts, symbols, depth)
    laws = laws_of(_counted(texts, depth).table(), depth, 1000)
    assert (laws.last[1:] >= laws.last[:-1]).all()
    for text in [[], *([*t[:at]] for t in texts for at in (1, 2, 9, 17))]:
        recent = ([*reversed(text)] + [BEGINNING] * depth)[:depth]
        state = laws.at(recent)
        law, length = slow.law(text)
        assert laws.chances[state].tolist() == pytest.approx(law)
        assert laws.depths[state] == length
        assert laws.last[state] == (text[-1] if text else BEGINNING)


def test_too_many_states_make_contexts_shorter() -> None:
    rng = random.Random(1)
    text = [0, 1, 2, 3]
    while len(text) < 4000:
        text.append((text[-1] + text[-3] + rng.choice([0, 0, 0, 1])) % 4)
    table = _counted([text], 4).table()
    assert max(laws_of(table, 4, 1000).depths) >= 3
    few = laws_of(table, 4, 30)
    assert len(few.next) <= 30
    assert max(few.depths) == 2


def test_many_symbols_make_contexts_shorter() -> None:
    counts = _counted([[s % 7 for s in range(50)]], 5)
    assert counts.depth == 5
    counts.learn((6, 5, 4, 3, 2), 12)
    assert counts.depth == deepest(13, 5) == 4
    assert {len(context) for context in counts.counts} == {4}
    assert sum(n for own in counts.counts.values() for n in own.values()) == 51
