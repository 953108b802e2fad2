"""Forecasts over columns of events: the kernel learns and looks, and stops when chances are to be worked out anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast import kernel as k
from cepheid.forecast.completion import Completion, Reach, expected, quantile
from cepheid.forecast.context_tree import BEGINNING, MOST_NODES, ContextTree
from cepheid.forecast.gaps import FINENESS, Gaps
from cepheid.forecast.matcher import longest_memory, reach_of
from cepheid.forecast.model import MOST_SYMBOLS, Learned, due_after
from cepheid.forecast.moves import Moves, moves_of, why_no_table
from cepheid.forecast.outcomes import DONE, Outcome, Outcomes
from cepheid.plan.plan import Plan

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_BINS = 64 * FINENESS + 2
_MOST_SYMBOLS = 16  # the tables of gaps are squares of it
_ROOM = 1 << 14


def why_not_in_columns(plan: Plan) -> str | None:
    """What of a stream's forecasts the kernel cannot take."""
    forecast = plan.forecast
    assert forecast is not None
    if forecast.per_key:
        return "each key has a model of its own"
    if not forecast.learn:
        return "its model is given"
    if forecast.where is not None:
        return "its forecasts have a condition"
    return why_no_table(plan)


@dataclass(frozen=True)
class EventColumns:
    """Events in total order. `bits`: the tests each passes, in the order of the plan's tests."""

    bits: Ints
    times: Ints
    keys: Ints
    key_count: int


@dataclass(frozen=True)
class ToldRun:
    """A run by its events: (event, position, rank) of each, the last one first."""

    key: int
    start: int
    chain: Ints


@dataclass(frozen=True)
class ToldForecast:
    event: int  # among the columns
    run: int
    index: int  # in its partition
    probability: float
    depth: int
    expected: timedelta
    low: timedelta
    high: timedelta


@dataclass
class Told:
    """All that was said, and what became of it."""

    runs: list[ToldRun] = field(default_factory=list)
    forecasts: list[ToldForecast] = field(default_factory=list)
    outcomes: list[tuple[int, int, int, int]] = field(default_factory=list)  # run, time, index, what


class ColumnForecasts:
    """One stream's forecasts over all its events; None of `of` means that the kernel cannot take them."""

    def __init__(self, plan: Plan, events: EventColumns, symbols: list[int], moves: Moves) -> None:
        assert plan.forecast is not None
        self.plan, self.forecast, self.moves = plan, plan.forecast, moves
        self.reach: Reach = reach_of(plan)
        self.symbols = symbols
        self.times = events.times
        order = np.argsort(symbols)
        numbers = order[np.searchsorted(np.array(symbols)[order], events.bits)]
        self.events = (numbers.astype(np.int64), events.times, events.keys, events.bits != 0)
        self.told = Told()
        self._reserve(events.key_count)
        self._begin_learning()
        self.completion: Completion | None = None
        self.version = -1
        self.laws = (np.zeros((1, len(symbols)), np.int64), 0)
        self.says: tuple[Any, ...] = (np.zeros((1, 1, 1)), np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def of(cls, plan: Plan, events: EventColumns) -> ColumnForecasts | None:
        own, first = np.unique(events.bits, return_index=True)
        symbols = own[np.argsort(first)].tolist()  # numbered as they come
        if len(symbols) > min(_MOST_SYMBOLS, MOST_SYMBOLS):
            return None
        moves = moves_of(plan, symbols)
        return None if moves is None else cls(plan, events, symbols, moves)

    def _reserve(self, keys: int) -> None:
        depth = max(self.forecast.max_depth, 1)
        self.n = np.zeros(k.N_WIDTH, np.int64)
        self.n[k.N_NODES], self.n[k.N_DUE] = 1, self.forecast.warmup
        self.keys = np.full((keys, k.K_WIDTH), -1, np.int64)
        self.keys[:, [k.K_COUNT, k.K_INDEX, k.K_CONTEXT]] = 0
        self.recent = np.full((keys, depth), BEGINNING, np.int64)
        self.units, self.said = np.zeros((0, k.U_WIDTH), np.int64), np.zeros(0)
        self.n[k.N_FREE] = -1
        self._grow(1024)
        self._buffers(_ROOM)

    def _buffers(self, room: int) -> None:
        self.rows, self.values = np.zeros((room, k.F_WIDTH), np.int64), np.zeros((room, 2))
        self.runs = np.zeros((room, k.R_WIDTH), np.int64)
        self.chain = np.zeros((8 * room, 3), np.int64)
        self.outcomes = np.zeros((2 * room, k.O_WIDTH), np.int64)

    def _grow(self, size: int) -> None:
        """More room for runs; the new ones are free."""
        before = len(self.units)
        units, said = np.zeros((size, k.U_WIDTH), np.int64), np.zeros(size)
        units[:before], said[:before] = self.units, self.said
        units[before:, k.U_NEXT] = np.arange(before + 1, size + 1)
        units[size - 1, k.U_NEXT] = self.n[k.N_FREE]
        self.n[k.N_FREE] = before
        self.n[k.N_FREES] += size - before
        self.units, self.said, self.scratch = units, said, np.zeros(2 * size, np.int64)

    def _begin_learning(self) -> None:
        symbols, places = len(self.symbols), len(self.moves.places)
        depth = self.forecast.max_depth
        nodes = min(MOST_NODES, sum((symbols + 1) ** level for level in range(depth + 1)))
        self.children = np.full((nodes, symbols + 1), -1, np.int64)
        self.counts = np.zeros((nodes, symbols), np.int64)
        self.totals, self.odds = np.zeros(nodes, np.int64), np.zeros(nodes)
        self.gap_counts = np.zeros((symbols, symbols, _BINS), np.int64)
        self.gap_sums = np.zeros((symbols, symbols, _BINS), np.int64)
        self.silent, self.followed = np.zeros(symbols, np.int64), np.zeros(symbols, np.int64)
        self.seen = np.zeros((max(places, 1), symbols), np.int64)
        self.visited = np.full(max(places, 1), -1, np.int64)
        self.path = np.zeros(depth + 2, np.int64)

    # The loop.

    def run(self, end: int) -> Told:
        """All events, and time up to the end."""
        while (why := self._go_on(end)) != k.AT_END:
            if why == k.WORK_OUT:
                self._take()  # by what was said until now
                self._work_out()
            elif why == k.GROW:
                self._grow(2 * len(self.units))
            elif not self._take():
                self._buffers(2 * len(self.rows))
        self._take()
        return self.told

    def _go_on(self, end: int) -> int:
        forecast, within = self.forecast, self.plan.pattern.within
        width = 1.0 if self.completion is None else self.completion.width
        horizon = -1 if forecast.horizon is None else forecast.horizon
        keep = longest_memory(self.plan)
        found: int = k.go_on(
            self.n,
            self.events,
            self.keys,
            self.recent,
            self.units,
            self.said,
            self.moves.arrays(),
            (
                self.children,
                self.counts,
                self.totals,
                self.odds,
                self.gap_counts,
                self.gap_sums,
                self.silent,
                self.followed,
                self.seen,
                self.visited,
                self.path,
            ),
            (horizon, -1 if within is None else within, width, forecast.confidence, forecast.change),
            self.laws,
            self.says,
            self.version,
            -1 if keep is None else keep,
            (self.rows, self.values, self.runs, self.chain, self.outcomes, self.scratch),
            end,
            forecast.max_depth,
        )
        return found

    def _work_out(self) -> None:
        events = int(self.n[k.N_EVENTS])
        self.n[k.N_DUE] = due_after(events, self.forecast.warmup)
        learned = self.learned()
        completion = Completion.of(learned.tree, learned.gaps, learned.outcomes, self.reach)
        self.completion, self.version = completion, self.version + 1
        self.laws = (np.array(completion.laws.next, np.int64), completion.laws.first)
        own = {number: place for place, number in enumerate(self.visited.tolist()) if number >= 0}
        masks = np.array([sum(1 << own[p] for p in places) for places in completion.sets], np.int64)
        order = np.argsort(masks)
        numbers = np.array(list(completion.sets.values()), np.int64)
        self.says = (np.array(completion.chances), masks[order], numbers[order])

    def learned(self) -> Learned:
        """As the matcher that is not compiled has it."""
        nodes, symbols = int(self.n[k.N_NODES]), int(self.n[k.N_KNOWN])
        tree = ContextTree(
            self.forecast.max_depth,
            symbols,
            [_known(row[1:], row[0]) for row in self.children[:nodes].tolist()],
            [{s: c for s, c in enumerate(row) if c} for row in self.counts[:nodes].tolist()],
            self.totals[:nodes].tolist(),
            self.odds[:nodes].tolist(),
        )
        numbers = {bits: number for number, bits in enumerate(self.symbols[:symbols])}
        return Learned(tree, numbers, self._gaps(symbols), self._outcomes(), int(self.n[k.N_EVENTS]))

    def _gaps(self, symbols: int) -> Gaps:
        bins: dict[tuple[int, int], dict[int, list[int]]] = {}
        for before, after, number in np.argwhere(self.gap_counts).tolist():
            one = [int(self.gap_counts[before, after, number]), int(self.gap_sums[before, after, number])]
            bins.setdefault((before, after), {})[number] = one
        silent = {s: c for s, c in enumerate(self.silent.tolist()) if c}
        return Gaps(bins, silent, {s: c for s, c in enumerate(self.followed.tolist()) if c})

    def _outcomes(self) -> Outcomes:
        visited = [int(p) for p in np.argsort(self.visited) if self.visited[p] >= 0]
        numbers = {place: number for number, place in enumerate(visited)}
        found = Outcomes({self.moves.places[place]: number for place, number in numbers.items()})
        for place, symbol in np.argwhere(self.seen).tolist():
            count = int(self.seen[place, symbol])
            found.learn(numbers[place], symbol, self._outcome(place, symbol, numbers), count)
        return found

    def _outcome(self, place: int, symbol: int, numbers: dict[int, int]) -> Outcome:
        if self.moves.completes[place, symbol]:
            return DONE
        ends = {int(self.moves.stays[place, symbol]), int(self.moves.children[place, symbol])}
        return tuple(sorted(numbers[end] for end in ends if end >= 0))

    # What is told.

    def _take(self) -> bool:
        """What lies in the buffers; the answer: was there anything?"""
        n = self.n
        taken = bool(n[k.N_ROWS] or n[k.N_OUTCOMES] or n[k.N_CHAIN])
        for run in self.runs[: n[k.N_RUNS] - n[k.N_BASE]].tolist():
            at, length = run[k.R_CHAIN], run[k.R_LENGTH]
            chain = self.chain[at : at + length].copy()
            self.told.runs.append(ToldRun(run[k.R_KEY], run[k.R_START], chain))
        rows = zip(self.rows[: n[k.N_ROWS]].tolist(), self.values[: n[k.N_ROWS]].tolist(), strict=True)
        self.told.forecasts += [self._forecast(row, values) for row, values in rows]
        self.told.outcomes += [tuple(row) for row in self.outcomes[: n[k.N_OUTCOMES]].tolist()]
        n[k.N_BASE], n[k.N_CHAIN], n[k.N_ROWS], n[k.N_OUTCOMES] = n[k.N_RUNS], 0, 0, 0
        return taken

    def _forecast(self, row: list[int], values: list[float]) -> ToldForecast:
        completion = self.completion
        assert completion is not None
        chances, place = completion.chances[row[k.F_CONTEXT]][row[k.F_SET]], values[1]
        areas = completion.areas[row[k.F_CONTEXT]][row[k.F_SET]]
        tail, width = (1.0 - self.forecast.interval) / 2, completion.width
        lengths = (
            expected(chances, areas, place),
            quantile(chances, place, tail),
            quantile(chances, place, 1.0 - tail),
        )
        return ToldForecast(
            row[k.F_EVENT],
            row[k.F_RUN],
            row[k.F_INDEX],
            values[0],
            completion.laws.depths[row[k.F_CONTEXT]],
            *(timedelta(microseconds=round(width * length)) for length in lengths),
        )


def _known(row: list[int], beginning: int) -> dict[int, int]:
    found = {symbol: child for symbol, child in enumerate(row) if child >= 0}
    return {**found, BEGINNING: beginning} if beginning >= 0 else found
