"""Calls of scalar functions, and of those that speak of the match."""

from __future__ import annotations

from typing import Any

from cepheid.errors import EvaluationError, PatternMistake
from cepheid.matching.evaluation_errors import raise_bad_argument, raise_overflow
from cepheid.matching.moment import Moment, Value
from cepheid.pattern.expr import Call
from cepheid.pattern.functions import Function
from cepheid.pattern.values import BadArgument, Clash, clean


def call(expr: Call, function: Function, args: list[Value]) -> Value:
    return _strict_call(expr, function, args) if not function.takes_null else _null_call(expr, function, args)


def _strict_call(expr: Call, function: Function, args: list[Value]) -> Value:
    """A null argument makes the result null."""
    if len(args) == 1:
        return _call_of_one(expr, function, args[0])

    def call(moment: Moment) -> Any:
        values = [arg(moment) for arg in args]
        return None if None in values else _apply(expr, function, values)

    return call


def _call_of_one(expr: Call, function: Function, arg: Value) -> Value:
    def call(moment: Moment) -> Any:
        value = arg(moment)
        return None if value is None else _apply(expr, function, [value])

    return call


def _null_call(expr: Call, function: Function, args: list[Value]) -> Value:
    return lambda moment: _apply(expr, function, [arg(moment) for arg in args])


def _apply(expr: Call, function: Function, values: list[Any]) -> Any:
    try:
        return clean(function.call(values))
    except Clash as clash:
        raise_bad_argument(expr, function, clash)
    except BadArgument as bad:
        raise EvaluationError(bad.message, code=bad.code, place=expr.place, hint=bad.hint) from None
    except ArithmeticError:
        raise_overflow(expr)


def match_function(expr: Call) -> Value:
    attribute = {"match_id": "id", "match_start": "start", "match_end": "end", "count_matches": "count"}[
        expr.name
    ]
    if expr.args:
        raise PatternMistake(
            f"`{expr.name}` takes no arguments",
            code="wrong_arguments",
            place=expr.place,
            hint=f"{expr.name}()",
        )

    def read(moment: Moment) -> Any:
        if moment.match is None:
            raise EvaluationError(
                f"`{expr.name}()` has a value only where a match is complete",
                code="no_match",
                place=expr.place,
                hint="use it in .emit(...)",
            )
        return getattr(moment.match, attribute)

    return read
