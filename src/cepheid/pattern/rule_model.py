"""Rules: when these facts and events are there, then do that. Plain data.

In expressions a variable is a bare field whose name begins with `?`: `?e` is the identity of an object (or a value that
was bound), `?e.state` a field of it, `?this` the object at hand. A bare name is a field of the object at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.errors import Place
from cepheid.pattern.expr import Expr, Field
from cepheid.pattern.types import Type

THIS = "this"


def object_field(variable: str, *path: str) -> Field:
    """
    >>> object_field("e", "state")
    Field(alias=None, path=('?e', 'state'))
    """
    return Field(None, (f"?{variable}", *path))


@dataclass(frozen=True)
class RuleNode:
    """A part of a rule; `place` never takes part in equality."""

    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


# --- conditions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundValue(RuleNode):
    """`?s: state`: a variable for a value of the object at hand."""

    variable: str
    value: Expr


@dataclass(frozen=True)
class Shape(RuleNode):
    """Objects of a type that pass all tests, and what is bound of them."""

    type: str
    tests: tuple[Expr, ...] = ()
    values: tuple[BoundValue, ...] = ()


@dataclass(frozen=True)
class Condition(RuleNode):
    """One of the lines of `when`. It may name variables of lines before it."""


@dataclass(frozen=True)
class FactCondition(Condition):
    shape: Shape
    variable: str | None = None


@dataclass(frozen=True)
class EventCondition(Condition):
    shape: Shape
    variable: str | None = None


@dataclass(frozen=True)
class ChangeCondition(Condition):
    """`?act: event change ?e: T(before) to (after)`: a fact passed `before`, was changed, and passes `after`.

    What happened is an event: it has the fact's new fields, and the old ones as `?act.old.f`. In `after`, `?this` is
    the event. `fact` names the fact, as it was right after the change; it need not stay so.
    """

    before: Shape
    after: Shape
    variable: str | None = None
    fact: str | None = None


@dataclass(frozen=True)
class NoFact(Condition):
    shape: Shape


@dataclass(frozen=True)
class NoEvent(Condition):
    """No such event in the window that its tests of time leave."""

    shape: Shape


# --- actions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assignment(RuleNode):
    name: str
    value: Expr


@dataclass(frozen=True)
class Action(RuleNode):
    """One of the lines of `then`."""


@dataclass(frozen=True)
class AssertFact(Action):
    type: str
    fields: tuple[Assignment, ...]


@dataclass(frozen=True)
class AssertEvent(Action):
    type: str
    fields: tuple[Assignment, ...]


@dataclass(frozen=True)
class Modify(Action):
    variable: str
    fields: tuple[Assignment, ...]


@dataclass(frozen=True)
class Retract(Action):
    variable: str


@dataclass(frozen=True)
class Emit(Action):
    """A row of an output stream, which patterns may read as events of that type."""

    stream: str
    fields: tuple[Assignment, ...]


# --- rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule(RuleNode):
    name: str
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]
    priority: int = 0


@dataclass(frozen=True)
class ObjectType(RuleNode):
    """What is known of a type of facts or events: its fields in order, and which of them is the identity."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    key: str | None = None
    event: bool = False


@dataclass(frozen=True)
class RuleSet(RuleNode):
    rules: tuple[Rule, ...]
    types: tuple[ObjectType, ...] = ()
