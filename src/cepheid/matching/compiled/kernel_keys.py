"""The keys of a plan that the kernel has between two calls, and what it does with them in one."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.errors import CepheidError, EvaluationError
from cepheid.matching.compiled.compiled_plan import Answers, CompiledPlan, Kernel
from cepheid.matching.compiled.field_kinds import FieldKinds
from cepheid.matching.compiled.findings import FindingsReader
from cepheid.matching.compiled.kernel.entrance import V_LOOK, V_ROWS, V_WORDS
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.matcher import NO_WORDS, Batch, Waiting
from cepheid.matching.compiled.placing import Placed, by_kernel
from cepheid.matching.compiled.revive import revive
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.partition import Partition
from cepheid.matching.protocol import Key
from cepheid.matching.tests import PlanTests
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan

Keyed = tuple[Key, tuple[Any, ...], Event]  # an event with its key, and the key's values as they are shown


@dataclass(frozen=True)
class Stepped:
    """What one call brought."""

    placed: list[Placed]
    left: list[Waiting]  # keys that the kernel gave up on, as they were
    events: list[Event]  # the new ones of these


class KernelKeys:
    def __init__(self, plan: Plan, tests: PlanTests) -> None:
        self.plan, self.tests = plan, tests
        self.keys: dict[Key, Waiting] = {}
        self.kinds = FieldKinds()
        self.kernel: Kernel | None = None
        self.reason: str | None = None  # why there is none
        self._read: list[str] = []  # the fields that it reads
        self._looks: list[tuple[int, int, Key]] = []  # a heap; entries may be out of date
        self._tie = 0

    # The kernel for the values at hand.

    def made_for(self, events: Sequence[Event]) -> bool:
        """Is this the kernel for what the fields of these events hold?"""
        return not self.kinds.look_at(events)

    def make(self) -> None:
        """For all kinds of values that came so far. It has no keys then."""
        assert not self.keys
        self.kernel = self.reason = None
        try:
            self.kinds.check(self.plan)
            plan = CompiledPlan.of(self.plan, self.kinds.event_type())
            self.kernel, self._read = Kernel(plan), self.kinds.read_by(plan)
        except (Unsupported, CepheidError) as reason:
            self.reason = str(reason)

    # What happens.

    def step(self, mine: list[Keyed], time: int) -> Stepped | None:
        """New events, and the keys whose moment has come. None: it could not be done, and nothing has changed."""
        due = self.take_due(time)
        batch = self._batch(mine, due)
        if not batch.keys:
            return Stepped([], [], [])
        answers = self._answers(batch, time)
        if answers is None:
            self._look_again(due)
            return None
        reader = FindingsReader(
            self.plan, answers, batch.events.__getitem__, lambda key: batch.waiting[key].values
        )
        placed = by_kernel(answers, batch.events.__getitem__, reader.one)
        self._keep(batch, answers)
        left = [batch.waiting[at] for at in answers.left]
        return Stepped(placed, left, [event for at in answers.left for event in batch.new[at]])

    def _batch(self, mine: list[Keyed], due: list[Key]) -> Batch:
        new: dict[Key, list[Event]] = {}
        values: dict[Key, tuple[Any, ...]] = {}
        for key, own, event in mine:
            new.setdefault(key, []).append(event)
            values.setdefault(key, own)
        keys = list(dict.fromkeys([*new, *due]))
        waiting = [self.keys.get(k) or Waiting(values[k], NO_WORDS, [], NEVER) for k in keys]
        return Batch(keys, waiting, [new.get(k, []) for k in keys])

    def _answers(self, batch: Batch, time: int) -> Answers | None:
        assert self.kernel is not None
        try:
            fields = self.kinds.table(batch.events, self._read)
            columns, keys = batch.matrices(self.kernel.plan, self.tests, fields)
            return self.kernel.match(columns, keys, time, ends=False)
        except (EvaluationError, Unsupported, pa.ArrowException, ValueError, OverflowError):
            return None  # the reference matcher says what is wrong, if anything is

    def _keep(self, batch: Batch, answers: Answers) -> None:
        left = set(answers.left)
        for i, key in enumerate(batch.keys):
            self.keys.pop(key, None)
            look = int(answers.saved[i, V_LOOK])
            if i not in left and look != -NEVER:
                words = answers.saved_words[answers.saved[i, V_WORDS] : answers.saved[i + 1, V_WORDS]].copy()
                rows = answers.saved_rows[answers.saved[i, V_ROWS] : answers.saved[i + 1, V_ROWS]].tolist()
                events = [batch.events[row] for row in rows]
                self.keys[key] = Waiting(batch.waiting[i].values, words, events, look)
                self._look_again([key])

    def fill(self, partition: Partition, waiting: Waiting) -> None:
        """A partition of the reference matcher with a key's state."""
        if len(waiting.words):
            assert self.kernel is not None
            revive(partition, self.kernel.plan.tables, waiting.words, waiting.events)

    # Moments.

    def next_moment(self) -> int | None:
        while self._looks:
            look, _, key = self._looks[0]
            if key in self.keys and self.keys[key].look == look:
                return look
            heapq.heappop(self._looks)
        return None

    def is_due(self, time: int) -> bool:
        moment = self.next_moment()
        return moment is not None and moment < time

    def take_due(self, time: int) -> list[Key]:
        found: dict[Key, None] = {}
        while self.is_due(time):
            found[heapq.heappop(self._looks)[2]] = None
        return list(found)

    def _look_again(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.keys[key].look != NEVER:
                self._tie += 1
                heapq.heappush(self._looks, (self.keys[key].look, self._tie, key))
