"""Sums that are exact until they are asked for: whole numbers, floats and decimals side by side.

A float is a whole number of the smallest float there is, so a sum of floats is one of whole numbers: it does not depend
on the order in which engines add, and is rounded once, at the end.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from cepheid.matching.arithmetic import divide_decimal
from cepheid.pattern.values import Clash, kind_of

_SMALLEST = 1 << 1074  # so many of the smallest floats make 1
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_FLOAT, _DECIMAL, _UP, _DOWN = 1, 2, 4, 8


class Sum(NamedTuple):
    """A sum of values, each as often as trends hold it."""

    values: int = 0  # those that are not null
    whole: int = 0
    binary: int = 0  # in units of the smallest float
    decimal: Decimal = Decimal(0)
    kinds: int = 0  # what else than whole numbers there was

    def plus(self, other: Sum) -> Sum:
        if not (self.kinds or other.kinds):
            return Sum(self.values + other.values, self.whole + other.whole)
        return Sum(
            self.values + other.values,
            self.whole + other.whole,
            self.binary + other.binary,
            _EXACT.add(self.decimal, other.decimal),
            self.kinds | other.kinds,
        )

    def times(self, n: int) -> Sum:
        """Each value n times as often."""
        if not self.kinds:
            return Sum(self.values * n, self.whole * n)
        decimal = _EXACT.multiply(self.decimal, Decimal(n))
        return Sum(self.values * n, self.whole * n, self.binary * n, decimal, self.kinds if n else 0)

    def value(self) -> Any:
        """The sum; null where there is no value, or infinities of both signs."""
        if not self.values:
            return None
        if self.kinds & (_UP | _DOWN):
            return self._infinite()
        if self.kinds & _FLOAT:
            return self._float(1)
        return self.whole if not self.kinds else _EXACT.add(Decimal(self.whole), self.decimal)

    def mean(self) -> Any:
        if not self.values:
            return None
        if self.kinds & (_UP | _DOWN):
            return self._infinite()
        if self.kinds & _FLOAT:
            return self._float(self.values)
        if self.kinds & _DECIMAL:
            return divide_decimal(_EXACT.add(Decimal(self.whole), self.decimal), self.values)
        return self.whole / self.values

    def _infinite(self) -> float | None:
        up, down = bool(self.kinds & _UP), bool(self.kinds & _DOWN)
        return None if up and down else math.inf if up else -math.inf

    def _float(self, share: int) -> float:
        units = self.whole * _SMALLEST + self.binary
        if self.kinds & _DECIMAL:
            exact = (Fraction(units, _SMALLEST) + Fraction(self.decimal)) / share
            return float(exact)
        return units / (_SMALLEST * share)  # Python divides whole numbers exactly and rounds once


NOTHING = Sum()


def sum_of(value: Any) -> Sum:
    """One value, once; null is none."""
    kind = kind_of(value)
    if kind == "null":
        return NOTHING
    if kind == "int":
        return Sum(1, value)
    if kind == "float":
        if math.isinf(value):
            return Sum(1, kinds=_FLOAT | (_UP if value > 0 else _DOWN))
        numerator, denominator = value.as_integer_ratio()
        return Sum(1, binary=numerator * (_SMALLEST // denominator), kinds=_FLOAT)
    if kind == "decimal":
        if value.is_infinite():
            return Sum(1, kinds=_DECIMAL | (_UP if value > 0 else _DOWN))
        return Sum(1, decimal=value, kinds=_DECIMAL)
    raise Clash(value, value)
