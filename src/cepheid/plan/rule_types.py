"""The types of a rule's expressions, by what is declared of facts and events."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import (
    MATCH_FUNCTIONS,
    Aggregate,
    Call,
    Element,
    Expr,
    Field,
    Key,
    Length,
    Literal,
    Opaque,
    rewrite,
    walk,
)
from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.rule_fields import variable_name
from cepheid.pattern.rule_model import THIS
from cepheid.pattern.text import expr_text, name_text
from cepheid.pattern.time_of import TIME, TIMEOF, is_time_of, timed_variable
from cepheid.pattern.time_test import TimeTest
from cepheid.pattern.types import NULL, UNKNOWN, Type, common
from cepheid.pattern.values import article
from cepheid.plan.check_types import Scope, check_condition, infer

T = TypeVar("T")


@dataclass(frozen=True)
class Known:
    """What a variable stands for."""

    fields: Type = UNKNOWN  # a struct if the type is declared
    identity: Type = UNKNOWN  # of a value: the value's type
    event: bool = False
    time: Type = UNKNOWN  # of an event: the type of its time,
    own_time: bool = True  # and whether it may have a field `time` of its own that nothing is known of
    value: bool = False
    change: bool = False  # the event of a fact that changed
    type_name: str = ""


@dataclass(frozen=True)
class Sight:
    """What an expression may name: variables, and the object at hand if there is one."""

    variables: Mapping[str, Known]
    at_hand: Known | None = None
    own: str | None = None  # what the object at hand will be called
    keys: dict[str, Type] = field(default_factory=dict)

    def find(self, name: str, place: Place | None) -> Known:
        if name == THIS and self.at_hand is not None:
            return self.at_hand
        found = self.variables.get(name)
        if found is not None:
            return found
        raise _unbound(name, self, place)


def _unbound(name: str, sight: Sight, place: Place | None) -> PatternMistake:
    if name == THIS:
        return PatternMistake(
            "there is no object at hand that ?this could be",
            code="unbound_variable",
            place=place,
            hint="name the object by its variable",
        )
    if name == sight.own:
        hint = "in its own tests it is ?this"
    else:
        names = sorted(sight.variables)
        listed = "bound are " + ", ".join(f"?{n}" for n in names) if names else "bind it: ?x: Type(...)"
        hint = nearest(name, names) or f"{listed}; a condition may name what stands before it"
    return PatternMistake(
        f"the variable ?{name} is not bound here", code="unbound_variable", place=place, hint=hint
    )


def check_test(expr: Expr, sight: Sight) -> None:
    """A test is a condition over what is in sight."""
    typed = _typed(expr, sight)
    _clean(lambda: check_condition(typed, _scope(sight)))


def value_type(expr: Expr, sight: Sight) -> Type:
    typed = _typed(expr, sight)
    return _clean(lambda: infer(typed, _scope(sight)))


def check_assigned(owner: str, name: str, declared: Type, expr: Expr, sight: Sight) -> None:
    """A value fits the field it is for; a whole number fits where a fraction may stand."""
    given = value_type(expr, sight)
    if (
        given in (UNKNOWN, NULL)
        or UNKNOWN in (declared, common(declared, given))
        or common(declared, given) == declared
    ):
        return
    raise PatternMistake(
        f"`{owner}.{name}` is {article(declared.name)}, and this is {article(given.name)}",
        code="type_clash",
        place=expr.place,
        hint=f"convert it, for example by {declared.name}(x)" if declared.name in _CONVERSIONS else None,
    )


_CONVERSIONS = ("int", "float", "string", "bool")


def _scope(sight: Sight) -> Scope:
    return Scope(None, None, {}, sight.keys)


_QUOTED_VARIABLE = re.compile(r"`(\?\w+)`")


def _clean(check: Callable[[], T]) -> T:
    """The mistake as this language writes it: a variable stands in no back quotes."""
    try:
        return check()
    except PatternMistake as mistake:
        message, hint = (_QUOTED_VARIABLE.sub(r"\1", text or "") for text in (mistake.message, mistake.hint))
        raise PatternMistake(message, code=mistake.code, place=mistake.place, hint=hint or None) from None


# Fields.


def _typed(expr: Expr, sight: Sight) -> Expr:
    """The expression with every field in it replaced by a name whose type is known."""
    for node in walk(expr):
        if isinstance(node, Opaque):
            raise PatternMistake(
                "a Python function cannot be a part of a rule",
                code="python_function",
                place=node.place,
                hint='write the condition with fields and variables: field("level") > 3',
            )
        if isinstance(node, (Element, Length, Aggregate)) or (
            isinstance(node, Call) and node.name in MATCH_FUNCTIONS
        ):
            raise PatternMistake(
                "this speaks of the events of a pattern's match, and there are none in a rule",
                code="no_match",
                place=node.place,
                hint="a rule knows fields, variables such as ?x, and functions of them",
            )

        if isinstance(node, Call) and node.name not in FUNCTIONS:
            _check_not_misspelt(node)

    def change(node: Expr) -> Expr | None:
        if isinstance(node, TimeTest):
            return Literal(True, place=node.place)
        if isinstance(node, Call) and is_time_of(node):
            shown = expr_text(node)
            sight.keys[shown] = sight.find(timed_variable(node), node.place).time
            return Key(shown, place=node.place)
        if isinstance(node, Field):
            shown = ".".join(node.path)
            sight.keys[shown] = _field_type(node, sight)
            return Key(shown, place=node.place)
        return None

    return rewrite(expr, change)


def _check_not_misspelt(call: Call) -> None:
    """Rules have a function of their own, which a hint about those of all others does not know."""
    meant = nearest(call.name, [*FUNCTIONS, TIMEOF]) or ""
    if call.name != TIMEOF and f"`{TIMEOF}`" in meant:
        raise PatternMistake(
            f"there is no function `{call.name}`", code="unknown_function", place=call.place, hint=meant
        )


def _field_type(node: Field, sight: Sight) -> Type:
    name = variable_name(node)
    if name is None:
        if sight.at_hand is None:
            raise PatternMistake(
                f"`{expr_text(node)}`: of which object?",
                code="which_object",
                place=node.place,
                hint=_which_hint(node, sight),
            )
        if _is_time(sight.at_hand, node.path):
            return sight.at_hand.time
        return _inside(sight.at_hand.fields, node.path, sight.at_hand.type_name, node.place)
    known = sight.find(name, node.place)
    if len(node.path) == 1:
        return known.identity
    if _is_time(known, node.path[1:]):
        return known.time
    return _inside(known.identity if known.value else known.fields, node.path[1:], f"?{name}", node.place)


def _is_time(known: Known, path: tuple[str, ...]) -> bool:
    """The time of an event, where nothing else is known of its fields."""
    return path == (TIME,) and known.event and known.fields == UNKNOWN and not known.own_time


def _which_hint(node: Field, sight: Sight) -> str:
    text = expr_text(node)
    objects = [name for name, known in sight.variables.items() if not known.value]
    close = nearest(node.path[0], objects)
    if close and len(node.path) == 1:
        return f"did you mean ?{close.split('`')[1]}?"
    return f'write ?{min(objects)}.{text}, or "{text}" if it is a text' if objects else f'write "{text}"'


def _inside(kind: Type, path: tuple[str, ...], owner: str, place: Place | None) -> Type:
    for name in path:
        if kind in (UNKNOWN, NULL):
            return UNKNOWN
        found = kind.field(name) if kind.name == "struct" else None
        if found is None:
            names = [n for n, _ in kind.fields]
            raise PatternMistake(
                f"`{owner}` has no field `{name}`",
                code="unknown_field",
                place=place,
                hint=nearest(name, names)
                or (f"its fields are {', '.join(map(name_text, names))}" if names else "it has no fields"),
            )
        kind, owner = found, name
    return kind
