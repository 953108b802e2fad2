"""Sorted rows of many keys through the kernel, whole batches at a time. Only what is found becomes Python objects.

A key may go on in the next batch: its rows are held back until it is over; of a very long one its state is kept
instead, so that memory is bounded by what is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.program import PlannedStream
from cepheid.engines.session import Found
from cepheid.engines.spark.kernel_rows import KernelRows
from cepheid.engines.spark.layout import NOW, TIME, Layout
from cepheid.engines.spark.reading import events_of, one_batch, refuse_nulls
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.compiled_plan import Answers, Keys
from cepheid.matching.compiled.kernel.entrance import K_EVENTS, K_ROWS, K_WORDS, KEY_WIDTH
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.revive import revive
from cepheid.matching.compiled.tables import Table
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Findings
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher

_LONG = 1 << 18  # rows of one key: from there on its state is kept, not its rows
_NO_WORDS: Table = np.zeros(0, np.int64)


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
        self.rows = KernelRows(work, planned, schema)
        self.work, self.layout = work, work.layout
        self.batches: list[pa.RecordBatch] = []  # matches as columns, not yet handed out
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
        if ends and before.rows is None:
            return self._whole_keys(rows, offsets, end)
        first, others = rows.slice(0, offsets[1]), rows.slice(offsets[1])
        found = self._one_key(self.rows.narrowed(first, offsets[:2])[0], before, end, ends)
        if len(offsets) == 2:
            return found
        return found + self._whole_keys(others, offsets[1:] - offsets[1], end)

    def _whole_keys(self, rows: pa.Table, offsets: Table, end: int) -> Findings:
        try:
            table, events, keys, begins = self.rows.of_whole_keys(rows, offsets)
        except Unsupported:  # a value that no column holds
            return self._each_by_reference(rows, offsets, range(len(offsets) - 1), end)
        if not len(keys):
            return Findings()
        answers = self.rows.kernel.match(events, Keys.without_state(begins), end, ends=True)
        return self._found(table, answers) + self._each_by_reference(rows, offsets, keys[answers.left], end)

    def _each_by_reference(self, rows: pa.Table, offsets: Table, keys: Iterable[int], end: int) -> Findings:
        found = Findings()
        for key in keys:
            whole = offsets[key : key + 2]
            own, _ = self.rows.narrowed(rows.slice(whole[0], whole[1] - whole[0]), whole - whole[0])
            found += self._by_reference(self._matcher(_Open()), own, end, ends=True)
        return found

    def _one_key(self, rows: pa.Table, before: _Open, end: int, ends: bool) -> Findings:
        """A key that goes on from its state, or whose state is kept."""
        kept = 0 if before.rows is None else before.rows.num_rows
        table = rows if before.rows is None else pa.concat_tables([before.rows, rows]).combine_chunks()
        if not table.num_rows and not len(before.words):
            return Findings()
        keys = np.zeros((2, KEY_WIDTH), np.int64)
        keys[:, K_ROWS] = (kept, table.num_rows)
        keys[1, K_WORDS], keys[1, K_EVENTS] = len(before.words), kept
        try:
            events = self.rows.events(table)
        except Unsupported:  # a value that no column holds
            return self._by_reference(self._matcher(before), rows, end, ends)
        answers = self.rows.kernel.match(events, Keys(keys, before.words), end, ends)
        if not ends:
            values = before.values or self._values_at(table, keys[0, K_ROWS])
            self.open = _Open(values, answers.saved_words.copy(), table.take(answers.saved_rows))
        found = self._found(table, answers)
        if answers.left:
            found += self._by_reference(self._matcher(before), rows, end, ends)
        return found

    def _found(self, table: pa.Table, answers: Answers) -> Findings:
        found, batches = self.rows.found(table, answers)
        self.batches += batches
        return found

    def _values_at(self, table: pa.Table, row: int) -> tuple[Any, ...]:
        (event,) = events_of(table.slice(row, 1), self.layout)
        return self.rows.values(event)

    def _matcher(self, before: _Open) -> ReferenceMatcher:
        """The reference matcher, from where the kernel gave up."""
        matcher = ReferenceMatcher(self.rows.plan, tests=self.work.tests[self.rows.name])
        if len(before.words) and before.rows is not None:
            events = events_of(before.rows, self.layout)

            def fill(partition: Partition) -> None:
                revive(partition, self.rows.compiled.tables, before.words, events)

            matcher.adopt(before.values, fill)
        return matcher

    def _by_reference(self, matcher: ReferenceMatcher, rows: pa.Table, end: int, ends: bool) -> Findings:
        events = events_of(rows, self.layout)
        found = matcher.on_batch(events)
        if not ends:
            self.open = _Open(reference=matcher)
            return found
        last = [p.time for p in matcher.partitions.values() if p.time is not None]
        return found + matcher.on_end(max([end, *last, *(e.time for e in events[-1:])]))


class ManyKeys:
    """All streams of a unit, over batches of rows that come sorted by key."""

    def __init__(self, work: Work, schema: pa.Schema) -> None:
        """Raises Unsupported where the reference matcher has to do any of them."""
        self.work, self.layout, self.schema = work, work.layout, schema
        self.streams = {s.name: StreamKernel(work, s, schema) for s in work.program}
        self.key: tuple[str, ...] | None = None
        self.held: list[pa.Table] = []  # rows of the last key
        self.goes_on = False  # has the last key a state already?
        self.now = -NEVER

    def feed(self, batch: pa.RecordBatch) -> list[Found]:
        if not batch.num_rows:
            return []
        refuse_nulls(batch, self.layout)
        if self.layout.has_now:
            self.now = batch.column(NOW)[0].as_py()
        table = pa.Table.from_batches([batch])
        starts = key_starts(table, self.layout)
        if self.key is not None and key_at(table, 0, self.layout) != self.key:
            starts = np.concatenate([[0], starts])
        self.key = key_at(table, table.num_rows - 1, self.layout)
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
        rows = pa.concat_tables([*self.held, self.schema.empty_table()]).combine_chunks()
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


def key_at(table: pa.Table, row: int, layout: Layout) -> tuple[str, ...]:
    return tuple(repr(table[name][row].as_py()) for name in layout.key_names())


def key_starts(table: pa.Table, layout: Layout) -> Table:
    """The rows at which a new key begins, but for the first one."""
    batch = one_batch(table)
    ends = [pc.run_end_encode(batch.column(name)).run_ends.to_numpy() for name in layout.key_names()]
    if not ends:
        return np.zeros(0, np.int64)
    found: Table = np.unique(np.concatenate(ends)).astype(np.int64)[:-1]
    return found
