"""Patterns of a running sifter: switched off and on again, taken in and taken out."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.graph.happenings import Happening
from cepheid.graph.pool import Live
from cepheid.graph.replaying import adopted, replayed
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.graph.watch_list import WatchList


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


def take_in(sifter: Sifter, patterns: Sequence[ReadyPattern], past: bool) -> list[Happening]:
    """New patterns, after those that are there. They see edges from the next one on: a stage is found if its last edge
    comes from now on. With `past` they are as if they had been there always; what has happened to them is told."""
    replay = replayed(sifter, patterns) if past else None
    before = len(sifter.patterns)
    sifter.watch = WatchList([*sifter.patterns, *patterns])
    sifter.patterns = sifter.watch.patterns
    sifter.pool.use(sifter.watch, list(sifter.pool.live.values()))
    return [] if replay is None else adopted(sifter, replay, before)


def take_out(sifter: Sifter, pattern: int) -> list[Live]:
    """A pattern less. Its threads end, and are the answer; those after it are numbered anew."""
    ended = disable(sifter, pattern)
    sifter.watch = WatchList([p for number, p in enumerate(sifter.patterns) if number != pattern])
    sifter.patterns = sifter.watch.patterns

    def number(old: int) -> int:
        return old - (old > pattern)

    sifter.disabled = {number(old) for old in sifter.disabled if old != pattern}
    sifter._found = [(number(old), *rest) for old, *rest in sifter._found]  # type: ignore[misc]
    sifter._forbidden = [(number(old), *rest) for old, *rest in sifter._forbidden]  # type: ignore[misc]
    sifter.choices = sifter.choices.renumbered(lambda old: None if old == pattern else number(old))
    threads = [live._replace(pattern=number(live.pattern)) for live in sifter.pool.live.values()]
    sifter.pool.use(sifter.watch, threads)
    return ended
