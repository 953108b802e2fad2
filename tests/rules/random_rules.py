"""Random sets of rules over a small world, and random histories, made by a `Random` of whatever source."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from rule_parts import after, assigned, compare, eq, own, var

from cepheid.pattern.expr import Binary, Expr, IsNull, Literal, Unary
from cepheid.pattern.rule_model import (
    THIS,
    Action,
    AssertEvent,
    AssertFact,
    BoundValue,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    ObjectType,
    Retract,
    Rule,
    RuleSet,
    Shape,
)
from cepheid.pattern.time_of import time_of
from cepheid.pattern.types import INT

FACTS, EVENTS = ("E", "G"), ("A", "B")
FIELDS = ("x", "y")
VALUES = (0, 1, 1, 1, 1, 1, 2, 1.0, None)
IDENTITIES = (1, 1, 1, 2)
BOUNDS = (None, None, -4, -2, -1, 0, 0, 1, 2, 4, 6)


class RandomRule:
    """A rule, line by line; what is bound so far may be named."""

    def __init__(self, rng: Random, name: str, emit_only: bool) -> None:
        self.rng, self.name, self.emit_only = rng, name, emit_only
        self.events: list[str] = []
        self.facts: list[str] = []
        self.changes: list[str] = []  # of the events those that are changes,
        self.changed: list[str] = []  # and the facts that have changed
        self.values: list[str] = []

    def rule(self) -> Rule:
        rng = self.rng
        styles = [self._mixed] * 3 + [self._of_facts, self._late_facts, self._awaited]
        conditions = rng.choice(styles)()
        actions = tuple(self._action() for _ in range(rng.choice((1, 1, 2))))
        return Rule(self.name, tuple(conditions), actions, rng.choice((0, 0, 0, 1)))

    def _mixed(self) -> list[Condition]:
        rng = self.rng
        conditions = [self._positive(0)]
        for at in range(1, rng.choice((1, 2, 2, 3, 3, 3, 4))):
            kinds = [self._positive] * 5 + [self._no_fact]
            if self.events:
                kinds += [self._no_event] * 2
            conditions.append(rng.choice(kinds)(at))
        return conditions

    def _of_facts(self) -> list[Condition]:
        """Facts alone, and facts that must not be."""
        conditions = [self._fact(0)]
        for at in range(1, self.rng.choice((2, 2, 3))):
            conditions.append(self.rng.choice((self._fact, self._no_fact, self._no_fact))(at))
        return conditions

    def _late_facts(self) -> list[Condition]:
        """Facts that can only be looked for when the second event is there."""
        conditions = [self._event(0), self._event(1)]
        for at in range(2, self.rng.choice((3, 3, 4))):
            kind = self.rng.choice(FACTS)
            tests = [compare(self.rng.choice(("==", "==", "<=")), self._field(), var("v1", self._field()))]
            if self.facts and self.rng.random() < 0.5:
                tests.append(Binary("<=", own(self._field()), var(self.facts[0], self._field())))
            if self.rng.random() < 0.5:
                conditions.append(NoFact(Shape(kind, tuple(tests))))
            else:
                self.facts.append(f"v{at}")
                conditions.append(FactCondition(Shape(kind, tuple(tests)), f"v{at}"))
        return conditions

    def _awaited(self) -> list[Condition]:
        """Something that is not followed by something else."""
        conditions = [self._event(0)]
        if self.rng.random() < 0.4:
            conditions.append(self.rng.choice((self._fact, self._event, self._no_fact))(1))
        for _ in range(self.rng.choice((1, 1, 2))):
            tests = [self._test(True)] if self.rng.random() < 0.5 else []
            low = self.rng.choice((-1, 0, 1))
            tests.append(after(low, low + self.rng.choice((1, 2, 4)), self.rng.choice(self.events)))
            conditions.append(NoEvent(Shape(self.rng.choice(EVENTS), tuple(tests))))
        return conditions

    # Conditions.

    def _fact(self, at: int) -> Condition:
        shape = self._shape(self.rng.choice(FACTS), False)
        self.facts.append(f"v{at}")
        return FactCondition(shape, f"v{at}")

    def _event(self, at: int) -> Condition:
        shape = self._shape(self.rng.choice(EVENTS), True)
        self.events.append(f"v{at}")
        return EventCondition(shape, f"v{at}")

    def _positive(self, at: int) -> Condition:
        kinds = [self._fact] * 2 + [self._event] * 3 + [self._change]
        if len(self.events) == 3:  # more are only slow
            kinds = [self._fact]
        return self.rng.choice(kinds)(at)

    def _change(self, at: int) -> Condition:
        variable = f"v{at}"
        type = self.rng.choice(FACTS)
        before = self._shape(type, False, most=1, values=False)
        changed = self._shape(type, True, most=1)
        self.events.append(variable)
        self.changes.append(variable)
        fact = f"f{at}" if self.rng.random() < 0.6 else None
        if fact is not None:
            self.changed.append(fact)
        return ChangeCondition(before, changed, variable, fact)

    def _no_fact(self, at: int) -> Condition:
        return NoFact(self._shape(self.rng.choice(FACTS), False, values=False))

    def _no_event(self, at: int) -> Condition:
        shape = self._shape(self.rng.choice(EVENTS), True, most=1, values=False)
        return NoEvent(Shape(shape.type, (*shape.tests, self._timed(must=True))))

    def _shape(self, type: str, event: bool, most: int = 2, values: bool = True) -> Shape:
        tests = [self._test(event) for _ in range(self.rng.choice((0, 0, 1, 1, 2)[: most + 2]))]
        if event and self.events and self.rng.random() < 0.7:
            tests.append(self._timed())
        bound: tuple[BoundValue, ...] = ()
        if values and self.rng.random() < 0.2:
            name = f"s{len(self.values)}"
            bound = (BoundValue(name, self._value(event)),)
            self.values.append(name)
        return Shape(type, tuple(tests), bound)

    # Tests.

    def _value(self, event: bool) -> Expr:
        """Of the object at hand, maybe with another."""
        if event and self.rng.random() < 0.2:
            return self._stamp(THIS)
        if self._things() and self.rng.random() < 0.4:
            return Binary("+", own(self._field()), var(self.rng.choice(self._things()), self._field()))
        return own(self._field())

    def _field(self) -> str:
        return self.rng.choice(FIELDS)

    def _things(self) -> list[str]:
        return self.facts + self.events + self.changed

    def _test(self, event: bool) -> Expr:
        rng = self.rng
        if rng.random() < 0.15:
            return Binary(rng.choice(("and", "or")), self._simple_test(event), self._simple_test(event))
        if rng.random() < 0.1:
            return Unary("not", self._simple_test(event))
        return self._simple_test(event)

    def _simple_test(self, event: bool) -> Expr:
        rng, field = self.rng, self._field()
        if rng.random() < 0.1:
            return self._stamp_test(event)
        kind = rng.choice(("constant", "identity", "identity", "field", "field", "order", "value", "null"))
        if kind == "null":
            return IsNull(own(field), rng.random() < 0.9)
        if kind == "value" and self.values:
            return eq(field, var(rng.choice(self.values)))
        if kind in ("constant", "value") or not self._things():
            return compare(rng.choice(("==", "==", ">=")), field, 1)
        other = rng.choice(self._things())
        if kind == "identity":
            mine = var(THIS) if rng.random() < 0.3 else own(field)
            return compare(rng.choice(("==", "==", "==", "==", "!=")), mine, var(other))
        op = "==" if kind == "field" else rng.choice(("!=", "<=", "<=", ">="))
        left, right = own(field), var(other, self._field())
        return Binary(op, left, right) if rng.random() < 0.8 else Binary(op, right, left)

    def _stamp_test(self, event: bool) -> Expr:
        """Between times of events, or a time and a field: all of them are small numbers."""
        rng = self.rng
        left = self._stamp(THIS if event else None)
        right = self._stamp(rng.choice(self.events) if self.events else None)
        if rng.random() < 0.3:
            left, right = Binary("-", left, right), Literal(rng.choice((0, 1, 2)))
        return Binary(rng.choice(("==", "!=", "!=", "<", "<=", "<=", ">", ">=", ">=")), left, right)

    def _stamp(self, event: str | None) -> Expr:
        if event is None:
            return own(self.rng.choice((*FIELDS, "time")))
        return time_of(event) if self.rng.random() < 0.6 else var(event, "time")

    def _timed(self, must: bool = False) -> Expr:
        rng = self.rng
        test: Expr = self._time_test(must)
        if rng.random() < 0.25:
            test = Binary(rng.choice(("and", "or")), test, self._time_test(False))
        if rng.random() < 0.2:
            test = Unary("not", test)
        if rng.random() < 0.15:
            test = Binary(rng.choice(("and", "or")), test, self._simple_test(True))
        return test

    def _time_test(self, must: bool) -> Expr:
        rng = self.rng
        low, high = rng.choice(BOUNDS), rng.choice(BOUNDS)
        if low is not None and high is not None and low > high:
            low, high = high, low
        left, right = THIS, rng.choice(self.events)
        if not must and len(self.events) > 1 and rng.random() < 0.15:
            left, right = rng.sample(self.events, 2)
        if rng.random() < 0.3:
            left, right = right, left
        return after(low, high, right, left)

    # Actions.

    def _action(self) -> Action:
        rng = self.rng
        kinds = (
            ["emit"] * 4
            if self.emit_only
            else ["emit", "emit", "emit", "fact", "event", "modify", "modify", "retract"]
        )
        kind = rng.choice(kinds)
        if kind == "fact":
            return AssertFact(rng.choice(FACTS), assigned(x=self._known(), y=self._known()))
        if kind == "event":
            timed = {"time": self._known()} if rng.random() < 0.15 else {}
            return AssertEvent(rng.choice(EVENTS), assigned(x=self._known(), y=self._known(), **timed))
        if kind == "modify" and (facts := self.facts + self.changed):
            fact = rng.choice(facts)
            value = Binary("+", var(fact, "x"), self._known()) if rng.random() < 0.5 else self._known()
            return Modify(fact, assigned(**{self._field(): value}))
        if kind == "retract":
            there = [t for t in self._things() if t not in self.changes]
            if there:
                return Retract(rng.choice(there))
        return Emit("out", assigned(a=self._known(), b=self._known()))

    def _known(self) -> Any:
        rng = self.rng
        if self.values and rng.random() < 0.2:
            return var(rng.choice(self.values))
        if rng.random() < 0.3:
            return Literal(rng.choice((0, 1, 2)))
        if self.events and rng.random() < 0.15:
            return self._stamp(rng.choice(self.events))
        name = rng.choice(self._things())
        if rng.random() < 0.05:
            return var(name, "time")
        if name in self.changes + self.changed and rng.random() < 0.2:
            return var(name, "old", self._field())
        return var(name, self._field()) if rng.random() < 0.6 else var(name)


def random_rules(rng: Random, most: int = 3, emit_only: bool = False) -> RuleSet:
    rules = tuple(RandomRule(rng, f"R{n}", emit_only).rule() for n in range(rng.randint(1, most)))
    keyed = tuple(
        ObjectType(name, (("x", INT), ("y", INT)), key="x", event=name in EVENTS)
        for name in FACTS + EVENTS
        if rng.random() < 0.1
    )
    return RuleSet(rules, keyed)


@dataclass(frozen=True)
class Step:
    """A call of a session: the name of a method, and what it is given."""

    method: str
    given: tuple[Any, ...]


def random_history(rng: Random, most: int = 15) -> list[Step]:
    time, steps = 0, [_assert_fact(rng, 0) for _ in range(rng.randint(0, 4))]
    events = rng.choice((4, 12))
    for _ in range(rng.randint(2, most)):
        time += rng.choice((0, 0, 1, 1, 1, 2, 3))
        steps.append(_step(rng, time, events))
    return steps


def _assert_fact(rng: Random, time: int) -> Step:
    fields = {name: rng.choice(VALUES) for name in FIELDS}
    return Step("assert_fact", (rng.choice(FACTS), fields, rng.choice(IDENTITIES), time))


def _step(rng: Random, time: int, events: int) -> Step:
    about_facts = ["fact"] * 2 + ["update"] * 3 + ["retract"]
    kind = rng.choice((*about_facts, *["event"] * events, "retract event", "advance"))
    fields = {name: rng.choice(VALUES) for name in FIELDS}
    identity = rng.choice(IDENTITIES)
    match kind:
        case "fact":
            return _assert_fact(rng, time)
        case "update":
            changes = {rng.choice(FIELDS): rng.choice(VALUES)}
            return Step("update_fact", (rng.choice(FACTS), identity, changes, time))
        case "retract":
            return Step("retract_fact", (rng.choice(FACTS), identity, time))
        case "event":
            if rng.random() < 0.1:
                fields["time"] = rng.choice(VALUES)
            return Step("assert_event", (rng.choice(EVENTS), fields, time, identity))
        case "retract event":
            return Step("retract_event", (rng.choice(EVENTS), identity, time))
    return Step("advance", (time,))
