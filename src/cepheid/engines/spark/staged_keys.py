"""Sorted rows of many keys, in columns and stage by stage, as on one machine: a stream after all that it feeds on.

So go streams that feed each other, and those whose keys Spark cannot tell apart. All rows of a key have to be there at
once: a very long one is left to the reference matcher, which keeps no more than its open runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.choice import Choice, by_reference, choose, memory_for_rows, unreadable
from cepheid.engines.columnar.groups import StreamPlan, groups_of
from cepheid.engines.columnar.results import StreamAnswer
from cepheid.engines.columnar.run import Answer
from cepheid.engines.columnar.run import Work as ColumnWork
from cepheid.engines.columnar.scan import Batch, Piece, Scan
from cepheid.engines.columnar.staged import feeding, run_staged
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import Columns
from cepheid.engines.program import Program
from cepheid.engines.rows import match_columns, side_columns
from cepheid.engines.session import Found
from cepheid.engines.spark.layout import NOW, TIME, TYPE, Layout
from cepheid.engines.spark.many_keys import key_at, key_starts
from cepheid.engines.spark.output import Payload
from cepheid.engines.spark.reading import one_array, one_batch, refuse_nulls
from cepheid.engines.spark.units import connected
from cepheid.engines.spark.work import Work
from cepheid.errors import EvaluationError
from cepheid.matching.compiled.tables import Table
from cepheid.matching.compiled.unsupported import Unsupported

if TYPE_CHECKING:
    from cepheid.engines.spark.batch import KeyByKey

_ENOUGH = 1 << 17  # rows that are matched at a time, if they are whole keys
_LONG = 1 << 20  # rows of one key: from there on the reference matcher takes it
_INSTANT = pa.timestamp("us", "UTC")


def choose_staged(program: Program, layout: Layout, types: Mapping[str, pa.DataType], text: bool) -> Choice:
    """Which streams can go so. `types`: of the fields; `text`: events have a type of their own."""
    if layout.columns.end is not None:
        return by_reference("events have an end")
    mine = [
        stream.name
        for group in connected(program)
        if all(s.plan.trends is None and s.plan.forecast is None for s in group)
        for stream in group
    ]
    program = replace(program, streams=tuple(s for s in program if s.name in mine))
    columns = _columns(layout)
    own = {columns.type: pa.string()} if text else {}
    scan = Scan({**own, **types, columns.time: _INSTANT}, ())
    reason = unreadable(scan, columns)
    return choose(program, scan, columns, as_objects=True) if reason is None else by_reference(reason)


def _columns(layout: Layout) -> Columns:
    """The rows of a key lie in total order: what else they were sorted by need not be looked at again."""
    return replace(layout.columns, order=())


def choose_for_rows(work: Work, schema: pa.Schema) -> Choice:
    """The same for prepared rows, in the form in which it is asked for them."""
    types = {
        name: schema.field(own).type
        for name, own in zip(work.layout.fields, work.layout.field_names(), strict=True)
    }
    choice = choose_staged(work.program, work.layout, types, TYPE in schema.names)
    if any(s.unfit and _wants_objects(work, name) for name, s in _fed_by_stream(choice)):
        return by_reference("events are shown whole, and not all of their fields are plain columns")
    only_matches = all(payload.kind in ("match", "dead_letter") for payload in work.answer.payloads)
    streams = [
        replace(s, only_matches=only_matches, as_objects=_wants_objects(work, s.name)) for s in choice.streams
    ]
    return replace(choice, streams=tuple(streams))


def _fed_by_stream(choice: Choice) -> list[tuple[str, Scan]]:
    """What is read by streams that feed on others."""
    return [(s.name, choice.fed[s.planned.feeds_on]) for s in choice.streams if s.planned.feeds_on]


def _wants_objects(work: Work, stream: str) -> bool:
    """Is it asked for what is behind a match?"""
    return work.answer.evidence_kind(stream) is not None


class StagedKeys:
    """Some streams of a unit, over batches of rows that come sorted by key."""

    def __init__(self, work: Work, choice: Choice, by_reference: Callable[[Work], KeyByKey]) -> None:
        self.work, self.choice, self.by_reference = work, choice, by_reference
        self.layout, self.columns = work.layout, _columns(work.layout)
        self.key: tuple[str, ...] | None = None
        self.held: list[pa.Table] = []
        self.rows = self.whole = 0  # rows that are held; those of keys that are over
        self.long: KeyByKey | None = None  # has the last key, which is too long
        self.now: int | None = None
        self.batches: list[pa.RecordBatch] = []  # matches as columns, not yet handed out

    def feed(self, batch: pa.RecordBatch) -> list[Found]:
        if not batch.num_rows:
            return []
        refuse_nulls(batch, self.layout)
        if self.layout.has_now:
            self.now = batch.column(NOW)[0].as_py()
        table = pa.Table.from_batches([batch])
        starts = self._starts(table)
        if self.long is None:
            return self._hold(table, starts)
        if not len(starts):
            return self.long.feed(batch)
        first = int(starts[0])
        found = (self.long.feed(batch.slice(0, first)) if first else []) + self.long.end()
        self.long = None
        return found + self._hold(table.slice(first), starts[1:] - first)

    def _starts(self, table: pa.Table) -> Table:
        """The rows at which a key begins that is not the one before."""
        starts = key_starts(table, self.layout)
        if self.key is not None and key_at(table, 0, self.layout) != self.key:
            starts = np.concatenate([[0], starts])
        self.key = key_at(table, table.num_rows - 1, self.layout)
        return starts

    def _hold(self, table: pa.Table, starts: Table) -> list[Found]:
        if len(starts):
            self.whole = self.rows + int(starts[-1])
        self.held.append(table)
        self.rows += table.num_rows
        found = self._match_held(self.whole) if self.whole >= _ENOUGH else []
        if self.rows - self.whole < _LONG:
            return found
        found += self._match_held(self.whole)
        self.long, rest = self.by_reference(self.work), one_batch(pa.concat_tables(self.held))
        self.held, self.rows = [], 0
        return found + self.long.feed(rest)

    def end(self) -> list[Found]:
        if self.long is not None:
            found, self.long = self.long.end(), None
            return found
        return self._match_held(self.rows)

    def take_batches(self) -> Iterator[pa.RecordBatch]:
        """Matches as columns, since the last call."""
        batches, self.batches = self.batches, []
        yield from batches

    def _match_held(self, count: int) -> list[Found]:
        """So many of the rows that are held."""
        if not count:
            return []
        held = pa.concat_tables(self.held).combine_chunks()
        rows, rest = held.slice(0, count), held.slice(count)
        self.held, self.rows, self.whole = [rest], rest.num_rows, 0
        answer = self._answer(rows)
        if answer is None:
            matcher = self.by_reference(self.work)
            return matcher.feed(one_batch(rows)) + matcher.end()
        return [item for name, found in answer.streams.items() for item in self._handed(name, found)]

    def _answer(self, rows: pa.Table) -> Answer | None:
        """None: the reference matcher has to do it, for example to say what is wrong with an expression."""
        try:
            return run_staged(self.work.program, self.choice, self._scan(rows), self._column_work)
        except (EvaluationError, Unsupported, pa.ArrowException):
            return None

    def _scan(self, rows: pa.Table) -> Scan:
        assert self.choice.scan is not None
        types = self.choice.scan.types
        places = dict(zip(self.layout.fields, self.layout.field_names(), strict=True))
        if TYPE in rows.column_names:  # which all rows have
            places[self.columns.type] = TYPE
        columns = {name: one_array(rows[own]) for name, own in places.items()}
        columns[self.columns.time] = one_array(rows[TIME]).cast(_INSTANT)
        # Rows that pass no test may have lost their values on the way: they are there for their place alone.
        bits = [rows[name].to_numpy() != 0 for name in self.layout.bit_names()]
        may_pass = np.logical_or.reduce(bits)

        def read(names: Sequence[str] | None) -> Iterator[Batch]:
            wanted = columns if names is None else {name: columns[name] for name in names}
            yield Batch(0, rows.num_rows, wanted, may_pass)

        return Scan(types, (Piece("", 0, 0, rows.num_rows, rows.num_rows, read),))

    def _column_work(self, streams: Sequence[StreamPlan], scan: Scan) -> ColumnWork:
        return ColumnWork(
            scan,
            self.columns,
            groups_of(streams, scan, self.columns),
            lambda name: match_columns(self.work.program[name], late=False),
            lambda name: side_columns(self.work.program, name, "outcome"),
            self.now,
            memory_for_rows(),
            1,  # Spark has a task for each core
            lambda found: None,
            feeding(self.choice),
        )

    def _handed(self, name: str, answer: StreamAnswer) -> list[Found]:
        """Rows; or columns, beside them."""
        if answer.found is not None:
            return self.work.found({name: answer.found})
        sides = [("timeout", answer.timeouts), ("pending", answer.pending)]
        items = [Found(name, kind, row) for kind, rows in sides for row in rows]
        payload = self.work.answer.payload("match", name)
        if payload is not None:
            items += self._matches(name, answer.matches, payload)
        return [item for item in items if self.work.answer.wants(item)]

    def _matches(
        self, name: str, matches: pa.Table | list[dict[str, object]], payload: Payload
    ) -> list[Found]:
        if isinstance(matches, pa.Table):
            columns = {column: one_array(matches[column]) for column in matches.column_names}
            if [(column, array.type) for column, array in columns.items()] == list(payload.columns):
                self.batches += self.work.answer.matches(name, columns, len(matches))
                return []
            matches = list(batch_rows(columns))
        return [Found(name, "match", row) for row in matches]
