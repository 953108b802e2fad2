"""The matchers of one bucket through the kernel: all keys that have something to do, in one call.

A key the kernel gives up on, or that has a late event, is the reference matcher's as long as it has anything open; so
is one that comes with only a few rows in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.network import events_for
from cepheid.engines.program import PlannedStream
from cepheid.engines.session import Found
from cepheid.engines.spark.bucket_matching import BY_KERNEL, ByReference, Open
from cepheid.engines.spark.kernel_choice import streams_for_kernel
from cepheid.engines.spark.kernel_rows import KernelRows, present_bits
from cepheid.engines.spark.kernel_state import (
    KeptColumns,
    KernelState,
    gone_state,
    no_state,
    read_state,
    written_state,
)
from cepheid.engines.spark.keyed_rows import KeyedRows, KeyReader
from cepheid.engines.spark.layout import LETTER, TIME
from cepheid.engines.spark.reading import events_of
from cepheid.engines.spark.segment import Digests, Mask, Numbers, of_stream
from cepheid.engines.spark.segments import Columns, ColumnState, Segments
from cepheid.engines.spark.work import Work
from cepheid.matching.compiled.compiled_plan import Answers, Keys, SavedRoom
from cepheid.matching.compiled.kernel.entrance import K_EVENTS, K_ROWS, K_WORDS, KEY_WIDTH, V_LOOK, V_WORDS
from cepheid.matching.compiled.kernel.words import NEVER, TYPE
from cepheid.matching.compiled.open_runs import open_runs
from cepheid.matching.compiled.ready import is_ready
from cepheid.matching.compiled.revive import revive
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.found import Findings
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.values import dump
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan

_MANY = 1000  # rows: for so many the compilation is worth waiting for
_FEW = 16  # rows of a stream: the reference matcher is done with them before the kernel has begun
# What can be compiled once is, for all buckets of a query that this worker has; keys are known by bucket.
_COMPILED: dict[tuple[Any, ...], KernelRows | None] = {}
_READERS: dict[tuple[Any, ...], KeyReader] = {}
_SAVED = SavedRoom()  # one call at a time, and what it saved is packed before the next


class ByKernel(ByReference):
    def __init__(self, work: Work, segments: Segments, identity: tuple[Hashable, ...], bucket: int) -> None:
        super().__init__(work, segments)
        self.identity, self.bucket = identity, bucket
        mine = streams_for_kernel(work)
        self.streams = [StreamColumns(self, work.program[name]) for name in mine]
        self.others = [s.name for s in work.program if s.name not in mine]
        self.batches: list[pa.RecordBatch] = []
        self.on = is_ready()

    def reader(self, plan: Plan) -> KeyReader:
        """Streams of a unit have one key, but may take values for equal differently."""
        place = (self.identity, self.bucket, plan.key, plan.inferred_key)
        if place not in _READERS:
            _READERS[place] = KeyReader(plan, self.work.layout)
        return _READERS[place]

    def on_rows(self, rows: pa.Table | None, watermark: int | None) -> list[Found]:
        count = 0 if rows is None else rows.num_rows
        self.on = self.on or count >= _MANY or self._have_state()
        if not self.on:
            return super().on_rows(rows, watermark)
        moments = [watermark] if watermark is not None else []
        if rows is None or not count:
            return self._on_time(max(moments)) if moments else []
        time = max([pc.max(rows[TIME]).as_py(), *moments])
        rows = _own_columns(rows)
        plans = {c.plan.inferred_key: c.plan for c in self.streams}
        keyed = {inferred: self.reader(plan).keyed(rows) for inferred, plan in plans.items()}
        present = present_bits(rows, self.work.layout)
        found = {c.name: c.step(keyed[c.plan.inferred_key], present, time) for c in self.streams}
        events = self.events(rows) if self.others else []
        return self.work.found(found | self._by_others(events, time))

    def _on_time(self, time: int) -> list[Found]:
        found = {c.name: c.on_time(time) for c in self.streams}
        return self.work.found(found | self._by_others([], time))

    def _have_state(self) -> bool:
        return any(self.segments.has_columns(c.name) for c in self.streams)

    def _by_others(self, events: list[Event], time: int) -> dict[str, Findings]:
        """Streams the kernel cannot take; some may feed others of them."""
        return self.network.on_events(events, time, self.others) if self.others else {}

    def by_reference(self, name: str, events: list[Event], time: int) -> Findings:
        matcher = self.network.matchers[name]
        return matcher.on_batch(events_for(self.work.program[name], events)) + matcher.on_time(time)

    def on_late(self, event: Event) -> list[Found]:
        for stream in self.streams:
            stream.hand_over(event)
        return super().on_late(event)

    def on_end(self, time: int) -> list[Found]:
        found = self.work.found({c.name: c.end(time) for c in self.streams})
        return found + super().on_end(time)

    def next_look(self) -> int | None:
        moments = [self.segments.next_column_moment(c.name) for c in self.streams] + [super().next_look()]
        return min((m for m in moments if m is not None), default=None)

    def take_batches(self) -> list[pa.RecordBatch]:
        batches, self.batches = self.batches, []
        return batches

    def open_runs(self) -> Open:
        return {**super().open_runs(), **{(BY_KERNEL, c.name): c.open for c in self.streams}}

    def restore_open(self, kept: Open) -> None:
        super().restore_open(kept)
        for stream in self.streams:
            stream.open = kept.get((BY_KERNEL, stream.name))


class StreamColumns:
    """One stream of a bucket."""

    def __init__(self, matching: ByKernel, planned: PlannedStream) -> None:
        self.matching, self.planned, self.plan, self.name = matching, planned, planned.plan, planned.name
        self.work, self.segments = matching.work, matching.segments
        self.number = self.segments.streams[self.name]
        self.kept = KeptColumns.of(self.work.layout, self.plan)
        self.open: Counter[int] | None = Counter()  # runs in segments, by state

    @property
    def reference(self) -> ReferenceMatcher:
        matcher = self.matching.network.matchers[self.name]
        assert isinstance(matcher, ReferenceMatcher)
        return matcher

    # What happens.

    def step(self, keyed: KeyedRows, present: list[int], time: int) -> Findings:
        """New rows of some keys, and time for those that are due. `present` are the bits that any row has."""
        rows = self._compiled(keyed.table.schema)
        if rows is None:
            return self.matching.by_reference(self.name, self.matching.events(keyed.table), time)
        if not rows.may_want(present):
            return self.on_time(time)
        keyed = keyed.narrowed(*rows.narrowed(keyed.table, keyed.offsets))
        digests = of_stream(keyed.digests, self.number)
        others = self._of_reference(digests)
        if keyed.table.num_rows < _FEW and not self.segments.has_columns_of(self.name, digests[~others]):
            events = self.matching.events(keyed.table)
            return self._due(time) + self.matching.by_reference(self.name, events, time)
        found = self._by_kernel(rows, keyed.of(~others), digests[~others], time)
        events = self.matching.events(keyed.of(others).table) if others.any() else []
        return found + self.matching.by_reference(self.name, events, time)

    def on_time(self, time: int) -> Findings:
        return self._due(time) + self.reference.on_time(time)

    def _due(self, time: int) -> Findings:
        """Of the kernel's keys."""
        return self._by_state(self.segments.take_columns_due(self.name, time), time, ends=False)

    def end(self, time: int) -> Findings:
        """Of the kernel's keys; the reference matcher ends with its network."""
        return self._by_state(self.segments.take_columns_due(self.name, None), time, ends=True)

    def _by_state(self, taken: Columns, time: int, ends: bool) -> Findings:
        """Time for keys without any row."""
        if not len(taken.digests):
            return Findings()
        digests, state = self._state(taken)
        schema = state.events.schema
        none = KeyedRows(schema.empty_table(), digests, np.zeros(len(digests) + 1, np.int64))
        rows = self._that_left(state)
        self._uncount(rows, state)
        return self._matched(rows, none, digests, state, time, ends)

    def hand_over(self, event: Event) -> None:
        """A late event is the reference matcher's, and so is its key from now on."""
        if not self.plan.sees_all_events and event.type not in self.plan.event_types:
            return
        digest = of_stream(self.matching.reader(self.plan).digest(event), self.number)
        taken = self.segments.take_columns(self.name, digest)
        if len(taken.digests):
            _, state = self._state(taken)
            rows = self._that_left(state)
            self._uncount(rows, state)
            self._adopt(rows, state, 0, rows.values(event))

    def _by_kernel(self, rows: KernelRows, keyed: KeyedRows, digests: Digests, time: int) -> Findings:
        taken = self.segments.take_columns_and_due(self.name, digests, time)
        if not len(taken.digests):
            state = no_state(len(digests), keyed.table.schema)
            return self._matched(rows, keyed, digests, state, time, ends=False)
        taken = _in_order(taken)
        every, those, these = joined_places(taken.digests, digests)
        state = read_state(taken.rows, those, len(every), self.kept)
        self._uncount(rows, state)
        return self._matched(rows, _spread(keyed, these, every), every, state, time, ends=False)

    def _matched(
        self, rows: KernelRows, keyed: KeyedRows, digests: Digests, state: KernelState, time: int, ends: bool
    ) -> Findings:
        if not len(digests):
            return Findings()
        kept = state.events.num_rows
        table = pa.concat_tables([state.events, keyed.table]).combine_chunks() if kept else keyed.table
        keys = np.zeros((len(digests) + 1, KEY_WIDTH), np.int64)
        keys[:, K_ROWS] = keyed.offsets + kept
        keys[:, K_WORDS], keys[:, K_EVENTS] = state.word_offsets, state.event_offsets
        try:
            events = rows.events(table)
        except Unsupported:  # a value that no column holds
            every = np.ones(len(digests), np.bool_)
            self.segments.put_columns(self.name, ColumnState(digests, *gone_state(len(digests))))
            return self._give_up(rows, keyed, state, every, time)
        answers = rows.kernel.match(events, Keys(keys, state.words), time, ends, _SAVED)
        found, batches = rows.found(table, answers)
        self.matching.batches += batches
        left = np.zeros(len(digests), np.bool_)
        left[answers.left] = True
        if not ends:
            self._keep(rows, answers, table, events.ints[TYPE], digests, left)
        return found + self._give_up(rows, keyed, state, left, time)

    def _uncount(self, rows: KernelRows, state: KernelState) -> None:
        """Runs that left the segments. Most often all did, and need not be counted."""
        if self.segments.has_columns(self.name):
            self._count(rows, state.words, state.word_offsets, -1)
        else:
            self.open = Counter()

    def _count(self, rows: KernelRows, words: Numbers, offsets: Numbers, sign: int) -> None:
        """Runs that leave the segments, or are put there."""
        if self.open is not None:
            counted = open_runs(self.plan.automaton, rows.compiled.tables, words, offsets)
            self.open = +Counter({s: self.open[s] + sign * counted[s] for s in {*self.open, *counted}})

    def _keep(
        self,
        rows: KernelRows,
        answers: Answers,
        table: pa.Table,
        kinds: Numbers,
        digests: Digests,
        left: Mask,
    ) -> None:
        moments = answers.saved[:-1, V_LOOK].copy()
        gone = (moments == -NEVER) | left
        kept = ColumnState(digests, moments, gone, written_state(answers, table, kinds, gone, self.kept))
        self.segments.put_columns(self.name, kept)
        self._count(rows, answers.saved_words, answers.saved[:, V_WORDS], 1)

    def _give_up(
        self, rows: KernelRows, keyed: KeyedRows, state: KernelState, left: Mask, time: int
    ) -> Findings:
        """Keys for the reference matcher, from where they were."""
        if not left.any():
            return Findings()
        table = keyed.of(left).table
        for key in np.flatnonzero(left).tolist():
            _, events = state.of(key)
            own = keyed.table.slice(keyed.offsets[key], keyed.offsets[key + 1] - keyed.offsets[key])
            (event,) = events_of(pa.concat_tables([events, own]).slice(0, 1), self.work.layout)
            self._adopt(rows, state, key, rows.values(event))
        return self.matching.by_reference(self.name, self.matching.events(table), time)

    def _adopt(self, rows: KernelRows, state: KernelState, key: int, values: tuple[Any, ...]) -> None:
        words, own = state.of(key)
        events = events_of(own, self.work.layout)

        def fill(partition: Partition) -> None:
            if len(words):
                revive(partition, rows.compiled.tables, words, events)

        self.reference.adopt(values, fill)

    # What is known of it.

    def _state(self, taken: Columns) -> tuple[Digests, KernelState]:
        digests, rows = _in_order(taken)
        return digests, read_state(rows, np.arange(len(digests)), len(digests), self.kept)

    def _of_reference(self, digests: Digests) -> Mask:
        """Keys that the reference matcher has, in memory or in segments."""
        found = self.segments.of_reference(self.name, digests)
        if self.reference.partitions:
            texts = [dump(key) for key in self.reference.partitions]
            found |= np.isin(digests, self.segments.digests_of(self.name, texts))
        return found

    def _compiled(self, schema: pa.Schema) -> KernelRows | None:
        """None where the kernel cannot take the types of the columns."""
        place = (self.matching.identity, self.name, schema)
        if place not in _COMPILED:
            try:
                _COMPILED[place] = KernelRows(self.work, self.planned, schema)
            except Unsupported:
                _COMPILED[place] = None
        return _COMPILED[place]

    def _that_left(self, state: KernelState) -> KernelRows:
        rows = self._compiled(state.events.schema)
        assert rows is not None, "the kernel has left state"
        return rows


def _in_order(taken: Columns) -> Columns:
    """By digest, as those of one segment are."""
    order = np.argsort(taken.digests, kind="stable")
    if (np.diff(order) > 0).all():
        return taken
    return Columns(taken.digests[order], taken.rows.take(order))


def _own_columns(rows: pa.Table) -> pa.Table:
    """Without what only an arrival needs, and with nothing said of nulls: as rows that were kept."""
    names = [name for name in rows.column_names if name != LETTER]
    return pa.table([rows[name] for name in names], names)


def joined_places(some: Digests, others: Digests) -> tuple[Digests, Numbers, Numbers]:
    """All of them, in order as both are, and where among them each of the first and each of the second is.

    Digests are compared once: it takes longer than to count.
    """
    places = some.searchsorted(others)
    new = np.ones(len(others), np.bool_)
    inside = places < len(some)
    new[inside] = some[places[inside]] != others[inside]
    before = np.bincount(places[new], minlength=len(some) + 1)  # new ones in front of each of the first
    first = np.arange(len(some)) + np.cumsum(before[:-1])
    second = np.empty(len(others), np.int64)
    second[~new] = first[places[~new]]
    second[new] = places[new] + np.arange(np.count_nonzero(new))
    found = np.empty(len(some) + np.count_nonzero(new), some.dtype)
    found[first], found[second] = some, others
    return found, first, second


def _spread(keyed: KeyedRows, places: Numbers, every: Digests) -> KeyedRows:
    """The same rows among more keys."""
    sizes = np.zeros(len(every) + 1, np.int64)
    sizes[places + 1] = np.diff(keyed.offsets)
    return KeyedRows(keyed.table, every, np.cumsum(sizes))
