"""Rules made ready: variables become places, tests are taken apart, times become microseconds.

The place of an object is the number of its line. A test of a fact sees facts as they are now, a test of an event sees
them as they were matched. A value that a line binds is put where its variable stands; an event's value stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.expr import Call, Expr, Field, Opaque, conjuncts, rewrite
from cepheid.pattern.rule_model import (
    THIS,
    Assignment,
    ChangeCondition,
    Condition,
    EventCondition,
    FactCondition,
    NoEvent,
    NoFact,
    Rule,
    Shape,
)
from cepheid.pattern.time_of import TIME, is_time_of, timed_variable
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.rules.changed_fact import OLD, FactField
from cepheid.rules.closures import NOW, place, places
from cepheid.rules.stamps import Shown, Stamp, as_inside
from cepheid.rules.windows import has_time
from cepheid.rules.written import written

FACT, EVENT, CHANGE = "fact", "event", "change"


@dataclass(frozen=True)
class Line:
    """A condition: what kind of object it wants, tests of that object alone, and tests that need others too."""

    number: int
    kind: str
    type: str
    absent: bool
    own: tuple[Expr, ...]
    others: tuple[Expr, ...]
    name: str
    fact_name: str | None = None  # of a change

    @property
    def of_fact(self) -> bool:
        return self.kind == FACT

    @property
    def needs(self) -> frozenset[int]:
        """Other lines that its tests look at."""
        return frozenset().union(*map(places, self.others)) - {self.number}


@dataclass(frozen=True)
class ReadyRule:
    rule: Rule
    number: int
    lines: tuple[Line, ...]
    sight: Sight = field(compare=False, repr=False)

    @cached_property
    def names(self) -> tuple[tuple[int, str], ...]:
        """Of what a firing matches, by line."""
        return tuple((line.number, line.name) for line in self.lines if not line.absent)

    @cached_property
    def changed_names(self) -> tuple[tuple[int, str], ...]:
        return tuple((line.number, line.fact_name) for line in self.lines if line.fact_name is not None)

    @cached_property
    def objects(self) -> Callable[[tuple[Any, ...]], dict[str, Any]]:
        """Of one object for each line: what a firing matched, by variable."""
        made: Callable[[tuple[Any, ...]], dict[str, Any]] = written(
            "things", [f"return {self.objects_text}"], {}
        )
        return made

    @property
    def objects_text(self) -> str:
        """The same as Python: a firing has it written out."""
        parts = [f"{name!r}: things[{at}]" for at, name in self.names]
        parts += [f"{name!r}: things[{at}].fact" for at, name in self.changed_names]
        return f"{{{', '.join(parts)}}}"

    def positive(self, *kinds: str) -> list[Line]:
        return [line for line in self.lines if not line.absent and line.kind in kinds]

    def absent(self, *kinds: str) -> list[Line]:
        return [line for line in self.lines if line.absent and line.kind in kinds]

    @property
    def events(self) -> list[Line]:
        return self.positive(EVENT, CHANGE)

    def place_of(self, variable: str) -> int:
        return self.sight.objects[variable]

    def is_fact(self, variable: str) -> bool:
        """Or an event."""
        return self.sight.objects[variable] in self.sight.facts or variable in self.sight.changed_facts

    def matched_values(self, fields: tuple[Assignment, ...]) -> Mapping[str, Expr]:
        return {a.name: self.sight.expression(a.value, None, now=False) for a in fields}

    def values_now(self, fields: tuple[Assignment, ...]) -> Mapping[str, Expr]:
        return {a.name: self.sight.expression(a.value, None, now=True) for a in fields}


@dataclass
class Sight:
    """What variables mean, line by line."""

    rule: Rule
    tick: int
    shown: Shown = as_inside
    objects: dict[str, int] = field(default_factory=dict)  # variable -> line
    changed_facts: set[str] = field(default_factory=set)  # of those the ones that name the fact of a change
    facts: set[int] = field(default_factory=set)  # lines of facts
    values: dict[str, tuple[Expr, int, tuple[str, ...]]] = field(default_factory=dict)

    def expression(self, expr: Expr, line: int | None, *, now: bool, at_hand: tuple[str, ...] = ()) -> Expr:
        """With places for variables. `at_hand`: where fields of the object at hand are found."""

        def change(node: Expr) -> Expr | None:
            match node:
                case Field(alias=None, path=path):
                    return self._field(node, path, line, now, at_hand)
                case Call() if is_time_of(node):
                    at = self._place(node, timed_variable(node), line, now)
                    return Stamp(Field(at, ()), False, self.shown, place=node.place)
                case TimeTest():
                    return self._time_test(node, line)
                case Opaque(aliases=aliases):
                    names = tuple(self._place(node, a, line, now) for a in aliases or (THIS,))
                    return replace(node, aliases=names)
            return None

        return rewrite(expr, change)

    def _field(
        self, node: Field, path: tuple[str, ...], line: int | None, now: bool, at_hand: tuple[str, ...]
    ) -> Expr:
        bare = not path[0].startswith("?")
        name, rest = (THIS, path) if bare else (path[0][1:], path[1:])
        if name in self.values:
            return self._value(name, rest, now)
        alias = self._place(node, name, line, now)
        own = rest and (name == THIS or self.objects.get(name) == line)
        if name in self.changed_facts and rest[:1] == (OLD,) and not alias.endswith(NOW):
            return FactField(replace(node, alias=alias, path=()), rest, place=node.place)
        found = replace(node, alias=alias, path=(at_hand if own else ()) + rest)
        if found.path == (TIME,) and place(alias) not in self.facts and name not in self.changed_facts:
            return Stamp(replace(found, path=()), True, self.shown, place=node.place)
        return found

    def _value(self, name: str, rest: tuple[str, ...], now: bool) -> Expr:
        expr, line, at_hand = self.values[name]
        if rest:
            if not isinstance(expr, Field):
                raise PatternMistake(
                    f"?{name} has no fields",
                    code="unknown_field",
                    place=expr.place,
                    hint="it is a computed value",
                )
            expr = replace(expr, path=expr.path + rest)
        return self.expression(expr, line, now=now and line in self.facts, at_hand=at_hand)

    def _place(self, node: Expr, name: str, line: int | None, now: bool) -> str:
        if name == THIS and line is not None:
            found = line
        elif name in self.objects:
            found = self.objects[name]
        else:
            raise PatternMistake(
                f"nothing is called ?{name} here",
                code="unknown_variable",
                place=node.place or self.rule.place,
                hint=nearest(name, [*self.objects, *self.values]),
            )
        is_fact = found in self.facts or (line is None and name in self.changed_facts)
        return f"{found}{NOW if now and is_fact else ''}"

    def _time_test(self, node: TimeTest, line: int | None) -> TimeTest:
        left, right = (self._place(node, name, line, False) for name in (node.left, node.right))
        low, high = (None if s is None else Span(s.microseconds(self.tick)) for s in (node.low, node.high))
        return TimeTest(left, right, low, high, place=node.place)


def ready_rule(rule: Rule, number: int, tick: int, shown: Shown = as_inside) -> ReadyRule:
    sight = Sight(rule, tick, shown)
    lines = tuple(_line(condition, at, sight) for at, condition in enumerate(rule.conditions))
    ready = ReadyRule(rule, number, lines, sight)
    _check(ready)
    return ready


def _line(condition: Condition, number: int, sight: Sight) -> Line:
    name = getattr(condition, "variable", None)
    shown = name or f"_{number + 1}"
    match condition:
        case FactCondition(shape=shape):
            tests = _tests(shape, number, sight, name, FACT)
            return Line(number, FACT, shape.type, False, *_apart(tests, number), shown)
        case EventCondition(shape=shape):
            tests = _tests(shape, number, sight, name, EVENT)
            return Line(number, EVENT, shape.type, False, *_apart(tests, number), shown)
        case ChangeCondition(before=before, after=after, fact=fact):
            old = _tests(before, number, sight, name, CHANGE, (OLD,))
            tests = old + _tests(after, number, sight, name, CHANGE)
            if fact is not None:
                sight.objects[fact] = number
                sight.changed_facts.add(fact)
            return Line(number, CHANGE, before.type, False, *_apart(tests, number), shown, fact)
        case NoFact(shape=shape):
            tests = _tests(shape, number, sight, None, FACT, absent=True)
            return Line(number, FACT, shape.type, True, *_apart(tests, number), shown)
        case NoEvent(shape=shape):
            tests = _tests(shape, number, sight, None, EVENT, absent=True)
            return Line(number, EVENT, shape.type, True, *_apart(tests, number), shown)
    raise AssertionError(condition)


def _tests(
    shape: Shape,
    number: int,
    sight: Sight,
    name: str | None,
    kind: str,
    at_hand: tuple[str, ...] = (),
    absent: bool = False,
) -> tuple[Expr, ...]:
    if kind == FACT:
        sight.facts.add(number)
    outside = dict(sight.values)
    if name is not None:
        sight.objects[name] = number
    for bound in shape.values:
        sight.values[bound.variable] = (bound.value, number, at_hand)
    parts = tuple(
        sight.expression(part, number, now=kind == FACT, at_hand=at_hand)
        for test in shape.tests
        for part in conjuncts(test)
    )
    if absent:  # what is bound in it is its own
        sight.values = outside
    return parts


def _apart(tests: tuple[Expr, ...], number: int) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    own = tuple(dict.fromkeys(t for t in tests if places(t) <= {number}))
    return own, tuple(dict.fromkeys(t for t in tests if not places(t) <= {number}))


def _check(ready: ReadyRule) -> None:
    rule = ready.rule
    if all(line.absent for line in ready.lines):
        raise PatternMistake(
            f"the rule `{rule.name}` waits for nothing",
            code="no_condition",
            place=rule.place,
            hint="`when` needs a condition that is not negated",
        )
    for line in ready.absent(EVENT):
        if not any(has_time(test) for test in line.others):
            raise PatternMistake(
                f"no `{line.type}`, but when?",
                code="no_window",
                place=rule.conditions[line.number].place or rule.place,
                hint="bound it by an event of the rule: ?this after[0, 5] ?a",
            )
