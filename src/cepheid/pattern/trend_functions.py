"""Aggregates over trends, for `.trend_aggregate` in Python."""

from __future__ import annotations

from cepheid.pattern.conditions import Aliased, Value, alias_of, func
from cepheid.pattern.expr import Call, Field


def count_trends() -> Value:
    """How many trends (matches under `subsets`) there are.

    >>> from cepheid import event
    >>> a, b = event("A").as_("a"), event("B").as_("b").one_or_more()
    >>> print((a >> b).trend_aggregate(n=count_trends(), most=max_trends(b.v)))
    A as a -> B+ as b .trend_aggregate(n: count_trends(), most: max_trends(b.v))
    """
    return func.count_trends()


def count_events(step: Aliased | str) -> Value:
    """How many events of a step all trends hold together.

    Args:
        step: The step, or its name.
    """
    return Value(Call("count_events", (Field(None, (alias_of(step),)),)))


def sum_trends(value: Value) -> Value:
    """The sum of a field over the events of a step in all trends.

    Args:
        value: A field of a step, as `b.price`.
    """
    return func.sum_trends(value)


def avg_trends(value: Value) -> Value:
    """The mean of a field over the events of a step in all trends.

    Args:
        value: A field of a step, as `b.price`.
    """
    return func.avg_trends(value)


def min_trends(value: Value) -> Value:
    """The least value of a field that any trend holds.

    Args:
        value: A field of a step, as `b.price`.
    """
    return func.min_trends(value)


def max_trends(value: Value) -> Value:
    """The largest value of a field that any trend holds.

    Args:
        value: A field of a step, as `b.price`.
    """
    return func.max_trends(value)
