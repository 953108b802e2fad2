"""Patterns of neighbours as a plain automaton over rows: what a run under `strict` may do, as far as two rows tell.

The event that a run took last is the row before. So besides the tests of one event alone, those that compare it with
the event before are known row by row. All other tests, and how often a closure goes round at most, are taken to hold:
what this automaton cannot do no run can, and it has a way for every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.tables import Table
from cepheid.pattern.expr import Binary, Expr, Field
from cepheid.plan.automaton import START, Automaton, Edge
from cepheid.plan.plan import Plan

SOURCE, TARGET, POSITION, PAIRS, WAY_WIDTH = range(5)
_MOST_STATES = 60
_MOST_COUNTED = 16  # rounds of a closure
_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class PairTest:
    """A field of an event beside one of the event before."""

    op: str
    field: str
    before: str
    begins: bool  # a closure: without a value before there is nothing to compare with, and it holds


@dataclass(frozen=True)
class Neighbours:
    """`ways` are edges: from, to, the position, the pair tests as bits. From -1: where a run begins."""

    ways: Table
    accepting: int  # states as bits
    tests: tuple[PairTest, ...]


NO_NEIGHBOURS = Neighbours(np.zeros((0, WAY_WIDTH), np.int64), 0, ())


class _State(NamedTuple):
    state: int
    rounds: int  # of the one closure it is inside of; as many as it needs stand for more


@dataclass
class _Walk:
    automaton: Automaton
    numbers: dict[_State, int] = field(default_factory=dict)
    tests: dict[PairTest, int] = field(default_factory=dict)

    def ways(self) -> Iterator[tuple[int, int, int, int]]:
        todo = [_State(START, 0)]
        while todo:
            here = todo.pop()
            for edge in self.automaton.out[here.state]:
                there = self._after(here, edge)
                if there is None:
                    continue
                if there not in self.numbers:
                    self.numbers[there] = len(self.numbers)
                    todo.append(there)
                source = -1 if here.state == START else self.numbers[here]
                yield source, self.numbers[there], edge.position, self._pairs(edge)

    def accepting(self) -> int:
        found = 0
        for here, number in self.numbers.items():
            if any(self._may_leave(here, accept.leaves) for accept in self.automaton.accepting[here.state]):
                found |= 1 << number
        return found

    def _counted(self, state: int) -> int | None:
        """The closure whose rounds are counted in a state."""
        inside = self.automaton.closures_of[state]
        return next(iter(inside)) if len(inside) == 1 else None

    def _enough(self, closure: int) -> int:
        return min(max(self.automaton.closures[closure].min, 1), _MOST_COUNTED)

    def _may_leave(self, here: _State, leaves: tuple[int, ...]) -> bool:
        closure = self._counted(here.state)
        return closure is None or closure not in leaves or here.rounds >= self._enough(closure)

    def _after(self, here: _State, edge: Edge) -> _State | None:
        if not self._may_leave(here, edge.leaves):
            return None
        closure = self._counted(edge.target)
        if closure is None:
            return _State(edge.target, 0)
        enough = self._enough(closure)
        if closure in edge.enters:
            return _State(edge.target, 1)
        if self._counted(here.state) != closure:
            return _State(edge.target, enough)
        return _State(edge.target, min(here.rounds + (edge.loop == closure), enough))

    # Tests of two rows.

    def _pairs(self, edge: Edge) -> int:
        found = 0
        for test in self.automaton.positions[edge.position].beta if edge.source != START else ():
            pair = self._pair(test, edge)
            if pair is not None:
                found |= 1 << self.tests.setdefault(pair, len(self.tests))
        return found

    def _pair(self, test: Expr, edge: Edge) -> PairTest | None:
        """The test as one of this event and the one before; None: it is more."""
        if not isinstance(test, Binary) or test.op not in _OPS:
            return None
        op, now, before = test.op, test.left, test.right
        if isinstance(now, Field) and now.alias is not None:
            op, now, before = _TURNED[op], before, now
        if not isinstance(now, Field) or not isinstance(before, Field) or now.alias is not None:
            return None
        begins = self._begins(edge, before.alias)
        if begins is None or len(now.path) != 1 or len(before.path) != 1:
            return None
        return PairTest(op, now.path[0], before.path[0], begins)

    def _begins(self, edge: Edge, alias: str | None) -> bool | None:
        """False: the event before has this name. True: it has another one, which stands in for it. None: neither."""
        if alias is None:
            return None
        names = {self._name(e) for e in self.automaton.edges if e.target == edge.source}
        if names == {alias}:
            return False
        own = self._name(edge) == alias and self.automaton.positions[edge.position].repeated
        again = any(self._name(e) == alias for e in self.automaton.edges if edge.source in self._behind(e))
        return True if own and alias not in names and not again else None

    def _behind(self, edge: Edge) -> set[int]:
        """States that a run may be in after an edge."""
        return {edge.target, *(e.target for e in self.automaton.reachable(edge.target))}

    def _name(self, edge: Edge) -> str | None:
        return self.automaton.positions[edge.position].step.alias


def neighbours_of(plan: Plan) -> Neighbours:
    """Of a plan all of whose edges take the very next event."""
    walk = _Walk(plan.automaton)
    ways = list(walk.ways())
    if len(walk.numbers) > _MOST_STATES or len(walk.tests) > _MOST_STATES:
        return NO_NEIGHBOURS
    return Neighbours(np.array(ways, np.int64).reshape(-1, WAY_WIDTH), walk.accepting(), tuple(walk.tests))


def pair_bits(tests: tuple[PairTest, ...], columns: Mapping[str, Any], rows: int) -> Table:
    """Of each row the tests that hold between it and the row before; what cannot be told holds."""
    found = np.zeros(rows, np.int64)
    known = {name: _numbers(columns, name) for test in tests for name in (test.field, test.before)}
    for number, test in enumerate(tests):
        now, before = known[test.field], known[test.before]
        if now is None or before is None or now.values.dtype != before.values.dtype:
            found |= 1 << number
            continue
        holds = _OPS[test.op](now.values[1:], before.values[:-1])
        holds &= now.there[1:] & before.there[:-1]
        if test.begins:
            holds |= ~before.there[:-1]
        found[1:] |= holds.astype(np.int64) << number
    return found


class _Numbers(NamedTuple):
    values: npt.NDArray[Any]
    there: npt.NDArray[np.bool_]


def _numbers(columns: Mapping[str, Any], name: str) -> _Numbers | None:
    """A column's values, and where there are any; None: they are not plain numbers."""
    column = columns.get(name)
    if column is None or not (pa.types.is_integer(column.type) or pa.types.is_float64(column.type)):
        return None
    kind = column.type
    if pa.types.is_uint64(kind):
        return None
    wide = column.cast(pa.int64() if pa.types.is_integer(kind) else pa.float64())
    there = pc.is_valid(wide).to_numpy(zero_copy_only=False)
    values = pc.fill_null(wide, 0).to_numpy(zero_copy_only=False)
    return _Numbers(values, there & ~np.isnan(values) if values.dtype == np.float64 else there)
