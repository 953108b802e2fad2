"""What a thread knows of the windows of its block: which are looked after, which are over, which are broken."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.graph.edges import Edges
from cepheid.graph.guards import Guard
from cepheid.graph.threads import PieceRules, Thread


@dataclass(frozen=True)
class Watching:
    watched: frozenset[int] = frozenset()  # open, and all that ends them is seen as it comes
    settled: frozenset[int] = frozenset()  # over, and unbroken
    broken: tuple[tuple[int, int], ...] = ()  # open ones, and when: the thread is gone when that time is over

    def broken_at(self, guard: int) -> int | None:
        return next((time for number, time in self.broken if number == guard), None)


NOTHING = Watching()


def watching_after(
    before: Watching, rules: PieceRules, thread: Thread, edges: Edges, now: int
) -> Watching | None:
    """The same for a thread that has come further; None if a window is broken for good."""
    if not rules.guards:
        return before
    watched, settled, broken = set(before.watched), set(before.settled), dict(before.broken)
    for number, guard in enumerate(rules.guards):
        window = guard.window(thread)
        if number in settled or window is None:
            continue
        begin, end = window
        if number in watched:
            if end is not None:
                if broken.pop(number, end) < end or guard.breaks_itself(thread, edges):
                    return None
                watched.discard(number)
                settled.add(number)
        elif guard.needs <= thread.binds.keys():
            if end is not None:
                if guard.broken(thread, edges):
                    return None
                settled.add(number)
                continue
            first = _first_inside(guard, thread, edges, begin, now)
            if first is not None and first < now:
                return None
            if first is not None:
                broken[number] = first
            watched.add(number)
    if watched == before.watched and settled == before.settled:  # then nothing is broken that was not
        return before
    return Watching(frozenset(watched), frozenset(settled), tuple(broken.items()))


def _first_inside(guard: Guard, thread: Thread, edges: Edges, begin: int | None, now: int) -> int | None:
    """The time of the first that must not be, of those that came before the window was looked after."""
    if begin == now:
        return None
    times = (
        f.time for f in guard.inside(thread, edges, begin) if f.time < now or not guard.stage.waits
    )  # what is known only when its time is over is told then
    return min(times, default=None)
