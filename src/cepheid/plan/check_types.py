"""The types of expressions, where a schema is known: mistakes are found before the first event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NoReturn

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import (
    MATCH_FUNCTIONS,
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Key,
    Length,
    Literal,
    Opaque,
    Unary,
)
from cepheid.pattern.functions import check_literals, find_function
from cepheid.pattern.text import expr_text, name_text
from cepheid.pattern.types import (
    BOOL,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Type,
    common,
    list_of,
    type_of,
)
from cepheid.pattern.values import VERBS, article, clash_hint, clean


@dataclass(frozen=True)
class AliasType:
    """What is known of the events a name stands for."""

    type: Type  # a struct, or UNKNOWN
    repeated: bool
    event_name: str


@dataclass(frozen=True)
class Scope:
    """What may be named where an expression stands."""

    event: Type | None  # the event at hand; None: there is none; UNKNOWN: nothing is known of it
    event_name: str | None
    aliases: Mapping[str, AliasType]
    keys: Mapping[str, Type]


def infer(expr: Expr, scope: Scope) -> Type:
    """The type of an expression, or a PatternMistake that says where it goes wrong."""
    return _RULES[type(expr)](expr, scope)


def check_condition(expr: Expr, scope: Scope) -> None:
    """A condition is true, false or unknown, nothing else."""
    kind = infer(expr, scope)
    if kind not in (BOOL, UNKNOWN, NULL):
        raise PatternMistake(
            f"`{expr_text(expr)}` is {article(kind.name)}, not a condition",
            code="not_a_condition",
            place=expr.place,
            hint=_condition_hint(expr, kind),
        )


def _condition_hint(expr: Expr, kind: Type) -> str:
    text = expr_text(expr, 5)
    if kind in NUMBERS:
        return f"write for example `{text} != 0`"
    if kind == STRING:
        return f'write for example `{text} != ""`'
    return f"write for example `{text} is not null`"


# Names.


def _literal(expr: Literal, scope: Scope) -> Type:
    return type_of(clean(expr.value))


def _field(expr: Field, scope: Scope) -> Type:
    if expr.alias is not None:
        alias = _alias(expr.alias, scope, expr.place)
        return _inside(alias.type, expr.path, expr, alias.event_name)
    if scope.event is None:
        raise PatternMistake(
            f"`{expr_text(expr)}`: of which event?",
            code="which_event",
            place=expr.place,
            hint=_which_event_hint(expr, scope),
        )
    return _bare_field(expr, scope.event, scope)


def _which_event_hint(expr: Field, scope: Scope) -> str:
    if scope.aliases:
        return f"write {name_text(min(scope.aliases))}.{expr_text(expr)}"
    return f"name the steps: `A as a`, then a.{expr_text(expr)}"


def _bare_field(expr: Field, event: Type, scope: Scope) -> Type:
    """A path without an alias: its head is a field, or was meant to be a step's name."""
    known = dict(event.fields)
    if len(expr.path) > 1 and expr.path[0] not in known:
        _refuse_type_for_a_name(expr, scope)
        if _meant_a_step(expr.path[0], event, scope):
            raise _unknown_alias(expr.path[0], scope, expr.place, _nested_hint(expr, event))
    return _inside(event, expr.path, expr, scope.event_name or "the event")


def _refuse_type_for_a_name(expr: Field, scope: Scope) -> None:
    """`Login.user` where the step is `Login as l`: its name was meant."""
    named = sorted(name for name, alias in scope.aliases.items() if alias.event_name == expr.path[0])
    if named:
        fields = ".".join(map(name_text, expr.path[1:]))
        raise PatternMistake(
            f"`{expr.path[0]}` is a type of event, not the name of a step",
            code="unknown_alias",
            place=expr.place,
            hint="write " + " or ".join(f"{name_text(name)}.{fields}" for name in named),
        )


def _meant_a_step(head: str, event: Type, scope: Scope) -> bool:
    if event == UNKNOWN:
        return True
    return _likeness(head, scope.aliases) > _likeness(head, dict(event.fields))


def _likeness(name: str, known: Iterable[str]) -> float:
    return max((SequenceMatcher(None, name.lower(), k.lower()).ratio() for k in known), default=0.0)


def _nested_hint(expr: Field, event: Type) -> str | None:
    if event != UNKNOWN:
        return None
    path = ".".join(name_text(n) for n in expr.path)
    return f"for a field inside a field name the step and write a.{path}"


def _alias(name: str, scope: Scope, place: Place | None) -> AliasType:
    found = scope.aliases.get(name)
    if found is None:
        raise _unknown_alias(name, scope, place, None)
    return found


def _unknown_alias(name: str, scope: Scope, place: Place | None, otherwise: str | None) -> PatternMistake:
    listed = (
        "the names here are " + ", ".join(sorted(scope.aliases)) if scope.aliases else "no step is named here"
    )
    return PatternMistake(
        f"no step is called `{name}`",
        code="unknown_alias",
        place=place,
        hint=nearest(name, set(scope.aliases)) or (f"{listed}; {otherwise}" if otherwise else listed),
    )


def _inside(kind: Type, path: tuple[str, ...], expr: Expr, owner: str) -> Type:
    """The type at the end of a path through structs."""
    for name in path:
        if kind in (UNKNOWN, NULL):
            return UNKNOWN
        if kind.name != "struct":
            raise PatternMistake(
                f"`{owner}` is {article(kind.name)}, it has no field `{name}`",
                code="unknown_field",
                place=expr.place,
            )
        found = kind.field(name)
        if found is None:
            raise _unknown_field(owner, name, kind, expr.place)
        kind, owner = found, name
    return kind


def _unknown_field(owner: str, name: str, kind: Type, place: Place | None) -> PatternMistake:
    names = [n for n, _ in kind.fields]
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return PatternMistake(
        f"`{owner}` has no field `{name}`",
        code="unknown_field",
        place=place,
        hint=nearest(name, names) or (f"its fields are {shown}" if names else "it has no fields"),
    )


def _key(expr: Key, scope: Scope) -> Type:
    found = scope.keys.get(expr.name)
    if found is None:
        raise PatternMistake(
            f"`{expr.name}` is not a partition column",
            code="unknown_key",
            place=expr.place,
            hint=nearest(expr.name, set(scope.keys)),
        )
    return found


# Closure values.


def _element(expr: Element, scope: Scope) -> Type:
    alias = _alias(expr.alias, scope, expr.place)
    index = infer(expr.index, scope)
    if index not in (INT, UNKNOWN, NULL):
        raise PatternMistake(
            f"`{expr_text(expr.index)}` is {article(index.name)}, not a position",
            code="type_clash",
            place=expr.index.place or expr.place,
            hint=f"positions are whole numbers from 0: {expr.alias}[0], {expr.alias}[{expr.alias}.LEN - 1]",
        )
    return _inside(alias.type, expr.path, expr, alias.event_name)


def _length(expr: Length, scope: Scope) -> Type:
    _alias(expr.alias, scope, expr.place)
    return INT


def _aggregate(expr: Aggregate, scope: Scope) -> Type:
    alias = _alias(expr.alias, scope, expr.place)
    kind = _inside(alias.type, expr.path, expr, alias.event_name)
    result = _AGGREGATES[expr.name](kind)
    if result is not None:
        return result
    field = ".".join((expr.alias, *expr.path))
    raise PatternMistake(
        f"`{field}` is {article(kind.name)}: `{expr.name}` cannot be taken of it",
        code="type_clash",
        place=expr.place,
        hint=_AGGREGATE_HINTS.get(expr.name),
    )


def _sum_type(kind: Type) -> Type | None:
    return kind if kind in (*NUMBERS, DURATION, UNKNOWN, NULL) else None


def _average_type(kind: Type) -> Type | None:
    if kind in (INT, FLOAT, NULL):
        return FLOAT
    return kind if kind in (DECIMAL, UNKNOWN) else None


def _extreme_type(kind: Type) -> Type | None:
    return None if kind.name in ("list", "struct") else kind


def _deviation_type(kind: Type) -> Type | None:
    return FLOAT if kind in (*NUMBERS, UNKNOWN, NULL) else None


_AGGREGATES: dict[str, Callable[[Type], Type | None]] = {
    "sum": _sum_type,
    "avg": _average_type,
    "min": _extreme_type,
    "max": _extreme_type,
    "stddev": _deviation_type,
    "distinct_count": lambda kind: INT,
    "collect": list_of,
}
_AGGREGATE_HINTS = {
    "sum": "sum takes numbers and durations",
    "avg": "avg takes numbers",
    "stddev": "stddev takes numbers",
}


# Operators.


def _unary(expr: Unary, scope: Scope) -> Type:
    if expr.op == "not":
        check_condition(expr.operand, scope)
        return BOOL
    kind = infer(expr.operand, scope)
    if kind not in (*NUMBERS, DURATION, UNKNOWN, NULL):
        raise PatternMistake(
            f"`{expr_text(expr.operand)}` is {article(kind.name)}, it has no negative",
            code="type_clash",
            place=expr.place,
            hint="only numbers and durations have one",
        )
    return kind


def _binary(expr: Binary, scope: Scope) -> Type:
    if expr.op in ("and", "or"):
        check_condition(expr.left, scope)
        check_condition(expr.right, scope)
        return BOOL
    if expr.op in _RESULTS:
        return _arithmetic(expr, infer(expr.left, scope), infer(expr.right, scope))
    left, right = _compared(expr.left, scope), _compared(expr.right, scope)
    if not _comparable(left, right, ordered=expr.op not in ("==", "!=")):
        _clash(expr, expr.op, (expr.left, left), (expr.right, right))
    return BOOL


def _compared(expr: Expr, scope: Scope) -> Type:
    """One side of a comparison: a word that is no field may be a text without its quotes."""
    try:
        return infer(expr, scope)
    except PatternMistake as mistake:
        bare = isinstance(expr, Field) and expr.alias is None and len(expr.path) == 1
        if bare and (mistake.hint or "").startswith("its fields are"):
            mistake.hint = f'{mistake.hint}; a text stands in quotes: "{expr_text(expr)}"'
        raise


def _comparable(left: Type, right: Type, ordered: bool) -> bool:
    """Lists and structs may be equal, but not one less than the other."""
    if ordered and {left.name, right.name} & {"list", "struct"}:
        return False
    return common(left, right) is not None


_Results = dict[tuple[str, str], Type]


def _numbers(of_ints: Type) -> _Results:
    table = {(a.name, b.name): common(a, b) or UNKNOWN for a in NUMBERS for b in NUMBERS}
    return {**table, ("int", "int"): of_ints}


_DATES = (TIMESTAMP.name, DATE.name)
_SCALARS = tuple(kind.name for kind in NUMBERS)
_BOTH_DURATIONS = ("duration", "duration")
_SHIFTED: _Results = {(d, "duration"): TIMESTAMP for d in _DATES}
_POWERS: _Results = {(a, b): FLOAT for a in _SCALARS for b in _SCALARS}

_RESULTS: dict[str, _Results] = {
    "+": {
        **_numbers(INT),
        **_SHIFTED,
        **{(b, a): kind for (a, b), kind in _SHIFTED.items()},
        _BOTH_DURATIONS: DURATION,
    },
    "-": {
        **_numbers(INT),
        **_SHIFTED,
        **{(a, b): DURATION for a in _DATES for b in _DATES},
        _BOTH_DURATIONS: DURATION,
    },
    "*": {
        **_numbers(INT),
        **{("duration", n): DURATION for n in _SCALARS},
        **{(n, "duration"): DURATION for n in _SCALARS},
    },
    "/": {**_numbers(FLOAT), **{("duration", n): DURATION for n in _SCALARS}, _BOTH_DURATIONS: FLOAT},
    "%": _numbers(INT),
    "**": _POWERS,
}
# `x ** 2` keeps the type of x; with an exponent that is not written out the result is a float.
_POWERS_OF_LITERAL: _Results = {**_POWERS, ("int", "int"): INT, ("decimal", "int"): DECIMAL}


def _arithmetic(expr: Binary, left: Type, right: Type) -> Type:
    if NULL in (left, right):
        return NULL
    table = _POWERS_OF_LITERAL if expr.op == "**" and _whole_literal(expr.right) else _RESULTS[expr.op]
    possible = {
        result
        for (a, b), result in table.items()
        if (left == UNKNOWN or a == left.name) and (right == UNKNOWN or b == right.name)
    }
    if not possible:
        _clash(expr, expr.op, (expr.left, left), (expr.right, right))
    return possible.pop() if len(possible) == 1 else UNKNOWN


def _whole_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value.__class__ is int and expr.value >= 0


def _clash(expr: Expr, op: str, left: tuple[Expr, Type], right: tuple[Expr, Type]) -> NoReturn:
    """Both sides with their types. Of a side that is not known there is nothing to say."""
    known = [(e, t) for e, t in (left, right) if t != UNKNOWN]
    if len(known) == 1:
        text = f"`{expr_text(known[0][0])}` is {article(known[0][1].name)}: `{op}` has no meaning for it"
    else:
        (a, a_type), (b, b_type) = known
        text = f"`{expr_text(a)}` is {article(a_type.name)}, `{expr_text(b)}` {article(b_type.name)}"
        text += f": they {VERBS[op]}"
    hint = clash_hint(op, left[1].name, right[1].name)
    raise PatternMistake(text, code="type_clash", place=expr.place, hint=hint)


def _in(expr: In, scope: Scope) -> Type:
    operand = infer(expr.operand, scope)
    for item in expr.items:
        kind = infer(item, scope)
        if not _comparable(operand, kind, ordered=False):
            _clash(item if item.place else expr, "==", (expr.operand, operand), (item, kind))
    return BOOL


def _is_null(expr: IsNull, scope: Scope) -> Type:
    infer(expr.operand, scope)
    return BOOL


def _case(expr: Case, scope: Scope) -> Type:
    for condition, _ in expr.branches:
        check_condition(condition, scope)
    values = [*(value for _, value in expr.branches), expr.default]
    result, shown = NULL, values[0]
    for value in values:
        kind = infer(value, scope)
        joint = common(result, kind)
        if joint is None:
            raise PatternMistake(
                f"`{expr_text(shown)}` is {article(result.name)}, `{expr_text(value)}` {article(kind.name)}: "
                "one expression cannot be both",
                code="type_clash",
                place=value.place or expr.place,
                hint="convert one of them, for example by string(x)",
            )
        if result == NULL:
            shown = value
        result = joint
    return result


# Functions.

_MATCH_TYPES = {"match_id": STRING, "match_start": TIMESTAMP, "match_end": TIMESTAMP, "count_matches": INT}


def _call(expr: Call, scope: Scope) -> Type:
    if expr.name in MATCH_FUNCTIONS:
        return _match_function(expr)
    function = find_function(expr)
    types = [infer(arg, scope) for arg in expr.args]
    result = function.result_type(types)
    if result is None:
        given = ", ".join(
            f"`{expr_text(a)}` is {article(t.name)}" for a, t in zip(expr.args, types, strict=True)
        )
        raise PatternMistake(
            f"`{expr.name}` does not take these: {given}",
            code="type_clash",
            place=expr.place,
            hint=f"it is {function.signature()}",
        )
    check_literals(expr)
    return result


def _match_function(expr: Call) -> Type:
    if expr.args:
        raise PatternMistake(
            f"`{expr.name}` takes no arguments",
            code="wrong_arguments",
            place=expr.place,
            hint=f"{expr.name}()",
        )
    return _MATCH_TYPES[expr.name]


def _opaque(expr: Opaque, scope: Scope) -> Type:
    for alias in expr.aliases:
        _alias(alias, scope, expr.place)
    return UNKNOWN


_RULES: dict[type[Expr], Callable[[Any, Scope], Type]] = {
    Literal: _literal,
    Field: _field,
    Element: _element,
    Length: _length,
    Aggregate: _aggregate,
    Key: _key,
    Unary: _unary,
    Binary: _binary,
    In: _in,
    IsNull: _is_null,
    Case: _case,
    Call: _call,
    Opaque: _opaque,
}

__all__ = ["AliasType", "Scope", "check_condition", "infer"]
