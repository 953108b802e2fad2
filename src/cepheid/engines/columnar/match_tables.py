"""Matches as a table, without an object for a match: what can be read off the columns of their events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.columnar.groups import StreamPlan
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import FIELD, TIME
from cepheid.engines.columnar.key_codes import key_values
from cepheid.engines.columnar.known_words import KnownWords
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.local.arrow_types import type_from_arrow
from cepheid.engines.local.frames import SCALARS
from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import EVENT_ROW, OUT_KEY
from cepheid.matching.compiled.key_words import KeyWords
from cepheid.matching.compiled.match_columns import MatchColumns, are_columns
from cepheid.pattern.expr import Call, Element, Expr, Field, Key
from cepheid.pattern.types import NULL, Type
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class MatchTable:
    """The columns of a stream's matches: each an expression and its type."""

    plan: Plan
    columns: dict[str, tuple[Expr, Type]]

    @classmethod
    def of(cls, stream: StreamPlan, types: dict[str, Type], schema: pa.Schema) -> MatchTable | None:
        """None: matches of this stream have to be objects."""
        exprs = _outputs(stream)
        fields = {f.name.removeprefix(FIELD): f.type for f in schema if f.name.startswith(FIELD)}
        if stream.plan.pattern.eager or exprs.keys() != types.keys():
            return None
        found = cls(stream.plan, {name: (expr, types[name]) for name, expr in exprs.items()})
        return found if all(found._fits(*column, fields) for column in found.columns.values()) else None

    def read(self, answers: Answers, matches: Numbers, rows: Sorted) -> pa.Table:
        table, known = rows.table, KeyWords(self.plan.inferred_key)

        def words(which: Numbers) -> npt.NDArray[np.uint64]:
            return known.of(key_values(self.plan, table, which))

        read = _PartColumns(self.plan, answers, matches, _fields(table), table[TIME].to_numpy(), words)
        read.known = rows.words
        return pa.table({name: read.typed(*column) for name, column in self.columns.items()})

    def _fits(self, expr: Expr, kind: Type, fields: dict[str, pa.DataType]) -> bool:
        """Can it be read off, and is it of the type that its values have, whatever they are?"""
        if _is_whole(expr):
            struct = kind.item or kind
            inside = dict(struct.fields)
            same = inside.keys() == fields.keys()
            return same and bool(inside) and all(_same_type(t, fields[n]) for n, t in inside.items())
        if kind not in SCALARS or kind == NULL:
            return False
        if not are_columns([expr], self.plan, pa.schema(list(fields.items()))):
            return False
        path: tuple[str, ...] = expr.path if isinstance(expr, (Field, Element)) else ()
        if isinstance(expr, Key):
            part = self.plan.key[self.plan.key_names.index(expr.name)]
            path = part.path if isinstance(part, Field) else ()
        return not path or _same_type(kind, fields[path[0]])


def _outputs(stream: StreamPlan) -> dict[str, Expr]:
    """The columns of `.emit`, or the default ones."""
    outputs, plan = stream.planned.stream.outputs, stream.plan
    if outputs is not None:
        return {o.name: o.expr for o in outputs}
    return {
        "match_id": Call("match_id", ()),
        "start": Call("match_start", ()),
        "end": Call("match_end", ()),
        **{name: Key(name) for name in plan.key_names},
        **{alias: Field(alias, ()) for alias in plan.aliases},
    }


def _is_whole(expr: Expr) -> bool:
    return isinstance(expr, Field) and expr.alias is not None and not expr.path


def _same_type(kind: Type, column: pa.DataType) -> bool:
    plain = kind in SCALARS and kind != NULL and not pa.types.is_uint64(column)
    return plain and type_from_arrow(column) == kind


def _fields(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if name.startswith(FIELD)]
    return table.select(names).rename_columns([name.removeprefix(FIELD) for name in names])


class _PartColumns(MatchColumns):
    """Columns of matches, whole events among them. Streams of a group have the same keys: their words are `known`."""

    known: KnownWords

    def _key_words(self) -> npt.NDArray[np.uint64]:
        firsts = self.events[np.cumsum(self.counts) - self.counts, EVENT_ROW]
        return self.known.of(self.rows[:, OUT_KEY], firsts, self.words)

    def typed(self, expr: Expr, kind: Type) -> pa.Array:
        if not isinstance(expr, Field) or expr.path or expr.alias is None:
            return self.column(expr, SCALARS[kind])
        if kind.item is None:
            return self._events(kind, self._last_rows(expr.alias))
        mine = self._mine(expr.alias)
        counts = np.bincount(self.match_of[mine], minlength=len(self.rows))
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        return pa.ListArray.from_arrays(offsets, self._events(kind.item, self.events[mine, EVENT_ROW]))

    def _events(self, kind: Type, rows: Numbers) -> pa.Array:
        """Whole events; where there is none, null."""
        columns = [self._taken((name,), rows).cast(SCALARS[inner]) for name, inner in kind.fields]
        names = [name for name, _ in kind.fields]
        return pa.StructArray.from_arrays(columns, names, mask=pa.array(rows < 0))
