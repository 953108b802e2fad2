"""The compiled matcher behind the protocol: events as objects in, matches as objects out, the kernel between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.findings import FindingsReader
from cepheid.matching.compiled.kernel.entrance import (
    K_EVENTS,
    K_ROWS,
    K_WORDS,
    KEY_WIDTH,
    V_LOOK,
    V_ROWS,
    V_WORDS,
)
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.revive import revive
from cepheid.matching.compiled.tables import Table
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.evaluate import compile_value
from cepheid.matching.found import Findings
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.protocol import Key
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.tests import PlanTests
from cepheid.pattern.event import Event
from cepheid.pattern.types import Type


@dataclass(frozen=True)
class Waiting:
    """A key between two calls: its values, its state as words, the events it needs, when to look at it."""

    values: tuple[Any, ...]
    words: Table
    events: list[Event]
    look: int


class CompiledMatcher:
    """One plan, all its keys. A key's state is loaded for its events, and saved.

    A key the kernel gives up on, or that has a late event, is the reference matcher's from then on.
    """

    def __init__(self, plan: CompiledPlan, tests: PlanTests | None = None, *, late_memory: int = 0) -> None:
        self.compiled, self.plan = plan, plan.plan
        self.kernel = Kernel(plan)
        self.tests = tests or PlanTests(plan.plan)
        self.key_of = [compile_value(e) for e in plan.plan.key]
        self.keys: dict[Key, Waiting] = {}
        self.time = -NEVER
        self.counts: Table = np.zeros(7, np.int64)
        self.fallback = ReferenceMatcher(plan.plan, tests=self.tests, late_memory=late_memory)

    def on_batch(self, events: Sequence[Event]) -> Findings:
        time = max((e.time for e in events if not e.late), default=self.time)
        return self._step(events, max(time, self.time), ends=False)

    def on_time(self, time: int) -> Findings:
        return self._step((), max(time, self.time), ends=False)

    def on_end(self, time: int) -> Findings:
        return self._step((), time, ends=True)

    def _step(self, events: Sequence[Event], time: int, ends: bool) -> Findings:
        self.time = time
        mine, others = self._split(events)
        batch = self._batch(mine, time, ends)
        found = Findings()
        if batch.keys:
            columns, keys = batch.matrices(
                self.compiled, self.tests, table_of(batch.events, self.compiled.columns.event)
            )
            answers = self.kernel.match(columns, keys, time, ends)
            self.counts += answers.counts
            self._keep(batch, answers, ends)
            found = FindingsReader(
                self.plan, answers, batch.events.__getitem__, lambda key: batch.waiting[key].values
            ).read()
            for left in answers.left:
                self._to_reference(batch.waiting[left])
                others += batch.new[left]
        others.sort(key=Event.place_in_order)
        found += self.fallback.on_batch(others)
        return found + (self.fallback.on_end(time) if ends else self.fallback.on_time(time))

    def _split(self, events: Sequence[Event]) -> tuple[list[tuple[Key, tuple[Any, ...], Event]], list[Event]]:
        """The kernel's events with their keys, and those of the reference matcher."""
        mine: list[tuple[Key, tuple[Any, ...], Event]] = []
        others: list[Event] = []
        for event in events:
            moment = Moment(event, {})
            values = tuple(value(moment) for value in self.key_of)
            key = lookup_key(values, self.plan.inferred_key)
            if event.late and key in self.keys:
                self._to_reference(self.keys.pop(key))
            if event.late or key in self.fallback.partitions:
                others.append(event)
            else:
                mine.append((key, values, event))
        return mine, others

    def _to_reference(self, waiting: Waiting) -> None:
        def fill(partition: Partition) -> None:
            if len(waiting.words):
                revive(partition, self.compiled.tables, waiting.words, waiting.events)

        self.fallback.adopt(waiting.values, fill)

    def _batch(self, events: list[tuple[Key, tuple[Any, ...], Event]], time: int, ends: bool) -> Batch:
        """The keys that have something to do: events, or a moment that has come."""
        new: dict[Key, list[Event]] = {}
        values: dict[Key, tuple[Any, ...]] = {}
        for key, own, event in events:
            new.setdefault(key, []).append(event)
            values.setdefault(key, own)
        due = [k for k, waiting in self.keys.items() if ends or waiting.look < time]
        keys = list(dict.fromkeys([*new, *due]))
        known = [self.keys.pop(k, None) for k in keys]
        found = [w or Waiting(values[k], NO_WORDS, [], NEVER) for k, w in zip(keys, known, strict=True)]
        return Batch(keys, found, [new.get(k, []) for k in keys])

    def _keep(self, batch: Batch, answers: Answers, ends: bool) -> None:
        if ends:
            return
        for i, key in enumerate(batch.keys):
            look = int(answers.saved[i, V_LOOK])
            if look == -NEVER or i in answers.left:
                continue
            words = answers.saved_words[answers.saved[i, V_WORDS] : answers.saved[i + 1, V_WORDS]].copy()
            rows = answers.saved_rows[answers.saved[i, V_ROWS] : answers.saved[i + 1, V_ROWS]]
            self.keys[key] = Waiting(batch.waiting[i].values, words, [batch.events[r] for r in rows], look)


NO_WORDS: Table = np.zeros(0, np.int64)


class Batch:
    """The keys of one call. Rows: the kept events of all keys, then the new ones."""

    def __init__(self, keys: list[Key], waiting: list[Waiting], new: list[list[Event]]) -> None:
        self.keys, self.waiting, self.new = keys, waiting, new
        self.events = [e for w in waiting for e in w.events] + [e for own in new for e in own]
        self.table = np.zeros((len(keys) + 1, KEY_WIDTH), np.int64)
        kept = sum(len(w.events) for w in waiting)
        self.table[:, K_EVENTS] = np.cumsum([0, *(len(w.events) for w in waiting)])
        self.table[:, K_ROWS] = kept + np.cumsum([0, *(len(own) for own in new)])
        self.table[:, K_WORDS] = np.cumsum([0, *(len(w.words) for w in waiting)])

    def matrices(self, plan: CompiledPlan, tests: PlanTests, fields: pa.Table) -> tuple[Any, Keys]:
        """`fields` are those of the events, as a table."""
        seen = [tests.look_at(e) for e in self.events]
        bits = [[*s.positions, *s.absences, *s.guards] for s in seen]
        passed = np.array([sum(1 << i for i, b in enumerate(own) if b) for own in bits], np.int64)
        times = np.array([e.time for e in self.events], np.int64)
        kinds = np.array([plan.types.get(e.type, -1) for e in self.events], np.int64)
        ranks = np.array([-1 if e.rank is None else e.rank for e in self.events], np.int64)
        columns = to_events(fields, plan.columns, times, passed, kinds, ranks)
        words = np.concatenate([NO_WORDS, *(w.words for w in self.waiting)])
        return columns, Keys(self.table, words)


def table_of(events: Sequence[Event], event: Type) -> pa.Table:
    """The events' fields as a table."""
    try:
        columns = {name: pa.array([e.fields.get(name) for e in events]) for name, _ in event.fields}
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as problem:
        raise Unsupported(f"values of one field have several types: {problem}") from None
    return pa.table(columns)
