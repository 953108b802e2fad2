"""Totals by value: any range of them is what adding them one by one gives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from random import Random
from typing import Any

import pytest

from cepheid.pattern.model import TrendColumn
from cepheid.pattern.values import Clash
from cepheid.trends import totals_by_value
from cepheid.trends.measures import Measures
from cepheid.trends.totals_by_value import TotalsByValue

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
VALUES: dict[str, list[Any]] = {
    "whole numbers": list(range(40)),
    "numbers": [
        *range(-9, 9),
        *(x / 2 for x in range(-9, 9)),
        Decimal("0.5"),
        Decimal(3),
        2**70,
        float("inf"),
    ],
    "texts": ["", "a", "ab", "b", "ä", "z"],
    "times": [date(2024, 5, d) for d in range(1, 9)]
    + [datetime(2024, 5, d, 12, tzinfo=UTC) for d in range(1, 9)],
}


def moment(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


@pytest.mark.parametrize("kind", VALUES)
def test_ranges_are_what_adding_gives(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals_by_value, "_LARGE", 4)
    random, measures = Random(3), Measures([TrendColumn("n", "count_trends")], ())
    known = [(random.choice(VALUES[kind]), random.randrange(1, 100)) for _ in range(120)]
    index = TotalsByValue(measures)
    for value, count in known:
        index.add(value, (count,))
    for op, holds in OPERATORS.items():
        for value in VALUES[kind]:
            wanted = sum(count for other, count in known if holds(moment(value), moment(other)))
            assert index.matching(op, value) == (wanted,), (op, value)
    assert sum(totals[0] for _, totals in index) == sum(count for _, count in known)


def test_lists_are_equal_or_not_and_kinds_do_not_mix() -> None:
    index = TotalsByValue(Measures([TrendColumn("n", "count_trends")], ()))
    index.add([1, 2], (3,))
    index.add([1], (4,))
    assert index.matching("==", [1]) == (4,)
    assert index.matching("!=", [1]) == (3,)
    with pytest.raises(Clash):
        index.matching("<", [1])
    index.add("x", (1,))
    with pytest.raises(Clash):
        index.matching("<", 5)
