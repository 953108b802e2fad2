"""Matches where a condition looks at the rows before it in the match: tried one way after the other, in Python.

The same program as `by_bits.py` runs. What a condition asks of the match so far is kept along the way and taken back
with it, so a row costs the same however long the match is. A way that failed may not fail for another beginning, so
nothing is noted, and a pattern that has too many ways is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cepheid.errors import LimitReached
from cepheid.matching.rows.found import (
    NEVER,
    PAST_LAST,
    TO_FIRST,
    TO_NEXT,
    Matches,
    OpenEnds,
    Skipping,
    raise_if_stuck,
)
from cepheid.matching.rows.program import CHECK, END, JUMP, MARK, MATCH, ROW, SPLIT, START, RowProgram

MOST_STEPS = 10_000_000  # for the matches of one beginning


class Watcher(Protocol):
    """Sees the rows of the way that is tried come and go."""

    def take(self, row: int, variable: int, depth: int) -> None: ...
    def cut(self, depth: int) -> None: ...


@dataclass
class Way:
    """The match that is tried: what can be seen, where it began, the places in the program of its rows so far."""

    begin: int
    end: int
    start: int
    number: int
    watchers: Sequence[Watcher]
    path: list[int] = field(default_factory=list)
    is_open: bool = False  # more rows may come after the partition's end
    headless: bool = False  # rows before its begin are no longer known
    asks: bool = False  # a row that is not there yet was asked for

    def take(self, at: int, variable: int) -> None:
        for watcher in self.watchers:
            watcher.take(self.start + len(self.path), variable, len(self.path))
        self.path.append(at)

    def cut(self, size: int) -> None:
        if size < len(self.path):
            for watcher in self.watchers:
                watcher.cut(size)
            del self.path[size:]


class Conditions(Protocol):
    watchers: Sequence[Watcher]

    def holds(self, variable: int, row: int, way: Way) -> bool:
        """Is the row, which is the next of the way, one of the variable?"""


def match_paths(
    program: RowProgram,
    conditions: Conditions,
    offsets: Any,
    skipping: Skipping,
    times: Any,
    within: int | None,
    most_steps: int = MOST_STEPS,
    ends: OpenEnds | None = None,
) -> Matches:
    reached = -NEVER if ends is None else ends.reached
    machine = PathMachine(program, conditions, times, within, most_steps, reached)
    goals = machine.goals(skipping)
    starts: list[int] = []
    sizes: list[int] = []
    partitions: list[int] = []
    labels: list[int] = []
    waits = offsets[1:].copy()
    for partition, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        start, number, headless = begin, 1, False
        if ends is not None:
            start, number = int(ends.starts[partition]), int(ends.counts[partition]) + 1
            headless = bool(ends.cut[partition])
        while start < end:
            way = Way(
                begin, end, start, number, conditions.watchers, is_open=ends is not None, headless=headless
            )
            path = machine.first_match(way)
            if way.asks:
                waits[partition] = start
                break
            if path is None:
                start += 1
                continue
            number += 1
            starts.append(start)
            sizes.append(len(path))
            partitions.append(partition)
            labels += path
            start += onward([machine.first[at] for at in path], goals, skipping, start)
    return Matches(
        np.array(starts, np.int64),
        np.array(sizes, np.int64),
        np.array(partitions, np.int64),
        np.array(labels, np.int32),
        None if ends is None else waits,
    )


def onward(variables: list[int], goals: set[int], skipping: Skipping, start: int) -> int:
    """How many rows after the match's first the next may begin."""
    if not variables or skipping.mode == TO_NEXT:
        return 1
    if skipping.mode == PAST_LAST:
        return len(variables)
    places = [i for i, code in enumerate(variables) if code in goals]
    if not places:
        raise_if_stuck(2, start, skipping)
    goal = places[0] if skipping.mode == TO_FIRST else places[-1]
    raise_if_stuck(1 if goal == 0 else 0, start, skipping)
    return goal


class PathMachine:
    def __init__(
        self,
        program: RowProgram,
        conditions: Conditions,
        times: Any,
        within: int | None,
        most_steps: int,
        reached: int = -NEVER,
    ) -> None:
        self.ops, self.first, self.second = (
            program.ops.tolist(),
            program.first.tolist(),
            program.second.tolist(),
        )
        self.holds, self.within, self.most_steps = conditions.holds, within, most_steps
        self.watchers, self.variables = conditions.watchers, program.variables
        self.reached = reached
        self.times = times.tolist() if within is not None else []

    def goals(self, skipping: Skipping) -> set[int]:
        """The variables to skip to, by their numbers."""
        return {i for i, name in enumerate(self.variables) if name in skipping.variables}

    def first_match(self, way: Way) -> list[int] | None:
        """The places of the rows of the match that is preferred, if there is one. If it is not decided yet, the way
        asks for more."""
        for watcher in way.watchers:
            watcher.cut(0)
        waiting: list[tuple[int, int, int]] = []  # ways not tried yet: the place, how many rows, the marks
        at, mask, steps = 0, 0, 0
        while True:
            steps += 1
            if steps > self.most_steps:
                raise self._too_many(way)
            op, first = self.ops[at], self.first[at]
            if op == MATCH:
                return way.path
            failed = False
            if op == ROW:
                row = way.start + len(way.path)
                if row < way.end and self._in_time(row, way) and self.holds(first, row, way):
                    way.take(at, first)
                    mask = 0
                else:
                    failed = True
                    way.asks |= way.is_open and row >= way.end and self._may_come(way)
                if way.asks:
                    return None
                at += 1
            elif op == SPLIT:
                waiting.append((self.second[at], len(way.path), mask))
                at = first
            elif op == JUMP:
                at = first
            elif op == START:
                failed, at = way.headless or way.start + len(way.path) != way.begin, at + 1
            elif op == END:
                failed, at = way.start + len(way.path) != way.end, at + 1
                if way.is_open and not failed:
                    way.asks = True
                    return None
            elif op == MARK:
                mask, at = mask | 1 << first, at + 1
            elif op == CHECK:
                failed, at = bool(mask >> first & 1), at + 1
            if failed:
                if not waiting:
                    return None
                at, size, mask = waiting.pop()
                way.cut(size)

    def _in_time(self, row: int, way: Way) -> bool:
        return self.within is None or self.times[row] - self.times[way.start] <= self.within

    def _may_come(self, way: Way) -> bool:
        """Could a row after the last still belong to the match?"""
        return self.within is None or self.reached - self.times[way.start] <= self.within

    def _too_many(self, way: Way) -> LimitReached:
        return LimitReached(
            f"the row pattern has too many ways to match from row {way.start + 1:,} of the sorted input on: more than "
            f"{self.most_steps:,} steps were taken",
            code="too_many_steps",
            hint="make its quantifiers reluctant or bounded, or its conditions narrower; "
            "where no condition looks at other rows of the match, there is no limit",
        )
