"""The reference matcher: plain Python, to be read beside the specification. All others are tested against it."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cepheid.matching.counting import CountingPartition
from cepheid.matching.evaluate import compile_value
from cepheid.matching.every import EveryPartition
from cepheid.matching.found import Findings, merged
from cepheid.matching.keys import lookup_key
from cepheid.matching.lifecycle import Listener
from cepheid.matching.moment import Moment
from cepheid.matching.observer import Observer
from cepheid.matching.partition import Partition
from cepheid.matching.protocol import Key
from cepheid.matching.shelf import MemoryShelf, Shelf
from cepheid.matching.snapshot import (
    EventTable,
    Kept,
    kept_table,
    pack_sections,
    read_events,
    read_kept,
    read_run,
    run_row,
    to_json,
    unpack_sections,
)
from cepheid.matching.stnm import NextMatchPartition
from cepheid.matching.tests import PlanTests
from cepheid.matching.values import decode, dump, encode, load
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
        observer: Observer | None = None,
    ) -> None:
        self.plan = plan
        self.listener = listener
        self.observer = observer
        self.tests = tests or PlanTests(plan)
        self.late_memory = late_memory  # how far behind the watermark an event may come and still be matched
        self.key_of = [compile_value(e) for e in plan.key]
        self.partitions: dict[Key, Partition] = {}
        self.shelf: Shelf = MemoryShelf()  # partitions as text, until their key or their moment comes
        self.deadlines: list[tuple[int, int, Key]] = []  # a heap; entries may be out of date
        self.tie = 0
        self.touched: set[Key] = set()  # partitions that are not as they were when last asked for
        # Runs on the shelf, by state. None: nobody has counted what lies there.
        self.on_shelf: Counter[int] | None = Counter()
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
        for kept in self.shelf.take_due(time):
            self._revived(kept)
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
            found.append(self._timed(partition, moment + 1))
            self._schedule(key, partition, time)
        return found

    def on_end(self, time: int) -> Findings:
        found = self._pass(time)
        for kept in self.shelf.take_all():
            self._revived(kept)
        found += _by_first_event(self._ended(partition, time) for partition in self.partitions.values())
        return merged(found)

    # What a partition is asked; a matcher that does more around it has its own.

    def _offered(self, partition: Partition, event: Event) -> Findings:
        return partition.on_event(event)

    def _timed(self, partition: Partition, time: int) -> Findings:
        return partition.on_time(time)

    def _ended(self, partition: Partition, time: int) -> Findings:
        return partition.on_end(time)

    def _is_over(self, partition: Partition, now: int) -> bool:
        """Is there nothing left that a later event could need?"""
        return partition.idle and (partition.time is None or partition.time < now)

    def _moment(self, partition: Partition) -> int | None:
        """When it is to be looked at without an event."""
        return partition.next_look(self.late_memory)

    def _drop(self, key: Key, partition: Partition) -> None:
        self.evicted += partition.evicted
        del self.partitions[key]

    def _extra_state(self, partition: Partition, events: EventTable) -> dict[str, Any]:
        return partition.extra_state(events)

    def _restore_extra(self, partition: Partition, state: dict[str, Any], events: list[Event]) -> None:
        partition.restore_extra(state, events)

    def _on_event(self, event: Event) -> Findings:
        values = self._values(event)
        key = lookup_key(values, self.plan.inferred_key)
        partition = self.partitions.get(key) or self._woken(key)
        if partition is None:
            partition = self.partitions[key] = self._new_partition(values)
        found = self._offered(partition, event)
        self.touched.add(key)
        self._schedule(key, partition, event.time)
        return found

    def _woken(self, key: Key) -> Partition | None:
        kept = self.shelf.take(dump(key)) if self.shelf else None
        return None if kept is None else self.partitions[self._revived(kept)]

    def _values(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)

    def _schedule(self, key: Key, partition: Partition, now: int) -> None:
        """Look at the partition again when its next deadline has passed, or, with nothing open, its last time."""
        if self._is_over(partition, now):
            self._drop(key, partition)
            return
        moment = self._moment(partition)
        if moment is not None and (partition.scheduled is None or moment < partition.scheduled):
            self._look_again(key, partition, moment)

    def _look_again(self, key: Key, partition: Partition, moment: int) -> None:
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
        moments = [self.shelf.next_moment(), self.deadlines[0][0] if self.deadlines else None]
        return min((m for m in moments if m is not None), default=None)

    # State, partition by partition. A key goes by its text here.

    def take_touched(self) -> list[str]:
        """The keys whose state changed, or went, since the last call."""
        touched, self.touched = self.touched, set()
        return [dump(key) for key in touched]

    def kept(self, key: str) -> Kept | None:
        """The state of a key as text; None if it has none in memory."""
        partition = self.partitions.get(load(key))
        return None if partition is None else self._as_text(key, partition)

    def _as_text(self, key: str, partition: Partition) -> Kept:
        events = EventTable(self.plan.needed)
        runs = [run_row(r, events) for r in partition.runs]
        furthest = [run_row(r, events) for r in partition.furthest.values()]
        state = [encode(partition.key), runs, furthest, self._extra_state(partition, events), events.rows]
        return Kept(key, self._moment(partition), to_json(state))

    def put_away(self, keys: Iterable[str]) -> None:
        """These are on the shelf, as they are here: they need not be in memory."""
        for text in keys:
            partition = self.partitions.pop(load(text), None)
            if partition is not None and self.on_shelf is not None:
                self.on_shelf.update(run.state for run in partition.runs)

    def open_runs(self) -> Counter[int] | None:
        """Open runs by state, in memory and on the shelf; None: it is not known."""
        if self.on_shelf is None:
            return None
        found = Counter(self.on_shelf)
        for partition in self.partitions.values():
            found.update(run.state for run in partition.runs)
        return +found

    def adopt(self, values: tuple[Any, ...], fill: Callable[[Partition], None]) -> None:
        """Goes on with a key from where another matcher left it."""
        partition = self._new_partition(values)
        fill(partition)
        self.touched.add(self._put_among(partition))

    def has(self, key: Key) -> bool:
        """Is there anything of a key, in memory or on the shelf?"""
        return key in self.partitions or self._woken(key) is not None

    def text_of(self, key: Key, values: tuple[Any, ...], fill: Callable[[Partition], None]) -> Kept:
        """A key's state as text, from where another matcher has it."""
        partition = self._new_partition(values)
        fill(partition)
        return self._as_text(dump(key), partition)

    def snapshot(self, others: Iterable[Kept] = ()) -> bytes:
        """With what other matchers have of the plan."""
        on_shelf = list(self.shelf.take_all())
        self.shelf = MemoryShelf(on_shelf)
        rows = [self._as_text(dump(key), partition) for key, partition in self.partitions.items()]
        return pack_sections({"partitions": kept_table([*rows, *on_shelf, *others])}, self.plan.identity)

    def restore(self, state: bytes) -> None:
        self.partitions, self.deadlines, self.on_shelf = {}, [], None
        self.shelf = MemoryShelf(read_kept(unpack_sections(state, self.plan.identity)["partitions"]))

    def _revived(self, kept: Kept) -> Key:
        """A partition from its text, among the others again."""
        values, runs, furthest, extra, event_rows = json.loads(kept.body)
        events = read_events(event_rows)
        aliases = [p.step.alias for p in self.plan.automaton.positions]
        partition = self._new_partition(decode(values))
        self._restore_extra(partition, extra, events)
        partition.runs = [read_run(row, events, aliases) for row in runs]
        partition.furthest = {r.start: r for r in (read_run(row, events, aliases) for row in furthest)}
        if self.on_shelf is not None:
            self.on_shelf.subtract(run.state for run in partition.runs)
        return self._put_among(partition)

    def _put_among(self, partition: Partition) -> Key:
        key = self._lookup(partition)
        self.partitions[key] = partition
        moment = self._moment(partition)
        if moment is not None:
            self._look_again(key, partition, moment)
        return key

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
        partition = kind(self.plan, self.tests, values, self.listener)
        partition.observer = self.observer
        return partition


def _by_first_event(found: Iterable[Findings]) -> list[Findings]:
    """What several keys answer at one moment, in an order that no restart and no cut of the input changes."""
    return sorted((f for f in found if f != Findings()), key=_first_place)


def _first_place(found: Findings) -> tuple[Any, ...]:
    of_a_kind = found.matches or found.timeouts or found.pending or found.outcomes
    return min(f.events[0].place_in_order() for f in of_a_kind)
