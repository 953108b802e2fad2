"""The tests of one event alone, for a whole batch: by Arrow where it is exact, by Python where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engines.columnar.event_batch import EventBatch
from cepheid.engines.columnar.instants import Marks, Numbers, filled
from cepheid.engines.columnar.picking import those
from cepheid.matching.compiled.arrow_terms import Fields, Stays
from cepheid.matching.compiled.arrow_tests import condition
from cepheid.matching.compiled.keyed_rows import BITS_A_COLUMN
from cepheid.matching.evaluate import compile_test
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr
from cepheid.plan.event_tests import EventTest
from cepheid.plan.plan import Plan
from cepheid.plan.seen_rows import seen_rows


@dataclass(frozen=True)
class PlanBits:
    """The tests of a plan: their answers are bits of a number for each event."""

    tests: tuple[EventTest, ...]
    closing: frozenset[str]  # types of which every event counts, whatever it passes
    sees_all: bool

    @classmethod
    def of(cls, plan: Plan, tests: tuple[EventTest, ...], type_column: str) -> PlanBits:
        seen = seen_rows(plan, type_column)
        return cls(tests, seen.types, seen.all)


@dataclass(frozen=True)
class SharedBits:
    """The tests of several plans, each of them once, in as few columns as hold them."""

    tests: tuple[EventTest, ...]
    in_python: dict[Expr, Callable[[Moment], bool] | None]  # each condition, should Arrow not answer it
    closing: frozenset[str]
    sees_all: bool

    @classmethod
    def of(cls, plans: Sequence[PlanBits]) -> SharedBits:
        tests = tuple(dict.fromkeys(test for plan in plans for test in plan.tests))
        conditions = {expr: compile_test((expr,)) for test in tests for expr in test.alpha}
        closing = frozenset(kind for plan in plans for kind in plan.closing)
        return cls(tests, conditions, closing, any(plan.sees_all for plan in plans))

    @property
    def columns(self) -> int:
        return -(-len(self.tests) // BITS_A_COLUMN)

    def look_at(self, events: TestedBatch) -> tuple[list[Numbers], Marks]:
        """The bits of each row that is looked at, and which of them any plan has to see."""
        rows, kinds = len(events.batch.rows), events.batch.kinds
        bits = [np.zeros(rows, np.int64) for _ in range(self.columns)]
        for number, test in enumerate(self.tests):
            own = kinds.places(test.type)
            if len(own):
                passing = those(own, events.passed(test, self.in_python)) if test.alpha else own
                bits[number // BITS_A_COLUMN][passing] |= 1 << (number % BITS_A_COLUMN)
        if self.sees_all:
            return bits, np.ones(rows, np.bool_)
        wanted: Marks = np.zeros(rows, np.bool_)
        for column in bits:
            wanted |= column != 0
        for kind in self.closing:
            wanted[kinds.places(kind)] = True
        return bits, wanted


class TestedBatch:
    """A batch, and the answers of tests over it: several plans may ask the same."""

    def __init__(self, batch: EventBatch) -> None:
        self.batch = batch
        self._answers: dict[EventTest, Marks] = {}
        self._fields: dict[str, Fields] = {}
        self._conditions: dict[tuple[str, Expr], Any] = {}

    def passed(self, test: EventTest, in_python: dict[Expr, Callable[[Moment], bool] | None]) -> Marks:
        """Of the rows of its type."""
        if test not in self._answers:
            self._answers[test] = self._passed(test, in_python)
        return self._answers[test]

    def _passed(self, test: EventTest, in_python: dict[Expr, Callable[[Moment], bool] | None]) -> Marks:
        """Condition by condition: one that Python answers is asked only where those before it hold, as ever."""
        rows = self._rows(test.type)
        known = self.batch.batch.may_pass
        held: Marks = np.ones(len(rows), np.bool_) if known is None else known[rows]
        for expr in test.alpha:
            found = self._condition(test.type, expr)
            if found is not None:
                held &= found
                continue
            python = in_python[expr]
            assert python is not None
            where = np.flatnonzero(held)
            events = self.batch.events(test.type, rows[where])
            held[where] = _asked(python, events)
        return held

    def _rows(self, kind: str) -> Numbers:
        return self.batch.rows.take(self.batch.kinds.places(kind))

    def _condition(self, kind: str, expr: Expr) -> Marks | None:
        key = (kind, expr)
        if key not in self._conditions:
            self._conditions[key] = self._by_arrow(kind, expr)
        found: Marks | None = self._conditions[key]
        return found

    def _by_arrow(self, kind: str, expr: Expr) -> Marks | None:
        if kind not in self._fields:
            rows = self._rows(kind)
            self._fields[kind] = Fields(self.batch.fields(rows), len(rows))
        try:
            found = condition(expr, self._fields[kind])
        except Stays:
            return None
        marks: Marks = filled(found, False).to_numpy(zero_copy_only=False)
        return marks


def _asked(test: Callable[[Moment], bool], events: list[Event]) -> list[bool]:
    return [test(Moment(event, {})) for event in events]
