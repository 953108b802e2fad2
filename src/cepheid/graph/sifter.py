"""Patterns over edges that come one by one: each edge ends, begins and advances threads, in this order.

Edges come in the order of their starts. Those of one time may come in any order, and the answer is the same: what
depends on all of them is told when the time is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from cepheid.graph.batch import GraphMatch, matched, shared_values, truth
from cepheid.graph.edges import Edge, key_of
from cepheid.graph.happenings import Excluded, Expired, Happening, TickDelta
from cepheid.graph.pool import Live
from cepheid.graph.program import DONE
from cepheid.graph.stepping import Stepping
from cepheid.graph.threads import ReadyPattern
from cepheid.graph.watch_list import WatchList

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def as_a_whole(
    step: Callable[Concatenate[Sifter, _Given], _Answer],
) -> Callable[Concatenate[Sifter, _Given], _Answer]:
    """A step that fails, by a value of another type say, leaves nothing behind: all is as it was before it."""

    @wraps(step)
    def stepped(sifter: Sifter, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        sifter.journal.begin()
        try:
            return step(sifter, *args, **kwargs)
        except BaseException:
            sifter.journal.take_back()
            sifter.pool.in_order()
            raise

    return stepped


class Sifter(Stepping):
    """Patterns, a graph that grows, and the threads of matches that are not complete."""

    def __init__(self, patterns: Sequence[ReadyPattern] | WatchList, completing_leaves: bool = False) -> None:
        super().__init__(patterns, completing_leaves)
        self.tick = 0
        self.reached: int | None = None  # how far time has come
        self._ends: list[tuple[int, int]] = []  # by time: edges whose end is known before
        self._delta: defaultdict[str, list[str]] = defaultdict(list)

    @property
    def active(self) -> int:
        """Threads that may still become matches."""
        return len(self.pool) - len(self.pool.broken())

    # Edges.

    @as_a_whole
    def add(self, edge: Edge) -> list[Happening]:
        """An edge that is new, or one that is known and ends."""
        known = self.edges.number(edge)
        told = self._until(edge.start)
        if known is not None:
            if edge.end is not None:
                self._closed(known, edge.end)
            return self._noted(told)
        newest = self.edges.newest()
        timed = Edge(edge.source, edge.label, edge.target, edge.start, edge.end, self.tick, self.tick)
        number, _ = self.edges.add(timed)
        self.journal.note(self.edges.forget_last, newest)
        if edge.end is not None and edge.end > self._time:
            self.journal.push(self._ends, (edge.end, number))  # known before its time
        told += self._came(number)
        return self._noted(told)

    @as_a_whole
    def close(self, number: int, end: int) -> list[Happening]:
        """An edge that was open ends."""
        told = self._until(end)
        self._closed(number, end)
        return self._noted(told)

    def _closed(self, number: int, end: int) -> None:
        before = self.edges[number]
        if not self.edges.close(number, end, self.tick):
            return
        self.journal.note(self.edges.all.__setitem__, number, before)
        if end > self._time:
            self.journal.push(self._ends, (end, number))
        self._ended(number)

    def _ended(self, number: int) -> None:
        for thread in self.pool.owing_to(number):
            self._owes(thread)

    # Time.

    @as_a_whole
    def finish(self) -> list[Happening]:
        """No more edges of this time will come."""
        return self._noted(self._over())

    @as_a_whole
    def advance(self, time: int) -> list[Happening]:
        """No more edges will come that start or end before a time: all before it is over, and it has not begun."""
        told = self._passed(time)
        self._reach(time)
        return self._noted(told)

    @as_a_whole
    def finish_all(self) -> list[Happening]:
        """No more edges will come at all: ends that are known before their time are reached."""
        told = self._over()
        while self._ends:
            told += self._until(self._ends[0][0])
            told += self._over()
        return self._noted(told)

    def _passed(self, time: int) -> list[Happening]:
        """The time that is not over is over, and so are all times before this at which an edge ends."""
        told: list[Happening] = []
        if self._now is not None and time > self._now:
            told = self._over()
        while self._now is None and self._ends and self._ends[0][0] < time:
            self._begin(self._ends[0][0])
            told += self._over()
        if self._now is None:
            self._expire_by_time(time, told)
        return told

    def _until(self, time: int) -> list[Happening]:
        """The same, and this time has begun."""
        told = self._passed(time)
        if self._now is None:
            self._begin(time)
        return told

    def _begin(self, time: int) -> None:
        self.journal.put(self, "_now", time)
        self._reach(time)
        while self._ends and self._ends[0][0] <= time:
            self._ended(self.journal.pop(self._ends)[1])

    def _reach(self, time: int) -> None:
        if self.reached is None or time > self.reached:
            self.journal.put(self, "reached", time)

    @as_a_whole
    def come_as_far_as(self, other: Sifter) -> list[Happening]:
        """As far in time as another that has the same edges."""
        if other.reached is None:
            return []
        if other._now is not None:
            return self._noted(self._until(other._now))
        if other._ends and other._ends[0][0] <= other.reached:  # that time has not begun
            return self._noted(self._passed(other.reached))
        return self._noted([*self._until(other.reached), *self._over()])

    def next_moment(self) -> int | None:
        """When time has passed this, there is something to tell without an edge."""
        first = [heap[0][0] for heap in (self._ends, self._too_late) if heap]
        return min(first if self._now is None else [self._now, *first], default=None)

    def _over(self) -> list[Happening]:
        if self._now is None:
            return []
        told: list[Happening] = []
        self._forbid_again(told)
        while self._join_again(told):
            self._forbid_again(told)
        self._decide(told)
        self._exclude(told)
        for number in list(self.pool.broken()):
            self.pool.remove(number)
        for name in ("_forbidden", "_found"):
            if getattr(self, name):
                self.journal.put(self, name, [])
        if self._told:
            self.journal.put(self, "_told", set())
        self.journal.put(self, "_now", None)
        return told

    def _forbid_again(self, told: list[Happening]) -> None:
        """What must not be and is known only now, to threads that are new in this time too."""
        for pattern, piece, guard, own in self._forbidden:
            self._break_all(pattern, piece, guard, own, told)

    def _join_again(self, told: list[Happening]) -> bool:
        """What was found in this time, to threads that are new in it too. Are there any more?"""
        before = self.pool.next_id
        for pattern, stage, own in self._found:
            self._join(pattern, stage, own, told)
        return self.pool.next_id > before

    def _decide(self, told: list[Happening]) -> None:
        if not self._owing:
            return
        owing = list(self._owing)
        self.journal.put(self, "_owing", {})
        for number in owing:
            live = self.pool.live.get(number)
            if live is None:
                continue
            decided = truth(live.thread, self.edges, self._time)
            if decided is not None:
                self.pool.remove(number)
            if decided:
                self._complete(live, live.thread, live.alternative, told)

    def _exclude(self, told: list[Happening]) -> None:
        """Threads that another alternative has ended: those that began before it was complete."""
        new = self.choices.new
        if new:
            self.journal.put(self.choices, "new", [])
        for pattern, alternative, match in new:
            shared = self.patterns[pattern].program.shared
            assert shared is not None
            for live in self.pool.sharing(pattern, shared_values(match.binds, shared)):
                if live.alternative != alternative and live.thread.first < match.decided:
                    self.pool.remove(live.id)
                    told.append(Excluded(self.patterns[pattern].name, live.id, live.thread.binds, match))
        self.choices.forget_old(self.pool.live.values(), self._time, self.journal)

    def _expire_by_time(self, time: int, told: list[Happening]) -> None:
        while self._too_late and self._too_late[0][0] < time:
            _, number = self.journal.pop(self._too_late)
            if number in self.pool.live and self.pool.live[number].thread.slot != DONE:
                self._expire(number, told)

    def _expire(self, number: int, told: list[Happening]) -> None:
        live = self.pool.remove(number)
        if not live.met:
            name = self.patterns[live.pattern].name
            elapsed = self.tick - live.thread.created
            told.append(Expired(name, number, live.thread.binds, live.stage, elapsed))

    # Ticks.

    @as_a_whole
    def end_tick(self) -> tuple[TickDelta, list[Happening]]:
        """The time that is not over is over; then threads past their deadline expire."""
        told = self._over()
        self.journal.put(self, "tick", self.tick + 1)
        self._expire_by_deadline(told)
        self._noted(told)
        changed = {kind: tuple(self._delta[kind]) for kind in _KINDS}
        delta = TickDelta(self.tick, **changed, active=self.active)
        self._delta.clear()
        return delta, told

    def _expire_by_deadline(self, told: list[Happening]) -> None:
        due: list[int] = []
        while self._deadlines and self._deadlines[0][0] < self.tick:
            due.append(self.journal.pop(self._deadlines)[1])
        late = []
        for number in due:
            live = self.pool.live.get(number)
            if live is not None and self._in_time(live):
                self._meets(live)
            elif live is not None:
                late.append(number)
        for number in late:
            self._expire(number, told)

    def _in_time(self, live: Live) -> bool:
        """Its last edge came in time, and by the ends that edges came with it is a match: their time has to come."""
        if live.thread.slot != DONE:
            return False
        return matched(self.patterns[live.pattern], live.thread, self.edges) is not None

    def drain_completed(self) -> list[GraphMatch]:
        done, self.done = self.done, []
        return done

    def _noted(self, told: list[Happening]) -> list[Happening]:
        """The last of a step: nothing fails after it."""
        for happening in told:
            self._delta[type(happening).__name__.lower()].append(happening.pattern)
        return told

    # From outside.

    def forget_tick(self) -> None:
        """What this tick has changed is not asked for."""
        self._delta.clear()

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
