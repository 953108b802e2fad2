"""Prepared rows as the kernel reads them, and its answers as findings: one stream of a unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.arrow_types import type_from_arrow
from cepheid.engines.local.events import plain
from cepheid.engines.program import PlannedStream, Program
from cepheid.engines.spark.kernel_choice import why_not_kernel
from cepheid.engines.spark.layout import BITS_A_COLUMN, TIME, TYPE, Layout
from cepheid.engines.spark.reading import events_of
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.columns import Events, to_events
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel
from cepheid.matching.compiled.findings import FindingsReader
from cepheid.matching.compiled.kernel.emission import (
    EVENT_ROW,
    MATCH,
    OUT_CAUSE,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    PENDING,
    TIMEOUT,
)
from cepheid.matching.compiled.kernel.space import BY_EVENT
from cepheid.matching.compiled.key_words import KeyWords
from cepheid.matching.compiled.keyed_rows import KeyedRows, places_of
from cepheid.matching.compiled.match_columns import MatchColumns, are_columns
from cepheid.matching.compiled.needed_rows import IN_A_ROW, needed_by
from cepheid.matching.compiled.neighbours import neighbours_of, pair_bits
from cepheid.matching.compiled.select_rows import select_rows
from cepheid.matching.compiled.tables import Table
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.found import Findings
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.types import TIMESTAMP, Type, struct_of
from cepheid.pattern.values import clean
from cepheid.plan.event_tests import tests_of
from cepheid.plan.seen_rows import seen_rows

Mask = npt.NDArray[np.bool_]

_FEW_TYPES = 8


def event_type(schema: pa.Schema, layout: Layout) -> Type:
    """What is known of the events' fields, from the prepared columns."""
    known = {
        name: type_from_arrow(schema.field(own).type)
        for name, own in zip(layout.fields, layout.field_names(), strict=True)
    }
    if layout.with_time:
        known[layout.columns.time] = TIMESTAMP
    return struct_of(known)


class WholeKeys(NamedTuple):
    """Rows of keys that are all there."""

    table: pa.Table
    events: Events
    keys: Table  # those that have rows
    offsets: Table


class KernelRows:
    """What the kernel is told of prepared rows, and what its answers mean."""

    def __init__(self, work: Work, planned: PlannedStream, schema: pa.Schema) -> None:
        """Raises Unsupported where the reference matcher has to do it."""
        self.work, self.plan, self.layout = work, planned.plan, work.layout
        self.compiled = CompiledPlan.of(planned.plan, event_type(schema, work.layout))
        self.kernel = Kernel(self.compiled)
        self.planned, self.name = planned, planned.name
        self.words = KeyWords(planned.plan.inferred_key)
        self.needed = needed_by(planned.plan)
        self.seen = seen_rows(planned.plan, work.layout.columns.type)
        self.key_of = [compile_value(e) for e in planned.plan.key]
        numbers = {test: i for i, test in enumerate(work.answered.tests)}
        self.bits = [numbers[test] for test in tests_of(planned.plan)]
        self.places = places_of(self.bits)
        self.masks = [0] * self.layout.bit_columns  # the bits of this plan's tests in each column
        for number in set(self.bits):
            self.masks[number // BITS_A_COLUMN] |= 1 << (number % BITS_A_COLUMN)
        self.left = [compile_test(work.answered.left[number]) for number in self.bits]

    def narrowed(self, table: pa.Table, offsets: Table) -> tuple[pa.Table, Table]:
        """Of the rows of the unit those that this stream has to see, and where the rows of each key begin then."""
        if self.seen.all or len(self.work.program.streams) == 1:
            return table, offsets
        wanted, also = self._passing(table), self._also(table)
        if also is not None:
            wanted |= also
        if wanted.all():
            return table, offsets
        kept = np.concatenate([[0], np.cumsum(wanted)])
        return table.filter(pa.array(wanted)).combine_chunks(), kept[offsets]

    def may_want(self, present: list[int]) -> bool:
        """Can any of some rows be this stream's, by the bits that any of them has?"""
        if self.seen.all or self.seen.types:
            return True
        return any(mine & there for mine, there in zip(self.masks, present, strict=True))

    def _passing(self, table: pa.Table) -> Mask:
        wanted = np.zeros(table.num_rows, np.bool_)
        for mine, name in zip(self.masks, self.layout.bit_names(), strict=True):
            if mine:
                wanted |= (table[name].to_numpy() & mine) != 0
        return wanted

    def _also(self, table: pa.Table) -> Mask | None:
        """Rows that the stream sees whatever they pass."""
        if self.seen.all or (self.seen.types and TYPE not in table.column_names):
            return np.ones(table.num_rows, np.bool_)
        if not self.seen.types:
            return None
        closing = pa.array(sorted(self.seen.types), table[TYPE].type)
        found: Mask = pc.is_in(table[TYPE], closing).to_numpy()
        return found

    def of_whole_keys(self, table: pa.Table, offsets: Table) -> WholeKeys:
        """Keys without state, to their end: only rows that can be in a match, or change one."""
        if any(left is not None for left in self.left):  # Python has a say in what passes
            table, offsets = self.narrowed(table, offsets)
            busy = np.flatnonzero(np.diff(offsets))
            return WholeKeys(table, self.events(table), busy, np.append(offsets[busy], offsets[-1]))
        columns = [table[name].to_numpy() for name in self.layout.bit_names()]
        tested = KeyedRows.of(columns, times_of(table), offsets)
        pairs = self._pairs(table) if self.needed.how == IN_A_ROW else None
        found = select_rows(self.needed, self.places, tested, also=self._also(table), pairs=pairs)
        rows = table if len(found.rows) == table.num_rows else table.take(found.rows)
        events = to_events(
            self.fields(rows),
            self.compiled.columns,
            times_of(rows),
            found.bits,
            self._kinds(rows),
            found.ranks,
        )
        return WholeKeys(rows, events, found.keys, found.offsets)

    def _pairs(self, table: pa.Table) -> Table:
        """How each row follows the one before."""
        fields = self.fields(table)
        columns = dict(zip(fields.column_names, fields.columns, strict=True))
        return pair_bits(neighbours_of(self.plan).tests, columns, table.num_rows)

    def events(self, table: pa.Table) -> Events:
        fields = self.fields(table)
        return to_events(
            fields, self.compiled.columns, times_of(table), self._passed(table), self._kinds(table)
        )

    def fields(self, table: pa.Table) -> pa.Table:
        """The columns by the names the user gave them."""
        names = dict(zip(self.layout.fields, self.layout.field_names(), strict=True))
        columns = {name: table[own] for name, own in names.items()}
        if self.layout.with_time:
            columns[self.layout.columns.time] = table[TIME].cast(pa.timestamp("us"))
        return pa.table(columns) if columns else table.select([])

    def _kinds(self, table: pa.Table) -> Table:
        if TYPE not in table.column_names:
            return np.full(
                table.num_rows, self.compiled.types.get(self.layout.columns.plain_type or "", -1), np.int64
            )
        given = table[TYPE].cast(pa.string())
        if len(self.compiled.types) > _FEW_TYPES:
            names = pa.array(list(self.compiled.types), pa.string())
            return pc.fill_null(pc.index_in(given, names), -1).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
        kinds = np.full(table.num_rows, -1, np.int64)
        # Sooner than by a table of the names, which takes hashes.
        for name, number in self.compiled.types.items():
            kinds[pc.fill_null(pc.equal(given, name), False).to_numpy()] = number
        return kinds

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
        events = events_of(table.take(where), self.layout)
        found = np.zeros_like(bit)
        found[where] = [left(Moment(event, {})) for event in events]
        return found

    def found(self, table: pa.Table, answers: Answers) -> tuple[Findings, list[pa.RecordBatch]]:
        """Matches as columns where `.emit` can be read off the events, all else as objects."""
        answers = self._asked_for(answers)
        matches = np.flatnonzero(answers.rows[:, OUT_KIND] == MATCH)
        fields = self.fields(table)
        kinds = self._kinds_of_columns()
        if not len(matches) or kinds is None or not self._in_columns(fields):
            return self._as_objects(table, answers), []
        others = replace(answers, rows=answers.rows[answers.rows[:, OUT_KIND] != MATCH])
        columns = MatchColumns(self.plan, answers, matches, fields, times_of(table), self._words(table))
        outputs = {o.name: o.expr for o in self.planned.stream.outputs or ()}
        found = {name: columns.column(outputs[name], kind) for name, kind in kinds.items()}
        return self._as_objects(table, others), self.work.answer.matches(self.name, found, len(matches))

    def _asked_for(self, answers: Answers) -> Answers:
        """Without timeouts and what is still open, if nobody wants to know."""
        answer = self.work.answer
        if answer.evidence_kind(self.name) is not None:
            return answers
        names = {TIMEOUT: "timeout", PENDING: "pending"}
        unwanted = [kind for kind, name in names.items() if answer.payload(name, self.name) is None]
        return replace(answers, rows=answers.rows[~np.isin(answers.rows[:, OUT_KIND], unwanted)])

    def _kinds_of_columns(self) -> dict[str, pa.DataType] | None:
        """The columns of matches, if it is asked for them."""
        payload = self.work.answer.payload("match", self.name)
        return dict(payload.columns) if payload is not None and payload.columns else None

    def _in_columns(self, fields: pa.Table) -> bool:
        outputs = self.planned.stream.outputs
        evidence = self.work.answer.evidence_kind(self.name) is not None
        if outputs is None or self.plan.pattern.eager or evidence:
            return False
        return are_columns([o.expr for o in outputs], self.plan, fields.schema)

    def _words(self, table: pa.Table) -> Callable[[Table], npt.NDArray[np.uint64]]:
        """The numbers that stand for the keys of rows."""
        names = dict(zip(self.layout.fields, self.layout.field_names(), strict=True))
        fields = [e.path[0] for e in self.plan.key if isinstance(e, Field) and len(e.path) == 1]
        if not fields or len(fields) < len(self.plan.key) or not all(name in names for name in fields):
            return lambda rows: self.words.of(
                self.values(e) for e in events_of(table.take(rows), self.layout)
            )
        own = table.select([names[name] for name in fields])

        def words(rows: Table) -> npt.NDArray[np.uint64]:
            taken = own.take(rows).columns
            columns = [column.to_pylist() for column in taken]
            if len(taken) == 1 and pa.types.is_string(taken[0].type) and not taken[0].null_count:
                return self.words.of_texts(columns[0])
            return self.words.of(tuple(map(_value, key)) for key in zip(*columns, strict=True))

        return words

    def _as_objects(self, table: pa.Table, answers: Answers) -> Findings:
        if not len(answers.rows):
            return Findings()
        causes = answers.rows[answers.rows[:, OUT_PHASE] == BY_EVENT, OUT_CAUSE]
        rows = np.unique(np.concatenate([answers.events[_events_of(answers.rows), EVENT_ROW], causes]))
        events = dict(zip(rows.tolist(), events_of(table.take(rows), self.layout), strict=True))
        firsts = dict(
            zip(answers.rows[:, OUT_KEY].tolist(), answers.rows[:, OUT_FIRST].tolist(), strict=True)
        )

        def values(key: int) -> tuple[Any, ...]:
            """Of whatever event of the key; what a key is called does not depend on which."""
            return self.values(events[int(answers.events[firsts[key], EVENT_ROW])])

        return FindingsReader(self.plan, answers, events.__getitem__, values).read()

    def values(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)


def _events_of(rows: Table) -> Table:
    """The numbers of the events that some rows of an answer have."""
    counts = rows[:, OUT_EVENTS]
    ends = np.cumsum(counts)
    found: Table = np.arange(ends[-1]) + np.repeat(rows[:, OUT_FIRST] - (ends - counts), counts)
    return found


def why_not_compiled(
    program: Program, layout: Layout, event: Type, late_memory: int = 0
) -> dict[str, str | None]:
    """For each stream of a unit what the kernel cannot take of it, in words; None if it takes all."""
    reasons = why_not_kernel(program, layout, late_memory)
    for planned in program:
        try:
            CompiledPlan.of(planned.plan, event)
        except Unsupported as reason:
            reasons[planned.name] = reasons[planned.name] or str(reason)
    return reasons


def present_bits(table: pa.Table, layout: Layout) -> list[int]:
    """The bits that any row has, of each column."""
    return [int(np.bitwise_or.reduce(table[name].to_numpy())) for name in layout.bit_names()]


def times_of(table: pa.Table) -> Table:
    found: Table = table[TIME].to_numpy()
    return found


def _value(value: Any) -> Any:
    return value if type(value) is str else clean(plain(value))
