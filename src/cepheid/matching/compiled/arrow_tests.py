"""Expressions over one event, worked out for a whole batch by Arrow, where it means exactly what Cepheid means.

What could differ, or raise an error, stays in Python: `Stays`. Unlike a translation made beforehand, this one knows
the values: whether a sum overflows, whether a text is plain ASCII is looked up, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EvaluationError, PatternMistake
from cepheid.matching.compiled.arrow_arithmetic import calculate, negative
from cepheid.matching.compiled.arrow_calls import call
from cepheid.matching.compiled.arrow_terms import (
    UNKNOWN,
    Fields,
    Stays,
    Term,
    comparable,
    in_form,
    of_value,
    one_kind,
)
from cepheid.matching.constants import constant, is_constant
from cepheid.pattern.expr import (
    Binary,
    Call,
    Case,
    Expr,
    Field,
    In,
    IsNull,
    Unary,
)
from cepheid.pattern.functions import check_literals, find_function

_COMPARE = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def condition(expr: Expr, fields: Fields) -> Any:
    """True, false or null for each event. Raises Stays; anything else is an error, which Python reports."""
    return fields.one(Term("bool", _condition(expr, fields)))


def value(expr: Expr, fields: Fields) -> tuple[str, Any]:
    """The kind of a value and the value for each event, times as microseconds. Raises Stays."""
    term = _term(expr, fields)
    if term.kind == "other":
        raise Stays
    return term.kind, fields.one(term)


def _condition(expr: Expr, fields: Fields) -> Any:
    term = _term(expr, fields)
    if term.kind == "null":
        return UNKNOWN.values
    if term.kind != "bool":
        raise Stays
    return term.values


def _term(expr: Expr, fields: Fields) -> Term:
    if is_constant(expr):
        return of_value(_constant(expr))
    translate = _TRANSLATORS.get(type(expr))
    if translate is None:
        raise Stays
    try:
        return translate(expr, fields)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Stays from None


# Constants are worked out by the evaluator itself.


def _constant(expr: Expr) -> Any:
    try:
        return constant(expr)
    except (EvaluationError, PatternMistake):
        raise Stays from None


# Each kind of expression.


def _field(expr: Field, fields: Fields) -> Term:
    if expr.alias is not None or not expr.path:
        raise Stays
    return fields.term(expr.path)


def _unary(expr: Unary, fields: Fields) -> Term:
    if expr.op == "not":
        return Term("bool", pc.invert(_condition(expr.operand, fields)))
    return negative(_term(expr.operand, fields))


def _binary(expr: Binary, fields: Fields) -> Term:
    if expr.op in ("and", "or"):
        combine = pc.and_kleene if expr.op == "and" else pc.or_kleene
        return Term("bool", combine(_condition(expr.left, fields), _condition(expr.right, fields)))
    a, b = _term(expr.left, fields), _term(expr.right, fields)
    if expr.op not in _COMPARE:
        return calculate(fields, expr.op, a, b)
    if "null" in (a.kind, b.kind):
        return UNKNOWN
    return Term("bool", _COMPARE[expr.op](*comparable(a, b)))


def _in(expr: In, fields: Fields) -> Term:
    operand = _term(expr.operand, fields)
    if not expr.items:
        return of_value(expr.negated)
    items = [_term(item, fields) for item in expr.items]
    if operand.kind == "null":
        return UNKNOWN
    found = _among(operand, items)
    return Term("bool", pc.invert(found) if expr.negated else found)


def _among(operand: Term, items: list[Term]) -> Any:
    """Literals of the operand's own kind are looked up together."""
    listed = [i for i in items if i.kind == operand.kind != "bool" and isinstance(i.values, pa.Scalar)]
    found: list[Any] = []
    if (
        len(listed) > 2
        and operand.kind not in ("float", "other")
        and not isinstance(operand.values, pa.Scalar)
    ):
        known = pa.array([i.values.as_py() for i in listed], operand.values.type)
        among = pc.is_in(operand.values, known)
        found.append(pc.if_else(pc.is_valid(operand.values), among, UNKNOWN.values))
        items = [i for i in items if i not in listed]
    for item in items:
        found.append(UNKNOWN.values if item.kind == "null" else pc.equal(*comparable(operand, item)))
    whole = found[0]
    for one in found[1:]:
        whole = pc.or_kleene(whole, one)
    return whole


def _is_null(expr: IsNull, fields: Fields) -> Term:
    term = _term(expr.operand, fields)
    if term.kind == "null":
        return of_value(not expr.negated)
    return Term("bool", pc.is_valid(term.values) if expr.negated else pc.is_null(term.values))


def _case(expr: Case, fields: Fields) -> Term:
    values = [_term(value, fields) for _, value in expr.branches]
    default = _term(expr.default, fields)
    kind = one_kind([*values, default])
    conditions = [_condition(test, fields) for test, _ in expr.branches]
    chosen = in_form(default, kind)
    for test, branch in reversed(list(zip(conditions, values, strict=True))):
        chosen = pc.if_else(pc.fill_null(test, False), in_form(branch, kind), chosen)
    return Term(kind, chosen)


def _call(expr: Call, fields: Fields) -> Term:
    try:
        find_function(expr)
        check_literals(expr)
    except PatternMistake:
        raise Stays from None
    return call(expr.name, [_term(arg, fields) for arg in expr.args])


_TRANSLATORS: dict[type[Expr], Callable[[Any, Fields], Term]] = {
    Field: _field,
    Unary: _unary,
    Binary: _binary,
    In: _in,
    IsNull: _is_null,
    Case: _case,
    Call: _call,
}
