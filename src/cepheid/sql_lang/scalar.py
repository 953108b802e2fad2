"""A scalar SQL expression as one of ours, for what must be asked while rows are matched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlglot import exp

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import Binary, Call, Case, Expr, Field, In, IsNull, Literal, Unary
from cepheid.pattern.functions import FUNCTIONS

# A part of a parsed expression. Its library has renamed the root class between versions.
Tree = Any

_BINARY: dict[type[Tree], str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "**",
}
# What some functions of SQL are called here.
_NAMES = {"ceiling": "ceil", "character_length": "length", "char_length": "length", "pow": "power"}
_UNITS = {"microsecond": 1, "millisecond": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_UNITS |= {"day": 86_400 * 10**6, "week": 7 * 86_400 * 10**6}


def to_expr(node: Tree, place: Place, term: Callable[[Tree], str | None]) -> Expr:
    """`term` gives the name of the field that stands for a part, if one does."""
    name = term(node)
    if name is not None:
        return Field(None, (name,), place=place)

    def inner(part: Tree) -> Expr:
        return to_expr(part, place, term)

    if type(node) in _BINARY:
        return Binary(_BINARY[type(node)], inner(node.this), inner(node.expression), place=place)
    match node:
        case exp.Paren():
            return inner(node.this)
        case exp.Not():
            return Unary("not", inner(node.this), place=place)
        case exp.Neg():
            return Unary("-", inner(node.this), place=place)
        case exp.Literal() | exp.Boolean() | exp.Null():
            return Literal(literal(node), place=place)
        case exp.Interval():
            return Literal(_interval(node, place), place=place)
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            return _distinct(
                inner(node.this), inner(node.expression), isinstance(node, exp.NullSafeNEQ), place
            )
        case exp.Is():
            return _is(node, inner, place)
        case exp.Between():
            low = Binary(">=", inner(node.this), inner(node.args["low"]), place=place)
            high = Binary("<=", inner(node.this), inner(node.args["high"]), place=place)
            return Binary("and", low, high, place=place)
        case exp.In():
            if not node.expressions:
                raise _unknown(node, place)
            return In(inner(node.this), tuple(inner(e) for e in node.expressions), place=place)
        case exp.Case() | exp.If():
            return _case(node, inner, place)
        case exp.Func():
            return _call(node, inner, place)
    raise _unknown(node, place)


def literal(node: Tree) -> Any:
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if node.args.get("is_string"):
        return str(node.this)
    text = str(node.this)
    return int(text) if text.isdigit() else float(text)


def _distinct(one: Expr, other: Expr, negated: bool, place: Place) -> Expr:
    """IS [NOT] DISTINCT FROM: null is like null."""
    equal = Call("coalesce", (Binary("==", one, other, place=place), Literal(False)), place=place)
    both = Binary("and", IsNull(one, place=place), IsNull(other, place=place), place=place)
    same = Binary("or", both, equal, place=place)
    return Unary("not", same, place=place) if negated else same


def _is(node: exp.Is, inner: Callable[[Tree], Expr], place: Place) -> Expr:
    if isinstance(node.expression, exp.Null):
        return IsNull(inner(node.this), place=place)
    if isinstance(node.expression, exp.Boolean):  # IS TRUE is false where the value is unknown
        is_so = Binary("==", inner(node.this), inner(node.expression), place=place)
        return Call("coalesce", (is_so, Literal(False)), place=place)
    raise _unknown(node, place)


def _case(node: exp.Case | exp.If, inner: Callable[[Tree], Expr], place: Place) -> Expr:
    if isinstance(node, exp.If):
        default = inner(node.args["false"]) if node.args.get("false") else Literal(None)
        return Case(((inner(node.this), inner(node.args["true"])),), default, place=place)
    branches = []
    for branch in node.args["ifs"]:
        when = (
            branch.this if node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this.copy())
        )
        branches.append((inner(when), inner(branch.args["true"])))
    default = inner(node.args["default"]) if node.args.get("default") else Literal(None)
    return Case(tuple(branches), default, place=place)


def _call(node: exp.Func, inner: Callable[[Tree], Expr], place: Place) -> Expr:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    name = _NAMES.get(name, name)
    if name not in FUNCTIONS:
        raise _unknown(node, place, name)
    arguments = [a for a in node.args.values() if isinstance(a, exp.Expression)]
    arguments += node.expressions
    return Call(name, tuple(inner(a) for a in arguments), place=place)


def _interval(node: exp.Interval, place: Place) -> timedelta:
    unit = str(node.args["unit"]).lower().rstrip("s") if node.args.get("unit") else ""
    try:
        return timedelta(microseconds=float(str(node.this.this)) * _UNITS[unit])
    except (KeyError, ValueError, AttributeError):
        raise _unknown(node, place) from None


def _unknown(node: Tree, place: Place, name: str | None = None) -> PatternMistake:
    shown = f"the function `{name}`" if name is not None else f"`{node.sql()}`"
    near = nearest(name, set(FUNCTIONS)) if name is not None else None
    return PatternMistake(
        f"{shown} cannot be asked across several rows in DEFINE",
        code="not_in_define",
        place=place,
        hint=near
        or "what looks at one row alone may be any SQL: here a row's value stands beside another row's",
    )
