"""Aggregates over what a closure captured."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from cepheid.matching.arithmetic import ADD, divide_decimal, find_operation
from cepheid.matching.evaluation_errors import raise_clash, raise_overflow
from cepheid.matching.fields import reader
from cepheid.matching.moment import Moment, Value
from cepheid.pattern.expr import Aggregate
from cepheid.pattern.values import Clash, clean, extreme, identity, kind_of


def aggregate(expr: Aggregate) -> Value:
    alias, read, combine = expr.alias, reader(expr.path), _COMBINE[expr.name]

    def aggregate(moment: Moment) -> Any:
        found = [read(event) for event in moment.binds.get(alias, ())]
        values = [value for value in found if value is not None]
        try:
            return clean(combine(values))
        except Clash as clash:
            raise_clash(expr, clash, f"cannot be put into one {expr.name}", "+")
        except ArithmeticError:
            raise_overflow(expr)

    return aggregate


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    kinds = {kind_of(value) for value in values}
    if kinds <= {"int", "float"}:
        return sum(values) if kinds == {"int"} else _float_sum(values)
    total = values[0]
    if kind_of(total) not in ("decimal", "duration", "int", "float"):
        raise Clash(total, values[-1])
    for value in values[1:]:
        total = find_operation(ADD, total, value)(total, value)
    return total


def _float_sum(values: list[Any]) -> float | None:
    # Exactly rounded, so the order of the events and the version of Python do not matter.
    try:
        return math.fsum(values)
    except ValueError:  # inf and -inf
        return None


def _average(values: list[Any]) -> Any:
    total = _sum(values)
    if total is None:
        return None
    if isinstance(total, timedelta):
        raise Clash(values[0], values[-1])
    return divide_decimal(total, len(values)) if isinstance(total, Decimal) else total / len(values)


def _deviation(values: list[Any]) -> float | None:
    """Of a sample, in two passes."""
    if any(kind_of(value) not in ("int", "float", "decimal") for value in values):
        raise Clash(values[0], values[-1])
    if len(values) < 2:
        return None
    numbers = [float(value) for value in values]
    if any(math.isinf(number) for number in numbers):
        return None
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1))


def _distinct(values: list[Any]) -> int:
    return len({identity(value) for value in values})


_COMBINE: dict[str, Callable[[list[Any]], Any]] = {
    "sum": _sum,
    "avg": _average,
    "min": lambda values: extreme(values, largest=False),
    "max": lambda values: extreme(values, largest=True),
    "stddev": _deviation,
    "distinct_count": _distinct,
    "collect": lambda values: values,
}
