"""What is kept of a class of trends: how many they are, and what each aggregate needs to go on.

The totals of a class are one tuple: the number of trends, then a value for each measure. Totals of different trends
are added; an event taken by all trends of a class changes all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from cepheid.errors import EvaluationError
from cepheid.matching.evaluation_errors import short
from cepheid.matching.fields import reader
from cepheid.pattern.event import Event
from cepheid.pattern.model import TrendColumn
from cepheid.pattern.trends import COUNT_EVENTS, COUNT_TRENDS
from cepheid.pattern.values import Clash, extreme, kind_text
from cepheid.plan.automaton import Position
from cepheid.trends.sums import NOTHING, Sum, sum_of

Totals = tuple[Any, ...]
EVENTS, SUM, MIN, MAX = "events", "sum", "min", "max"
_KINDS = {COUNT_EVENTS: EVENTS, "sum_trends": SUM, "avg_trends": SUM, "min_trends": MIN, "max_trends": MAX}


class Measure(NamedTuple):
    """Something added up over trends: the events of a step, or a field of them."""

    kind: str
    alias: str | None
    path: tuple[str, ...]


class Measures:
    """The measures that some columns need."""

    def __init__(self, columns: Sequence[TrendColumn], positions: Sequence[Position]) -> None:
        self.columns = tuple(columns)
        found = dict.fromkeys(measure_of(c) for c in columns if c.function != COUNT_TRENDS)
        self.measures = tuple(found)
        self.numbers = {measure: i + 1 for i, measure in enumerate(self.measures)}
        self.empty: Totals = (0, *(_EMPTY[m.kind] for m in self.measures))
        self.one: Totals = (1, *self.empty[1:])  # the trend that has not begun
        self._of = [self._changes(position.step.alias) for position in positions]
        self.adders = tuple(_ADD[m.kind] for m in self.measures)

    def _changes(self, alias: str | None) -> list[tuple[int, Measure, Callable[[Event], Any]]]:
        return [
            (i, m, reader(m.path)) for m, i in self.numbers.items() if alias is not None and m.alias == alias
        ]

    def taken(self, totals: Totals, position: int, event: Event) -> Totals:
        """All trends of a class with the event at the position."""
        changes = self._of[position]
        if not changes:
            return totals
        new = list(totals)
        for i, measure, read in changes:
            value = 1 if measure.kind == EVENTS else read(event)
            try:
                new[i] = _TAKE[measure.kind](totals[i], totals[0], value)
            except Clash as clash:
                self._refuse(measure, clash)
        return tuple(new)

    def added(self, one: Totals, other: Totals) -> Totals:
        """Two classes as one. No trend is in both."""
        if len(one) == 1:
            return (one[0] + other[0],)
        try:
            rest = [add(a, b) for add, a, b in zip(self.adders, one[1:], other[1:], strict=True)]
        except Clash as clash:
            self._refuse(self.measures[0], clash)
        return (one[0] + other[0], *rest)

    def joined(self, one: Totals, other: Totals) -> Totals:
        """Every trend of one class followed by every trend of the other."""
        if len(one) == 1:
            return (one[0] * other[0],)
        rest = [
            _JOIN[m.kind](a, b, one[0], other[0])
            for m, a, b in zip(self.measures, one[1:], other[1:], strict=True)
        ]
        return (one[0] * other[0], *rest)

    def values(self, totals: Totals) -> tuple[Any, ...]:
        """The columns."""
        return tuple(self._value(column, totals) for column in self.columns)

    def _value(self, column: TrendColumn, totals: Totals) -> Any:
        if column.function == COUNT_TRENDS:
            return totals[0]
        kept = totals[self.numbers[measure_of(column)]]
        try:
            if column.function == "sum_trends":
                return kept.value()
            return kept.mean() if column.function == "avg_trends" else kept
        except ArithmeticError:
            raise EvaluationError(
                f"the result of `{column.name}: {column.function}(...)` is too large for a float",
                code="overflow",
                place=column.place,
            ) from None

    def _refuse(self, measure: Measure, clash: Clash) -> NoReturn:
        column = next(c for c in self.columns if c.function != COUNT_TRENDS and measure_of(c) == measure)
        raise EvaluationError(
            f"`{column.function}({measure.alias}.{'.'.join(measure.path)})` cannot work on "
            f"{short(clash.left)}, which is {kind_text(clash.left)}",
            code="type_clash",
            place=column.place,
            hint="sums and means are of numbers; least and largest of values that can be compared",
        )


def measure_of(column: TrendColumn) -> Measure:
    return Measure(_KINDS[column.function], column.alias, column.path)


def _least(one: Any, other: Any) -> Any:
    return extreme((one, other), largest=False)


def _largest(one: Any, other: Any) -> Any:
    return extreme((one, other), largest=True)


_EMPTY: dict[str, Any] = {EVENTS: 0, SUM: NOTHING, MIN: None, MAX: None}
_ADD: dict[str, Callable[[Any, Any], Any]] = {
    EVENTS: lambda one, other: one + other,
    SUM: Sum.plus,
    MIN: _least,
    MAX: _largest,
}
# A total, how many trends it is of, and the value of the event they all take.
_TAKE: dict[str, Callable[[Any, int, Any], Any]] = {
    EVENTS: lambda total, trends, value: total + trends,
    SUM: lambda total, trends, value: total.plus(sum_of(value).times(trends)),
    MIN: lambda total, trends, value: _least(total, value),
    MAX: lambda total, trends, value: _largest(total, value),
}
# Two totals, and how many trends each is of: neither is of none.
_JOIN: dict[str, Callable[[Any, Any, int, int], Any]] = {
    EVENTS: lambda one, other, n, m: one * m + other * n,
    SUM: lambda one, other, n, m: one.times(m).plus(other.times(n)),
    MIN: lambda one, other, n, m: _least(one, other),
    MAX: lambda one, other, n, m: _largest(one, other),
}
