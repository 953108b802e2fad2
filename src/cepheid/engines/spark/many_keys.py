"""Sorted rows of many keys through the kernel, whole batches at a time. Only what is found becomes Python objects.

A key may go on in the next batch: its rows are held back until it is over; of a very long one its state is kept
instead, so that memory is bounded by what is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.arrow_types import type_from_arrow
from cepheid.engines.local.events import plain
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.session import Found
from cepheid.engines.spark.layout import BITS_A_COLUMN, NOW, TIME, TYPE, Layout
from cepheid.engines.spark.reading import read_events
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.findings import FindingsReader
from cepheid.matching.compiled.kernel.emission import EVENT_ROW, MATCH, OUT_FIRST, OUT_KEY, OUT_KIND
from cepheid.matching.compiled.kernel.entrance import K_EVENTS, K_ROWS, K_WORDS, KEY_WIDTH
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.match_columns import MatchColumns, are_columns
from cepheid.matching.compiled.revive import revive
from cepheid.matching.compiled.tables import Table
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.found import Findings
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.types import TIMESTAMP, Type, struct_of
from cepheid.pattern.values import clean
from cepheid.plan.event_tests import tests_of

_LONG = 1 << 18  # rows of one key: from there on its state is kept, not its rows
_NO_WORDS: Table = np.zeros(0, np.int64)


def event_type(schema: pa.Schema, layout: Layout) -> Type:
    """What is known of the events' fields, from the prepared columns."""
    known = {
        name: type_from_arrow(schema.field(own).type)
        for name, own in zip(layout.fields, layout.field_names(), strict=True)
    }
    if layout.with_time:
        known[layout.columns.time] = TIMESTAMP
    return struct_of(known)


@dataclass
class _Open:
    """A key that goes on: its state and the rows it needs; or the reference matcher, where the kernel gave up."""

    values: tuple[Any, ...] = ()
    words: Table = field(default_factory=lambda: _NO_WORDS)
    rows: pa.Table | None = None
    reference: ReferenceMatcher | None = None


class StreamKernel:
    """One stream of a unit."""

    def __init__(self, work: Work, planned: PlannedStream, schema: pa.Schema) -> None:
        self.work, self.plan, self.layout = work, planned.plan, work.layout
        self.compiled = CompiledPlan.of(planned.plan, event_type(schema, work.layout))
        self.kernel = Kernel(self.compiled)
        self.planned, self.name = planned, planned.name
        self.batches: list[pa.RecordBatch] = []  # matches as columns, not yet handed out
        self.key_of = [compile_value(e) for e in planned.plan.key]
        numbers = {test: i for i, test in enumerate(work.answered.tests)}
        self.bits = [numbers[test] for test in tests_of(planned.plan)]
        self.left = [compile_test(work.answered.left[number]) for number in self.bits]
        self.open = _Open()

    def match(self, rows: pa.Table, offsets: Table, end: int, ends: bool) -> Findings:
        """Keys that lie one after the other; the first one goes on from where it was left."""
        before, self.open = self.open, _Open()
        if before.reference is not None:
            first = rows.slice(0, offsets[1])
            found = self._by_reference(before.reference, first, end, ends)
            rest = rows.slice(offsets[1])
            return (
                found + self._match(rest, offsets[1:] - offsets[1], _Open(), end, ends)
                if len(offsets) > 2
                else found
            )
        return self._match(rows, offsets, before, end, ends)

    def _match(self, rows: pa.Table, offsets: Table, before: _Open, end: int, ends: bool) -> Findings:
        kept = 0 if before.rows is None else before.rows.num_rows
        table = rows if before.rows is None else pa.concat_tables([before.rows, rows]).combine_chunks()
        keys = np.zeros((len(offsets), KEY_WIDTH), np.int64)
        keys[:, K_ROWS] = offsets + kept
        keys[1:, K_WORDS], keys[1:, K_EVENTS] = len(before.words), kept
        columns, fields = self.compiled.columns, self._fields(table)
        events = to_events(fields, columns, self._times(table), self._passed(table), self._kinds(table))
        answers = self.kernel.match(events, Keys(keys, before.words), end, ends)
        if not ends:
            values = before.values or self._values(_events(table, keys[:1, K_ROWS], self.layout)[0])
            self.open = _Open(values, answers.saved_words.copy(), table.take(answers.saved_rows))
        found, batch = self._found(table, fields, answers)
        self.batches += [batch] if batch is not None else []
        for key in answers.left:
            own = table.slice(keys[key, K_ROWS], keys[key + 1, K_ROWS] - keys[key, K_ROWS])
            matcher = self._matcher(before if key == 0 else _Open())
            found += self._by_reference(matcher, own, end, ends)
        return found

    def _matcher(self, before: _Open) -> ReferenceMatcher:
        """The reference matcher, from where the kernel gave up."""
        matcher = ReferenceMatcher(self.plan, tests=self.work.tests[self.name])
        if len(before.words) and before.rows is not None:
            events = read_events(_one_batch(before.rows), self.layout)

            def fill(partition: Partition) -> None:
                revive(partition, self.compiled.tables, before.words, events)

            matcher.adopt(before.values, fill)
        return matcher

    def _by_reference(self, matcher: ReferenceMatcher, rows: pa.Table, end: int, ends: bool) -> Findings:
        events = read_events(_one_batch(rows), self.layout) if rows.num_rows else []
        found = matcher.on_batch(events)
        if not ends:
            self.open = _Open(reference=matcher)
            return found
        last = [p.time for p in matcher.partitions.values() if p.time is not None]
        return found + matcher.on_end(max([end, *last, *(e.time for e in events[-1:])]))

    def _fields(self, table: pa.Table) -> pa.Table:
        names = dict(zip(self.layout.fields, self.layout.field_names(), strict=True))
        columns = {name: table[own] for name, own in names.items()}
        if self.layout.with_time:
            columns[self.layout.columns.time] = table[TIME].cast(pa.timestamp("us"))
        return pa.table(columns) if columns else table.select([])

    def _times(self, table: pa.Table) -> Table:
        found: Table = table[TIME].to_numpy()
        return found

    def _kinds(self, table: pa.Table) -> Table:
        if TYPE not in table.column_names:
            return np.full(
                table.num_rows, self.compiled.types.get(self.layout.columns.plain_type or "", -1), np.int64
            )
        names = pa.array(list(self.compiled.types), pa.string())
        found = pc.fill_null(pc.index_in(table[TYPE].cast(pa.string()), names), -1)
        return found.to_numpy().astype(np.int64)  # type: ignore[no-any-return]

    def _passed(self, table: pa.Table) -> Table:
        """The bits of this plan's tests, out of those of all tests of the unit."""
        columns = [table[name].to_numpy() for name in self.layout.bit_names()]
        passed = np.zeros(table.num_rows, np.int64)
        for at, (number, left) in enumerate(zip(self.bits, self.left, strict=True)):
            bit = (columns[number // BITS_A_COLUMN] >> (number % BITS_A_COLUMN)) & 1
            if left is not None:
                bit = self._tested(table, bit, left)
            passed |= bit << at
        return passed

    def _tested(self, table: pa.Table, bit: Table, left: Any) -> Table:
        """What Spark could not answer is tested here, where its own tests hold."""
        where = np.flatnonzero(bit)
        events = _events(table, where, self.layout)
        found = np.zeros_like(bit)
        found[where] = [left(Moment(event, {})) for event in events]
        return found

    def _found(
        self, table: pa.Table, fields: pa.Table, answers: Answers
    ) -> tuple[Findings, pa.RecordBatch | None]:
        """Matches as columns where `.emit` can be read off the events, all else as objects."""
        matches = np.flatnonzero(answers.rows[:, OUT_KIND] == MATCH)
        payload = self.work.answer.payload("match", self.name)
        if not len(matches) or payload is None or not self._in_columns(fields):
            return self._as_objects(table, answers), None
        others = replace(answers, rows=answers.rows[answers.rows[:, OUT_KIND] != MATCH])
        columns = MatchColumns(self.plan, answers, matches, fields, self._times(table), self._key_at(fields))
        outputs = self.planned.stream.outputs or ()
        kinds = dict(payload.columns)
        found = {o.name: columns.column(o.expr, kinds[o.name]) for o in outputs}
        return self._as_objects(table, others), self.work.answer.matches(self.name, found, len(matches))

    def _in_columns(self, fields: pa.Table) -> bool:
        outputs = self.planned.stream.outputs
        evidence = self.work.answer.evidence_kind(self.name) is not None
        if outputs is None or self.plan.pattern.eager or evidence:
            return False
        return are_columns([o.expr for o in outputs], self.plan, fields.schema)

    def _key_at(self, fields: pa.Table) -> Callable[[int], tuple[Any, ...]]:
        """The values of the key of a row."""
        names = [part.path[0] for part in self.plan.key if isinstance(part, Field) and len(part.path) == 1]
        if len(names) < len(self.plan.key):
            return lambda row: self._values(Event("", 0, _row(fields, row)))
        columns = [fields[name] for name in names]
        return lambda row: tuple(clean(plain(column[row].as_py())) for column in columns)

    def _as_objects(self, table: pa.Table, answers: Answers) -> Findings:
        if not len(answers.rows):
            return Findings()
        rows = np.unique(answers.events[:, EVENT_ROW])
        events = dict(zip(rows.tolist(), _events(table, rows, self.layout), strict=True))
        firsts = dict(
            zip(answers.rows[:, OUT_KEY].tolist(), answers.rows[:, OUT_FIRST].tolist(), strict=True)
        )

        def values(key: int) -> tuple[Any, ...]:
            """Of whatever event of the key; what a key is called does not depend on which."""
            return self._values(events[int(answers.events[firsts[key], EVENT_ROW])])

        return FindingsReader(self.plan, answers, events.__getitem__, values).read()

    def _values(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)


class ManyKeys:
    """All streams of a unit, over batches of rows that come sorted by key."""

    def __init__(self, work: Work, schema: pa.Schema) -> None:
        """Raises Unsupported where the reference matcher has to do it."""
        self.work, self.layout = work, work.layout
        for planned in work.program:
            _check(planned, work.layout)
        self.streams = {s.name: StreamKernel(work, s, schema) for s in work.program}
        self.key: tuple[str, ...] | None = None
        self.held: list[pa.Table] = []  # rows of the last key
        self.goes_on = False  # has the last key a state already?
        self.now = -NEVER

    def feed(self, batch: pa.RecordBatch) -> list[Found]:
        if not batch.num_rows:
            return []
        _refuse_nulls(batch, self.layout)
        if self.layout.has_now:
            self.now = batch.column(NOW)[0].as_py()
        table = pa.Table.from_batches([batch])
        starts = _key_starts(table, self.layout)
        if self.key is not None and self._key(table, 0) != self.key:
            starts = np.concatenate([[0], starts])
        self.key = self._key(table, table.num_rows - 1)
        held = sum(t.num_rows for t in self.held)
        self.held.append(table)
        if len(starts):
            return self._over(held + starts)
        return self._keep_state() if held + table.num_rows >= _LONG else []

    def _over(self, starts: Table) -> list[Found]:
        """The keys before the last start are over."""
        rows = pa.concat_tables(self.held).combine_chunks()
        first = [0] if starts[0] > 0 or self.goes_on else []
        offsets = np.concatenate([np.array(first, np.int64), starts])
        found = self._match(rows.slice(0, starts[-1]), offsets, ends=True)
        self.held, self.goes_on = [rows.slice(starts[-1])], False
        return found

    def _keep_state(self) -> list[Found]:
        rows = pa.concat_tables(self.held).combine_chunks()
        self.held, self.goes_on = [], True
        return self._match(rows, np.array([0, rows.num_rows]), ends=False)

    def end(self) -> list[Found]:
        if self.key is None:
            return []
        rows = pa.concat_tables(self.held).combine_chunks() if self.held else None
        if rows is None:
            rows = next(s.open.rows for s in self.streams.values() if s.open.rows is not None).slice(0, 0)
        return self._match(rows, np.array([0, rows.num_rows]), ends=True)

    def _match(self, rows: pa.Table, offsets: Table, ends: bool) -> list[Found]:
        time = self.now if ends else rows[TIME][rows.num_rows - 1].as_py()
        found = {name: stream.match(rows, offsets, time, ends) for name, stream in self.streams.items()}
        return self.work.found(found)

    def take_batches(self) -> Iterator[pa.RecordBatch]:
        """Matches as columns, since the last call."""
        for stream in self.streams.values():
            batches, stream.batches = stream.batches, []
            yield from batches

    def _key(self, table: pa.Table, row: int) -> tuple[str, ...]:
        return tuple(repr(table[name][row].as_py()) for name in self.layout.key_names())


def why_not_compiled(program: Program, layout: Layout, event: Type) -> str | None:
    """What of a unit the kernel cannot take, in words; None if it takes all."""
    for planned in program:
        try:
            _check(planned, layout)
            CompiledPlan.of(planned.plan, event)
        except Unsupported as reason:
            return f"`{planned.name}`: {reason}" if len(list(program)) > 1 else str(reason)
    return None


def _check(planned: PlannedStream, layout: Layout) -> None:
    if planned.feeds_on:
        raise Unsupported("it feeds on another stream")
    if len(planned.plan.key) != layout.keys:
        raise Unsupported("its key is finer than what it shares with others")
    if not layout.exact_key:
        raise Unsupported("its key is worked out in Python")


def _key_starts(table: pa.Table, layout: Layout) -> Table:
    """The rows at which a new key begins, but for the first one."""
    batch = _one_batch(table)
    ends = [pc.run_end_encode(batch.column(name)).run_ends.to_numpy() for name in layout.key_names()]
    if not ends:
        return np.zeros(0, np.int64)
    found: Table = np.unique(np.concatenate(ends)).astype(np.int64)[:-1]
    return found


def _events(table: pa.Table, rows: Table, layout: Layout) -> list[Event]:
    return read_events(_one_batch(table.take(rows)), layout)


def _row(table: pa.Table, row: int) -> dict[str, Any]:
    return {name: plain(table[name][row].as_py()) for name in table.column_names}


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    table = table.combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=table.schema)


def _refuse_nulls(batch: pa.RecordBatch, layout: Layout) -> None:
    """The reader says what is wrong with a row without a time or a type."""
    bad = batch.column(TIME).null_count
    if TYPE in batch.schema.names:
        types = batch.column(TYPE)
        bad += types.null_count + (pc.sum(pc.equal(types, "")).as_py() or 0)
    if bad:
        read_events(batch, layout)
