"""Sorted rows of many keys, aggregated over trends by the compiled functions, whole keys at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.session import Found
from cepheid.engines.spark.kernel_choice import only, why_not_shared
from cepheid.engines.spark.kernel_rows import times_of
from cepheid.engines.spark.layout import BITS_A_COLUMN, TIME
from cepheid.engines.spark.many_keys import key_at, key_starts
from cepheid.engines.spark.reading import events_of, one_array, refuse_nulls
from cepheid.engines.spark.work import Work
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.found import Findings, Match
from cepheid.matching.moment import Moment
from cepheid.pattern.expr import Expr, Key
from cepheid.trends.aggregates import Aggregated, TrendSet, TrendShape, aggregate, trend_sets
from cepheid.trends.columns import NotWhole, Numbers
from cepheid.trends.row_columns import Outputs, plain_columns, shows_ids

_ROWS = 1 << 16  # that are aggregated at a time, if they are whole keys


def streams_for_trends(work: Work) -> list[str]:
    """The streams of a unit that the compiled aggregates take."""
    return [name for name, reason in why_not_trends(work).items() if reason is None]


def why_not_trends(work: Work) -> dict[str, str | None]:
    return {planned.name: _why_not(work, planned.name) for planned in work.program}


def _why_not(work: Work, name: str) -> str | None:
    planned = work.program[name]
    shape = TrendShape.of(planned.plan)
    if shape is None:
        return "its trends are told apart by more than their state"
    numbers = {test: i for i, test in enumerate(work.answered.tests)}
    if any(work.answered.left[numbers[test]] for test in shape.tests):
        return "a condition on a single event is left to Python"
    if shows_ids(planned.stream.outputs):
        return "its rows have ids"
    if work.answer.evidence_kind(name) is not None:
        return "the events behind its rows are asked for"
    return why_not_shared(planned, work.program, work.layout)


class TrendKeys:
    """Streams with aggregates over trends, over batches of rows that come sorted by key."""

    def __init__(self, work: Work, by_python: Callable[[Work], Any]) -> None:
        """`by_python`: a matcher for keys whose numbers do not fit into 64 bits."""
        self.work, self.layout, self.by_python = work, work.layout, by_python
        self.streams: dict[TrendShape, list[_TrendStream]] = {}
        for planned in work.program:
            stream = _TrendStream(work, planned.name)
            self.streams.setdefault(stream.shape, []).append(stream)
        self.sets = trend_sets(self.streams)
        self.numbers = {test: i for i, test in enumerate(work.answered.tests)}
        self.held: list[pa.Table] = []
        self.key: tuple[str, ...] | None = None
        self.batches: list[pa.RecordBatch] = []

    def feed(self, batch: pa.RecordBatch) -> list[Found]:
        if not batch.num_rows:
            return []
        refuse_nulls(batch, self.layout)
        table = pa.Table.from_batches([batch])
        starts = key_starts(table, self.layout)
        if self.key is not None and key_at(table, 0, self.layout) != self.key:
            starts = np.concatenate([[0], starts])
        self.key = key_at(table, table.num_rows - 1, self.layout)
        held = sum(t.num_rows for t in self.held)
        self.held.append(table)
        if not len(starts) or held + starts[-1] < _ROWS:
            return []
        rows = pa.concat_tables(self.held).combine_chunks()
        over = held + int(starts[-1])
        self.held = [rows.slice(over)]
        return self._aggregated(rows.slice(0, over))

    def end(self) -> list[Found]:
        if not self.held:
            return []
        rows = pa.concat_tables(self.held).combine_chunks()
        self.held = []
        return self._aggregated(rows)

    def take_batches(self) -> list[pa.RecordBatch]:
        """Rows as columns, since the last call."""
        batches, self.batches = self.batches, []
        return batches

    def _aggregated(self, rows: pa.Table) -> list[Found]:
        """Whole keys."""
        offsets = np.concatenate([[0], key_starts(rows, self.layout), [rows.num_rows]])
        found: list[Found] = []
        for together in self.sets:
            found += self._of_set(together, rows, offsets)
        return found

    def _of_set(self, together: TrendSet, rows: pa.Table, offsets: Numbers) -> list[Found]:
        """Streams that have a closure in common are aggregated together."""
        bits = self._passed(together, rows)
        own = np.flatnonzero(bits)
        table = rows.take(pa.array(own)) if len(own) < rows.num_rows else rows
        fields = dict(zip(self.layout.fields, self.layout.field_names(), strict=True))

        def read(name: str) -> pa.Array:
            return one_array(table[fields[name]]) if name in fields else pa.nulls(len(own), pa.int64())

        streams = [self.streams[shape] for shape in together.shapes]
        plans = [[stream.plan for stream in same] for same in streams]
        begins = np.searchsorted(own, offsets)
        try:
            aggregated = aggregate(together, plans, begins, times_of(table), bits[own], read)
        except NotWhole:
            if len(together.shapes) > 1:  # perhaps because of one of them
                return [f for alone in together.alone for f in self._of_set(alone, rows, offsets)]
            return [
                f
                for stream in streams[0]
                for key in range(len(begins) - 1)
                for f in self._python(stream, rows, offsets, key)
            ]
        found: list[Found] = []
        for same, answer in zip(streams, aggregated, strict=True):
            for stream in same:
                found += self._given(stream, table, answer, rows, offsets)
        return found

    def _given(
        self, stream: _TrendStream, table: pa.Table, answer: Aggregated, rows: pa.Table, offsets: Numbers
    ) -> list[Found]:
        listed = stream.give(table, answer, self.batches)
        found = list(self.work.found({stream.name: Findings(tuple(listed))})) if listed else []
        for key in answer.left.tolist():
            found += self._python(stream, rows, offsets, key)
        return found

    def _passed(self, together: TrendSet, rows: pa.Table) -> Numbers:
        """Which tests each row passes."""
        columns = [rows[name].to_numpy() for name in self.layout.bit_names()]
        passed = np.zeros(rows.num_rows, np.int64)
        for place, test in enumerate(together.tests):
            number = self.numbers[test]
            passed |= (columns[number // BITS_A_COLUMN] >> (number % BITS_A_COLUMN) & 1) << place
        return passed

    def _python(self, stream: _TrendStream, rows: pa.Table, offsets: Numbers, key: int) -> list[Found]:
        """A key by Python's numbers."""
        matcher = self.by_python(only(self.work, [stream.name]))
        own = rows.slice(offsets[key], offsets[key + 1] - offsets[key]).combine_chunks()
        found: list[Found] = [f for batch in own.to_batches() for f in matcher.feed(batch)]
        return found + list(matcher.end())


class _TrendStream:
    """One stream."""

    def __init__(self, work: Work, name: str) -> None:
        planned = work.program[name]
        shape = TrendShape.of(planned.plan)
        assert shape is not None
        assert planned.plan.trends is not None
        self.work, self.layout, self.name, self.plan, self.shape = (
            work,
            work.layout,
            name,
            planned.plan,
            shape,
        )
        self.trends = planned.plan.trends
        self.key_of = [compile_value(e) for e in self.plan.key]
        self.having = compile_test(self.trends.having, keys=(*self.plan.key_names, *self.trends.names))
        self.plain = self._plain(planned.stream.outputs)
        payload = work.answer.payload("match", name)
        self.columns = {} if payload is None else dict(payload.columns)

    def _plain(self, outputs: Outputs) -> dict[str, Expr] | None:
        """The columns of the answer where they can be read off; None: they cannot."""
        exprs = plain_columns(self.plan, outputs)
        own_fields = len(self.layout.key_fields) == self.layout.keys and None not in self.layout.key_fields
        return exprs if own_fields else None

    def give(self, table: pa.Table, found: Aggregated, batches: list[pa.RecordBatch]) -> list[Match]:
        """Rows as columns are added to the batches; the answer is those that have to be objects."""
        if not self.columns or not len(found.events):
            return []
        if self.plain is None:
            return self._objects(table, found)
        events = pa.array(found.events)
        columns = {name: self._column(expr, table, events, found) for name, expr in self.plain.items()}
        batches += self.work.answer.matches(self.name, columns, len(found.events))
        return []

    def _column(self, expr: Expr, table: pa.Table, events: pa.Array, found: Aggregated) -> pa.Array:
        if not isinstance(expr, Key):
            return (
                one_array(table[TIME].take(events)).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
            )
        if expr.name in self.plan.key_names:
            name = self.layout.key_names()[self.plan.key_names.index(expr.name)]
            return one_array(table[name].take(events))
        return found.value(next(c for c in self.trends.columns if c.name == expr.name))

    def _objects(self, table: pa.Table, found: Aggregated) -> list[Match]:
        columns = [found.value(c).to_pylist() for c in self.trends.columns]
        events = events_of(table.take(pa.array(found.events)), self.layout)
        matches = []
        for event, values in zip(events, zip(*columns, strict=True), strict=True):
            moment = Moment(event, {})
            whole, when = (*(value(moment) for value in self.key_of), *values), event.time
            if self.having is None or self.having(Moment(None, {}, None, whole)):
                matches.append(Match("", whole, (event,), {}, when, when, when))
        return matches
