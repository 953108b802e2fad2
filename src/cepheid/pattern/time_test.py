"""Tests of the time between two events: `?a after[0, 5m] ?b`. Plain data, apart from rules: every parser knows them."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expr import Expr


@dataclass(frozen=True)
class Span:
    """A distance of time: in ticks of the clock, or in microseconds. It may be negative."""

    amount: int
    ticks: bool = False

    def microseconds(self, tick: int) -> int:
        """
        >>> Span(3, ticks=True).microseconds(tick=1_000), Span(3).microseconds(tick=1_000)
        (3000, 3)
        """
        return self.amount * tick if self.ticks else self.amount


@dataclass(frozen=True)
class TimeTest(Expr):
    """`left after[low, high] right`: the time of `left` less that of `right` lies in it, both ends included.

    No bound is an infinite one. `left before[m, M] right` is `right after[m, M] left`.
    """

    left: str  # names of variables that stand for events, or THIS
    right: str
    low: Span | None = None
    high: Span | None = None
