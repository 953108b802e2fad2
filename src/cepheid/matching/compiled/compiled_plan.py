"""A plan ready for the kernel: its tables, the columns its tests read, and the space it works in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cepheid.matching.compiled.bytecode import Columns, compiled_tests
from cepheid.matching.compiled.columns import Events
from cepheid.matching.compiled.counted import why_not_counted
from cepheid.matching.compiled.failing_tests import cannot_fail
from cepheid.matching.compiled.kernel.chain_entrance import match_chains
from cepheid.matching.compiled.kernel.chain_space import new_chain_space
from cepheid.matching.compiled.kernel.emission import EVENT_WIDTH, OUT_WIDTH
from cepheid.matching.compiled.kernel.entrance import (
    K_ROWS,
    KEY_WIDTH,
    SAVED_WIDTH,
    V_ROWS,
    V_WORDS,
    match_keys,
)
from cepheid.matching.compiled.kernel.kinds import AGAIN, ALL, ALL_BY_STATE, ONE_WAY
from cepheid.matching.compiled.kernel.space import (
    CONSTANTS,
    DROPPED,
    FLOATS,
    FULL,
    FULL_OUT,
    FULL_SAVED,
    HEAP,
    INTS,
    N_OUT,
    N_OUT_EVENTS,
    NULLS,
    OUT,
    OUT_EVENTS_AT,
    OUT_EVENTS_ROOM,
    OUT_ROOM,
    ROWS,
    STARTED,
    STATUS,
    TEXTS,
    TOO_MANY_MATCHES,
    TOO_MANY_RUNS,
    new_space,
)
from cepheid.matching.compiled.kernel.words import BY_STATE, CHAIN, KIND
from cepheid.matching.compiled.tables import Table, encode
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.limits import too_many_matches, too_many_runs
from cepheid.pattern.model import SkipTo
from cepheid.pattern.types import Type
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class CompiledPlan:
    plan: Plan
    columns: Columns
    types: dict[str, int]
    tables: Table

    @classmethod
    def of(cls, plan: Plan, event: Type) -> CompiledPlan:
        """Raises Unsupported, with the reason, for what the kernel cannot take."""
        if plan.trends is not None:
            raise Unsupported("it aggregates trends")
        if plan.counting and (reason := why_not_counted(plan)) is not None:
            raise Unsupported(f"it counts matches without listing them, and {reason}")
        columns = Columns(event)
        tests = compiled_tests(plan, columns)
        types = type_numbers(plan)
        return cls(plan, columns, types, encode(plan, types, tests))


def type_numbers(plan: Plan) -> dict[str, int]:
    names = dict.fromkeys(p.step.type for p in plan.automaton.positions)
    return {name: number for number, name in enumerate(names)}


@dataclass(frozen=True)
class Keys:
    """What is told of some keys: where their new events, their state and their kept events begin, one row more."""

    table: Table
    words: Table

    @classmethod
    def without_state(cls, offsets: Table) -> Keys:
        table = np.zeros((len(offsets), KEY_WIDTH), np.int64)
        table[:, K_ROWS] = offsets
        return cls(table, np.zeros(0, np.int64))


@dataclass(frozen=True)
class Answers:
    """What the kernel gave out for some keys, and what it saved of them."""

    rows: Table
    events: Table
    counts: Table  # how often each thing happened to a run
    left: list[int]  # keys for the reference matcher
    saved: Table
    saved_words: Table
    saved_rows: Table


class Kernel:
    """Runs a compiled plan over keys; its space grows as needed and is used again."""

    def __init__(self, plan: CompiledPlan) -> None:
        self.plan = plan
        self.runs, self.nodes = 64, 1024
        self.words_a_key = 64  # room for what is saved of a key; what was needed once will be needed again
        self.out_rows = 1024  # as many as were needed before: a key whose answers find no room is done again
        self.space = self._new_space()
        skips_to_step = plan.plan.pattern.skip.to in (SkipTo.TO_FIRST, SkipTo.TO_LAST)
        self.may_fail = skips_to_step or not cannot_fail(plan.plan)
        self.kind = ALL_BY_STATE if plan.tables[BY_STATE] else (ALL, ONE_WAY, AGAIN)[plan.tables[KIND]]

    def _new_space(self) -> Table:
        space: Table = (
            new_chain_space(self.plan.tables, self.nodes)
            if self.plan.tables[CHAIN]
            else new_space(self.plan.tables, self.runs, self.nodes)
        )
        return space

    def match(
        self, events: Events, keys: Keys, time: int, ends: bool, again: SavedRoom | None = None
    ) -> Answers:
        """`again` is room for what is saved that was used before: an answer's is gone with the next one's."""
        words = 0 if ends else max(1024, self.words_a_key * len(keys.table))
        room = _Room.of(len(keys.table), self.out_rows, again or SavedRoom(), words)
        left: list[int] = []
        at, count = 0, len(keys.table) - 1
        self.space[N_OUT] = self.space[N_OUT_EVENTS] = 0
        self.space[STARTED : DROPPED + 1] = 0
        while at < count:
            self._point(events, room)
            at = self._go_on(keys, at, time, ends, room)
            if at < count and not self._grown(room):
                self._check_limits()
                left.append(at)
                room.saved[at + 1, : V_ROWS + 1] = room.saved[at, : V_ROWS + 1]
                at += 1
        return room.answers(self.space, left)

    def _go_on(self, keys: Keys, at: int, time: int, ends: bool, room: _Room) -> int:
        """From a key on; the answer is the key that could not be done, or the number of keys."""
        tables, answers = self.plan.tables, (room.saved, room.kept.words, room.kept.rows)
        if tables[CHAIN]:
            found: int = match_chains(tables, self.space, keys.table, keys.words, at, time, ends, *answers)
        else:
            found = match_keys(
                self.kind, tables, self.space, keys.table, keys.words, at, time, ends, *answers
            )
        return found

    def _grown(self, room: _Room) -> bool:
        """More room for what was full; False if it is not a question of room."""
        status = self.space[STATUS]
        if status == FULL:
            self._grow()
        elif status == FULL_OUT:
            room.out, room.out_events = _doubled(room.out), _doubled(room.out_events)
            self.out_rows = len(room.out)
        elif status == FULL_SAVED:
            room.kept.double()
            self.words_a_key = len(room.kept.words) // len(room.saved) + 1
        return bool(status in (FULL, FULL_OUT, FULL_SAVED))

    def _check_limits(self) -> None:
        """A key that explodes is not given to the reference matcher: it would take minutes to say the same.

        Unless at the same event something else might be wrong, which it would say first.
        """
        if self.may_fail:
            return
        status = self.space[STATUS]
        if status == TOO_MANY_RUNS:
            raise too_many_runs(self.plan.plan)
        if status == TOO_MANY_MATCHES:
            raise too_many_matches(self.plan.plan)

    def _point(self, events: Events, room: _Room) -> None:
        """Tells the kernel where things lie."""
        space = self.space
        space[ROWS] = events.ints.shape[1]
        space[INTS], space[FLOATS] = events.ints.ctypes.data, events.floats.ctypes.data
        space[NULLS], space[TEXTS] = events.nulls.ctypes.data, events.texts.ctypes.data
        space[HEAP], space[CONSTANTS] = events.heap.ctypes.data, events.constants.ctypes.data
        space[OUT], space[OUT_ROOM] = room.out.ctypes.data, len(room.out)
        space[OUT_EVENTS_AT], space[OUT_EVENTS_ROOM] = room.out_events.ctypes.data, len(room.out_events)

    def _grow(self) -> None:
        """Twice the room, with what was given out and counted so far."""
        before = self.space
        self.runs, self.nodes = 2 * self.runs, 2 * self.nodes
        self.space = self._new_space()
        for counter in (N_OUT, N_OUT_EVENTS, *range(STARTED, DROPPED + 1)):
            self.space[counter] = before[counter]


@dataclass
class SavedRoom:
    """Where the kernel writes what it saves. Several megabytes, which a system gives anew more slowly than it is
    written: those who are done with an answer before the next one use it again."""

    words: Table = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Table = field(default_factory=lambda: np.empty(0, np.int64))

    def reserve(self, words: int) -> None:
        if len(self.words) < words:
            self.words, self.rows = np.empty(words, np.int64), np.empty(words, np.int64)

    def double(self) -> None:
        self.words, self.rows = _doubled(self.words), _doubled(self.rows)


@dataclass
class _Room:
    """Where the kernel writes its answers."""

    out: Table
    out_events: Table
    saved: Table
    kept: SavedRoom

    @classmethod
    def of(cls, keys: int, rows: int, kept: SavedRoom, words: int) -> _Room:
        out = np.empty((max(rows, keys), OUT_WIDTH), np.int64)
        kept.reserve(words)
        saved = np.zeros((keys, SAVED_WIDTH), np.int64)
        return cls(out, np.empty((4 * len(out), EVENT_WIDTH), np.int64), saved, kept)

    def answers(self, space: Table, left: list[int]) -> Answers:
        return Answers(
            self.out[: space[N_OUT]],
            self.out_events[: space[N_OUT_EVENTS]],
            space[STARTED : DROPPED + 1].copy(),
            left,
            self.saved,
            self.kept.words[: self.saved[-1, V_WORDS]],
            self.kept.rows[: self.saved[-1, V_ROWS]],
        )


def _doubled(rows: Table) -> Table:
    grown = np.empty((2 * len(rows), *rows.shape[1:]), rows.dtype)
    grown[: len(rows)] = rows  # and the rest is not touched: the system gives memory when it is
    return grown
