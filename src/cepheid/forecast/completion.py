"""The chance of completion: the law of the symbols, what they do to a run and the law of the gaps, in one chain.

For every context and every set of places a run's copies can be in: the chance that it is complete within each length
of time, up to the longest that is asked for. Gaps are added up step by step on a grid of times; nothing is replaced
by its mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.context_laws import Floats, Laws, laws_of
from cepheid.forecast.evidence import Evidence
from cepheid.forecast.gaps import GapTable
from cepheid.forecast.kernel.chances import APPROACHED, LATER, SOLVED, fill_chances
from cepheid.forecast.outcomes import DONE, GONE, MOST_TOGETHER, Outcome, Outcomes
from cepheid.forecast.reach import Reach

MOST_CONTEXTS, MOST_STATES = 128, 384  # states are contexts times sets of places
_MOST_SOLVED = 1024  # equations that are solved for good; more are approached
_BY_ONE_THREAD = 64
_ALMOST = 1.0 - 1e-9  # of events that all have one time: it comes to an end

Numbers = NDArray[np.int64]
Row = tuple[list[float], list[float]]
_NO_BLOCKS = (np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True)
class Completion:
    """`chances[context, set, k]`: complete within k steps of `width` microseconds."""

    laws: Laws
    sets: dict[Outcome, int]
    width: float
    chances: Floats
    areas: Floats  # below the chances, up to each step
    hopes: list[float]  # by context: the best chance of any set
    size: int  # of the grid, in steps
    _rows: dict[tuple[int, int], Row] = field(default_factory=dict)

    @classmethod
    def of(cls, evidence: Evidence, reach: Reach, depth: int) -> Completion:
        sets, ways, shares = _sets(evidence.outcomes, evidence.symbols)
        gaps, count = evidence.gaps, max(len(sets), 1)
        laws = laws_of(evidence.contexts, depth, min(MOST_CONTEXTS, MOST_STATES // count))
        size = _fineness(len(laws.next), count, evidence.symbols, reach)
        span = reach.span if reach.span is not None else 4.0 * gaps.mean() * (reach.events or 1)
        width = _aligned(max(span / size, 1.0), gaps.commonest())
        size = max(1, min(2 * size, ceil(span / width)))
        chain = _Chain(laws, gaps, ways, shares, width, size)
        chances = chain.limited(reach.events) if reach.events is not None else chain.unlimited()
        areas = np.zeros_like(chances)
        areas[..., 1:] = np.cumsum((chances[..., 1:] + chances[..., :-1]) / 2, axis=-1)
        hopes = chances[..., -1].max(axis=1, initial=0.0).tolist()
        return cls(laws, sets, width, chances, areas, hopes, size)

    def number(self, context: int, places: Outcome) -> int | None:
        """Of the set of places; of the best of them, if the set as a whole is not known."""
        number = self.sets.get(places)
        if number is not None:
            return number
        known = [self.sets[p,] for p in places if (p,) in self.sets]
        return max(known, key=lambda one: float(self.chances[context, one, -1]), default=None)

    def row(self, context: int, number: int) -> Row:
        """The chances and the areas, as lists: what is asked for again and again is quicker there."""
        found = self._rows.get((context, number))
        if found is None:
            found = self.chances[context, number].tolist(), self.areas[context, number].tolist()
            self._rows[context, number] = found
        return found

    def place(self, budget: float | None) -> float:
        """Where on the grid a length of time is."""
        if budget is None or budget >= self.size * self.width:
            return float(self.size)
        return budget / self.width if budget > 0.0 else 0.0


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


class _Chain:
    """States are contexts times sets; each event is a step from one to another, or to the end of it."""

    def __init__(
        self, laws: Laws, gaps: GapTable, ways: Numbers, shares: Floats, width: float, size: int
    ) -> None:
        contexts, (sets, symbols, most) = len(laws.next), ways.shape
        self.shape, self.size = (contexts, sets), size
        self.gaps = gaps.on_grid(width, size)  # [symbol before, symbol, step]
        before = np.where(laws.last < 0, symbols, laws.last)
        chances = laws.chances * gaps.goes_on()[before][:, None]
        # Of each state [way of each symbol, state]: where it leads to, how often, by which symbol.
        after = np.array(laws.next, np.int64).reshape(contexts, symbols)
        goes_on = ways < sets  # neither done nor gone
        to = after[:, None, :, None] * sets + np.where(goes_on, ways, 0)[None]
        weights = chances[:, None, :, None] * (shares * goes_on)[None]
        self.to, self.weights = (
            v.transpose(2, 3, 0, 1).reshape(symbols * most, contexts * sets) for v in (to, weights)
        )
        used = self.weights.any(axis=1)
        self.to, self.weights = self.to[used], self.weights[used]
        self.by = np.repeat(np.arange(symbols), most)[used]
        self.before = np.repeat(before, sets)
        # States are sorted by their last symbol: [first, last) of each.
        self.arrived = sets * np.searchsorted(laws.last, np.arange(symbols + 1))
        self.blocks = _blocks(ways, sets)
        complete = np.where(ways == sets, shares, 0.0).sum(axis=2)
        in_time = np.cumsum(self.gaps, axis=2)[before]
        self.done = (complete @ (chances[:, :, None] * in_time)).reshape(contexts * sets, size + 1)

    def _by_symbol(self) -> list[tuple[int, slice]]:
        """The states at which each symbol arrives."""
        ends = self.arrived.tolist()
        return [(x, slice(first, last)) for x, (first, last) in enumerate(pairwise(ends))]

    def limited(self, events: int) -> Floats:
        """At most so many events."""
        length = self.size + 1
        values: Floats = np.zeros((len(self.before), length))
        lags = np.arange(length)[None, :] - np.arange(length)[:, None]
        # [symbol before, symbol, from step, to step]
        spread = np.where(lags >= 0, self.gaps[:, :, np.abs(lags)], 0.0)
        later = np.zeros((len(values), len(self.gaps), length))
        for _ in range(events):
            for symbol, states in self._by_symbol():
                for before, gaps in enumerate(spread[:, symbol]):
                    later[states, before] = values[states] @ gaps
            new = self.done.copy()
            for to, weights in zip(self.to, self.weights, strict=True):
                new += weights[:, None] * later[to, self.before]
            changed = np.abs(new - values).max(initial=0.0)
            values = new
            if changed < 1e-9:
                break
        return values.reshape(*self.shape, length)

    def unlimited(self) -> Floats:
        """As many events as there is time for. Events of one step of the grid are solved for together."""
        states, steps = len(self.before), self.size + 1
        arrivals, by = self._arrivals()
        at_once = _ALMOST * self.weights * self.gaps[self.before[None, :], self.by[:, None], 0]
        how = LATER if not at_once.any() else SOLVED if states <= _MOST_SOLVED else APPROACHED
        values = np.zeros((states, steps))
        fill_chances(
            values,
            self.done,
            (self.to, self.weights, by, arrivals),
            np.ascontiguousarray(self.gaps[:, :, ::-1]).reshape(-1, steps),
            how,
            at_once,
            self._solved(at_once) if how == SOLVED else _NO_BLOCKS,
            (np.zeros(len(arrivals)), *(np.zeros(states) for _ in range(3))),
        )
        return np.clip(values, 0.0, 1.0).reshape(*self.shape, steps)

    def _arrivals(self) -> tuple[Numbers, Numbers]:
        """Each a state and the law of the gap before it: few come up. And which one each way leads to."""
        laws = self.before[None, :] * self.gaps.shape[1] + self.by[:, None]
        every = len(self.gaps) * self.gaps.shape[1]
        arrivals, by = np.unique(self.to * every + laws, return_inverse=True)
        return np.stack(np.divmod(arrivals, every), axis=1), by.reshape(laws.shape)

    def _solved(self, at_once: Floats) -> tuple[Numbers, Numbers, Numbers, Floats]:
        """With all that comes in the same step: blocks of states, one after the other, and their equations solved."""
        contexts, sets = self.shape
        parts = [(np.arange(contexts)[:, None] * sets + block).reshape(-1) for block in self.blocks]
        among = np.zeros((contexts * sets, contexts * sets))
        np.add.at(among, (np.arange(len(among))[None, :], self.to), at_once)
        inverses = [_inverse(np.eye(len(own)) - among[np.ix_(own, own)]).reshape(-1) for own in parts]
        states, lengths = np.concatenate(parts), [len(own) for own in parts]
        number = np.empty_like(states)
        number[states] = np.repeat(np.arange(len(parts)), lengths)
        return states, np.cumsum([0, *lengths]), number, np.concatenate(inverses)


def _inverse(matrix: Floats) -> Floats:
    """By its quarters, down to where numpy needs no threads: these wait for each other longer than they work."""
    found: Floats = np.empty_like(matrix)
    if len(matrix) <= _BY_ONE_THREAD:
        found[:] = np.linalg.inv(matrix)
        return found
    half = len(matrix) // 2
    right, below = matrix[:half, half:], matrix[half:, :half]
    first = _inverse(matrix[:half, :half])
    last = _inverse(matrix[half:, half:] - below @ first @ right)
    over, under = first @ right @ last, last @ below @ first
    found[:half, :half], found[:half, half:] = first + over @ below @ first, -over
    found[half:, :half], found[half:, half:] = -under, last
    return found


def _blocks(ways: Numbers, sets: int) -> list[Numbers]:
    """Sets that lead to each other belong together; each block comes after those it leads to."""
    leads = np.eye(sets, dtype=np.bool_)
    for symbols in ways.transpose(2, 1, 0):
        for to in symbols:
            from_ = np.flatnonzero(to < sets)
            leads[from_, to[from_]] = True
    for middle in range(sets):
        leads |= leads[:, middle, None] & leads[middle]
    both = leads & leads.T
    order = np.argsort(leads.sum(axis=1), kind="stable")
    return [np.flatnonzero(both[one]) for one in order.tolist() if one == np.flatnonzero(both[one])[0]]
