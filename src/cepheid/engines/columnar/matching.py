"""Kept rows of many keys through the kernel: sorted by key, cut into chunks of whole keys, matched by threads.

Of a chunk only the rows that a stream needs become events. Streams are matched beside each other, and while the answers
of one are put together the next ones are being matched.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.columnar.busy_keys import busy_rows
from cepheid.engines.columnar.groups import Group
from cepheid.engines.columnar.instants import Marks, Numbers
from cepheid.engines.columnar.kept import BITS, FIELD, TIME, TYPE
from cepheid.engines.columnar.key_codes import key_codes
from cepheid.engines.columnar.known_words import KnownWords
from cepheid.engines.columnar.ordering import by_code, total_order
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.kernel.emission import (
    EVENT_ROW,
    EVENT_WIDTH,
    OUT_CAUSE,
    OUT_FIRST,
    OUT_KEY,
    OUT_PHASE,
    OUT_WIDTH,
)
from cepheid.matching.compiled.kernel.space import DROPPED, STARTED
from cepheid.matching.compiled.keyed_rows import KeyedRows, places_of
from cepheid.matching.compiled.needed_rows import ALL_THAT_PASS, IN_A_ROW, needed_by
from cepheid.matching.compiled.neighbours import neighbours_of, pair_bits
from cepheid.matching.compiled.select_rows import Selected, select_rows
from cepheid.pattern.expr import Expr, Field, walk

_LEAST, _MOST = 1 << 14, 1 << 18  # rows of a chunk; a key is never cut
_MOST_LOOKED_AT = 1 << 22  # where few of them are needed


@dataclass(frozen=True)
class Sorted:
    """Rows by key, each key's in total order."""

    table: pa.Table
    rank: Numbers | None  # each row's place in the total order; None: it is its own number
    rows: Numbers
    offsets: Numbers  # where each key begins; one more
    _marks: dict[tuple[int, ...] | None, Marks] = field(default_factory=dict)
    _columns: dict[str, Numbers] = field(default_factory=dict)  # in the order of the rows

    @classmethod
    def of(cls, group: Group, table: pa.Table, order_columns: int, pool: Executor) -> Sorted:
        table, codes, count = _numbered(group, table, pool)
        order = total_order(table, order_columns)
        if order is None:
            rows, offsets = by_code(codes, count, pool)
            return cls(table, None, rows, offsets)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        rows, offsets = by_code(codes[order], count, pool)
        return cls(table, rank, order[rows], offsets)

    def ranks(self, rows: Numbers) -> Numbers:
        return rows if self.rank is None else self.rank[rows]

    @cached_property
    def tested(self) -> KeyedRows:
        """Times and the bits of all tests, in the order of the rows: gathered once for all streams."""
        names = [name for name in self.table.column_names if name.startswith(BITS)]
        return KeyedRows.of([self._gathered(n) for n in names], self._gathered(TIME), self.offsets)

    @cached_property
    def words(self) -> KnownWords:
        return KnownWords(len(self.offsets) - 1)

    def types(self, rows: Numbers) -> Numbers:
        """Of rows by their number in the table: most are only looked at by their bits."""
        found: Numbers = self.table[TYPE].to_numpy()[rows]
        return found

    def _gathered(self, name: str) -> Numbers:
        if name not in self._columns:
            self._columns[name] = self.table[name].to_numpy()[self.rows]
        return self._columns[name]

    def gather(self, pool: Executor) -> None:
        """What threads share is there before they begin."""
        names = [n for n in self.table.column_names if n.startswith(BITS) or n == TIME]
        list(pool.map(self._gathered, names))
        self.tested  # noqa: B018

    def of_types(self, types: tuple[int, ...] | None) -> Marks:
        """The rows of some types, by their numbers; None: all rows."""
        if types not in self._marks:
            self._marks[types] = self._of_types(types)
        return self._marks[types]

    def _of_types(self, types: tuple[int, ...] | None) -> Marks:
        if types is None:
            return np.ones(len(self.rows), np.bool_)
        kinds = self.table[TYPE].to_numpy()
        found = np.zeros(len(kinds), np.bool_)
        for number in types:
            found |= kinds == number
        return found[self.rows]


def _numbered(group: Group, table: pa.Table, pool: Executor) -> tuple[pa.Table, Numbers, int]:
    """Rows in one chunk, the number of the key of each, and how many keys there are."""
    if group.bits.sees_all and not any(stream.forecasts for stream in group.streams):
        return _of_busy_keys(group, table, pool)
    combined = pool.map(pa.ChunkedArray.combine_chunks, table.columns)
    codes, count = key_codes(group.plan, table)  # while the columns are put together
    return pa.table(list(combined), schema=table.schema), codes, count


def _of_busy_keys(group: Group, table: pa.Table, pool: Executor) -> tuple[pa.Table, Numbers, int]:
    """Events that no stream names were kept, too: those of keys of which no event passes a test are left out here."""
    busy = busy_rows(group.plan, table, pool)
    taken = pool.map(_taken, table.columns, repeat(busy.rows))
    return pa.table(list(taken), schema=table.schema), busy.codes, busy.keys


def _taken(column: pa.ChunkedArray, rows: Numbers) -> pa.Array:
    """Some rows, in ascending order: chunk by chunk, as most are left out."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    cuts = np.searchsorted(rows, ends)
    parts, first, before = [], 0, 0
    for chunk, cut, end in zip(column.chunks, cuts.tolist(), ends.tolist(), strict=True):
        parts.append(pc.take(chunk, pa.array(rows[first:cut] - before), boundscheck=False))
        first, before = cut, end
    return pa.concat_arrays(parts) if parts else pa.array([], column.type)


class StreamMatcher:
    """One stream, over sorted rows."""

    def __init__(self, group: Group, number: int) -> None:
        self.group, self.stream = group, group.streams[number]
        self._own = threading.local()
        numbers = {test: i for i, test in enumerate(group.bits.tests)}
        self.places = places_of([numbers[test] for test in self.stream.bits.tests])
        self.needed = needed_by(self.stream.plan)
        self.pair_tests = neighbours_of(self.stream.plan).tests if self.needed.how == IN_A_ROW else ()
        assert isinstance(self.stream.compiled, CompiledPlan)
        self.compiled = self.stream.compiled
        kinds = [self.compiled.types.get(name, -1) for name in group.types]
        self.kinds = np.array([*kinds, -1], np.int64)  # the last: a type that no stream names
        self.fields = _fields_read(self.compiled)

    def begin(self, rows: Sorted, end: int, pool: Executor, threads: int) -> list[Future[list[Answers]]]:
        """Chunk by chunk what the kernel answers, with the numbers of rows in the table, and of keys."""
        names = [FIELD + name for name in self.fields if FIELD + name in rows.table.column_names]
        fields = rows.table.select(names).rename_columns([n.removeprefix(FIELD) for n in names])
        also = self._also(rows)
        most = _MOST if self.needed.how == ALL_THAT_PASS else _MOST_LOOKED_AT
        # Streams are matched beside each other: where there are many, each has one chunk.
        size = int(rows.offsets[-1]) * len(self.group.streams) // (4 * threads)
        chunks = _chunks(rows.offsets, min(max(size, _LEAST), most))
        return [pool.submit(self._chunk, rows, fields, also, keys, end) for keys in chunks]

    def _also(self, rows: Sorted) -> Marks | None:
        """The rows that the stream sees whatever they pass."""
        bits = self.stream.bits
        if bits.sees_all:
            return rows.of_types(None)
        closing = tuple(i for i, name in enumerate(self.group.types) if name in bits.closing)
        return rows.of_types(closing) if closing else None

    def _chunk(
        self, rows: Sorted, fields: pa.Table, also: Marks | None, keys: tuple[int, int], end: int
    ) -> list[Answers]:
        """The keys from one up to another. Without rows there is nothing to answer."""
        selected = select_rows(
            self.needed, self.places, rows.tested, keys, also, self._pairs(rows, fields, keys)
        )
        own = (_part(selected, first, last) for first, last in _chunks(selected.offsets, _MOST))
        return [self._matched(rows, fields, part, keys[0], end) for part in own]

    def _pairs(self, rows: Sorted, fields: pa.Table, keys: tuple[int, int]) -> Numbers | None:
        """How each row follows the one before, where the stream is of neighbours."""
        if self.needed.how != IN_A_ROW:
            return None
        first, last = int(rows.offsets[keys[0]]), int(rows.offsets[keys[1]])
        own = rows.tested.passing_any(self.places, first, last)  # a run takes no others
        taken = pa.array(rows.rows[own])
        names = {name for test in self.pair_tests for name in (test.field, test.before)}
        columns = {name: fields[name].take(taken) for name in names if name in fields.column_names}
        found = np.zeros(last - first, np.int64)
        found[own - first] = pair_bits(self.pair_tests, columns, len(own))
        return found

    def _matched(self, rows: Sorted, fields: pa.Table, own: Selected, before: int, end: int) -> Answers:
        taken = rows.rows[own.rows]
        table = fields.take(pa.array(taken)) if fields.num_columns else fields
        kinds = self.kinds[rows.types(taken)]
        times, columns = rows.tested.times[own.rows], self.compiled.columns
        events = to_events(table, columns, times, own.bits, kinds, own.ranks)
        answers = self._kernel().match(events, Keys.without_state(own.offsets), end, ends=True)
        return _in_table(answers, taken, own.keys + before)

    def _kernel(self) -> Kernel:
        kernel: Kernel | None = getattr(self._own, "kernel", None)
        if kernel is None:
            kernel = self._own.kernel = Kernel(self.compiled)
        return kernel


def match_all(
    matchers: Sequence[StreamMatcher], rows: Sorted, end: int, pool: Executor, threads: int
) -> Iterator[Answers]:
    """What each stream finds, in their order; never many more of them in memory than are worked on.

    The rows are gathered.
    """
    waiting: deque[list[Future[list[Answers]]]] = deque()
    for matcher in matchers:
        waiting.append(matcher.begin(rows, end, pool, threads))
        if len(waiting) > 2 * threads:
            yield _finished(waiting.popleft())
    while waiting:
        yield _finished(waiting.popleft())


def _finished(chunks: list[Future[list[Answers]]]) -> Answers:
    return _joined([answers for chunk in chunks for answers in chunk.result()])


def _fields_read(compiled: CompiledPlan) -> list[str]:
    found: list[Expr] = [c.expr for c in compiled.columns.found.values()]
    names = (n.path[0] for e in found for n in walk(e) if isinstance(n, Field) and n.path)
    return list(dict.fromkeys(names))


def _chunks(offsets: Numbers, size: int) -> Iterator[tuple[int, int]]:
    """Whole keys, about so many rows in each chunk."""
    rows, keys = int(offsets[-1]), len(offsets) - 1
    cuts = np.searchsorted(offsets, np.arange(size, rows, size))
    ends = np.unique(np.concatenate([cuts, [keys]])).tolist()
    first = 0
    for last in ends:
        if last > first:
            yield first, last
            first = last


def _part(selected: Selected, first: int, last: int) -> Selected:
    """Some of the keys that have rows."""
    offsets = selected.offsets[first : last + 1]
    own = slice(offsets[0], offsets[-1])
    return Selected(
        selected.rows[own],
        selected.bits[own],
        selected.ranks[own],
        selected.keys[first:last],
        offsets - offsets[0],
    )


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
    if not parts:
        return _nothing()
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


def _nothing() -> Answers:
    none = np.zeros(0, np.int64)
    counts = np.zeros(DROPPED + 1 - STARTED, np.int64)
    no_rows, no_events = np.zeros((0, OUT_WIDTH), np.int64), np.zeros((0, EVENT_WIDTH), np.int64)
    return Answers(no_rows, no_events, counts, [], none, none, none)
