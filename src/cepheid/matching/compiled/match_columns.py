"""What `.emit` says of the kernel's matches, as columns: no object is made for a match.

Whatever is more than a field, a length, the key or the match itself is left to the rows of `engines/rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import (
    EVENT_POSITION,
    EVENT_RANK,
    EVENT_ROW,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_FROM,
    OUT_KEY,
    OUT_TO,
)
from cepheid.matching.compiled.match_ids import id_texts, match_lanes
from cepheid.matching.compiled.tables import Table, aliases_of
from cepheid.matching.ids import text_word
from cepheid.pattern.expr import Call, Element, Expr, Field, Key, Length, Literal
from cepheid.plan.plan import Plan

_SIMPLE = (
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_floating,
    pa.types.is_timestamp,
    pa.types.is_date,
)


def are_columns(outputs: Sequence[Expr], plan: Plan, fields: pa.Schema) -> bool:
    """Can all outputs be read off the events' columns?"""
    return all(_is_column(o, plan, fields) for o in outputs)


def _is_column(expr: Expr, plan: Plan, fields: pa.Schema) -> bool:
    if isinstance(expr, Length):
        return True
    if isinstance(expr, Call):
        return expr.name in ("match_id", "match_start", "match_end") and not expr.args
    if isinstance(expr, Key):
        part = plan.key[plan.key_names.index(expr.name)]
        return isinstance(part, Field) and _is_simple(part.path, fields)
    if isinstance(expr, Element):
        at = expr.index
        written = isinstance(at, Literal) and at.value.__class__ is int
        return (expr.from_end or written) and _is_simple(expr.path, fields)
    return isinstance(expr, Field) and expr.alias is not None and _is_simple(expr.path, fields)


def _is_simple(path: tuple[str, ...], fields: pa.Schema) -> bool:
    if len(path) != 1 or path[0] not in fields.names:
        return False
    return any(test(fields.field(path[0]).type) for test in _SIMPLE)


class MatchColumns:
    """Reads columns off the matches among the kernel's answers."""

    def __init__(
        self,
        plan: Plan,
        answers: Answers,
        which: Table,
        fields: pa.Table,
        times: Table,
        words: Callable[[Table], npt.NDArray[np.uint64]],
    ) -> None:
        """`which` are the rows of the answers that are matches; `words` stand for the keys of some rows."""
        self.plan, self.fields, self.times, self.words = plan, fields, times, words
        self.rows = answers.rows if len(which) == len(answers.rows) else answers.rows[which]
        self.counts = self.rows[:, OUT_EVENTS]
        # The events of these matches, one after the other, and which match each belongs to.
        self.match_of = np.repeat(np.arange(len(self.rows)), self.counts)
        before = self.rows[:, OUT_FIRST] - (np.cumsum(self.counts) - self.counts)  # that are of others
        self.events = answers.events
        if before.any() or len(self.match_of) != len(answers.events):
            self.events = answers.events[np.arange(len(self.match_of)) + np.repeat(before, self.counts)]
        aliases = {alias: i for i, alias in enumerate(aliases_of(plan))}
        named = [p.step.alias for p in plan.automaton.positions]
        self.aliases = aliases
        self.alias_of = np.array([-1 if a is None else aliases[a] for a in named], np.int64)

    def column(self, expr: Expr, kind: pa.DataType) -> pa.Array:
        return self._values(expr).cast(kind)

    def _values(self, expr: Expr) -> pa.Array:
        match expr:
            case Length(alias=alias):
                return pa.array(np.bincount(self.match_of[self._mine(alias)], minlength=len(self.rows)))
            case Call(name="match_id"):
                return self._ids()
            case Call(name="match_start"):
                return _timestamps(self.rows[:, OUT_FROM])
            case Call():
                return _timestamps(self.rows[:, OUT_TO])
            case Key(name=name):
                part = self.plan.key[self.plan.key_names.index(name)]
                assert isinstance(part, Field)
                return self._taken(part.path, self.events[np.cumsum(self.counts) - self.counts, EVENT_ROW])
            case Element(alias=alias, index=Literal(value=at)) if not expr.from_end:
                return self._taken(expr.path, self._rows_at(alias, at))
            case Field(alias=alias) | Element(alias=alias) if alias is not None:
                return self._taken(expr.path, self._last_rows(alias))
        raise AssertionError(expr)

    def _mine(self, alias: str) -> Table:
        """The events bound to a name."""
        found: Table = np.flatnonzero(
            self.alias_of[self.events[:, EVENT_POSITION]] == self.aliases.get(alias, -2)
        )
        return found

    def _last_rows(self, alias: str) -> Table:
        rows = np.full(len(self.rows), -1, np.int64)
        mine = self._mine(alias)
        rows[self.match_of[mine]] = self.events[mine, EVENT_ROW]  # of several, the last one stays
        return rows

    def _rows_at(self, alias: str, at: int) -> Table:
        rows = np.full(len(self.rows), -1, np.int64)
        mine = self._mine(alias)
        matches = self.match_of[mine]
        first = np.searchsorted(matches, matches, side="left")
        here = np.arange(len(mine)) - first == at
        rows[matches[here]] = self.events[mine[here], EVENT_ROW]
        return rows

    def _taken(self, path: tuple[str, ...], rows: Table) -> pa.Array:
        found = self.fields[path[0]].take(pa.array(rows, mask=rows < 0)).combine_chunks()
        if isinstance(found, pa.ChunkedArray):
            found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
        if pa.types.is_floating(found.type):  # NaN is null
            found = pc.if_else(pc.is_nan(found), pa.scalar(None, found.type), found)
        return found

    def _ids(self) -> pa.Array:
        lanes = match_lanes(
            text_word(self.plan.identity),
            self._key_words(),
            self.counts,
            self.events[:, EVENT_POSITION],
            self.times[self.events[:, EVENT_ROW]],
            self.events[:, EVENT_RANK],
        )
        return id_texts(lanes)

    def _key_words(self) -> Any:
        """The number that stands for each match's key."""
        _, first, match_of = np.unique(self.rows[:, OUT_KEY], return_index=True, return_inverse=True)
        begins = np.cumsum(self.counts) - self.counts
        return self.words(self.events[begins[first], EVENT_ROW])[match_of]


def _timestamps(times: Table) -> pa.Array:
    return pa.array(times).cast(pa.timestamp("us", "UTC"))
