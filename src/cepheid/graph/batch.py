"""All matches of a pattern in a graph that is there as a whole: stage by stage, then windows, relations, choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cepheid.graph.edges import Edges, key_of
from cepheid.graph.finding import find, stands
from cepheid.graph.intervals import Interval, decided_at, related
from cepheid.graph.program import DONE
from cepheid.graph.threads import Hold, ReadyPattern, Thread


@dataclass(frozen=True)
class GraphMatch:
    pattern: str
    binds: dict[str, Any]
    intervals: tuple[
        tuple[str, Interval], ...
    ]  # of the stages, by name, in the order of their times; all rounds
    first: int  # the time of the first stage
    last: int  # of the last
    decided: int  # when it was certain: later, if it was waited for an interval to end
    edges: tuple[tuple[int, ...], ...] = ()  # of the stages, where it matters when they end

    def identity(self) -> Any:
        """Two that bind the same at the same times are one."""
        binds = tuple(sorted((name, key_of(value)) for name, value in self.binds.items()))
        return (self.pattern, repr(binds), tuple((name, i.start) for name, i in self.intervals), self.edges)


def interval(hold: Hold, edges: Edges, now: int | None = None) -> Interval:
    """While all edges of its node hold; if one of them ended before, it is a moment. Open, if it ends after now."""
    ends = [end for n in hold.edges if (end := edges[n].end) is not None and (now is None or end <= now)]
    return Interval(hold.time, max(hold.time, min(ends)) if ends else None)


def find_all(patterns: Iterable[ReadyPattern], edges: Edges) -> list[GraphMatch]:
    return [match for pattern in patterns if not pattern.pattern.private for match in find_in(pattern, edges)]


def find_in(pattern: ReadyPattern, edges: Edges) -> list[GraphMatch]:
    found: dict[Any, tuple[GraphMatch, int]] = {}
    for begun in pattern.begin():
        for thread, last_slot in _completed(pattern, edges, begun):
            match = matched(pattern, thread, edges)
            if match is not None:
                one = (match, pattern.program.slots[last_slot].alternative)
                key = match.identity()
                found[key] = min(found.get(key, one), one, key=_preferred)
    matches = sorted(found.values(), key=lambda m: (m[0].decided, m[0].last, repr(m[0].identity())))
    if pattern.program.shared is not None:
        matches = _not_excluded(pattern.program.shared, matches)
    return [match for match, _ in matches]


def _preferred(one: tuple[GraphMatch, int]) -> Any:
    """Of two that are one match: the first alternative, that is certain first, that lasts longest. In this way the
    answer does not depend on the order of the edges."""
    match, alternative = one
    return alternative, match.decided, [(i.end is not None, -(i.end or 0)) for _, i in match.intervals]


def _completed(pattern: ReadyPattern, edges: Edges, thread: Thread) -> Iterator[tuple[Thread, int]]:
    """Every way on from a thread to the end, and the slot that was the last."""
    number = pattern.wanted(thread)[0]  # of stages in any order, one order is as good as another
    stage = pattern.stages[number]
    for found in find(stage, edges, thread.binds, thread.floor):
        if stage.waits and not stands(stage, found, edges):
            continue
        advanced = pattern.advanced(thread, number, found, edges)
        if advanced is None:
            continue
        if not pattern.slot_done(advanced):
            yield from _completed(pattern, edges, advanced)
            continue
        rules = pattern.block_done(advanced)
        if rules is not None and any(guard.broken(advanced, edges) for guard in rules.guards):
            continue
        for moved in pattern.moved_on(advanced):
            if moved.slot == DONE:
                yield moved, advanced.slot
            else:
                yield from _completed(pattern, edges, moved)


def truth(thread: Thread, edges: Edges, now: int) -> bool | None:
    """Of all relations that a thread owes; None if an interval has yet to end."""
    found = [
        related(relation, interval(left, edges, now), interval(right, edges, now))
        for relation, left, right in thread.owed
    ]
    if False in found:
        return False
    return None if None in found else True


def matched(pattern: ReadyPattern, thread: Thread, edges: Edges) -> GraphMatch | None:
    """What a thread at its end says; None if not all that it owes is true, or if it took too many ticks."""
    decided, tick = thread.latest, thread.tick
    for relation, left, right in thread.owed:
        one, other = interval(left, edges), interval(right, edges)
        if related(relation, one, other) is not True:
            return None
        known = decided_at(relation, one, other)
        decided = max(decided, known)
        tick = max(
            tick, *(edges[n].end_tick for n in (*left.edges, *right.edges) if edges[n].end == known), 0
        )
    deadline = pattern.pattern.deadline
    if deadline is not None and tick - thread.created > deadline:
        return None
    holds = sorted(
        (*thread.past, *(h for h in thread.holds if h is not None)), key=lambda h: (h.time, h.stage)
    )
    names = pattern.program.stages
    intervals = tuple((names[h.stage].name, interval(h, edges)) for h in holds)
    numbers = tuple(h.edges for h in holds) if pattern.ends_matter else ()
    return GraphMatch(pattern.name, thread.binds, intervals, thread.first, thread.latest, decided, numbers)


def _not_excluded(
    shared: frozenset[str], matches: list[tuple[GraphMatch, int]]
) -> list[tuple[GraphMatch, int]]:
    """Without those whose thread was ended by a match of another alternative, that was certain before."""
    kept: list[tuple[GraphMatch, int]] = []
    for match, alternative in matches:
        values = shared_values(match.binds, shared)
        ended = any(
            other != alternative
            and shared_values(rival.binds, shared) == values
            and match.first < rival.decided < match.decided
            for rival, other in kept
        )
        if not ended:
            kept.append((match, alternative))
    return kept


def shared_values(binds: dict[str, Any], shared: frozenset[str]) -> Any:
    return tuple((name, key_of(binds.get(name))) for name in sorted(shared))
