"""Decimals as the words the kernel calculates with (see kernel/decimals.py)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.matching.compiled.kernel.decimals import LARGEST, MOST_SCALE, SCALE_BITS, TOO_LARGE

Numbers = npt.NDArray[np.int64]


def word_of(number: Decimal | int) -> int:
    """One value.

    >>> word_of(Decimal("1.50")) == word_of(Decimal("1.5")) == 15 << SCALE_BITS | 1
    True
    >>> word_of(Decimal("1E+30")) == word_of(Decimal("Infinity")) == TOO_LARGE
    True
    """
    value = Decimal(number)
    if value == 0:
        return 0
    if not value.is_finite() or not -2 * MOST_SCALE <= value.adjusted() <= MOST_SCALE:
        return TOO_LARGE
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole, scale = int("".join(map(str, digits))) * 10 ** max(exponent, 0), max(-exponent, 0)
    while scale > 0 and whole % 10 == 0:
        whole, scale = whole // 10, scale - 1
    if whole > LARGEST or scale > MOST_SCALE:
        return TOO_LARGE
    word: int = (-whole if sign else whole) << SCALE_BITS | scale
    return word


def as_words(values: Sequence[Decimal | int | None]) -> pa.Array:
    return pa.array([None if value is None else word_of(value) for value in values], pa.int64())


def words_of(values: pa.Array) -> pa.Array:
    """A column of decimals as words: all at once where their digits fit 64 bits, the others one by one."""
    kind = values.type
    if not len(values) or not pa.types.is_decimal128(kind) or not 0 <= kind.scale <= MOST_SCALE:
        return as_words(values.to_pylist())
    pairs = np.frombuffer(values.buffers()[1], np.int64)[
        2 * values.offset : 2 * (values.offset + len(values))
    ]
    digits, high = pairs[::2].copy(), pairs[1::2]
    scales = np.full(len(values), kind.scale, np.int64)
    known = values.is_valid().to_numpy(zero_copy_only=False)
    wide = np.flatnonzero(known & (high != digits >> 63))
    if len(wide) and kind.scale >= _ZEROS:
        shorter, even = _without_zeros(digits[wide], high[wide])
        digits[wide[even]], scales[wide[even]] = shorter[even], kind.scale - _ZEROS
        wide = wide[~even]
    words = _packed(digits, scales)
    if len(wide):
        words[wide] = as_words(values.take(pa.array(wide)).to_pylist()).to_numpy()
    return pa.array(words, mask=np.invert(known))


_ZEROS = 9


def _without_zeros(low: Numbers, high: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Numbers of 128 bits without nine zeros at the end, and which of them have these zeros and then fit 64 bits.

    Long division, 32 bits at a time, of the number without its sign.
    """
    negative = high < 0
    carry = (low == 0).astype(np.int64)
    halves = [
        half.view(np.uint64)
        for half in (np.where(negative, ~high + carry, high), np.where(negative, -low, low))
    ]
    quotient = np.zeros(len(low), np.uint64)
    rest = np.zeros(len(low), np.uint64)
    fits = np.ones(len(low), np.bool_)
    for half in halves:
        for part in (half >> np.uint64(32), half & np.uint64(2**32 - 1)):
            fits &= quotient < 2**30  # what is pushed out must be nothing, and the sign's bit stay free
            rest = (rest << np.uint64(32)) | part
            quotient = (quotient << np.uint64(32)) | (rest // np.uint64(10**_ZEROS))
            rest %= np.uint64(10**_ZEROS)
    found = quotient.view(np.int64)
    return np.where(negative, -found, found), fits & (rest == 0)


def _packed(digits: Numbers, scales: Numbers) -> Numbers:
    for _ in range(MOST_SCALE):
        shorter = np.flatnonzero((digits % 10 == 0) & (scales > 0))
        if not len(shorter):
            break
        digits[shorter] //= 10
        scales[shorter] -= 1
    fits = (digits <= LARGEST) & (digits >= -LARGEST)
    return np.where(fits, (digits << SCALE_BITS) | scales, TOO_LARGE)
