"""The reference matcher: plain Python, to be read beside the specification. All others are tested against it."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from cepheid.matching.counting import CountingPartition
from cepheid.matching.evaluate import compile_value
from cepheid.matching.every import EveryPartition
from cepheid.matching.found import Findings, merged
from cepheid.matching.keys import lookup_key
from cepheid.matching.lifecycle import Listener
from cepheid.matching.moment import Moment
from cepheid.matching.partition import Partition
from cepheid.matching.protocol import Key
from cepheid.matching.snapshot import EventTable, pack, read_events, read_run, run_row, unpack
from cepheid.matching.stnm import NextMatchPartition
from cepheid.matching.tests import PlanTests
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event
from cepheid.pattern.model import Selection
from cepheid.plan.plan import Plan


class ReferenceMatcher:
    """One plan, all its partitions, one clock."""

    def __init__(
        self,
        plan: Plan,
        listener: Listener | None = None,
        *,
        tests: PlanTests | None = None,
        late_memory: int = 0,
    ) -> None:
        self.plan = plan
        self.listener = listener
        self.tests = tests or PlanTests(plan)
        self.late_memory = late_memory  # how far behind the watermark an event may come and still be matched
        self.key_of = [compile_value(e) for e in plan.key]
        self.partitions: dict[Key, Partition] = {}
        self.deadlines: list[tuple[int, int, Key]] = []  # a heap; entries may be out of date
        self.tie = 0
        self.touched: set[Key] = set()  # partitions that are not as they were when last asked for
        self.evicted = 0

    def on_batch(self, events: Sequence[Event]) -> Findings:
        found: list[Findings] = []
        for event in events:
            if not event.late:
                found += self._pass(event.time)
            found.append(self._on_event(event))
        return merged(found)

    def on_time(self, time: int) -> Findings:
        return merged(self._pass(time))

    def _pass(self, time: int) -> list[Findings]:
        found: list[Findings] = []
        while self.deadlines and self.deadlines[0][0] < time:
            found += _by_first_event(self._pass_moment(self.deadlines[0][0], time))
        return found

    def _pass_moment(self, moment: int, time: int) -> list[Findings]:
        """All that is scheduled for one moment, on the way to `time`."""
        found: list[Findings] = []
        while self.deadlines and self.deadlines[0][0] == moment:
            _, _, key = heapq.heappop(self.deadlines)
            if not self._scheduled(moment, key):
                continue
            partition = self.partitions[key]
            partition.scheduled = None
            self.touched.add(key)
            partition.forget(time - self.late_memory)
            # No further than the moment: partitions answer in the order of their deadlines.
            found.append(partition.on_time(moment + 1))
            self._schedule(key, partition, time)
        return found

    def on_end(self, time: int) -> Findings:
        found = self._pass(time)
        found += _by_first_event(partition.on_end(time) for partition in self.partitions.values())
        return merged(found)

    def _on_event(self, event: Event) -> Findings:
        values = self._values(event)
        key = lookup_key(values, self.plan.inferred_key)
        partition = self.partitions.get(key)
        if partition is None:
            partition = self.partitions[key] = self._new_partition(values)
        found = partition.on_event(event)
        self.touched.add(key)
        self._schedule(key, partition, event.time)
        return found

    def _values(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)

    def _schedule(self, key: Key, partition: Partition, now: int) -> None:
        """Look at the partition again when its next deadline has passed, or, with nothing open, its last time."""
        if partition.idle and (partition.time is None or partition.time < now):
            self.evicted += partition.evicted
            del self.partitions[key]
            return
        moment = partition.next_look(self.late_memory)
        if moment is not None and (partition.scheduled is None or moment < partition.scheduled):
            partition.scheduled = moment
            self.tie += 1
            heapq.heappush(self.deadlines, (moment, self.tie, key))

    def _scheduled(self, deadline: int, key: Key) -> bool:
        """Is the partition still there, and not overtaken by an earlier entry?"""
        partition = self.partitions.get(key)
        return partition is not None and partition.scheduled == deadline

    def next_look(self) -> int | None:
        """When time has passed this, there is something to do without any event."""
        while self.deadlines and not self._scheduled(self.deadlines[0][0], self.deadlines[0][2]):
            heapq.heappop(self.deadlines)
        return self.deadlines[0][0] if self.deadlines else None

    def take_touched(self) -> set[Key]:
        """The keys whose state changed, or went, since the last call."""
        touched, self.touched = self.touched, set()
        return touched

    def snapshot(self, keys: Iterable[Key] | None = None) -> bytes:
        """All partitions, or those of some keys."""
        events = EventTable(self.plan.needed)
        runs: list[dict[str, Any]] = []
        partitions = []
        chosen = self.partitions if keys is None else [k for k in keys if k in self.partitions]
        for number, partition in enumerate(self.partitions[k] for k in chosen):
            runs += [run_row(r, number, "open", events) for r in partition.runs]
            runs += [run_row(r, number, "furthest", events) for r in partition.furthest.values()]
            partitions.append({"key": dump(partition.key), "state": dump(partition.extra_state(events))})
        return pack(self.plan.identity, events, runs, partitions)

    def restore(self, state: bytes) -> None:
        self.partitions, self.deadlines = {}, []
        self.absorb(state)

    def absorb(self, state: bytes) -> list[Key]:
        """Take on the partitions of a snapshot, in place of those of the same keys; the answer is their keys."""
        tables = unpack(state, self.plan.identity)
        events = read_events(tables["events"])
        aliases = [p.step.alias for p in self.plan.automaton.positions]
        restored = []
        for row in tables["partitions"].to_pylist():
            partition = self._new_partition(load(row["key"]))
            partition.restore_extra(load(row["state"]), events)
            restored.append(partition)
        for row in tables["runs"].to_pylist():
            partition, run = restored[row["partition"]], read_run(row, events, aliases)
            if row["role"] == "open":
                partition.runs.append(run)
            else:
                partition.furthest[run.start] = run
        keys = [self._lookup(partition) for partition in restored]
        for key, partition in zip(keys, restored, strict=True):
            self.partitions[key] = partition
            moment = partition.time if partition.time is not None else -(2**63)
            self._schedule(key, partition, moment)
        return keys

    def open_keys(self) -> Collection[Key]:
        return self.partitions.keys()

    def holds(self, key: Key) -> bool:
        return key in self.partitions

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.partitions.pop(key, None) is not None:
                self.touched.add(key)

    def _lookup(self, partition: Partition) -> Key:
        return lookup_key(partition.key, self.plan.inferred_key)

    def _new_partition(self, values: tuple[Any, ...]) -> Partition:
        kind: type[Partition] = Partition
        if self.plan.counting:
            kind = CountingPartition
        elif self.plan.pattern.every is not None:
            kind = EveryPartition
        elif self.plan.pattern.selection is Selection.STNM:
            kind = NextMatchPartition
        return kind(self.plan, self.tests, values, self.listener)


def _by_first_event(found: Iterable[Findings]) -> list[Findings]:
    """What several keys answer at one moment, in an order that no restart and no cut of the input changes."""
    return sorted((f for f in found if f != Findings()), key=_first_place)


def _first_place(found: Findings) -> tuple[Any, ...]:
    return min((m.events[0].place_in_order() for m in found.matches), default=())
