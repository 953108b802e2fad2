"""Rules at work on facts and events as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, overload

from cepheid.engines.graph.clock import Clock
from cepheid.engines.local.events import plain
from cepheid.engines.network import MakeMatcher, reference
from cepheid.engines.rules.drawing import network_mermaid, network_text
from cepheid.engines.rules.operations import (
    ASSERT,
    EVENT,
    RETRACT,
    RETRACT_EVENT,
    UPDATE,
    Operation,
    in_order,
    without_intervals,
)
from cepheid.engines.rules.prepared import prepare
from cepheid.engines.rules.reading import OperationMaker, read_events, read_facts, rule_columns
from cepheid.engines.rules.saving import driver_state, restore_driver, restored, snapshot_of
from cepheid.engines.rules.tables import RuleResults
from cepheid.engines.rules.told import Object, Told, firing_text
from cepheid.engines.session_matchers import session_matchers
from cepheid.errors import InputMistake
from cepheid.pattern.rule_model import RuleSet
from cepheid.rules.objects import Thing
from cepheid.rules.operating import hashable


class Happened(Sequence[Told]):
    """What an operation led to, in order: firings, and what their actions did."""

    def __init__(self, told: Iterable[Told]) -> None:
        self._told = list(told)

    def __len__(self) -> int:
        return len(self._told)

    @overload
    def __getitem__(self, at: int) -> Told: ...
    @overload
    def __getitem__(self, at: slice) -> Happened: ...
    def __getitem__(self, at: int | slice) -> Told | Happened:
        return Happened(self._told[at]) if isinstance(at, slice) else self._told[at]

    def __repr__(self) -> str:
        return f"<{', '.join(f'{one.kind} {one.name}' for one in self) or 'nothing happened'}>"

    def of(self, kind: str, name: str | None = None) -> Happened:
        """Those of one kind, as `emitted`, and of one name."""
        return Happened(one for one in self if one.kind == kind and name in (None, one.name))

    @property
    def firings(self) -> Happened:
        return self.of("fired")

    def rows(self, stream: str) -> list[dict[str, Any]]:
        """What was emitted into a stream."""
        return [one.fields for one in self.of("emitted", stream)]

    def explain(self) -> str:
        """Each firing with the facts and events behind it, and what its actions did."""
        return "\n".join(
            firing_text(fired, [one for one in self if one.firing == fired.firing and one is not fired])
            for fired in self.firings
        )

    def tables(self) -> RuleResults:
        """The same as Arrow tables."""
        return RuleResults(self._told)


class Rules:
    """Rules at work: facts and events come in the order of time, and each operation tells what it led to.

    Args:
        rules: A text, or rules built in Python.
        patterns: Streams whose matches are events for the rules, as text or built in Python.
        time_unit: What a number as a time counts: `s`, `ms`, `us` or `ns`.
        max_firings: How many rules may fire because of one operation, before it is called a circle.
        source: What the text is called in messages.

    >>> rules = Rules('''
    ...     rule Confirmed {
    ...       when { ?e: Equipment(state == ACTIVE); ?a: event Alarm(eqpt == ?e);
    ...              ?c: event Confirmation(alarm == ?a; ?this after[1,5] ?a) }
    ...       then { emit Confirmed(eqpt = ?e, alarm = ?a); }
    ...     }''')
    >>> rules.assert_fact("Equipment", {"state": "ACTIVE"}, id="pump")
    <nothing happened>
    >>> rules.event("Alarm", {"eqpt": "pump"}, time=10, id=1)
    <nothing happened>
    >>> rules.event("Confirmation", {"alarm": 1}, time=13).rows("Confirmed")
    [{'eqpt': 'pump', 'alarm': 1}]
    """

    def __init__(
        self,
        rules: Any,
        *,
        patterns: Any = None,
        time_unit: str = "s",
        max_firings: int = 10_000,
        source: str = "rules",
    ) -> None:
        """`patterns`: a program whose matches are events of the rules, and which may read what they emit.

        `time_unit`: what plain numbers are, as times and as bounds of `after`: a tick of the clock.
        """
        self._prepared = prepare(rules, patterns, source, time_unit, max_firings)
        self._clock = self._prepared.clock
        self._driver = self._prepared.driver(self._matchers())

    def _matchers(self) -> MakeMatcher:
        program = self._prepared.program
        return reference if program is None else session_matchers(program, "auto", False)[0]

    @property
    def rules(self) -> RuleSet:
        """The rules with their types, as they were read."""
        return self._prepared.rules

    def __repr__(self) -> str:
        return f"<{len(self.rules.rules)} rules, {len(self.facts())} facts, {len(self.events())} events>"

    # Operations.

    def assert_fact(
        self, type: str, fields: Mapping[str, Any] | None = None, *, id: Any = None, time: Any = None
    ) -> Happened:
        """A fact is so from now on. Of one that is there already, all fields get these values."""
        return self._apply(ASSERT, type, fields, id, time)

    def update(self, type: str, id: Any, changes: Mapping[str, Any], *, time: Any = None) -> Happened:
        """Some fields of a fact get other values. An update that changes nothing is none."""
        return self._apply(UPDATE, type, changes, id, time)

    def retract(self, type: str, id: Any, *, time: Any = None) -> Happened:
        """A fact is no longer so."""
        return self._apply(RETRACT, type, None, id, time)

    def event(
        self, type: str, fields: Mapping[str, Any] | None = None, *, time: Any = None, id: Any = None
    ) -> Happened:
        """Something happened, at this time or, without one, now."""
        return self._apply(EVENT, type, fields, id, time)

    def retract_event(self, type: str, id: Any, *, time: Any = None) -> Happened:
        """An event was none: it takes part in no further firing."""
        return self._apply(RETRACT_EVENT, type, None, id, time)

    @property
    def now(self) -> Any:
        """How far time has come, as times are written; None if nothing has come yet."""
        return None if self._driver.clock is None else self._clock.time(self._driver.clock)

    def advance(self, time: Any = None) -> Happened:
        """Time has come this far, or without a time one tick further: what waited for a date before it fires."""
        with self._or_nothing():
            if time is None:
                at = (self._driver.clock or 0) + self._prepared.tick
            else:
                at = self._clock.microseconds(time)
            return self._happened(self._driver.advance(at))

    def finish(self) -> Happened:
        """Nothing will come any more: what waits for a date fires with that date."""
        return self._happened(self._driver.finish())

    def _apply(self, kind: str, type: str, fields: Mapping[str, Any] | None, id: Any, time: Any) -> Happened:
        with self._or_nothing():
            at = self._driver.clock or 0 if time is None else self._clock.microseconds(time)
            operation = Operation(kind, type, at, _given(fields), hashable(plain(id)))
            return self._happened(self._driver.apply(operation))

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """What fails changes nothing: not even how times are written."""
        numbers = self._clock.numbers
        try:
            yield
        except BaseException:
            self._clock.numbers = numbers
            raise

    # Tables and files.

    def read(self, facts: Any = None, events: Any = None, **columns: str) -> Happened:
        """All of tables or files in the order of time, as `run_rules` reads them; time goes on from where it is.

        If one of the rows fails, none of them is read.
        """
        with self._or_nothing():
            maker = OperationMaker(self.rules, rule_columns(columns), self._clock)
            given = [*read_facts(facts, maker), *read_events(events, maker)]
            operations = without_intervals(in_order(given, self._driver.clock), set(), self._clock.time)
            before = driver_state(self._driver)
            try:
                return self._happened([one for o in operations for one in self._driver.apply(o)])
            except BaseException:
                self._driver = self._prepared.driver(self._matchers())
                restore_driver(self._driver, before)
                raise

    # What there is.

    def facts(self, type: str | None = None) -> list[Object]:
        """As they are now."""
        return list(self._objects(self._driver.session.facts(), "fact", type))

    def events(self, type: str | None = None) -> list[Object]:
        """Those that some rule may still use; others were let go."""
        return list(self._objects(self._driver.session.events(), "event", type))

    def _objects(self, things: Iterable[Thing], kind: str, type: str | None) -> Iterator[Object]:
        for thing in things:
            if type in (None, thing.type):
                time = self._clock.time(thing.time)
                yield Object(kind, thing.type, thing.identity, dict(thing.fields), time)

    def explain(self, format: str = "text") -> str:
        """The network of the rules with what its nodes hold, as text or as a Mermaid diagram."""
        draw = {"text": network_text, "mermaid": network_mermaid}.get(format)
        if draw is None:
            raise InputMistake(
                f"{format!r} is no way to draw a network", code="bad_option", hint="use text or mermaid"
            )
        return draw(self._driver.session, self._clock)

    # Copies.

    def snapshot(self) -> bytes:
        """The whole state with its rules, to go on from elsewhere."""
        return snapshot_of(self._driver, self._prepared)

    @classmethod
    def restore(cls, snapshot: bytes) -> Self:
        """Goes on exactly where the other stood when it wrote the snapshot."""
        other = cls.__new__(cls)
        other._driver, other._prepared = restored(snapshot)
        other._clock = other._prepared.clock
        return other

    def _happened(self, told: Iterable[Told]) -> Happened:
        return Happened(with_times(one, self._clock) for one in told)


def _given(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    if fields is not None and not isinstance(fields, Mapping):
        raise InputMistake(
            f"fields are a dict, not a {type(fields).__name__}", code="bad_input", hint='write {"level": 3}'
        )
    return {str(name): plain(value) for name, value in (fields or {}).items()}


def with_times(told: Told, clock: Clock) -> Told:
    """As the user of a session writes times."""
    objects = {name: replace(o, time=clock.time(o.time)) for name, o in told.objects.items()}
    return replace(told, time=clock.time(told.time), objects=objects)
