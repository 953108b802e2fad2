"""Actions of a firing as operations: values are read when it fires, and they wait for their turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cepheid.pattern.expr import Expr
from cepheid.pattern.rule_model import Action, AssertEvent, AssertFact, Modify, Retract
from cepheid.rules.closures import value_in_two_worlds
from cepheid.rules.objects import Event, Thing
from cepheid.rules.resolve import CHANGE, ReadyRule
from cepheid.rules.values import values_of

if TYPE_CHECKING:
    from cepheid.rules.operating import Operating

Things = tuple[Any, ...]
Operation = Callable[[], None]
Ready = Callable[
    ["Operating", Things, int, int], Operation
]  # of what is matched, the firing's number and its time


def operation_of(action: Action, rule: ReadyRule) -> Ready:
    """Of all but `emit`, which is done at once."""
    match action:
        case AssertFact(type=kind, fields=fields):
            return _assert_fact(kind, rule.matched_values(fields))
        case AssertEvent(type=kind, fields=fields):
            return _assert_event(kind, rule.matched_values(fields))
        case Modify(variable=variable, fields=fields):
            return _modify(variable, rule, rule.values_now(fields))
        case Retract(variable=variable):
            return _retract(variable, rule)
    raise AssertionError(action)


def _assert_fact(kind: str, exprs: Mapping[str, Expr]) -> Ready:
    values = values_of(exprs)

    def act(session: Operating, things: Things, firing: int, now: int) -> Operation:
        fields = values(things)
        return lambda: session.do_assert_fact(kind, fields, None, firing)

    return act


def _assert_event(kind: str, exprs: Mapping[str, Expr]) -> Ready:
    values = values_of(exprs)

    def act(session: Operating, things: Things, firing: int, now: int) -> Operation:
        fields = values(things)
        return lambda: session.do_assert_event(kind, fields, None, firing)

    return act


def _modify(variable: str, rule: ReadyRule, exprs: Mapping[str, Expr]) -> Ready:
    """Facts are read when the action is carried out."""
    ready = [(name, value_in_two_worlds(expr)) for name, expr in exprs.items()]
    at = rule.place_of(variable)
    of_changes = frozenset(line.number for line in rule.lines if line.kind == CHANGE)

    def act(session: Operating, things: Things, firing: int, now: int) -> Operation:
        fact = things[at].fact if at in of_changes else things[at]

        def changes() -> dict[str, Any]:
            now = tuple(session.as_now(thing) for thing in things)
            return {name: value((things, now)) for name, value in ready}

        return lambda: session.do_update(fact.type, fact.identity, changes, f"modify ?{variable}", firing)

    return act


def _retract(variable: str, rule: ReadyRule) -> Ready:
    at, is_fact = rule.place_of(variable), rule.is_fact(variable)
    name = f"retract ?{variable}"

    def act(session: Operating, things: Things, firing: int, now: int) -> Operation:
        thing: Thing = things[at]
        if isinstance(thing, Event) and not is_fact:
            return lambda: session.do_retract_event(thing, name, firing)
        return lambda: session.do_retract_fact(thing.type, thing.identity, name, firing)

    return act
