"""Aggregates over trends, from kept rows: streams that have a closure in common are aggregated together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.groups import Group, StreamPlan
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import FIELD, TIME
from cepheid.engines.columnar.key_codes import key_values
from cepheid.engines.columnar.left_keys import Finding, match_left
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.objects import events_of
from cepheid.engines.columnar.places import Places
from cepheid.engines.columnar.results import Listed, StreamResults, listed_kinds
from cepheid.engines.local.events import Columns
from cepheid.engines.local.frames import SCALARS
from cepheid.engines.rows import RowMaker
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.keyed_rows import places_of
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.evaluate import compile_test
from cepheid.matching.found import Match
from cepheid.matching.moment import Moment
from cepheid.pattern.expr import Expr, Field, Key
from cepheid.pattern.model import TrendRows
from cepheid.pattern.types import Type
from cepheid.trends.aggregates import Aggregated, TrendSet, TrendShape, aggregate, trend_sets
from cepheid.trends.columns import NotWhole
from cepheid.trends.row_columns import plain_columns


class TrendResults(StreamResults):
    """Collects the rows of one stream."""

    def __init__(
        self, stream: StreamPlan, outputs: list[tuple[str, Type]], group: Group, columns: Columns
    ) -> None:
        self.stream, self.types, self.columns = stream, list(group.types), columns
        self.maker = RowMaker(stream.planned)
        self.listed = {kind: Listed() for kind in listed_kinds(stream)}
        self.foretold = None  # no runs are kept apart
        self.tables: list[pa.Table] = []
        self.table_keys: list[list[Any]] = []
        self.outputs = dict(outputs)
        trends = stream.plan.trends
        assert trends is not None
        self.trends = trends
        names = (*stream.plan.key_names, *trends.names)
        self.having = compile_test(trends.having, keys=names)
        self.plain = self._plain()

    def _plain(self) -> dict[str, Expr] | None:
        """The columns of the answer where they can be read off; None: they cannot."""
        exprs = plain_columns(self.stream.plan, self.stream.planned.stream.outputs)
        keys = all(isinstance(k, Field) and len(k.path) == 1 for k in self.stream.plan.key)
        typed = all(self.outputs[name] in SCALARS for name in exprs or ())
        return exprs if keys and typed else None

    def take(self, rows: Sorted, own: Numbers, found: Aggregated, end: int) -> None:
        """`own`: the rows that were aggregated."""
        events = own[found.events]
        if len(events):
            places = self._places(rows, events)
            if self.plain is not None and not len(found.left) and not self.listed["match"].rows:
                self.tables.append(self._table(self.plain, rows, events, found))
                self.table_keys.append(places.keys(rows.table, len(self.columns.order)))
            else:
                self._take_objects(rows, events, found, places)
        for key in found.left.tolist():
            noted = match_left(self.stream.plan, rows, key, self.types, self.columns, end)
            self._list(rows, noted.found, noted.places())

    def _places(self, rows: Sorted, events: Numbers) -> Places:
        """With the event that made it so; what the end makes comes last."""
        if self.trends.rows is TrendRows.FINAL:
            return Places(np.full(len(events), NEVER), np.full(len(events), 2), events)
        return Places(rows.table[TIME].to_numpy()[events], np.zeros(len(events), np.int64), events)

    def _table(self, exprs: dict[str, Expr], rows: Sorted, events: Numbers, found: Aggregated) -> pa.Table:
        columns = {name: self._column(expr, rows, events, found) for name, expr in exprs.items()}
        return pa.table({name: values.cast(SCALARS[self.outputs[name]]) for name, values in columns.items()})

    def _column(self, expr: Expr, rows: Sorted, events: Numbers, found: Aggregated) -> Any:
        if not isinstance(expr, Key):
            times = rows.table[TIME].to_numpy()[events]
            return pa.array(times).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
        plan = self.stream.plan
        if expr.name in plan.key_names:
            part = plan.key[plan.key_names.index(expr.name)]
            assert isinstance(part, Field)
            return rows.table[FIELD + part.path[0]].take(pa.array(events))
        return found.value(next(c for c in self.trends.columns if c.name == expr.name))

    def _take_objects(self, rows: Sorted, events: Numbers, found: Aggregated, places: Places) -> None:
        columns = [found.value(c).to_pylist() for c in self.trends.columns]
        objects = events_of(rows.table, events, self.types, self.columns)
        keys = key_values(self.stream.plan, rows.table, events)
        matches: list[Finding] = []
        kept: list[int] = []
        for i, (event, key, values) in enumerate(zip(objects, keys, zip(*columns, strict=True), strict=True)):
            whole, when = (*key, *values), event.time
            if self.having is None or self.having(Moment(None, {}, None, whole)):
                matches.append(Match("", whole, (event,), {}, when, when, when))
                kept.append(i)
        self._list(rows, matches, places.taken(np.array(kept, np.int64)))


def take_trends(group: Group, results: Sequence[StreamResults], rows: Sorted, end: int) -> None:
    """The streams of a group that aggregate trends."""
    numbers = _by_shape(group.streams)
    for together in trend_sets(numbers):
        own, offsets, bits = _of_set(group, together, rows)
        taken = pa.array(rows.rows[own])

        def read(name: str, taken: pa.Array = taken) -> pa.Array:
            if FIELD + name not in rows.table.column_names:
                return pa.nulls(len(taken), pa.int64())
            return rows.table[FIELD + name].take(taken)

        streams = [numbers[shape] for shape in together.shapes]
        plans = [[group.streams[number].plan for number in own_numbers] for own_numbers in streams]
        try:
            found = aggregate(together, plans, offsets, rows.tested.times[own], bits, read)
        except NotWhole as reason:
            raise Unsupported(str(reason)) from None
        for own_numbers, aggregated in zip(streams, found, strict=True):
            for number in own_numbers:
                result = results[number]
                assert isinstance(result, TrendResults)
                result.take(rows, rows.rows[own], aggregated, end)


def _of_set(group: Group, together: TrendSet, rows: Sorted) -> tuple[Numbers, Numbers, Numbers]:
    """The rows that fit a step, where their keys begin, and which tests each passes."""
    numbers = {test: i for i, test in enumerate(group.bits.tests)}
    bits = np.zeros(len(rows.rows), np.int64)
    for step, (column, bit) in enumerate(places_of([numbers[test] for test in together.tests]).tolist()):
        bits |= (rows.tested.shared[column] >> bit & 1) << step
    own = np.flatnonzero(bits)
    offsets = np.searchsorted(own, rows.offsets)
    return own, offsets, bits[own]


def _by_shape(streams: Sequence[StreamPlan]) -> dict[TrendShape, list[int]]:
    """The streams of a group that aggregate trends, by their numbers."""
    shapes: dict[TrendShape, list[int]] = {}
    for number, stream in enumerate(streams):
        if isinstance(stream.compiled, TrendShape):
            shapes.setdefault(stream.compiled, []).append(number)
    return shapes
