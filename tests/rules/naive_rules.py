"""The oracle of rules: keeps every state and every event for ever, and tests everything again at each step.

It is written to read like docs/rules.md, clear before fast. `before(k)` is the world just before operation number k.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from naive_values import IDENTITY, TIME, Env, View, latest_time, passes, value, view

from cepheid.errors import InputMistake, LimitReached
from cepheid.pattern.rule_model import (
    THIS,
    Action,
    AssertEvent,
    AssertFact,
    Assignment,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    Retract,
    Rule,
    RuleSet,
)
from cepheid.rules.happenings import Asserted, Emitted, Fired, Happening, Modified, Retracted, Skipped
from cepheid.rules.objects import Event, Fact, Thing

# --- what happened ------------------------------------------------------------------------------------------------


@dataclass
class Life:
    """A fact from its assert to its retraction: its states, each with the numbers it begins and ends with."""

    states: list[Fact] = field(default_factory=list)
    gone: int | None = None

    def before(self, number: int) -> Fact | None:
        """Its state just before an operation."""
        if self.gone is not None and self.gone < number:
            return None
        return next((s for s in reversed(self.states) if s.number < number), None)


@dataclass(frozen=True)
class Choice:
    """One thing for each positive condition, by the number of the condition."""

    rule: Rule
    things: dict[int, Thing]
    lives: dict[int, Life]
    env: Env

    def events(self) -> list[Event]:
        return [t for t in self.things.values() if isinstance(t, Event)]

    def numbers(self) -> list[int]:
        return [e.number for e in self.events()]

    def facts(self) -> list[Fact]:
        return [t for t in self.things.values() if isinstance(t, Fact)]


@dataclass(frozen=True)
class Waiting:
    choice: Choice
    dates: tuple[int, ...]  # of the conditions NoEvent that are still to be judged, and which they are
    absent: tuple[NoEvent, ...]
    time: int


class NaiveRules:
    def __init__(self, ruleset: RuleSet, *, tick: int = 1_000_000, max_firings: int = 10_000) -> None:
        self.rules, self.tick, self.max_firings = ruleset.rules, tick, max_firings
        self.keys = {(t.name, t.event): t.key for t in ruleset.types}
        self.clock: int | None = None
        self.number = 0
        self.lives: list[Life] = []
        self.all_events: list[Event] = []
        self.waits: list[Waiting] = []
        self.fired: set[Any] = set()  # choices of rules without events
        self.firings = 0
        self.named: dict[Any, int] = {}
        self.told: list[Happening] = []

    # Operations from outside.

    def assert_fact(
        self, type: str, fields: Any, identity: Any = None, time: int | None = None
    ) -> list[Happening]:
        return self._input(time, lambda: self._assert_fact(type, fields, identity, None))

    def update_fact(self, type: str, identity: Any, changes: Any, time: int | None = None) -> list[Happening]:
        return self._input(
            time, lambda: self._update(type, identity, lambda now: changes, f"update {type}", None)
        )

    def retract_fact(self, type: str, identity: Any, time: int | None = None) -> list[Happening]:
        return self._input(time, lambda: self._retract_fact(type, identity, f"retract {type}", None))

    def assert_event(self, type: str, fields: Any, time: int, identity: Any = None) -> list[Happening]:
        return self._input(time, lambda: self._assert_event(type, fields, identity, None))

    def retract_event(self, type: str, identity: Any, time: int | None = None) -> list[Happening]:
        return self._input(time, lambda: self._retract_events(type, identity))

    def advance(self, time: int) -> list[Happening]:
        return self._input(time, lambda: None)

    def finish(self) -> list[Happening]:
        self.told = []
        self._set_budget()
        self._pass_dates(None)
        return self.told

    def _input(self, time: int | None, operation: Callable[[], None]) -> list[Happening]:
        self.told = []
        now = self.clock or 0 if time is None else time
        if self.clock is not None and now < self.clock:
            raise InputMistake("time goes back")
        self._set_budget()
        self._pass_dates(now)
        self._set_budget()
        self.clock = now
        self._run(deque([operation]))
        return self.told

    def _set_budget(self) -> None:
        """An input may make so many firings, not counting what waits already."""
        self.waits = [w for w in self.waits if self._still_waits(w.choice)]
        self.budget = self.max_firings + len(self.waits)

    def _pass_dates(self, until: int | None) -> None:
        """Dates of waiting come in order, each after all operations of its time."""
        while dates := [w.dates[0] for w in self.waits if until is None or w.dates[0] < until]:
            self.clock = min(dates)
            due = [w for w in self.waits if w.dates[0] == self.clock]
            self.waits = [w for w in self.waits if w.dates[0] != self.clock]
            ready = [w.choice for w in due if self._judge(w)]
            queue: deque[Callable[[], None]] = deque()
            self._carry_out(ready, queue)
            self._run(queue)

    def _run(self, queue: deque[Callable[[], None]]) -> None:
        while queue:
            self.made: list[Choice] = []
            queue.popleft()()
            self._carry_out(self.made, queue)

    # Operations. Each has a number; what it makes is found at once.

    def _assert_fact(self, type: str, fields: Any, identity: Any, firing: int | None) -> None:
        identity = self._identity(type, False, fields, identity)
        life = self._life(type, identity)
        if life is not None:
            return self._update(type, identity, lambda now: fields, f"assert {type}", firing, whole=True)
        self.number += 1
        fact = Fact(type, identity, dict(fields), self.number, self.now)
        self.lives.append(Life([fact]))
        if firing is not None:
            self.told.append(Asserted(fact, self.now, firing))
        self._find(None)

    def _update(
        self,
        type: str,
        identity: Any,
        changes: Callable[[Fact], Any],
        action: str,
        firing: int | None,
        whole: bool = False,
    ) -> None:
        life = self._life(type, identity)
        if life is None:
            self.told.append(Skipped(action, "it is gone", self.now, firing))
            return
        old = life.states[-1]
        fields = dict(changes(old)) if whole else {**old.fields, **changes(old)}
        if fields == old.fields:
            if firing is not None:
                self.told.append(Skipped(action, "nothing changes", self.now, firing))
            return
        self.number += 1
        new = Fact(type, identity, fields, self.number, self.now)
        life.states.append(new)
        happened = Event(type, identity, {**fields, "old": dict(old.fields)}, self.number, self.now, new)
        self.all_events.append(happened)
        if firing is not None:
            self.told.append(Modified(new, old, self.now, firing))
        self._find(happened)

    def _retract_fact(self, type: str, identity: Any, action: str, firing: int | None) -> None:
        life = self._life(type, identity)
        if life is None:
            self.told.append(Skipped(action, "it is gone", self.now, firing))
            return
        self.number += 1
        life.gone = self.number
        if firing is not None:
            self.told.append(Retracted(life.states[-1], self.now, firing))
        self._find(None)

    def _assert_event(self, type: str, fields: Any, identity: Any, firing: int | None) -> None:
        identity = self._identity(type, True, fields, identity)
        self.number += 1
        event = Event(type, identity, dict(fields), self.number, self.now)
        self.all_events.append(event)
        if firing is not None:
            self.told.append(Asserted(event, self.now, firing))
        self._find(event)

    def _retract_event(self, event: Event, action: str, firing: int | None) -> None:
        if event.retracted:
            self.told.append(Skipped(action, "it is gone", self.now, firing))
            return
        self.number += 1
        event.retracted = True
        if firing is not None:
            self.told.append(Retracted(event, self.now, firing))
        self._find(None)

    def _retract_events(self, type: str, identity: Any) -> None:
        """All of this identity; it is one operation."""
        self.number += 1
        for event in self.all_events:
            if event.fact is None and (event.type, event.identity) == (type, identity):
                event.retracted = True

    @property
    def now(self) -> int:
        assert self.clock is not None
        return self.clock

    def _life(self, type: str, identity: Any) -> Life | None:
        for life in self.lives:
            state = life.states[-1]
            if life.gone is None and (state.type, state.identity) == (type, identity):
                return life
        return None

    def _identity(self, type: str, event: bool, fields: Any, given: Any) -> Any:
        key = self.keys.get((type, event))
        if given is not None or key is not None:
            found = given if given is not None else fields.get(key)
            if found is None:
                raise InputMistake("no key")
            return found
        self.named[type, event] = self.named.get((type, event), 0) + 1
        while not event and self._life(type, self.named[type, event]):
            self.named[type, event] += 1
        return self.named[type, event]

    # Firings.

    def _find(self, event: Event | None) -> None:
        """All choices that this operation completes."""
        for rule in self.rules:
            if any(isinstance(c, (EventCondition, ChangeCondition)) for c in rule.conditions):
                if event is not None:
                    self._find_with_events(rule, event)
            else:
                self._find_of_facts(rule)

    def _find_of_facts(self, rule: Rule) -> None:
        """A rule without events: new combinations of states, in the world after this operation."""
        after = self.number + 1
        for choice in self._choices(rule, 0, Choice(rule, {}, {}, {}), after, []):
            versions = (rule.name, *(f.number for f in choice.facts()))
            if versions not in self.fired and self._facts_hold(choice, after):
                self.fired.add(versions)
                self.made.append(choice)

    def _find_with_events(self, rule: Rule, last: Event) -> None:
        """Choices whose latest event is this one, for each event that may be the earliest."""
        there = [e for e in self.all_events if not e.retracted]
        for first in there:
            since = [e for e in there if e.number >= first.number]
            for choice in self._choices(rule, 0, Choice(rule, {}, {}, {}), first.number, since):
                numbers = choice.numbers()
                if (min(numbers), max(numbers)) == (first.number, last.number) and all(
                    self._facts_hold(choice, k) for k in range(first.number, last.number + 1)
                ):
                    self._complete(choice)

    def _choices(
        self, rule: Rule, at: int, so_far: Choice, first: int, events: list[Event]
    ) -> Iterator[Choice]:
        """Facts as they were just before `first`; tests line by line."""
        if at == len(rule.conditions):
            yield so_far
            return
        condition = rule.conditions[at]
        for choice in self._chosen(condition, at, so_far, first, _left(rule, at, so_far, events)):
            yield from self._choices(rule, at + 1, choice, first, events)

    def _chosen(
        self, condition: Condition, at: int, so_far: Choice, first: int, events: list[Event]
    ) -> Iterator[Choice]:
        match condition:
            case FactCondition(shape=shape, variable=variable):
                for life in self.lives:
                    state = life.before(first)
                    if state is None or state.type != shape.type:
                        continue
                    env = passes(shape, state, variable, so_far.env, self.tick)
                    if env is not None:
                        yield _with(so_far, at, state, env, life)
            case EventCondition(shape=shape, variable=variable):
                for event in events:
                    if event.fact is None and event.type == shape.type:
                        env = passes(shape, event, variable, so_far.env, self.tick)
                        if env is not None:
                            yield _with(so_far, at, event, env)
            case ChangeCondition():
                for event in events:
                    if event.fact is not None and event.type == condition.before.type:
                        env = self._changed(condition, event, so_far.env)
                        if env is not None:
                            yield _with(so_far, at, event, env)
            case _:
                yield so_far

    def _changed(self, condition: ChangeCondition, event: Event, env: Env) -> Env | None:
        assert event.fact is not None
        old = replace(event.fact, fields=event.fields["old"])
        found = passes(condition.before, old, None, env, self.tick)
        if found is None:
            return None
        found = passes(condition.after, event, condition.variable, found, self.tick)
        if found is not None and condition.fact is not None:
            found[condition.fact] = view(event.fact, self.tick)
        return found

    def _facts_hold(self, choice: Choice, moment: int) -> bool:
        """Are all tests of facts true just before an operation, with facts in the state they have then?"""
        env = dict(choice.env)
        for at, condition in enumerate(choice.rule.conditions):
            if isinstance(condition, FactCondition):
                state = choice.lives[at].before(moment)
                if state is None:
                    return False
                found = passes(condition.shape, state, condition.variable, env, self.tick)
                if found is None:
                    return False
                env = found
            elif isinstance(condition, NoFact):
                states = [s for life in self.lives if (s := life.before(moment)) is not None]
                same = [s for s in states if s.type == condition.shape.type]
                if any(passes(condition.shape, s, None, env, self.tick) is not None for s in same):
                    return False
        return True

    # Absent events.

    def _complete(self, choice: Choice) -> None:
        """All positive conditions are met: absences are judged now, or at the latest time such an event could have."""
        dated: list[tuple[int, NoEvent]] = []
        for condition in choice.rule.conditions:
            if isinstance(condition, NoEvent):
                date = self._date(condition, choice)
                if date is not None and date > self.now:
                    dated.append((date, condition))
                elif not self._absent(condition, choice):
                    return
        if not dated:
            self.made.append(choice)
            return
        dated.sort(key=lambda pair: pair[0])
        self.waits.append(
            Waiting(choice, tuple(d for d, _ in dated), tuple(c for _, c in dated), dated[-1][0])
        )

    def _date(self, condition: NoEvent, choice: Choice) -> int | None:
        times = {n: v.fields[TIME] for n, v in choice.env.items() if TIME in v.fields}
        return latest_time(condition.shape.tests, times, self.tick)

    def _absent(self, condition: NoEvent, choice: Choice) -> bool:
        there = [e for e in self.all_events if not e.retracted and e.fact is None]
        same = [e for e in there if e.type == condition.shape.type]
        return not any(passes(condition.shape, e, None, choice.env, self.tick) is not None for e in same)

    def _judge(self, waiting: Waiting) -> bool:
        """Time has passed a date: is the choice ready to fire?"""
        choice = waiting.choice
        if not self._still_waits(choice):
            return False
        dates, absent = list(waiting.dates), list(waiting.absent)
        while dates and dates[0] == self.now:
            dates.pop(0)
            if not self._absent(absent.pop(0), choice):
                return False
        if dates:
            self.waits.append(Waiting(choice, tuple(dates), tuple(absent), waiting.time))
        return not dates

    def _still_waits(self, choice: Choice) -> bool:
        if any(e.retracted for e in choice.events()):
            return False
        moments = range(min(choice.numbers()), self.number + 2)
        return all(self._facts_hold(choice, k) for k in moments)

    # Actions.

    def _carry_out(self, choices: list[Choice], queue: deque[Callable[[], None]]) -> None:
        for choice in sorted(choices, key=self._place_in_order):
            self.firings += 1
            self.budget -= 1
            if self.budget < 0:
                raise LimitReached(f"more than {self.max_firings} firings")
            objects: dict[str, Thing] = {}
            for at, thing in choice.things.items():
                condition: Any = choice.rule.conditions[at]
                objects[condition.variable or f"_{at + 1}"] = thing
                if isinstance(thing, Event) and thing.fact is not None and condition.fact is not None:
                    objects[condition.fact] = thing.fact
            self.told.append(Fired(choice.rule.name, self.now, objects, self.firings))
            for action in choice.rule.actions:
                self._act(action, choice, objects, self.firings, queue)

    def _place_in_order(self, choice: Choice) -> Any:
        return (
            -choice.rule.priority,
            sorted(choice.numbers()),
            self.rules.index(choice.rule),
            [f.number for f in choice.facts()],
            choice.numbers(),
        )

    def _act(
        self,
        action: Action,
        choice: Choice,
        objects: dict[str, Thing],
        firing: int,
        queue: deque[Callable[[], None]],
    ) -> None:
        match action:
            case Emit(stream=stream, fields=assigned):
                self.told.append(Emitted(stream, self._values(assigned, choice.env), self.now, firing))
            case AssertFact(type=kind, fields=assigned):
                fields = self._values(assigned, choice.env)
                queue.append(lambda: self._assert_fact(kind, fields, None, firing))
            case AssertEvent(type=kind, fields=assigned):
                fields = self._values(assigned, choice.env)
                queue.append(lambda: self._assert_event(kind, fields, None, firing))
            case Modify(variable=variable, fields=assigned):
                fact = objects[variable]
                changes = lambda now: self._values(assigned, self._as_now(choice, objects))  # noqa: E731
                queue.append(
                    lambda: self._update(fact.type, fact.identity, changes, f"modify ?{variable}", firing)
                )
            case Retract(variable=variable):
                thing, name = objects[variable], f"retract ?{variable}"
                if isinstance(thing, Event):
                    queue.append(lambda: self._retract_event(thing, name, firing))
                else:
                    queue.append(lambda: self._retract_fact(thing.type, thing.identity, name, firing))

    def _values(self, assigned: tuple[Assignment, ...], env: Env) -> dict[str, Any]:
        env = {name: v for name, v in env.items() if name != THIS}
        return {a.name: value(a.value, env, self.tick) for a in assigned}

    def _as_now(self, choice: Choice, objects: dict[str, Thing]) -> Env:
        """Facts as they are now (as they were matched if they are gone), and what is bound of them."""
        env = dict(choice.env)
        for at, condition in enumerate(choice.rule.conditions):
            thing = choice.things.get(at)
            if isinstance(condition, FactCondition) and thing is not None:
                env[THIS] = self._view_now(thing)
                if condition.variable is not None:
                    env[condition.variable] = env[THIS]
                for bound in condition.shape.values:
                    env[bound.variable] = View({IDENTITY: value(bound.value, env, self.tick)})
            elif isinstance(condition, ChangeCondition) and condition.fact is not None:
                env[condition.fact] = self._view_now(objects[condition.fact])
        return env

    def _view_now(self, thing: Thing) -> View:
        life = self._life(thing.type, thing.identity)
        return view(thing if life is None else life.states[-1], self.tick)

    # Inspection, as far as it is the same for all.

    def facts(self) -> list[Fact]:
        return [life.states[-1] for life in self.lives if life.gone is None]


def _with(so_far: Choice, at: int, thing: Thing, env: Env, life: Life | None = None) -> Choice:
    lives = so_far.lives if life is None else {**so_far.lives, at: life}
    return Choice(so_far.rule, {**so_far.things, at: thing}, lives, env)


def _left(rule: Rule, at: int, so_far: Choice, events: list[Event]) -> list[Event]:
    """Both the earliest and the latest must be chosen: if only so many lines are left, nothing else will do."""
    ends = {e.number for e in (events[:1] + events[-1:])}
    missing = ends - set(so_far.numbers())
    lines = [c for c in rule.conditions[at:] if isinstance(c, (EventCondition, ChangeCondition))]
    return [e for e in events if e.number in missing] if len(missing) >= len(lines) else events
