"""Kept rows of many keys through the kernel: sorted by key, cut into chunks of whole keys, matched by threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.groups import Group, StreamPlan
from cepheid.engines.columnar.instants import Marks, Numbers
from cepheid.engines.columnar.kept import BITS, FIELD, TIME, TYPE
from cepheid.engines.columnar.key_codes import key_codes
from cepheid.engines.columnar.ordering import by_code, total_order
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import Answers, Kernel, Keys
from cepheid.matching.compiled.kernel.emission import (
    EVENT_ROW,
    OUT_CAUSE,
    OUT_FIRST,
    OUT_KEY,
    OUT_PHASE,
)
from cepheid.matching.compiled.needed_rows import needed_by
from cepheid.matching.compiled.select_rows import places_of, select_rows
from cepheid.pattern.expr import Expr, Field, walk

_LEAST, _MOST = 1 << 14, 1 << 18  # rows of a chunk; a key is never cut


@dataclass(frozen=True)
class Sorted:
    """Rows by key, each key's in total order."""

    table: pa.Table
    rank: Numbers | None  # each row's place in the total order; None: it is its own number
    rows: Numbers
    offsets: Numbers  # where each key begins; one more

    @classmethod
    def of(cls, group: Group, table: pa.Table, order_columns: int) -> Sorted:
        table = table.combine_chunks()
        order = total_order(table, order_columns)
        codes, count = key_codes(group.plan, table)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))])
        if order is None:
            return cls(table, None, by_code(codes, count), offsets)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(table, rank, order[by_code(codes[order], count)], offsets)

    def ranks(self, rows: Numbers) -> Numbers:
        return rows if self.rank is None else self.rank[rows]

    @cached_property
    def times(self) -> Numbers:
        """In the order of the rows."""
        found: Numbers = self.table[TIME].to_numpy()[self.rows]
        return found

    @cached_property
    def bits(self) -> list[Numbers]:
        """The bits of all tests, in the order of the rows: gathered once for all streams."""
        names = [name for name in self.table.column_names if name.startswith(BITS)]
        return [self.table[name].to_numpy()[self.rows] for name in names]

    @cached_property
    def types(self) -> Numbers:
        found: Numbers = self.table[TYPE].to_numpy()[self.rows]
        return found


class StreamMatcher:
    """One stream, over sorted rows."""

    def __init__(self, group: Group, number: int, pool: Executor, threads: int) -> None:
        self.group, self.stream = group, group.streams[number]
        self.pool, self.threads = pool, threads
        self._own = threading.local()
        numbers = {test: i for i, test in enumerate(group.bits.tests)}
        self.places = places_of([numbers[test] for test in self.stream.bits.tests])
        self.needed = needed_by(self.stream.plan)
        kinds = [self.stream.compiled.types.get(name, -1) for name in group.types]
        self.kinds = np.array([*kinds, -1], np.int64)  # the last: a type that no stream names
        self.fields = _fields_read(self.stream)

    def match(self, rows: Sorted, end: int) -> Answers:
        """What the kernel answers, with the numbers of rows in the table, and of keys."""
        names = [FIELD + name for name in self.fields if FIELD + name in rows.table.column_names]
        fields = rows.table.select(names).rename_columns([n.removeprefix(FIELD) for n in names])
        also = self._also(rows)

        def chunk(keys: tuple[int, int]) -> Answers:
            return self._chunk(rows, fields, also, *keys, end)

        return _joined(list(self.pool.map(chunk, _chunks(rows.offsets, self.threads))))

    def _also(self, rows: Sorted) -> Marks | None:
        """The rows that the stream sees whatever they pass."""
        bits = self.stream.bits
        if bits.sees_all:
            return np.ones(len(rows.rows), np.bool_)
        closing = [i for i, name in enumerate(self.group.types) if name in bits.closing]
        return np.isin(rows.types, closing) if closing else None

    def _chunk(
        self, rows: Sorted, fields: pa.Table, also: Marks | None, first: int, last: int, end: int
    ) -> Answers:
        """The keys from the first up to the last."""
        offsets = rows.offsets[first : last + 1]
        selected = select_rows(self.needed, self.places, rows.bits, rows.times, offsets, also)
        taken = rows.rows[selected.rows]
        columns = self.stream.compiled.columns
        table = fields.take(pa.array(taken)) if fields.num_columns else fields
        kinds = self.kinds[rows.types[selected.rows]]
        events = to_events(table, columns, rows.times[selected.rows], selected.bits, kinds, selected.ranks)
        answers = self._kernel().match(events, Keys.without_state(selected.offsets), end, ends=True)
        return _in_table(answers, taken, selected.keys + first)

    def _kernel(self) -> Kernel:
        kernel: Kernel | None = getattr(self._own, "kernel", None)
        if kernel is None:
            kernel = self._own.kernel = Kernel(self.stream.compiled)
        return kernel


def _fields_read(stream: StreamPlan) -> list[str]:
    found: list[Expr] = [c.expr for c in stream.compiled.columns.found.values()]
    names = (n.path[0] for e in found for n in walk(e) if isinstance(n, Field) and n.path)
    return list(dict.fromkeys(names))


def _chunks(offsets: Numbers, threads: int) -> Iterator[tuple[int, int]]:
    """Whole keys, about as many rows in each chunk, enough chunks for all threads."""
    rows, keys = int(offsets[-1]), len(offsets) - 1
    size = min(max(rows // (4 * threads), _LEAST), _MOST)
    cuts = np.searchsorted(offsets, np.arange(size, rows, size))
    ends = np.unique(np.concatenate([cuts, [keys]])).tolist()
    first = 0
    for last in ends:
        if last > first:
            yield first, last
            first = last


def _in_table(answers: Answers, taken: Numbers, keys: Numbers) -> Answers:
    """Rows by their number in the table, keys by their own: nothing is left of the chunk."""
    rows, events = answers.rows.copy(), answers.events.copy()
    rows[:, OUT_KEY] = keys[rows[:, OUT_KEY]]
    by_event = rows[:, OUT_PHASE] == 0
    rows[by_event, OUT_CAUSE] = taken[rows[by_event, OUT_CAUSE]]
    events[:, EVENT_ROW] = taken[events[:, EVENT_ROW]]
    none = np.zeros(0, np.int64)
    left = [int(keys[key]) for key in answers.left]
    return Answers(rows, events, answers.counts, left, none, none, none)


def _joined(parts: list[Answers]) -> Answers:
    """One after the other: the keys are, too."""
    if len(parts) == 1:
        return parts[0]
    before = 0
    for part in parts:
        part.rows[:, OUT_FIRST] += before
        before += len(part.events)
    first = parts[0]
    return replace(
        first,
        rows=np.concatenate([p.rows for p in parts]),
        events=np.concatenate([p.events for p in parts]),
        counts=np.sum([p.counts for p in parts], axis=0),
        left=[key for p in parts for key in p.left],
    )
