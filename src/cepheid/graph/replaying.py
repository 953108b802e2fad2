"""What has happened to a graph, once more, for patterns that come later; and what they found, taken over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappush

from cepheid.graph.edges import Edge, Edges
from cepheid.graph.happenings import Advanced, Happening
from cepheid.graph.pool import Live
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern


class Replay:
    """A sifter of the new patterns alone that has seen what the other has seen."""

    def __init__(self, patterns: Sequence[ReadyPattern], completing_leaves: bool) -> None:
        self.sifter = Sifter(patterns, completing_leaves)
        self.told: list[Happening] = []

    def tick_to(self, tick: int) -> None:
        while self.sifter.tick < tick:
            self.told += self.sifter.end_tick()[1]


def replayed(sifter: Sifter, patterns: Sequence[ReadyPattern]) -> Replay:
    replay = Replay(patterns, sifter.completing_leaves)
    for tick, number, edge, closes in _history(sifter.edges):
        replay.tick_to(tick)
        assert not closes or edge.end is not None
        replay.told += replay.sifter.close(number, edge.end or 0) if closes else replay.sifter.add(edge)
    replay.tick_to(sifter.tick)
    replay.told += replay.sifter.come_as_far_as(sifter)
    return replay


def _history(edges: Edges) -> Iterator[tuple[int, int, Edge, bool]]:
    """Edges as they came, and ended: tick, number, edge, whether it ends.

    An end that was told in a later tick than the edge was told when time had come to it. All others may as well have
    been known from the beginning.
    """
    steps: list[tuple[int, int, bool, int]] = []
    for number, edge in enumerate(edges.all):
        steps.append((edge.tick, edge.start, False, number))
        if edge.end is not None and edge.end_tick > edge.tick:
            steps.append((edge.end_tick, edge.end, True, number))
    for tick, _, closes, number in sorted(steps):
        edge = edges[number]
        known = closes or edge.end_tick == edge.tick
        yield tick, number, edge if known else replace(edge, end=None), closes


def adopted(sifter: Sifter, replay: Replay, first: int) -> list[Happening]:
    """The replay's threads and matches, as those of patterns from a number on; what has happened to them."""
    new, ids = replay.sifter, sifter.pool.next_id - 1

    def number(thread: int) -> int:
        return thread + ids if thread else 0  # 0 is none

    for live in new.pool.live.values():
        sifter.pool.add(_moved(live, first, ids))
    sifter.pool.next_id += new.pool.next_id - 1
    sifter._found += [(first + pattern, stage, own) for pattern, stage, own in new._found]
    sifter._forbidden += [(first + pattern, *rest) for pattern, *rest in new._forbidden]  # type: ignore[misc]
    sifter._told |= new._told
    sifter._owing.update({number(thread): None for thread in new._owing})
    for heap, other in ((sifter._too_late, new._too_late), (sifter._deadlines, new._deadlines)):
        for moment, thread in other:
            heappush(heap, (moment, number(thread)))
    sifter.choices = sifter.choices.with_those(new.choices.renumbered(lambda pattern: first + pattern))
    sifter.done += new.done
    told = [replace(happening, thread=number(happening.thread)) for happening in replay.told]
    return sifter._noted(
        [_of_parent(h, number(h.parent or 0)) if isinstance(h, Advanced) else h for h in told]
    )


def _moved(live: Live, first: int, ids: int) -> Live:
    ancestors = tuple(a + ids for a in live.ancestors)
    return live._replace(id=live.id + ids, pattern=first + live.pattern, ancestors=ancestors)


def _of_parent(happening: Advanced, parent: int) -> Advanced:
    return replace(happening, parent=parent or None)
