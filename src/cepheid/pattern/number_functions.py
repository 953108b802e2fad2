"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

WIDE = Context(prec=400)
_MOST_DIGITS = 4000  # of an integer made from a decimal or a string


def absolute(x: Any) -> Any:
    return x.copy_abs() if isinstance(x, Decimal) else abs(x)


def round_half_up(x: Any, digits: int = 0) -> Any:
    """Half away from zero, by the decimal digits a number is written with."""
    if isinstance(x, int):
        return x if digits >= 0 else _round_whole(x, -digits)
    exact = x if isinstance(x, Decimal) else Decimal(repr(float(x)))
    exponent = exact.as_tuple().exponent
    if not isinstance(exponent, int) or exponent >= -digits:  # infinite, or no digits to round away
        return x
    if -digits > exact.adjusted() + 1:
        return type(x)(0)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, WIDE)
    return rounded if isinstance(x, Decimal) else float(rounded)


def _round_whole(x: int, zeros: int) -> int:
    if zeros > len(str(abs(x))):
        return 0
    unit: int = 10**zeros
    rounded = (2 * abs(x) + unit) // (2 * unit) * unit
    return -rounded if x < 0 else rounded


def whole(rounding: str) -> Callable[[Any], int | None]:
    """To an integer, by one of decimal's rules."""

    def whole(x: Any) -> int | None:
        if isinstance(x, int):
            return x
        exact = Decimal(x)
        if not exact.is_finite():
            return None
        if exact.adjusted() > _MOST_DIGITS:
            raise OverflowError
        return int(exact.to_integral_value(rounding))

    return whole


def possible(function: Callable[[Any], float]) -> Callable[[Any], float | None]:
    """Null where the function has no value."""

    def apply(x: Any) -> float | None:
        try:
            return function(x)
        except ValueError:
            return None

    return apply


def sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)
