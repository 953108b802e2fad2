"""Patterns over edges that come one by one: each edge ends, begins and advances threads, in this order.

Edges come in the order of their starts. Those of one time may come in any order, and the answer is the same: what
depends on all of them is told when the time is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from cepheid.graph.batch import GraphMatch, matched, shared_values, truth
from cepheid.graph.edges import Edge, Edges, key_of
from cepheid.graph.finding import Found, completed, own_edges, stands
from cepheid.graph.happenings import Advanced, Completed, Excluded, Expired, Happening, Negated, TickDelta
from cepheid.graph.pool import Live, Pool
from cepheid.graph.program import DONE
from cepheid.graph.threads import ReadyPattern, Thread
from cepheid.graph.watch_list import WatchList
from cepheid.graph.watching import NOTHING, Watching, watching_after


class Sifter:
    """Patterns, a graph that grows, and the threads of matches that are not complete."""

    def __init__(self, patterns: Sequence[ReadyPattern], completing_leaves: bool = False) -> None:
        self.patterns = [p for p in patterns if not p.pattern.private]
        self.completing_leaves = completing_leaves
        self.edges = Edges()
        self.pool = Pool(self.patterns)
        self.watch = WatchList(self.patterns)
        self.tick = 0
        self.disabled: set[int] = set()
        self.done: list[GraphMatch] = []  # until they are drained
        self._now: int | None = None  # the time that is not over
        self._found: list[tuple[int, int, Found]] = []  # in this time: patterns, stages
        self._forbidden: list[tuple[int, int, int, Found]] = []  # patterns, pieces, guards
        self._told: set[Any] = set()  # matches of this time
        self._owing: dict[
            int, None
        ] = {}  # threads at their end whose relations may be decided when it is over
        self._chosen: defaultdict[tuple[int, Any], list[tuple[int, GraphMatch]]] = defaultdict(list)
        self._choices = 0  # how many matches are in there
        self._most_choices = 64  # before it is looked which of them still matter
        self._new_choices: list[tuple[int, int, GraphMatch]] = []  # patterns, alternatives
        self._ends: list[tuple[int, int]] = []  # by time: edges whose end is known before
        self._too_late: list[tuple[int, int]] = []  # by time: threads whose pattern has a `within`
        self._deadlines: list[tuple[int, int]] = []  # by tick
        self._delta: defaultdict[str, list[str]] = defaultdict(list)

    @property
    def active(self) -> int:
        """Threads that may still become matches."""
        return sum(1 for live in self.pool.live.values() if not live.watching.broken)

    # Edges.

    def add(self, edge: Edge) -> list[Happening]:
        """An edge that is new, or one that is known and ends."""
        known = self.edges.number(edge)
        told = self._until(edge.start)
        number, new = self.edges.add(replace(edge, tick=self.tick, end_tick=self.tick))
        if new and edge.end is not None and edge.end > self._time:
            heappush(self._ends, (edge.end, number))  # known before its time
        if known is None:
            told += self._came(number)
        elif new:
            self._ended(number)
        return self._noted(told)

    def close(self, number: int, end: int) -> list[Happening]:
        """An edge that was open ends."""
        told = self._until(end)
        if self.edges.close(number, end, self.tick):
            self._ended(number)
        return self._noted(told)

    def _ended(self, number: int) -> None:
        self._owing.update(dict.fromkeys(self.pool.owing_to(number)))

    def _came(self, number: int) -> list[Happening]:
        edge = self.edges[number]
        told: list[Happening] = []
        for pattern, piece, guard in self.watch.guards(edge, self.edges):
            if pattern not in self.disabled:
                told += self._negated_by(pattern, piece, guard, number)
        for pattern, stage in self.watch.stages(edge, self.edges):
            if pattern not in self.disabled:
                told += self._advanced_by(pattern, stage, number)
        return told

    # What must not be.

    def _negated_by(self, pattern: int, piece: int, guard: int, number: int) -> Iterator[Happening]:
        stage = self.patterns[pattern].rules[piece].guards[guard].stage
        for own in own_edges(stage, self.edges, {}, number):
            if stage.waits:
                self._forbidden.append((pattern, piece, guard, own))
            else:
                yield from self._broken_by(pattern, piece, guard, own)

    def _broken_by(self, pattern: int, piece: int, number: int, own: Found) -> Iterator[Happening]:
        guard = self.patterns[pattern].rules[piece].guards[number]
        for live in self.pool.watching(pattern, piece, number, own.binds):
            if live.watching.broken_at(number) is not None:
                continue
            window = guard.window(live.thread)
            if window is None or (window[0] is not None and own.time <= window[0]):
                continue
            by = guard.completed(own, live.thread, self.edges)
            if by is None:
                continue
            if not live.watching.broken:
                yield Negated(self.patterns[pattern].name, live.id, live.thread.binds, number, by.binds)
            broken = (*live.watching.broken, (number, own.time))
            self.pool.change(live, watching=replace(live.watching, broken=broken))

    # Begin and advance.

    def _advanced_by(self, pattern: int, stage: int, number: int) -> Iterator[Happening]:
        ready = self.patterns[pattern]
        for own in own_edges(ready.stages[stage], self.edges, {}, number):
            if ready.remembered(stage):
                self._found.append((pattern, stage, own))
            if not ready.waits(stage):
                yield from self._joined(pattern, stage, own)

    def _joined(self, pattern: int, stage: int, own: Found) -> Iterator[Happening]:
        ready = self.patterns[pattern]
        slot = ready.slot_of[stage]
        waiting = self.pool.waiting(pattern, slot, stage, own.binds)
        for begun in ready.begin():
            if begun.slot == slot:
                yield from self._stepped(Live(0, pattern, begun), stage, own)
        for live in waiting:
            if live.id in self.pool.live:
                yield from self._stepped(live, stage, own)

    def _stepped(self, live: Live, number: int, own: Found) -> Iterator[Happening]:
        ready = self.patterns[live.pattern]
        stage = ready.stages[number]
        for found in completed(stage, own, self.edges, live.thread.binds):
            if stage.waits and not stands(stage, found, self.edges):
                continue
            thread = ready.advanced(live.thread, number, found, self.edges)
            if thread is None:
                continue
            rules = ready.rules[ready.program.slots[thread.slot].piece]
            watching = watching_after(live.watching, rules, thread, self.edges, self._time)
            if watching is None:
                continue
            if not ready.slot_done(thread):
                yield from self._entered(live, thread, number, watching)
                continue
            for moved in ready.moved_on(thread):
                yield from self._moved(live, thread, moved, number, watching)

    def _moved(
        self, live: Live, thread: Thread, moved: Thread, number: int, watching: Watching
    ) -> Iterator[Happening]:
        ready = self.patterns[live.pattern]
        if moved.slot == DONE:
            yield from self._at_its_end(live, moved, number, thread.slot)
            return
        rules = ready.block_done(thread)
        if rules is not None:  # another block, or another round
            rules = ready.rules[ready.program.slots[moved.slot].piece]
            again = watching_after(NOTHING, rules, moved, self.edges, self._time)
            if again is None:
                return
            watching = again
        yield from self._entered(live, moved, number, watching)

    @property
    def _time(self) -> int:
        assert self._now is not None
        return self._now

    def _entered(self, live: Live, thread: Thread, number: int, watching: Watching) -> Iterator[Happening]:
        """A new thread, unless there is one like it."""
        ready = self.patterns[live.pattern]
        if self.pool.known(live.pattern, thread) or self._lost_before(live.pattern, thread):
            return
        stage = ready.program.stages[number].name
        new = self.pool.born(live, thread, stage, watching)
        if ready.pattern.within is not None:
            heappush(self._too_late, (thread.first + ready.pattern.within, new.id))
        if ready.pattern.deadline is not None:
            heappush(self._deadlines, (thread.created + ready.pattern.deadline, new.id))
        if not watching.broken:
            yield Advanced(ready.name, new.id, thread.binds, stage, live.id or None)

    # Complete.

    def _at_its_end(self, live: Live, thread: Thread, number: int, slot: int) -> Iterator[Happening]:
        ready = self.patterns[live.pattern]
        alternative = ready.program.slots[slot].alternative
        if not thread.owed:
            yield from self._complete(live, thread, alternative)
            return
        decided = truth(thread, self.edges, self._time) if ready.decides_at_once else None
        if decided is True:
            yield from self._complete(live, thread, alternative)
        elif decided is None and not self.pool.known(live.pattern, thread):
            stage = ready.program.stages[number].name
            new = self.pool.born(live, thread, stage, NOTHING, alternative)
            if ready.pattern.deadline is not None:
                heappush(self._deadlines, (thread.created + ready.pattern.deadline, new.id))
            self._owing[new.id] = None
            yield Advanced(ready.name, new.id, thread.binds, stage, live.id or None)

    def _complete(self, live: Live, thread: Thread, alternative: int) -> Iterator[Happening]:
        ready = self.patterns[live.pattern]
        match = matched(ready, thread, self.edges)
        if match is None or match.identity() in self._told:
            return
        if ready.program.shared is not None:
            choice = (live.pattern, shared_values(match.binds, ready.program.shared))
            if _ended_by(self._chosen[choice], alternative, match.first, match.decided):
                return
            self._chosen[choice].append((alternative, match))
            self._choices += 1
            self._new_choices.append((live.pattern, alternative, match))
        self._told.add(match.identity())
        self.done.append(match)
        for number in (*live.ancestors, live.id):
            if number in self.pool.live:
                self.pool.change(self.pool.live[number], met=True)
        if self.completing_leaves and live.id in self.pool.live:
            self.pool.remove(live.id)
        yield Completed(ready.name, live.id, match.binds, match)

    def _lost_before(self, pattern: int, thread: Thread) -> bool:
        """Has another alternative completed with the same shared values, since the thread began?"""
        ready = self.patterns[pattern]
        shared = ready.program.shared
        if shared is None or not shared <= thread.binds.keys():
            return False
        rivals = self._chosen.get((pattern, shared_values(thread.binds, shared)), [])
        alternative = ready.program.slots[thread.slot].alternative
        return _ended_by(rivals, alternative, thread.first, self._time) is not None

    # The end of a time.

    def finish(self) -> list[Happening]:
        """No more edges of this time will come."""
        return self._noted(self._over())

    def finish_all(self) -> list[Happening]:
        """No more edges will come at all: ends that are known before their time are reached."""
        told = self._over()
        while self._ends:
            told += self._until(self._ends[0][0])
            told += self._over()
        return self._noted(told)

    def _until(self, time: int) -> list[Happening]:
        """The time that is not over is over, and so are all times before this at which an edge ends."""
        told: list[Happening] = []
        if self._now is not None and time > self._now:
            told = self._over()
        while self._now is None and self._ends and self._ends[0][0] < time:
            self._begin(self._ends[0][0])
            told += self._over()
        if self._now is None:
            self._begin(time)
            told += self._expired_by_time(time)
        return told

    def _begin(self, time: int) -> None:
        self._now = time
        while self._ends and self._ends[0][0] <= time:
            self._ended(heappop(self._ends)[1])

    def _over(self) -> list[Happening]:
        if self._now is None:
            return []
        told: list[Happening] = []
        for pattern, piece, guard, own in self._forbidden:
            told += self._broken_by(pattern, piece, guard, own)
        told += self._join_again()
        told += self._decided()
        told += self._excluded()
        for number in [live.id for live in self.pool.broken()]:
            self.pool.remove(number)
        self._forbidden.clear()
        self._found.clear()
        self._told.clear()
        self._now = None
        return told

    def _join_again(self) -> Iterator[Happening]:
        """What was found in this time, to threads that are new in it too, until there are no more."""
        while self._found:
            before = self.pool.next_id
            for pattern, stage, own in self._found:
                yield from self._joined(pattern, stage, own)
            if self.pool.next_id == before:
                return

    def _decided(self) -> Iterator[Happening]:
        owing, self._owing = list(self._owing), {}
        for number in owing:
            live = self.pool.live.get(number)
            if live is None:
                continue
            decided = truth(live.thread, self.edges, self._time)
            if decided is not None:
                self.pool.remove(number)
            if decided:
                yield from self._complete(live, live.thread, live.alternative)

    def _excluded(self) -> Iterator[Happening]:
        """Threads that another alternative has ended: those that began before it was complete."""
        choices, self._new_choices = self._new_choices, []
        for pattern, alternative, match in choices:
            shared = self.patterns[pattern].program.shared
            assert shared is not None
            for live in self.pool.sharing(pattern, shared_values(match.binds, shared)):
                if live.alternative != alternative and live.thread.first < match.decided:
                    self.pool.remove(live.id)
                    yield Excluded(self.patterns[pattern].name, live.id, live.thread.binds, match)
        self._forget_choices()

    def _forget_choices(self) -> None:
        """Those that were made before every thread began: none can lose to them any more."""
        if self._choices < self._most_choices:
            return
        oldest: dict[int, int] = {}
        for live in self.pool.live.values():
            oldest[live.pattern] = min(oldest.get(live.pattern, live.thread.first), live.thread.first)
        for choice, made in list(self._chosen.items()):
            first = oldest.get(choice[0], self._time)
            self._chosen[choice] = [one for one in made if one[1].decided > first]
            if not self._chosen[choice]:
                del self._chosen[choice]
        self._choices = sum(len(made) for made in self._chosen.values())
        self._most_choices = max(64, 2 * self._choices)

    def _expired_by_time(self, time: int) -> Iterator[Happening]:
        while self._too_late and self._too_late[0][0] < time:
            _, number = heappop(self._too_late)
            if number in self.pool.live and self.pool.live[number].thread.slot != DONE:
                yield from self._expired(number)

    def _expired(self, number: int) -> Iterator[Happening]:
        live = self.pool.remove(number)
        if not live.met:
            name = self.patterns[live.pattern].name
            elapsed = self.tick - live.thread.created
            yield Expired(name, number, live.thread.binds, live.stage, elapsed)

    # Ticks.

    def end_tick(self) -> tuple[TickDelta, list[Happening]]:
        """The time that is not over is over; then threads past their deadline expire."""
        told = self.finish()
        self.tick += 1
        expired: list[Happening] = []
        while self._deadlines and self._deadlines[0][0] < self.tick:
            _, number = heappop(self._deadlines)
            if number in self.pool.live:
                expired += self._expired(number)
        self._noted(expired)
        changed = {kind: tuple(self._delta[kind]) for kind in _KINDS}
        delta = TickDelta(self.tick, **changed, active=self.active)
        self._delta.clear()
        return delta, [*told, *expired]

    def drain_completed(self) -> list[GraphMatch]:
        done, self.done = self.done, []
        return done

    def _noted(self, told: list[Happening]) -> list[Happening]:
        for happening in told:
            self._delta[type(happening).__name__.lower()].append(happening.pattern)
        return told

    # From outside.

    def kill(self, entity: Any) -> list[Live]:
        """Ends the threads that have bound an entity; the answer is those."""
        key = key_of(entity)
        mine = [x for x in self.pool.live.values() if any(key_of(v) == key for v in x.thread.binds.values())]
        return [self.pool.remove(live.id) for live in mine]

    def threads(self, pattern: str | None = None) -> list[Live]:
        """Those that may still become matches, oldest first."""
        return [
            live
            for live in self.pool.live.values()
            if not live.watching.broken and pattern in (None, self.patterns[live.pattern].name)
        ]


_KINDS = ("advanced", "completed", "negated", "expired", "excluded")


def _ended_by(
    rivals: Sequence[tuple[int, GraphMatch]], alternative: int, first: int, now: int
) -> GraphMatch | None:
    """A match of another alternative, certain before now, but after a thread has begun."""
    for other, match in rivals:
        if other != alternative and first < match.decided < now:
            return match
    return None
