"""Patterns of a sifter switched off and on again."""

from __future__ import annotations

from cepheid.graph.pool import Live
from cepheid.graph.sifter import Sifter


def disable(sifter: Sifter, pattern: int) -> list[Live]:
    """The pattern sees no more edges. Its threads end: they could not know what must not be while it looks away."""
    sifter.disabled.add(pattern)
    sifter._found = [found for found in sifter._found if found[0] != pattern]
    sifter._forbidden = [found for found in sifter._forbidden if found[0] != pattern]
    mine = [live.id for live in sifter.pool.live.values() if live.pattern == pattern]
    return [sifter.pool.remove(number) for number in mine]


def enable(sifter: Sifter, pattern: int) -> None:
    """It sees edges again, from the next one on."""
    sifter.disabled.discard(pattern)
