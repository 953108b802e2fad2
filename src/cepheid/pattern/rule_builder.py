"""Rules built in Python: the same model that the text is read into.

>>> e, a, c = var("e"), var("a"), var("c")
>>> r = (
...     rule("AlarmConfirmation")
...     .fact(e, "Equipment", state="ACTIVE")
...     .event(a, "Alarm", eqpt=e)
...     .event(c, "Confirmation", after(this, a, 1, 5), alarm=a)
...     .assert_fact("ConfirmedAlarm", a, c)
... )
>>> print(r)
rule AlarmConfirmation {
  when {
    ?e: Equipment(state == "ACTIVE");
    ?a: event Alarm(eqpt == ?e);
    ?c: event Confirmation(?this after[1, 5] ?a; alarm == ?a);
  } then {
    assert new ConfirmedAlarm(a = ?a, c = ?c);
  }
}

Every object is immutable: each method gives a new one. A condition begins with the variable of its object, if it has
one, and its type; then come tests, and fields by name that are to be equal to a value. Names and types of conditions
are positional, so a field may be called anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf
from typing import Any, Self

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.conditions import Computed, Path, Value, check_name, condition, expression
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Binary, Expr, Field
from cepheid.pattern.rule_fields import of_object, variable_name
from cepheid.pattern.rule_model import (
    THIS,
    Action,
    AssertEvent,
    AssertFact,
    Assignment,
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
    object_field,
)
from cepheid.pattern.rule_text import rule_text
from cepheid.pattern.time_of import time_of
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.pattern.types import BY_NAME, Type

Variable = Value | str
Bound = int | float | str | timedelta | None


def var(name: str) -> Path:
    """A variable: `?name` in the text; `var("e").state` is a field of its object."""
    return Path(object_field(check_name(name)))


this = Path(object_field(THIS))
"""The object at hand, in the tests of a condition."""


# Tests of time.


def after(left: Variable, right: Variable, low: Bound, high: Bound) -> Value:
    """`left after[low, high] right`. Whole numbers are ticks; None and infinity are no bound.

    >>> after(this, var("a"), 0, "5m")
    <?this after[0, 5m] ?a>
    """
    return Computed(TimeTest(_name(left), _name(right), _span(low), _span(high)))


def before(left: Variable, right: Variable, low: Bound, high: Bound) -> Value:
    """`left before[low, high] right` is `right after[low, high] left`."""
    return after(right, left, low, high)


def timeof(event: Variable) -> Value:
    """`timeof(?e)`: when an event happened, also if it has a field `time` of its own.

    >>> a = var("a")
    >>> print(rule("Late").event(a, "A", timeof(this) > this.promised).emit("Late", at=timeof(a)))
    rule Late {
      when {
        ?a: event A(timeof(?this) > ?this.promised);
      } then {
        emit Late(at = timeof(?a));
      }
    }
    """
    return Computed(time_of(_name(event)))


def _span(bound: Bound) -> Span | None:
    if bound is None or bound in (inf, -inf):
        return None
    if isinstance(bound, (bool, float)):
        raise _bad_argument(f"{bound!r} is no bound of time", 'write whole ticks, or a duration: "5m"')
    if isinstance(bound, int):
        return Span(bound, ticks=True)
    if isinstance(bound, str) and bound.lstrip().startswith("-"):
        return Span(-duration(bound.lstrip()[1:]))
    return Span(duration(bound))


def _name(variable: Variable) -> str:
    if isinstance(variable, str):
        return check_name(variable.removeprefix("?"))
    name = variable_name(variable._expr)
    if name is None or variable._expr != object_field(name):
        raise _bad_argument(f"{variable!r} is no variable", 'write var("x")')
    return name


# Shapes.


@dataclass(frozen=True)
class BoundValues:
    """Variables for values of the object at hand."""

    values: tuple[BoundValue, ...]


def bind(**values: object) -> BoundValues:
    """`?level: level` is `bind(level=field("level"))`."""
    return BoundValues(tuple(BoundValue(check_name(n), expression(v)) for n, v in values.items()))


def _shape(type: object, tests: Iterable[object], fields: Mapping[str, object]) -> Shape:
    values: list[BoundValue] = []
    found: list[Expr] = []
    for test in tests:
        if isinstance(test, BoundValues):
            values += test.values
        else:
            found.append(condition(test))
    found += [Binary("==", Field(None, (check_name(n),)), expression(v)) for n, v in fields.items()]
    return Shape(check_name(type), tuple(found), tuple(values))


def _named(arguments: tuple[object, ...]) -> tuple[str | None, object, tuple[object, ...]]:
    """`(a, "Alarm", *tests)` or `("Alarm", *tests)`."""
    if not arguments:
        raise _bad_argument("a condition has a type", 'write .fact(var("e"), "Equipment")')
    first, *rest = arguments
    if isinstance(first, Value):
        if not rest:
            raise _bad_argument(
                f"the condition of {first!r} has no type", 'write .fact(var("e"), "Equipment")'
            )
        return _name(first), rest[0], tuple(rest[1:])
    return None, first, tuple(rest)


@dataclass(frozen=True)
class Half:
    """One side of a change: tests of the fact before, or of it after."""

    tests: tuple[object, ...]
    fields: Mapping[str, object]


def was(*tests: object, **fields: object) -> Half:
    """What a fact was before it changed."""
    return Half(tests, fields)


def becomes(*tests: object, **fields: object) -> Half:
    """What it is after."""
    return Half(tests, fields)


# Rules.


@dataclass(frozen=True, eq=False, repr=False)
class RuleDraft:
    """A rule being written. `build()` gives the model; engines take the draft itself, too."""

    _rule: Rule

    def build(self) -> Rule:
        return self._rule

    def __str__(self) -> str:
        return rule_text(self._rule)

    def __repr__(self) -> str:
        return f"<{rule_text(self._rule)}>"

    # Conditions.

    def fact(self, /, *condition: object, **fields: object) -> Self:
        """There is a fact: `.fact(e, "Equipment", field("level") > 3, state="ACTIVE")`."""
        variable, kind, tests = _named(condition)
        return self._when(FactCondition(_shape(kind, tests, fields), variable))

    def event(self, /, *condition: object, **fields: object) -> Self:
        """There is an event."""
        variable, kind, tests = _named(condition)
        return self._when(EventCondition(_shape(kind, tests, fields), variable))

    def no_fact(self, /, *condition: object, **fields: object) -> Self:
        """There is no such fact."""
        return self._when(NoFact(self._absent(condition, fields)))

    def no_event(self, /, *condition: object, **fields: object) -> Self:
        """There is no such event in the window that its tests of time leave."""
        return self._when(NoEvent(self._absent(condition, fields)))

    def change(self, /, *condition: object, fact: Variable | None = None) -> Self:
        """A fact changed: `.change(act, "Equipment", was(state="ONLINE"), becomes(state="ACTIVE"), fact=e)`."""
        variable, kind, halves = _named(condition)
        if len(halves) != 2 or not all(isinstance(h, Half) for h in halves):
            raise _bad_argument(
                "a change has two halves", 'write .change("T", was(state="ON"), becomes(state="OFF"))'
            )
        first, second = (_shape(kind, h.tests, h.fields) for h in halves if isinstance(h, Half))
        name = None if fact is None else _name(fact)
        return self._when(ChangeCondition(first, second, variable, name))

    # Actions.

    def assert_fact(self, type: str, /, *variables: Variable, **fields: object) -> Self:
        """A new fact. A variable alone is the value of the field that is called as it is."""
        return self._then(AssertFact(check_name(type), _assigned(variables, fields)))

    def assert_event(self, type: str, /, *variables: Variable, **fields: object) -> Self:
        return self._then(AssertEvent(check_name(type), _assigned(variables, fields)))

    def emit(self, stream: str, /, *variables: Variable, **fields: object) -> Self:
        """A row of an output stream."""
        return self._then(Emit(check_name(stream), _assigned(variables, fields)))

    def modify(self, variable: Variable, /, **fields: object) -> Self:
        """Fields of a fact get values; `field("n") + 1` is one more than it had."""
        name = _name(variable)
        assigned = _assigned((), fields)
        return self._then(Modify(name, tuple(replace(a, value=of_object(a.value, name)) for a in assigned)))

    def retract(self, variable: Variable, /) -> Self:
        return self._then(Retract(_name(variable)))

    def priority(self, priority: int) -> Self:
        """The higher comes first."""
        return replace(self, _rule=replace(self._rule, priority=priority))

    def _absent(self, condition: tuple[object, ...], fields: Mapping[str, object]) -> Shape:
        variable, kind, tests = _named(condition)
        if variable is not None:
            raise PatternMistake(
                "what is not there cannot have a name",
                code="name_of_nothing",
                hint="leave the variable out; in its own tests it is `this`",
            )
        return _shape(kind, tests, fields)

    def _when(self, condition: Condition) -> Self:
        return replace(self, _rule=replace(self._rule, conditions=(*self._rule.conditions, condition)))

    def _then(self, action: Action) -> Self:
        return replace(self, _rule=replace(self._rule, actions=(*self._rule.actions, action)))


def rule(name: str, *, priority: int = 0) -> RuleDraft:
    """A rule to which conditions and actions are added.

    Args:
        name: The name of the rule.
        priority: Rules of a higher one fire first.

    >>> o = var("o")
    >>> print(rule("Late").fact(o, "Order", paid=False).event("Due", order=o).emit("Late", o))
    rule Late {
      when {
        ?o: Order(paid == false);
        event Due(order == ?o);
      } then {
        emit Late(o = ?o);
      }
    }
    """
    return RuleDraft(Rule(check_name(name), (), (), priority))


def _assigned(variables: Iterable[Variable], fields: Mapping[str, object]) -> tuple[Assignment, ...]:
    named = [(name, object_field(name)) for name in map(_name, variables)]
    given: list[tuple[str, Any]] = [(check_name(n), expression(v)) for n, v in fields.items()]
    for name, _ in named:
        if name in fields:
            raise _bad_argument(f"`{name}` is given twice", "keep one")
    return tuple(Assignment(name, value) for name, value in [*named, *given])


# Types.


def fact_type(name: str, fields: Mapping[str, str | Type], *, key: str | None = None) -> ObjectType:
    """`fact Equipment(id string key, state string)`.

    >>> fact_type("Equipment", {"id": "string", "state": "string"}, key="id").key
    'id'
    """
    return ObjectType(check_name(name), _types(fields), key)


def event_type(name: str, fields: Mapping[str, str | Type], *, key: str | None = None) -> ObjectType:
    """`event Alarm(id int key, eqpt string)`."""
    return ObjectType(check_name(name), _types(fields), key, event=True)


def _types(fields: Mapping[str, str | Type]) -> tuple[tuple[str, Type], ...]:
    return tuple((check_name(n), t if isinstance(t, Type) else _type(t)) for n, t in fields.items())


def _type(name: str) -> Type:
    found = BY_NAME.get(name.lower())
    if found is None:
        raise PatternMistake(
            f"there is no type `{name}`",
            code="unknown_type",
            hint=nearest(name, list(BY_NAME)) or "the types are int, float, string, bool, timestamp",
        )
    return found


def rule_set(*parts: RuleDraft | Rule | ObjectType | RuleSet) -> RuleSet:
    """Rules and types together, in this order."""
    rules: list[Rule] = []
    types: list[ObjectType] = []
    for part in parts:
        if isinstance(part, RuleSet):
            rules += part.rules
            types += part.types
        elif isinstance(part, ObjectType):
            types.append(part)
        elif isinstance(part, (RuleDraft, Rule)):
            rules.append(part.build() if isinstance(part, RuleDraft) else part)
        else:
            raise _bad_argument(f"{part!r} is no rule", 'write rule("R").event(...).emit(...)')
    return RuleSet(tuple(rules), tuple(types))


def _bad_argument(message: str, hint: str) -> PatternMistake:
    return PatternMistake(message, code="bad_argument", hint=hint)


__all__ = [
    "RuleDraft",
    "after",
    "becomes",
    "before",
    "bind",
    "event_type",
    "fact_type",
    "rule",
    "rule_set",
    "this",
    "timeof",
    "var",
    "was",
]
