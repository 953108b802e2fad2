"""The literal with which a condition would have held: `amount > 100` with 80 is `amount >= 80`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from math import isfinite
from typing import Any

from cepheid.errors import CepheidError
from cepheid.explain.tested import Tested, Where
from cepheid.matching.comparison import TESTS
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.expr import Binary, Expr, Literal, rewrite, walk

_INCLUSIVE = {">": ">=", "<": "<="}


def threshold(found: Tested) -> Expr | None:
    """The condition with its one literal changed, as little as needed; None: there is no such literal."""
    expr = found.expr
    if not isinstance(expr, Binary) or expr.op not in TESTS or found.seen is None:
        return None
    moment, where = found.seen
    literals = [n for n in walk(expr) if isinstance(n, Literal)]
    if found.left is None or found.right is None or len(literals) != 1:
        return None
    with_left = any(n is literals[0] for n in walk(expr.left))
    side, wanted = (expr.left, found.right) if with_left else (expr.right, found.left)
    try:
        for changed in _candidates(expr, side, literals[0], wanted, moment, where):
            test = compile_test((changed,), own=where.own, keys=where.keys)
            if test is not None and test(moment):
                return changed
    except CepheidError:
        return None
    return None


def _candidates(
    expr: Binary, side: Expr, literal: Literal, wanted: Any, moment: Moment, where: Where
) -> Iterator[Expr]:
    """Rounder numbers first."""
    for value in _values(side, literal, wanted, moment, where):
        changed = _with(expr, literal, value)
        yield changed
        if expr.op in _INCLUSIVE:
            assert isinstance(changed, Binary)
            yield replace(changed, op=_INCLUSIVE[expr.op])


def _values(side: Expr, literal: Literal, wanted: Any, moment: Moment, where: Where) -> Iterator[Any]:
    if side is literal:
        plain = isinstance(wanted, (str, timedelta)) and type(wanted) is type(literal.value)
        if plain:
            yield wanted
        elif _number(wanted) and _number(literal.value):
            yield int(wanted) if float(wanted).is_integer() else wanted
        return
    exact = _solved(side, literal, wanted, moment, where)
    if exact is not None:
        yield from (float(f"{exact:.{digits}g}") for digits in (2, 3, 4) if not float(exact).is_integer())
        yield int(exact) if float(exact).is_integer() else exact


def _solved(side: Expr, literal: Literal, wanted: Any, moment: Moment, where: Where) -> float | None:
    """Where the side is a straight line in its literal: the value at which it is what is wanted."""
    if not _number(literal.value) or not _number(wanted):
        return None
    at = [_value(_with(side, literal, x), moment, where) for x in (0, 1, 2)]
    if not all(map(_number, at)):
        return None
    slope = at[1] - at[0]
    if not slope or abs((at[2] - at[1]) - slope) > 1e-9 * abs(slope):
        return None
    found = float((wanted - at[0]) / slope)
    return found if isfinite(found) else None


def _value(expr: Expr, moment: Moment, where: Where) -> Any:
    return compile_value(expr, own=where.own, keys=where.keys)(moment)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _with(expr: Expr, literal: Literal, value: Any) -> Expr:
    return rewrite(expr, lambda node: replace(literal, value=value) if node is literal else None)
