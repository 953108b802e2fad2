"""The chance of completion: the law of the symbols, what they do to a run and the law of the gaps, in one chain.

For every context and every set of places a run's copies can be in: the chance that it is complete within each length
of time, up to the longest that is asked for. Gaps are added up step by step on a grid of times; nothing is replaced
by its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.context_tree import BEGINNING, ContextTree, Laws
from cepheid.forecast.gaps import Floats, Gaps
from cepheid.forecast.outcomes import DONE, GONE, MOST_TOGETHER, Outcome, Outcomes

MOST_STATES = 1024
_ALMOST = 1.0 - 1e-9  # of events that all have one time: it comes to an end

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Reach:
    """How far a forecast looks. `span` is the longest time that matters, None if no time is a bound."""

    span: int | None
    events: int | None


@dataclass(frozen=True)
class Completion:
    """`chances[context][set][k]`: complete within k steps of `width` microseconds."""

    laws: Laws
    sets: dict[Outcome, int]
    width: float
    size: int
    chances: list[list[list[float]]]
    areas: list[list[list[float]]]  # below the chances, up to each step

    @classmethod
    def of(cls, tree: ContextTree, gaps: Gaps, outcomes: Outcomes, reach: Reach) -> Completion:
        sets, ways, shares = _sets(outcomes, tree.symbols)
        laws = _laws(tree, len(sets))
        size = _fineness(len(laws.next), len(sets), tree.symbols, reach)
        span = reach.span if reach.span is not None else 4.0 * gaps.mean() * (reach.events or 1)
        width = _aligned(max(span / size, 1.0), gaps.commonest())
        size = max(1, min(2 * size, ceil(span / width)))
        steps = _Steps(laws, gaps, ways, shares, width, size)
        chances = steps.limited(reach.events) if reach.events is not None else steps.unlimited()
        areas = np.zeros_like(chances)
        areas[..., 1:] = np.cumsum((chances[..., 1:] + chances[..., :-1]) / 2, axis=-1)
        return cls(laws, sets, width, size, chances.tolist(), areas.tolist())

    def number(self, context: int, places: Outcome) -> int | None:
        """Of the set of places; of the best of them, if the set as a whole is not known."""
        number = self.sets.get(places)
        if number is not None:
            return number
        known = [self.sets[p,] for p in places if (p,) in self.sets]
        return max(known, key=lambda one: self.chances[context][one][-1], default=None)

    def place(self, budget: float | None) -> float:
        """Where on the grid a length of time is."""
        return float(self.size) if budget is None else min(max(budget / self.width, 0.0), float(self.size))


def value_at(row: list[float], place: float) -> float:
    low = int(place)
    part = place - low
    return row[low] if not part else row[low] + part * (row[low + 1] - row[low])


def expected(row: list[float], areas: list[float], place: float) -> float:
    """The mean place of completion, given that it comes before `place`."""
    whole = value_at(row, place)
    if whole <= 0.0:
        return 0.0
    low = int(place)
    return place - (areas[low] + (place - low) * (row[low] + whole) / 2) / whole


def quantile(row: list[float], place: float, share: float) -> float:
    """Where so much of the chance of completion before `place` has been."""
    wanted = share * value_at(row, place)
    low, high = 0, int(place) + 1
    while low < high:  # the first step that has it
        middle = (low + high) // 2
        if value_at(row, min(float(middle), place)) >= wanted:
            high = middle
        else:
            low = middle + 1
    if low == 0:
        return 0.0
    upper = min(float(low), place)
    before, after = row[low - 1], value_at(row, upper)
    part = 1.0 if after <= before else (wanted - before) / (after - before)
    return (low - 1) + part * (upper - (low - 1))


def _aligned(width: float, gap: float) -> float:
    """Not more than `width`, and such that the commonest gap is a whole number of steps: clocks tick evenly."""
    return gap / ceil(gap / width) if gap >= width else width


def _fineness(contexts: int, sets: int, symbols: int, reach: Reach) -> int:
    """Steps of the grid: fewer for big chains."""
    if reach.events is not None:
        return 64 if contexts * symbols <= 500 else 32
    return 128 if contexts * max(sets, 1) <= 200 else 64


def _laws(tree: ContextTree, sets: int) -> Laws:
    """As deep as the tree speaks for, and as there is room for."""
    depth = tree.depth
    laws = tree.laws(depth)
    while len(laws.next) * max(sets, 1) > MOST_STATES and depth > 1:
        depth -= 1
        laws = tree.laws(depth)
    return laws


def _sets(outcomes: Outcomes, symbols: int) -> tuple[dict[Outcome, int], Numbers, Floats]:
    """All sets of places that can come up, and where each symbol leads from them: [set, symbol, way]."""
    sets: dict[Outcome, int] = {(place,): place for place in outcomes.places.values()}
    todo = list(sets)
    found: list[list[Any]] = []
    while len(found) < len(todo):
        places = todo[len(found)]
        rows = []
        for symbol in range(symbols):
            row = []
            for outcome, chance in outcomes.together(places, symbol):
                if outcome not in (DONE, GONE) and outcome not in sets:
                    if len(sets) >= len(outcomes.places) + MOST_TOGETHER:
                        outcome = outcome[-1:]  # no room: only the copy that was found last
                    else:
                        sets[outcome] = len(sets)
                        todo.append(outcome)
                row.append((outcome, chance))
            rows.append(row)
        found.append(rows)
    most = max((len(row) for rows in found for row in rows), default=1)
    done, gone = len(sets), len(sets) + 1
    ways = np.full((len(sets), symbols, most), gone, np.int64)
    shares = np.zeros((len(sets), symbols, most))
    for number, rows in enumerate(found):
        for symbol, row in enumerate(rows):
            for way, (outcome, chance) in enumerate(row):
                target = done if outcome == DONE else gone if outcome == GONE else sets.get(outcome, gone)
                ways[number, symbol, way], shares[number, symbol, way] = target, chance
    return sets, ways, shares


class _Steps:
    """One event after the other. A set beyond the last is `done`, the one beyond it `gone`."""

    def __init__(
        self, laws: Laws, gaps: Gaps, ways: Numbers, shares: Floats, width: float, size: int
    ) -> None:
        symbols = ways.shape[1]
        self.ways, self.shares, self.size = ways, shares, size
        self.next = np.array(laws.next, np.int64).reshape(len(laws.next), symbols)
        last = [symbols if s == BEGINNING else s for s in laws.last]
        self.gaps = gaps.on_grid(symbols, width, size)[last]  # [context, symbol, step]
        goes_on = np.array([gaps.goes_on(s) for s in laws.last])
        self.symbols = np.array(laws.chances).reshape(len(laws.next), symbols) * goes_on[:, None]

    def _empty(self) -> Floats:
        """[context, set, step]; what is done is complete within any time."""
        values = np.zeros((len(self.next), len(self.ways) + 2, self.size + 1))
        values[:, -2] = 1.0
        return values

    def _after(self, values: Floats) -> Floats:
        """What is left to hope for after each symbol: [context, set, symbol, ...]."""
        found: Floats = np.zeros((len(self.next), *self.ways.shape[:2], *values.shape[2:]))
        extra = (1,) * (values.ndim - 2)
        for way in range(self.ways.shape[2]):
            share = self.shares[None, :, :, way].reshape(1, *self.ways.shape[:2], *extra)
            found += share * values[self.next[:, None, :], self.ways[None, :, :, way]]
        return found

    def limited(self, events: int) -> Floats:
        """At most so many events."""
        values = self._empty()
        contexts, symbols = self.symbols.shape
        sets, length = len(self.ways), self.size + 1
        shift = np.arange(length)[None, :] - np.arange(length)[:, None]
        kernel = np.where(shift >= 0, self.gaps[:, :, np.abs(shift)], 0.0) * self.symbols[:, :, None, None]
        kernel = kernel.reshape(contexts, symbols * length, length)
        for _ in range(events):
            after = self._after(values).reshape(contexts, sets, symbols * length)
            new = after @ kernel
            if np.abs(new - values[:, :-2]).max(initial=0.0) < 1e-9:
                break
            values[:, :-2] = new
        return values[:, :-2]

    def unlimited(self) -> Floats:
        """As many events as there is time for. Events of one step of the grid are solved for together."""
        values = self._empty()
        contexts, sets = len(self.next), len(self.ways)
        weights = self.gaps * self.symbols[:, :, None]
        at_once = np.linalg.inv(np.eye(contexts * sets) - _ALMOST * self._together(weights[:, :, 0]))
        after = np.zeros((contexts, sets, self.ways.shape[1], self.size + 1))
        complete = np.where(self.ways == sets, self.shares, 0.0).sum(axis=2)  # [set, symbol]
        for step in range(self.size + 1):
            known = np.einsum(
                "cxg,cuxg->cu", weights[:, :, 1 : step + 1], after[..., step - 1 :: -1][..., :step]
            )
            known += weights[:, :, 0] @ complete.T
            values[:, :-2, step] = (at_once @ known.reshape(-1)).reshape(contexts, sets)
            after[..., step] = self._after(values[:, :, step])
        return np.clip(values[:, :-2], 0.0, 1.0)

    def _together(self, weights: Floats) -> Floats:
        """From each state to each by an event of the same step."""
        contexts, sets = len(self.next), len(self.ways)
        found = np.zeros((contexts, sets, contexts, sets + 2))
        symbols = np.arange(self.ways.shape[1])
        for way in range(self.ways.shape[2]):
            for symbol in symbols:
                np.add.at(
                    found,
                    (
                        np.arange(contexts)[:, None],
                        np.arange(sets)[None, :],
                        self.next[:, symbol][:, None],
                        self.ways[:, symbol, way][None, :],
                    ),
                    weights[:, symbol][:, None] * self.shares[:, symbol, way][None, :],
                )
        return found[..., :-2].reshape(contexts * sets, contexts * sets)
