"""Deterministic match ids: two 64-bit lanes over whole numbers, so that compiled engines can compute the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

_MASK = (1 << 64) - 1
LANES = ((0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), (0xC2B2AE3D27D4EB4F, 0x94D049BB133111EB))


def _mix(state: int, word: int, lane: tuple[int, int]) -> int:
    x = (state ^ (word & _MASK)) * lane[0] & _MASK
    x ^= x >> 29
    x = x * lane[1] & _MASK
    return x ^ (x >> 32)


def text_word(text: str) -> int:
    """A pattern's name, or a partition key's canonical text, as one number."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def key_text(key: tuple[Any, ...]) -> str:
    """A partition key as canonical text: values that are equal as keys have equal texts."""
    return "\x1f".join(_value_text(v) for v in key)


def _value_text(value: Any) -> str:
    if value is None:
        return "n"
    if isinstance(value, bool):
        return f"b{value:d}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    kind = (
        "s" if isinstance(value, str) else "d" if isinstance(value, (int, float)) else type(value).__name__[0]
    )
    return f"{kind}{value}"


def match_id(pattern_word: int, key_word: int, events: Iterable[tuple[int, int, int]]) -> str:
    """32 hex digits from the pattern, the partition and (place, time, rank) of each event."""
    words = [pattern_word, key_word]
    for place, time, rank in events:
        words += [place, time, rank]
    lanes = []
    for lane in LANES:
        state = len(words)
        for word in words:
            state = _mix(state, word, lane)
        lanes.append(state)
    return "".join(f"{lane:016x}" for lane in lanes)
