"""Symbols of many events: which answers of tests there are, numbered as they come."""

from __future__ import annotations

from cepheid.trends.kernel.jit import entrance


@entrance
def note_firsts(bits, mask, shift, ranks, firsts):
    """The first event, by rank, that passes just these tests."""
    for i in range(len(bits)):
        own = (bits[i] & mask) >> shift
        if ranks[i] < firsts[own]:
            firsts[own] = ranks[i]


@entrance
def number_symbols(bits, mask, shift, numbers, found):
    for i in range(len(bits)):
        found[i] = numbers[(bits[i] & mask) >> shift]
