"""Sources whose law is known, and the true chance of completion, worked out from the law alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import cache

Law = dict[tuple[int, ...], list[float]]  # what follows the last symbols
STEP = 1_000_000


def random_law(rng: random.Random, order: int, symbols: int) -> Law:
    """Far from even, so that the contexts matter."""
    law: Law = {}
    for number in range(symbols**order):
        context = tuple(number // symbols**i % symbols for i in range(order))
        weights = [rng.random() ** 3 + 0.02 for _ in range(symbols)]
        law[context] = [w / sum(weights) for w in weights]
    return law


def draw(
    rng: random.Random, law: Law, names: str, count: int, gap: Callable[[], float] | None = None
) -> list[dict[str, object]]:
    """Events whose types are the names of the symbols; one second apart, unless said otherwise."""
    order = len(next(iter(law)))
    context, time, events = (0,) * order, 0.0, []
    for _ in range(count):
        (symbol,) = rng.choices(range(len(names)), law[context])
        context = (*context, symbol)[1:] if order else ()
        time += 1.0 if gap is None else gap()
        events.append({"type": names[symbol], "time": round(time, 6)})
    return events


def by_events(law: Law, steps: Sequence[int], context: tuple[int, ...], done: int, most: int) -> list[float]:
    """For n = 0..most: the chance that the rest of the steps is seen, in order, within n events; others are skipped."""

    @cache
    def chance(context: tuple[int, ...], done: int, left: int) -> float:
        if done == len(steps):
            return 1.0
        if not left:
            return 0.0
        return sum(
            p * chance((*context, s)[1:] if context else (), done + (s == steps[done]), left - 1)
            for s, p in enumerate(law[context])
        )

    return [chance(context, done, n) for n in range(most + 1)]


def by_time(cumulated: Sequence[float], horizon: float, rate: float) -> float:
    """The same within a time, where the gaps are exponential: the sum of n gaps has Erlang's law."""
    total = 0.0
    for n in range(1, len(cumulated)):
        exactly = cumulated[n] - cumulated[n - 1]
        total += exactly * (1.0 - sum(_poisson(k, rate * horizon) for k in range(n)))
    return total


def _poisson(count: int, mean: float) -> float:
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


def by_gaps(
    law: Law,
    gaps: Sequence[int],
    steps: Sequence[int],
    killers: frozenset[int],
    context: tuple[int, ...],
    left: int,
) -> float:
    """The chance that all steps are seen in so many seconds; each symbol takes its own time, a killer ends it all."""

    @cache
    def chance(context: tuple[int, ...], done: int, left: int) -> float:
        if done == len(steps):
            return 1.0
        total = 0.0
        for symbol, p in enumerate(law[context]):
            if gaps[symbol] <= left and symbol not in killers:
                total += p * chance(
                    (*context, symbol)[1:], done + (symbol == steps[done]), left - gaps[symbol]
                )
        return total

    return chance(context, 0, left)
