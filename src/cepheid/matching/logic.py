"""And, or, not, case: None is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.matching.comparison import TESTS
from cepheid.matching.evaluation_errors import short
from cepheid.matching.moment import Moment, Value
from cepheid.pattern.expr import Binary, Expr, In, IsNull, Opaque, Unary
from cepheid.pattern.text import expr_text
from cepheid.pattern.values import kind_text


def condition(expr: Expr, value: Value) -> Value:
    """A value that is True, False or None, and an error otherwise."""
    if _is_logical(expr):
        return value
    if isinstance(expr, Opaque):
        return lambda moment: None if (result := value(moment)) is None else bool(result)

    def checked(moment: Moment) -> Any:
        result = value(moment)
        if result is None or result is True or result is False:
            return result
        raise EvaluationError(
            f"`{expr_text(expr)}` is {kind_text(result)} ({short(result)}), not a condition",
            code="not_a_condition",
            place=expr.place,
            hint="compare it with something",
        )

    return checked


def _is_logical(expr: Expr) -> bool:
    """Can only be true, false or null, whatever the values are."""
    if isinstance(expr, (In, IsNull)):
        return True
    return (isinstance(expr, Binary) and (expr.op in TESTS or expr.op in ("and", "or"))) or (
        isinstance(expr, Unary) and expr.op == "not"
    )


def negation(operand: Value) -> Value:
    return lambda moment: None if (value := operand(moment)) is None else not value


def both(left: Value, right: Value) -> Value:
    def both(moment: Moment) -> bool | None:
        first = left(moment)
        if first is False:
            return False
        second = right(moment)
        if second is False:
            return False
        return None if first is None or second is None else True

    return both


def either(left: Value, right: Value) -> Value:
    def either(moment: Moment) -> bool | None:
        first = left(moment)
        if first is True:
            return True
        second = right(moment)
        if second is True:
            return True
        return None if first is None or second is None else False

    return either


def is_null(expr: IsNull, operand: Value) -> Value:
    if expr.negated:
        return lambda moment: operand(moment) is not None
    return lambda moment: operand(moment) is None


def case(branches: Sequence[tuple[Value, Value]], default: Value) -> Value:
    def case(moment: Moment) -> Any:
        for condition, value in branches:
            if condition(moment) is True:
                return value(moment)
        return default(moment)

    return case
