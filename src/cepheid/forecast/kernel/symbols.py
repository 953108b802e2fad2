"""Symbols of many events: which answers of tests there are, numbered as they come."""

from __future__ import annotations

from cepheid.forecast.kernel.jit import made


def _note_firsts(stamp, entrance):
    @entrance
    def note_firsts(bits, mask, shift, ranks, firsts):
        """The first event, by rank, that passes just these tests."""
        for i in range(len(bits) if stamp >= 0 else 0):
            own = (bits[i] & mask) >> shift
            if ranks[i] < firsts[own]:
                firsts[own] = ranks[i]

    return note_firsts


def _number_symbols(stamp, entrance):
    @entrance
    def number_symbols(bits, mask, shift, numbers, found):
        for i in range(len(bits) if stamp >= 0 else 0):
            found[i] = numbers[(bits[i] & mask) >> shift]

    return number_symbols


note_firsts = made(_note_firsts)
number_symbols = made(_number_symbols)
