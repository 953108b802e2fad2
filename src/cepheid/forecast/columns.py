"""Forecasts over columns of events: the kernel learns and looks, and stops when chances are to be worked out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.certainty import why_uncertain
from cepheid.forecast.completion import Completion
from cepheid.forecast.context_counts import ContextTable, Ints, deepest
from cepheid.forecast.evidence import Evidence
from cepheid.forecast.gaps import BINS, Floats, GapTable
from cepheid.forecast.kernel import words as k
from cepheid.forecast.kernel.entrance import finish, go_on
from cepheid.forecast.model import due_after
from cepheid.forecast.moves import Moves, moves_of
from cepheid.forecast.outcomes import DONE, Outcome, Outcomes
from cepheid.forecast.reach import Reach, longest_memory, reach_of
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.plan.plan import Plan

_MOST_SYMBOLS = 16  # the tables of gaps are squares of it
_ROOM, _UNITS = 1 << 12, 1 << 10  # to begin with
_LEAST_OF_A_PART = 1 << 15  # events
_NEVER = np.iinfo(np.int64).max

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, or that of a pool of threads


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
    return why_uncertain(plan)


@dataclass(frozen=True)
class EventColumns:
    """Events key by key, each key's in total order."""

    symbols: NDArray[np.uint8]
    times: Ints
    ranks: Ints  # places in the total order of all
    offsets: Ints  # where each key begins; one more
    bits: list[
        int
    ]  # of each symbol: the tests passed, in the order of the plan's. They are numbered as they come
    firsts: list[int]  # the rank of its first event


@dataclass(frozen=True)
class Told:
    """All that was said, and what became of it; columns as the kernel names them."""

    rows: Ints
    values: Floats
    runs: Ints
    chain: Ints
    outcomes: Ints


class ColumnForecasts:
    """One stream's forecasts over all its events."""

    def __init__(self, plan: Plan, events: EventColumns) -> None:
        assert plan.forecast is not None
        self.plan, self.forecast, self.events = plan, plan.forecast, events
        moves = moves_of(plan, events.bits) if len(events.bits) <= _MOST_SYMBOLS else None
        if moves is None:
            raise Unsupported("its forecasts have too many symbols or places")
        self.moves: Moves = moves
        self.table = (*moves.arrays(), np.array([bits != 0 for bits in events.bits], np.int64))
        self.reach: Reach = reach_of(plan)
        self.keep = longest_memory(plan)
        self.depth = deepest(len(events.bits), self.forecast.max_depth)
        self.width = 1.0  # of a step in time, in microseconds
        symbols = len(events.bits)
        self.laws: tuple[Any, ...] = (np.zeros((1, symbols), np.int64), 0, np.full(1, -1.0))
        none = np.zeros(0, np.int64)
        self.says: tuple[Any, ...] = (np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), none, none, none)

    def run(self, end: int, each: Each = map, most_parts: int = 1) -> Told:
        """All events, and time up to the end."""
        count, due = len(self.events.ranks), self.forecast.warmup
        parts = _parts(self.events.offsets, most_parts)
        works = [_Part(self, first, last) for first, last in parts] if due <= count else []
        waited = -1
        while works:
            until = min(due, count)
            last = int(np.flatnonzero(self.events.ranks == until - 1)[0])
            will_wait = last if due <= count else -1
            clock = int(self.events.times[last])
            list(each(lambda work: work.go_on(until, clock, (waited, will_wait)), works))  # noqa: B023
            if will_wait < 0:
                break
            self._work_out(works, until)
            waited, due = will_wait, due_after(until, self.forecast.warmup)
        for work in works:
            work.finish(end)
        return _joined([work.told() for work in works])

    # What was learned.

    def _work_out(self, works: list[_Part], events: int) -> None:
        evidence = self._evidence(works, events)
        completion = Completion.of(evidence, self.reach, self.forecast.max_depth)
        self.width = completion.width
        laws = completion.laws
        self.laws = (np.array(laws.next, np.int64), laws.first, np.array(completion.hopes))
        own = self._visited(works)
        masks = np.array([sum(1 << own[p] for p in places) for places in completion.sets], np.int64)
        order = np.argsort(masks)
        numbers = np.array(list(completion.sets.values()), np.int64)
        depths = np.array(laws.depths, np.int64)
        self.says = (completion.chances, completion.areas, masks[order], numbers[order], depths)

    def _evidence(self, works: list[_Part], events: int) -> Evidence:
        """As the matcher that is not compiled has it."""
        symbols = sum(first < events for first in self.events.firsts)
        if deepest(symbols, self.forecast.max_depth) != self.depth:
            raise Unsupported("its forecasts have symbols that come late, and make contexts shorter")
        counts: Ints = sum(work.counts for work in works)  # type: ignore[assignment]
        rows = np.flatnonzero(counts.any(axis=1))
        digits = rows[:, None] // works[0].base ** np.arange(self.depth) % works[0].base
        gap_counts: Ints = sum(work.gap_counts for work in works)  # type: ignore[assignment]
        gap_sums: Floats = sum(work.gap_sums for work in works)  # type: ignore[assignment]
        silent: Ints = sum(work.silent for work in works)  # type: ignore[assignment]
        seen = np.nonzero(gap_counts)
        gaps = GapTable(np.stack([*seen, gap_counts[seen]], axis=1), gap_sums[seen], silent[:symbols])
        contexts = ContextTable(digits - 1, counts[rows][:, :symbols])
        return Evidence(contexts, gaps, self._outcomes(works), events)

    def _visited(self, works: list[_Part]) -> list[int]:
        """The places that were visited, in the order in which they were."""
        first = np.min([work.visited for work in works], axis=0)
        return [int(place) for place in np.argsort(first, kind="stable") if first[place] < _NEVER]

    def _outcomes(self, works: list[_Part]) -> Outcomes:
        numbers = {place: number for number, place in enumerate(self._visited(works))}
        found = Outcomes({self.moves.places[place]: number for place, number in numbers.items()})
        seen = np.bitwise_or.reduce([work.seen for work in works], axis=0)
        for symbol, places in enumerate(seen.tolist()):
            for place, number in numbers.items():
                if places >> place & 1:
                    found.learn(number, symbol, self._outcome(place, symbol, numbers))
        return found

    def _outcome(self, place: int, symbol: int, numbers: dict[int, int]) -> Outcome:
        if self.moves.completes[place, symbol]:
            return DONE
        ends = {int(self.moves.stays[place, symbol]), int(self.moves.children[place, symbol])}
        return tuple(sorted(numbers[end] for end in ends if end >= 0))


class _Part:
    """Some of the keys: their open runs, what is learned from them and told of them."""

    def __init__(self, whole: ColumnForecasts, first: int, last: int) -> None:
        self.whole, events = whole, whole.events
        symbols, places = len(events.bits), len(whole.moves.places)
        self.n = np.zeros(k.N_WIDTH, np.int64)
        self.keys = np.zeros((last - first, k.K_WIDTH), np.int64)
        self.keys[:, [k.K_HEAD, k.K_TAIL, k.K_SYMBOL]] = -1
        self.keys[:, k.K_AT] = events.offsets[first:last]
        self.ends, self.first = events.offsets[first + 1 : last + 1], first
        self.units, self.said = np.zeros((0, k.U_WIDTH), np.int64), np.zeros(0)
        self.n[k.N_FREE] = -1
        self._grow(_UNITS)
        self.rows, self.values = np.zeros((_ROOM, k.F_WIDTH), np.int64), np.zeros((_ROOM, k.V_WIDTH))
        self.runs = np.zeros((_ROOM, k.R_WIDTH), np.int64)
        self.chain = np.zeros((4 * _ROOM, k.C_WIDTH), np.int64)
        self.outcomes = np.zeros((2 * _ROOM, k.O_WIDTH), np.int64)
        self.base = symbols + 1
        self.counts = np.zeros((self.base**whole.depth, symbols), np.int64)
        self.gap_counts = np.zeros((symbols, symbols, BINS), np.int64)
        self.gap_sums = np.zeros((symbols, symbols, BINS))
        self.silent, self.seen = np.zeros(symbols, np.int64), np.zeros(symbols, np.int64)
        self.visited = np.full(places, _NEVER, np.int64)

    def go_on(self, until: int, clock: int, waiting: tuple[int, int]) -> None:
        while (stopped := self._go_on(until, clock, waiting)) != k.DONE:
            self._grow(2 * len(self.units)) if stopped == k.GROW else self._enlarge()

    def _go_on(self, until: int, clock: int, waiting: tuple[int, int]) -> int:
        whole, events, forecast = self.whole, self.whole.events, self.whole.forecast
        within, horizon = whole.plan.pattern.within, forecast.horizon
        stopped: int = go_on(
            self.n,
            (events.symbols, events.times, events.ranks, self.ends),
            self.keys,
            self.units,
            self.said,
            self.scratch,
            whole.table,
            (
                self.counts,
                self.gap_counts,
                self.gap_sums,
                self.silent,
                self.seen,
                self.visited,
                self.base,
                whole.depth,
            ),
            (
                -1 if horizon is None else horizon,
                -1 if within is None else within,
                whole.width,
                forecast.confidence,
                forecast.change,
                (1.0 - forecast.interval) / 2,
            ),
            whole.laws,
            whole.says,
            -1 if whole.keep is None else whole.keep,
            (self.rows, self.values, self.runs, self.chain, self.outcomes),
            until,
            clock,
            waiting,
        )
        return stopped

    def finish(self, end: int) -> None:
        within = self.whole.plan.pattern.within
        bound = -1 if within is None else within
        while finish(self.n, self.keys, self.units, self.said, self.outcomes, bound, end) != k.DONE:
            self._enlarge()

    def told(self) -> Told:
        n = self.n
        runs = self.runs[: n[k.N_RUNS]]
        runs[:, k.R_KEY] += self.first
        return Told(
            self.rows[: n[k.N_ROWS]],
            self.values[: n[k.N_ROWS]],
            runs,
            self.chain[: n[k.N_CHAIN]],
            self.outcomes[: n[k.N_OUTCOMES]],
        )

    def _grow(self, size: int) -> None:
        """More room for runs; the new ones are free."""
        before = len(self.units)
        self.units, self.said = _longer(self.units, size), _longer(self.said, size)
        self.units[before:, k.U_NEXT] = np.arange(before + 1, size + 1)
        self.units[size - 1, k.U_NEXT] = self.n[k.N_FREE]
        self.n[k.N_FREE] = before
        self.n[k.N_FREES] += size - before
        self.scratch = np.zeros(size, np.int64)

    def _enlarge(self) -> None:
        """More room for what is told."""
        self.rows, self.values, self.runs, self.chain, self.outcomes = (
            _longer(a, 2 * len(a)) for a in (self.rows, self.values, self.runs, self.chain, self.outcomes)
        )


def _longer(array: Any, size: int) -> Any:
    found = np.zeros((size, *array.shape[1:]), array.dtype)
    found[: len(array)] = array
    return found


def _parts(offsets: Ints, most: int) -> list[tuple[int, int]]:
    """Ranges of keys, with about as many events each; few events make one part."""
    keys, events = len(offsets) - 1, int(offsets[-1])
    count = max(1, min(most, events // _LEAST_OF_A_PART, keys))
    cuts = np.searchsorted(offsets, events * np.arange(1, count) // count).tolist()
    ends = sorted({0, *cuts, keys})
    return list(pairwise(ends))


def _joined(parts: list[Told]) -> Told:
    """As if it had been one part: runs and their events are numbered on."""
    runs = chain = 0
    for part in parts:
        part.rows[:, k.F_RUN] += runs
        part.outcomes[:, k.O_RUN] += runs
        part.runs[:, k.R_CHAIN] += chain
        runs, chain = runs + len(part.runs), chain + len(part.chain)
    empty = [(0, k.F_WIDTH), (0, k.V_WIDTH), (0, k.R_WIDTH), (0, k.C_WIDTH), (0, k.O_WIDTH)]
    if not parts:
        rows, values, *rest = (np.zeros(shape, np.int64) for shape in empty)
        return Told(rows, values.astype(np.float64), *rest)
    return Told(
        np.concatenate([p.rows for p in parts]),
        np.concatenate([p.values for p in parts]),
        np.concatenate([p.runs for p in parts]),
        np.concatenate([p.chain for p in parts]),
        np.concatenate([p.outcomes for p in parts]),
    )
