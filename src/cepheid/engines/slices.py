"""The events that are looked at one by one: those of a key, those that were expected, or the likeliest partitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cepheid.engines.local.run import Job
from cepheid.engines.local.writers import cell_text
from cepheid.engines.network import Network
from cepheid.engines.program import PlannedStream
from cepheid.errors import InputMistake, nearest
from cepheid.matching.evaluate import compile_value
from cepheid.matching.found import Findings
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.protocol import Matcher
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.tests import PlanTests
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.text import column_name
from cepheid.plan.plan import Plan
from cepheid.plan.planner import plan_pattern

MOST_EVENTS = 50_000  # what the reference matcher, watched, goes through in seconds
_MOST_PARTITIONS = 50


@dataclass(frozen=True)
class Wanted:
    """Which events are asked for. `as_text`: values as one writes them on a command line."""

    key: Mapping[str, Any]
    expected: tuple[str, ...] = ()
    id_column: str = "id"
    as_text: bool = False

    def holds(self, event: Event) -> bool:
        return all(self._same(event.fields.get(name), value) for name, value in self.key.items())

    def _same(self, value: Any, wanted: Any) -> bool:
        if self.as_text:
            return ("null" if value is None else cell_text(value)) == str(wanted)
        return lookup_key((value,), False) == lookup_key((wanted,), False)

    def names(self, event: Event) -> str | None:
        """Which of the expected events this is, if any."""
        called = event.fields.get(self.id_column)
        name = str(event.seq + 1) if self.id_column not in event.fields else str(called)
        return name if name in self.expected else None


@dataclass(frozen=True)
class Slice:
    """Events in total order, those of them that were expected, and what was left out."""

    plan: Plan
    events: list[Event]
    expected: list[Event]
    notes: tuple[str, ...] = ()


def key_of(given: Any, planned: PlannedStream) -> Mapping[str, Any]:
    """`key=` as columns and values: a mapping, or the value of a key of one column."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    keys = planned.plan.key
    if len(keys) == 1 and isinstance(keys[0], Field):
        return {column_name(keys[0]): given}
    names = ", ".join(column_name(k) for k in keys)
    raise InputMistake(
        f"a key of {len(keys)} columns cannot be one value"
        if keys
        else f"`{planned.name}` has no partition key",
        code="bad_key",
        hint=f"give a mapping of columns to values{f' of {names}' if names else ''}",
    )


def take_slice(
    open_job: Callable[[], Job], stream: str | None, asked: Callable[[PlannedStream], Wanted]
) -> Slice:
    """Reads once; a second time only where there is more than can be looked at."""
    job = open_job()
    planned = job.program.last if stream is None else job.program[stream]
    plan, wanted = watched(planned), asked(planned)
    census = _Census(plan, wanted, job)
    events, found = census.read(job)
    _refuse_unknown(wanted, found, census)
    _refuse_no_column(wanted, census)
    if census.kept_all:
        return _finished(plan, planned, job, events, list(found.values()), wanted)
    if planned.feeds_on or not plan.key:
        raise _too_many(census.total, planned)
    keys = census.chosen([lookup_key(census.key(e), plan.inferred_key) for e in found.values()])
    again = open_job()
    events, found = census.read_keys(again, keys)
    if not events:
        raise InputMistake(
            f"{census.total:,} events are more than can be looked at one by one, and they cannot be read twice",
            code="too_many_events",
            hint="write them to a file and give its path, or look at one key",
        )
    note = f"of {census.total:,} events in {len(census.masks):,} partitions, the likeliest {len(keys):,} were looked at"
    return _finished(plan, planned, again, events, list(found.values()), wanted, (note,))


def watched(planned: PlannedStream) -> Plan:
    """The plan of a stream's pattern alone: every run by itself, with all its fields."""
    plan = plan_pattern(planned.stream.pattern, name=planned.name)
    return replace(plan, needed=None)


class _Census:
    """What is there, without keeping it: how many, and for each key which steps its events could be."""

    def __init__(self, plan: Plan, wanted: Wanted, job: Job) -> None:
        self.plan, self.wanted = plan, wanted
        self.tests = PlanTests(plan)
        self.key_values = [compile_value(e) for e in plan.key]
        self.masks: dict[Hashable, int] = {}
        self.counts: dict[Hashable, int] = {}
        self.total = 0
        self.kept_all = True
        self.ids: list[str] = []
        self.fields: set[str] = set()
        self.has_ids = False
        # Streams that feed this one may be partitioned otherwise: nothing may be left out before them.
        self.all_needed = bool(job.program[plan.name].feeds_on)

    def key(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_values)

    def read(self, job: Job) -> tuple[list[Event], dict[str, Event]]:
        events: list[Event] = []
        found: dict[str, Event] = {}
        for event in _read(job):
            self.fields.update(event.fields)
            named = self._named(event, found)
            if not (named or self.all_needed or self.wanted.holds(event)):
                continue
            self.total += 1
            self._count(event)
            if self.total <= MOST_EVENTS:
                events.append(event)
            elif self.kept_all:
                self.kept_all, events = False, []
        return events, found

    def read_keys(self, job: Job, keys: set[Hashable]) -> tuple[list[Event], dict[str, Event]]:
        found: dict[str, Event] = {}
        events = [
            e
            for e in _read(job)
            if (self._named(e, found) or self.wanted.holds(e))
            and lookup_key(self.key(e), self.plan.inferred_key) in keys
        ]
        return events, found

    def chosen(self, needed: Iterable[Hashable]) -> set[Hashable]:
        """The keys of what was expected, or those that had events for the most steps."""
        keys = list(dict.fromkeys(needed)) or sorted(
            self.masks, key=lambda k: (-self.masks[k].bit_count(), self.counts[k])
        )
        room, chosen = MOST_EVENTS, set()
        for key in keys[:_MOST_PARTITIONS]:
            if self.counts[key] > room:
                continue
            room -= self.counts[key]
            chosen.add(key)
        if not chosen:
            raise InputMistake(
                f"one partition has more than {MOST_EVENTS:,} events",
                code="too_many_events",
                hint="give a slice of time: only the events around those you expected",
            )
        return chosen

    def _named(self, event: Event, found: dict[str, Event]) -> bool:
        self.has_ids = self.has_ids or self.wanted.id_column in event.fields
        name = self.wanted.names(event) if self.wanted.expected else None
        if name is not None:
            found[name] = event
        elif self.wanted.expected and len(self.ids) < 1000:
            self.ids.append(str(event.fields.get(self.wanted.id_column)))
        return name is not None

    def _count(self, event: Event) -> None:
        key = lookup_key(self.key(event), self.plan.inferred_key)
        mask = self._mask(event)
        self.masks[key] = self.masks.get(key, 0) | mask
        self.counts[key] = self.counts.get(key, 0) + 1

    def _mask(self, event: Event) -> int:
        """One bit for each step it has the type of, one more for each whose own conditions hold."""
        tests = self.tests.positions
        typed = sum(1 << i for i, test in enumerate(tests) if test.type == event.type)
        fits = sum(1 << i for i, held in enumerate(self.tests.look_at(event).positions) if held)
        return typed | fits << len(tests)


def _read(job: Job) -> Iterable[Event]:
    for batch in job.source.batches():
        yield from batch


def _finished(
    plan: Plan,
    planned: PlannedStream,
    job: Job,
    events: list[Event],
    expected: list[Event],
    wanted: Wanted,
    notes: tuple[str, ...] = (),
) -> Slice:
    ordered = sorted(events, key=Event.place_in_order)
    if planned.feeds_on:
        ordered = _inputs(planned, job, ordered)
        ordered = [e for e in ordered if wanted.holds(e) or any(e is x for x in expected)]
    return Slice(plan, ordered, expected, notes)


def _inputs(planned: PlannedStream, job: Job, events: Sequence[Event]) -> list[Event]:
    """What a stream that feeds on others is given: their matches among the events."""
    taken: list[Event] = []

    class Given(ReferenceMatcher):
        def on_batch(self, events: Sequence[Event]) -> Findings:
            taken.extend(events)
            return Findings()

        def on_end(self, time: int) -> Findings:
            return Findings()

    def make(stream: PlannedStream, listener: Any, late_memory: int) -> Matcher:
        kind = Given if stream.name == planned.name else ReferenceMatcher
        return kind(stream.plan, listener, late_memory=late_memory)

    network = Network(job.program, make)
    network.on_events(events)
    network.on_end(max((e.time for e in events), default=0))
    return taken


def _refuse_unknown(wanted: Wanted, found: Mapping[str, Event], census: _Census) -> None:
    for name in wanted.expected:
        if name not in found:
            column = f"`{wanted.id_column}` = {name}" if census.has_ids else f"number {name}"
            raise InputMistake(
                f"there is no event with {column}",
                code="unknown_event",
                hint=nearest(name, census.ids)
                or "events are named by a column (`id`) or, without one, by their number",
            )


def _refuse_no_column(wanted: Wanted, census: _Census) -> None:
    for name in wanted.key:
        if census.fields and name not in census.fields:
            raise InputMistake(
                f"no event has the field `{name}` of the key",
                code="bad_key",
                hint=nearest(name, census.fields),
            )


def _too_many(total: int, planned: PlannedStream) -> InputMistake:
    why = "reads other streams" if planned.feeds_on else "has no partition key"
    return InputMistake(
        f"{total:,} events are more than can be looked at one by one, and `{planned.name}` {why}",
        code="too_many_events",
        hint=f"give a slice of at most {MOST_EVENTS:,} events: only those around what you expected",
    )
