"""What an edge does to threads: it ends them, begins them, advances them, and some of them are complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.graph.batch import GraphMatch, matched, truth
from cepheid.graph.choices import Choices
from cepheid.graph.edges import Edges
from cepheid.graph.finding import Found, completed, own_edges, stands
from cepheid.graph.happenings import Advanced, Completed, Happening, Negated
from cepheid.graph.journal import Journal
from cepheid.graph.pool import Live, Pool
from cepheid.graph.program import DONE
from cepheid.graph.threads import ReadyPattern, Thread
from cepheid.graph.watch_list import WatchList
from cepheid.graph.watching import NOTHING, Watching, watching_after


class Stepping:
    """The state of a sifter, and what one edge changes in it. Every change is noted in the journal."""

    def __init__(self, patterns: Sequence[ReadyPattern] | WatchList, completing_leaves: bool = False) -> None:
        self.watch = patterns if isinstance(patterns, WatchList) else WatchList(patterns)
        self.patterns = self.watch.patterns
        self.completing_leaves = completing_leaves
        self.journal = Journal()
        self.edges = Edges()
        self.pool = Pool(self.watch, self.journal)
        self.choices = Choices()
        self.disabled: set[int] = set()
        self.done: list[GraphMatch] = []  # until they are drained
        self._now: int | None = None  # the time that is not over
        self._found: list[tuple[int, int, Found]] = []  # in this time: patterns, stages
        self._forbidden: list[tuple[int, int, int, Found]] = []  # patterns, pieces, guards
        self._told: set[object] = set()  # matches of this time
        self._owing: dict[
            int, None
        ] = {}  # at their end: their relations may be decided when this time is over
        self._too_late: list[tuple[int, int]] = []  # by time: threads whose pattern has a `within`
        self._deadlines: list[tuple[int, int]] = []  # by tick

    @property
    def _time(self) -> int:
        assert self._now is not None
        return self._now

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
                self.journal.note(self._forbidden.pop)
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
                self.journal.note(self._found.pop)
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

    def _entered(self, live: Live, thread: Thread, number: int, watching: Watching) -> Iterator[Happening]:
        """A new thread, unless there is one like it."""
        ready = self.patterns[live.pattern]
        if self.pool.known(live.pattern, thread) or self.choices.lost(
            live.pattern, ready, thread, self._time
        ):
            return
        stage = ready.program.stages[number].name
        new = self.pool.born(live, thread, stage, watching)
        if ready.pattern.within is not None:
            self.journal.push(self._too_late, (thread.first + ready.pattern.within, new.id))
        self._has_deadline(ready, new)
        if not watching.broken:
            yield Advanced(ready.name, new.id, thread.binds, stage, live.id or None)

    def _has_deadline(self, ready: ReadyPattern, live: Live) -> None:
        if ready.pattern.deadline is not None:
            self.journal.push(self._deadlines, (live.thread.created + ready.pattern.deadline, live.id))

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
            self._has_deadline(ready, new)
            self._owes(new.id)
            yield Advanced(ready.name, new.id, thread.binds, stage, live.id or None)

    def _owes(self, number: int) -> None:
        """Its relations are looked at when this time is over."""
        if number not in self._owing:
            self._owing[number] = None
            self.journal.note(self._owing.pop, number)

    def _complete(self, live: Live, thread: Thread, alternative: int) -> Iterator[Happening]:
        ready = self.patterns[live.pattern]
        match = matched(ready, thread, self.edges)
        if match is None or (identity := match.identity()) in self._told:
            return
        if not self.choices.taken(live.pattern, ready, alternative, match, self.journal):
            return
        self._told.add(identity)
        self.journal.note(self._told.discard, identity)
        self.done.append(match)
        self.journal.note(self.done.pop)
        for number in (*live.ancestors, live.id):
            ancestor = self.pool.live.get(number)
            if ancestor is not None and not ancestor.met:
                self.pool.change(ancestor, met=True)
        if self.completing_leaves and live.id in self.pool.live:
            self.pool.remove(live.id)
        yield Completed(ready.name, live.id, match.binds, match)
