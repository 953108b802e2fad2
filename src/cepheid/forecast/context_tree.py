"""A variable-order Markov model of symbols: all context trees up to a depth at once, each weighted by how well it did.

Every node is a context, the last symbols read backwards, and counts what followed it. A node either predicts by itself
or leaves it to its longer contexts; the weight of the two is their evidence so far (Bayes, with even odds before the
first symbol). So a source of a low order is not blurred by contexts that are longer than they need be, and one of a
high order gets them as soon as the data bear them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log, log1p
from typing import Any

MOST_NODES = 50_000
BEGINNING = -1  # what stands in a context before the first symbol of a key


@dataclass
class ContextTree:
    """Learns symbols one by one. The root is node 0; `children[node]` goes one symbol further back."""

    depth: int
    symbols: int = 0  # how many are known
    children: list[dict[int, int]] = field(default_factory=lambda: [{}])
    counts: list[dict[int, int]] = field(default_factory=lambda: [{}])
    totals: list[int] = field(default_factory=lambda: [0])
    odds: list[float] = field(
        default_factory=lambda: [0.0]
    )  # log of: it predicts by itself : its children do

    def learn(self, recent: Sequence[int], symbol: int) -> None:
        """`recent`: the symbols before it, the last one first, with BEGINNING where there is none."""
        self.symbols = max(self.symbols, symbol + 1)
        path = self._path(recent)
        gained = 0.0  # log of what the contexts below foretold of the symbol
        for at in range(len(path) - 1, -1, -1):
            node = path[at]
            own = log(self._chance(node, symbol))
            if at == len(path) - 1:
                gained = own
            else:
                before = self.odds[node]
                after = self.odds[node] = before + own - gained
                gained += log_sum(after) - log_sum(before)
            counts = self.counts[node]
            counts[symbol] = counts.get(symbol, 0) + 1
            self.totals[node] += 1

    def _chance(self, node: int, symbol: int) -> float:
        """One imagined symbol is spread over all that are known."""
        return (self.counts[node].get(symbol, 0) + 1.0 / self.symbols) / (self.totals[node] + 1.0)

    def _path(self, recent: Sequence[int]) -> list[int]:
        """The nodes of the contexts from none to the longest; those that are new are made, while there is room."""
        path, node = [0], 0
        for symbol in recent[: self.depth]:
            child = self.child(node, symbol)
            if child is None:
                break
            path.append(child)
            node = child
            if symbol == BEGINNING:
                break
        return path

    def child(self, node: int, symbol: int) -> int | None:
        """The context that goes one symbol further back; None if there is no room for it."""
        found = self.children[node].get(symbol)
        if found is None and len(self.totals) < MOST_NODES:
            found = self.children[node][symbol] = len(self.totals)
            self.children.append({})
            self.counts.append({})
            self.totals.append(0)
            self.odds.append(0.0)
        return found

    # What it says.

    def splits(self, node: int) -> bool:
        """Do longer contexts speak for it?"""
        return bool(self.children[node]) and self.odds[node] < 0.0

    def laws(self, most_depth: int) -> Laws:
        """The contexts worth telling apart, and what follows each."""
        return Laws.of(self, most_depth)

    def chances(self, node: int) -> list[float]:
        return [self._chance(node, symbol) for symbol in range(self.symbols)]

    # As plain data.

    def as_data(self) -> dict[str, Any]:
        return {
            "depth": self.depth,
            "symbols": self.symbols,
            "children": [list(c.items()) for c in self.children],
            "counts": [list(c.items()) for c in self.counts],
            "odds": list(self.odds),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ContextTree:
        counts = [dict(c) for c in data["counts"]]
        return cls(
            data["depth"],
            data["symbols"],
            [dict(c) for c in data["children"]],
            counts,
            [sum(c.values()) for c in counts],
            list(data["odds"]),
        )


def log_sum(odds: float) -> float:
    """log(1 + e^odds); beyond 40 a float cannot tell it from its limit."""
    if abs(odds) > 40.0:
        return max(odds, 0.0)
    return odds + log1p(exp(-odds)) if odds > 0 else log1p(exp(odds))


@dataclass(frozen=True)
class Laws:
    """The tree as an automaton that reads symbols: where each leads, what is foretold there.

    Its states are the beginnings of contexts, in the order of time: the longest one that the symbols so far end with
    tells which context holds, also when a short context is followed by a long one.
    """

    next: list[list[int]]  # by state and symbol
    chances: list[list[float]]  # of the next symbol, by state
    depths: list[int]  # how many symbols of context each state's law looks at
    last: list[int]  # the last symbol of each state; BEGINNING where none is known
    first: int  # where a key begins

    @classmethod
    def of(cls, tree: ContextTree, most_depth: int) -> Laws:
        foretold: dict[tuple[int, ...], list[float]] = {}

        def visit(node: int, context: tuple[int, ...], before: list[float], rest: float) -> None:
            """`before`: what shorter contexts say, with their weight; `rest`: the weight that is left."""
            own = tree.chances(node)
            foretold[context] = [b + rest * o for b, o in zip(before, own, strict=True)]
            deeper = (
                tree.splits(node) or not context
            )  # one symbol back is always told apart: gaps depend on it
            if not deeper or len(context) >= most_depth or context[-1:] == (BEGINNING,):
                return
            stays = rest * _share(tree.odds[node])
            here = [b + stays * o for b, o in zip(before, own, strict=True)]
            for symbol, child in tree.children[node].items():
                visit(child, (*context, symbol), here, rest - stays)

        visit(0, (), [0.0] * tree.symbols, 1.0)
        return _automaton(foretold, tree.symbols)

    def at(self, recent: Sequence[int]) -> int:
        """The state after the symbols, given the last one first."""
        state = self.first if BEGINNING in recent else 0
        for symbol in reversed([s for s in recent if s != BEGINNING]):
            state = self.next[state][symbol] if symbol < len(self.next[state]) else 0
        return state


def _share(odds: float) -> float:
    """How much a node itself counts, beside its children."""
    return 1.0 / (1.0 + exp(-odds)) if odds > -700 else 0.0


def _automaton(foretold: dict[tuple[int, ...], list[float]], symbols: int) -> Laws:
    beginnings: dict[tuple[int, ...], int] = {(): 0}
    for context in foretold:
        forward = context[::-1]
        for length in range(1, len(forward) + 1):
            beginnings.setdefault(forward[:length], len(beginnings))
    beginnings.setdefault((BEGINNING,), len(beginnings))
    texts = list(beginnings)
    contexts = [_longest(text, foretold) for text in texts]
    return Laws(
        [[_after((*text, symbol), beginnings) for symbol in range(symbols)] for text in texts],
        [foretold[context] for context in contexts],
        [len(context) for context in contexts],
        [text[-1] if text else BEGINNING for text in texts],
        beginnings[(BEGINNING,)],
    )


def _longest(text: tuple[int, ...], foretold: dict[tuple[int, ...], list[float]]) -> tuple[int, ...]:
    context: tuple[int, ...] = ()
    for symbol in reversed(text):
        if (*context, symbol) not in foretold:
            break
        context = (*context, symbol)
    return context


def _after(text: tuple[int, ...], beginnings: dict[tuple[int, ...], int]) -> int:
    """The longest ending that is a beginning."""
    while text not in beginnings:
        text = text[1:]
    return beginnings[text]
