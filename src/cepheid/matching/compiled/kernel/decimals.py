"""Decimals as one word: the digits as a whole number, and how many of them stand after the point.

The last digit after the point is not 0, so a number has one form only. What takes more room is TOO_LARGE: the machine
gives up where it meets one, and the reference matcher, which has room, does the key.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner

SCALE_BITS, SCALE = 5, 31
MOST_SCALE = 18  # digits after the point
LARGEST = 2**58 - 1  # 17 digits; ten times as much still fits a word
TOO_LARGE = -(2**63)
EXACT_IN_FLOAT = 2**53

FLOOR, CEILING, DOWN, HALF_UP = range(4)  # how to round


@inner
def decimal_of(digits, scale):
    while scale > 0 and digits % 10 == 0:
        digits //= 10
        scale -= 1
    if abs(digits) > LARGEST or scale > MOST_SCALE:
        return np.int64(TOO_LARGE)
    return (digits << SCALE_BITS) | scale


@inner
def _aligned(a, b):
    """The digits of both and what stands after the point; one that grows too large stays behind (-1)."""
    x, y, scale, other = a >> SCALE_BITS, b >> SCALE_BITS, a & SCALE, b & SCALE
    while scale < other and abs(x) <= LARGEST:
        x *= 10
        scale += 1
    while other < scale and abs(y) <= LARGEST:
        y *= 10
        other += 1
    return x, y, (scale if scale == other else np.int64(-1))


@inner
def decimal_order(a, b):
    """Below, at or above 0. One that grew too large is larger than the other can be."""
    x, y, _ = _aligned(a, b)
    return x - y


@inner
def decimal_sum(a, b):
    x, y, scale = _aligned(a, b)
    return decimal_of(x + y, scale) if scale >= 0 else np.int64(TOO_LARGE)


@inner
def decimal_negative(a):
    return (-(a >> SCALE_BITS) << SCALE_BITS) | (a & SCALE)


@inner
def decimal_product(a, b):
    x, y = a >> SCALE_BITS, b >> SCALE_BITS
    if abs(np.float64(x) * np.float64(y)) >= 9.0e18:
        return np.int64(TOO_LARGE)
    return decimal_of(x * y, (a & SCALE) + (b & SCALE))


@inner
def decimal_remainder(a, b):
    """With the sign of the dividend; the divisor is not 0."""
    x, y, scale = _aligned(a, b)
    if scale < 0:
        return np.int64(TOO_LARGE)
    rest = abs(x) % abs(y)
    return decimal_of(-rest if x < 0 else rest, scale)


@inner
def decimal_quotient(a, b):
    """As a double, and whether it is the nearest one: where both are exact as doubles, their quotient is rounded once.

    The quotient of 38 digits that the reference has lies on the same side of whatever separates two doubles.
    """
    x, y, scale = _aligned(a, b)
    exact = scale >= 0 and abs(x) <= EXACT_IN_FLOAT and abs(y) <= EXACT_IN_FLOAT
    return np.float64(x) / np.float64(y), exact


@inner
def decimal_rounded(a, digits, how):
    """To so many digits after the point."""
    x, scale = a >> SCALE_BITS, a & SCALE
    if scale <= digits:
        return a
    unit = np.int64(1)
    for _ in range(scale - digits):
        unit *= 10
    whole, rest = abs(x) // unit, abs(x) % unit
    if how == HALF_UP:
        up = 2 * rest >= unit
    else:
        up = rest > 0 and how == (CEILING if x > 0 else FLOOR)
    whole += up
    return decimal_of(-whole if x < 0 else whole, digits)
