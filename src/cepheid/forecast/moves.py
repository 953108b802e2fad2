"""What each symbol does to a run at each place, asked of the reference matcher: a table for the kernel.

Only for patterns whose future is settled by their places and the symbols: no test looks at another event, no run at
another run, and the only bound of time is the window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.forecast.places import Places
from cepheid.matching.lifecycle import Completed, RunEvent
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run
from cepheid.matching.tests import PlanTests
from cepheid.pattern.event import Event
from cepheid.plan.event_tests import Answered, tests_of
from cepheid.plan.plan import Plan

MOST = 60  # places: a set of them is a word of bits
Table = NDArray[np.int64]


@dataclass(frozen=True)
class Moves:
    """By place and symbol; -1 is nowhere. `places` are what the model calls them."""

    places: tuple[tuple[Any, ...], ...]
    stays: Table
    children: Table
    completes: Table
    positions: Table
    starts: Table
    start_positions: Table

    def arrays(self) -> tuple[Table, ...]:
        return (
            self.stays,
            self.children,
            self.completes,
            self.positions,
            self.starts,
            self.start_positions,
            self._affected(),
        )

    def _affected(self) -> Table:
        """By symbol: the places, as bits, from where it leads anywhere else, or completes a run."""
        own = np.arange(len(self.places))[:, None]
        moves = (self.stays != own) | (self.children >= 0) | (self.completes != 0)
        found: Table = np.bitwise_or.reduce(np.where(moves, np.int64(1) << own, 0), axis=0)
        return found


@dataclass(frozen=True)
class _Asked:
    """Where an event led: the runs that stayed, those that took it, whether there was a match."""

    stayed: tuple[Run, ...]
    took: tuple[Run, ...]
    complete: bool
    partition: Partition


class _Explorer:
    """A unit of runs at a place stands for all that are ever there."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.where = plan, Places(plan)
        tests = tuple(dict.fromkeys(tests_of(plan)))
        self.tests = PlanTests(plan, Answered(tests, ((),) * len(tests)))
        numbers = {test: i for i, test in enumerate(tests)}
        self.bit_of = [numbers[test] for test in tests_of(plan)]
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.known: list[
            tuple[tuple[Run, ...], int]
        ] = []  # runs at each place, and the index of the last event
        self.ends: list[tuple[Event, ...]] = []

    def ask(self, runs: Iterable[Run], index: int, bits: int) -> tuple[_Asked, Event]:
        """`bits`: the tests passed, one for each test of the plan in its order."""
        passed = 0
        for number, bit in enumerate(self.bit_of):
            passed |= (bits >> number & 1) << bit
        event = Event("", 0, {}, passed=passed)
        partition = Partition(self.plan, self.tests, (), self._note)
        partition.runs, partition.index, partition.time = list(runs), index, 0
        self.ends = []
        before = {run.events() for run in partition.runs}
        partition.on_event(event)
        stayed = tuple(r for r in partition.runs if r.events() in before)
        took = tuple(
            r for r in partition.runs if r.last.event is event and (len(r.taken) > 1) == bool(before)
        )
        complete = any(end in before or (end[:-1] in before) == bool(before) for end in self.ends)
        return _Asked(stayed, took, complete, partition), event

    def _note(self, what: RunEvent) -> None:
        if isinstance(what, Completed):
            self.ends.append(what.taken)

    def number(self, runs: tuple[Run, ...], partition: Partition) -> int:
        """Of the place they are at; -1 if there are none."""
        if not runs:
            return -1
        place = self.where.place(runs, partition)
        if place not in self.numbers:
            self.numbers[place] = len(self.numbers)
            self.known.append((runs, partition.index))
        return self.numbers[place]


def moves_of(plan: Plan, symbols: Iterable[int]) -> Moves | None:
    """For these symbols, as bits; None if there are too many places, or a run may be at several positions at once."""
    explorer, bits = _Explorer(plan), list(symbols)
    starts, start_positions = [], []
    for symbol in bits:
        asked, _ = explorer.ask((), 0, symbol)
        starts.append(explorer.number(asked.took, asked.partition))
        start_positions.append(_position(asked.took))
    rows: list[list[tuple[int, int, int, int]]] = []
    while len(rows) < len(explorer.known):
        if len(explorer.known) > MOST:
            return None
        runs, index = explorer.known[len(rows)]
        row = []
        for symbol in bits:
            asked, _ = explorer.ask(runs, index, symbol)
            stay = explorer.number(asked.stayed, asked.partition)
            child = explorer.number(asked.took, asked.partition)
            row.append((stay, child, int(asked.complete), _position(asked.took)))
        rows.append(row)
    if any(position == -2 for row in rows for *_, position in row) or -2 in start_positions:
        return None
    tables = np.array(rows, np.int64).reshape(len(rows), len(bits), 4)
    stays, children, completes, positions = (np.ascontiguousarray(tables[:, :, i]) for i in range(4))
    begins = (np.array(starts, np.int64), np.array(start_positions, np.int64))
    return Moves(tuple(explorer.numbers), stays, children, completes, positions, *begins)


def _position(runs: tuple[Run, ...]) -> int:
    """Of the event they took last; -1 if there are none, -2 if they differ."""
    found = {run.last.position for run in runs}
    return -1 if not found else found.pop() if len(found) == 1 else -2
