"""What an edge does to threads: it ends them, begins them, advances them, and some of them are complete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepheid.graph.batch import GraphMatch, matched, truth
from cepheid.graph.choices import Choices
from cepheid.graph.clauses import Binds, merged
from cepheid.graph.edges import Edges
from cepheid.graph.finding import Found, ReadyStage, completed, own_edges, stands
from cepheid.graph.happenings import Advanced, Completed, Happening, Negated
from cepheid.graph.journal import Journal
from cepheid.graph.pool import Live, Pool
from cepheid.graph.program import DONE
from cepheid.graph.threads import ReadyPattern, Thread
from cepheid.graph.watch_list import Alike, WatchList
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
        self.tried = 0  # stages and guards that edges were tried with
        self.disabled: set[int] = set()
        self.done: list[GraphMatch] = []  # until they are drained
        self._now: int | None = None  # the time that is not over
        self._found: list[tuple[int, int, Found]] = []  # in this time: patterns, stages
        self._forbidden: list[tuple[int, int, int, Found]] = []  # patterns, pieces, guards
        self._told: set[object] = set()  # matches of this time
        self._owing: dict[int, None] = {}  # whose relations are looked at when this time is over
        self._too_late: list[tuple[int, int]] = []  # by time: threads whose pattern has a `within`
        self._deadlines: list[tuple[int, int]] = []  # by tick

    @property
    def _time(self) -> int:
        assert self._now is not None
        return self._now

    def _came(self, number: int) -> list[Happening]:
        """What must not be comes first. What is alike is looked for once, however many patterns ask for it."""
        edge = self.edges[number]
        told: list[Happening] = []
        for alike in self.watch.guards(edge, self.edges):
            self.tried += 1
            for own in own_edges(alike.stage, self.edges, {}, number):
                self._forbids(alike, own, told)
        for alike in self.watch.stages(edge, self.edges):
            self.tried += 1
            for own in own_edges(alike.stage, self.edges, {}, number):
                self._finds(alike, own, told)
        return told

    # What must not be.

    def _forbids(self, alike: Alike, own: Found, told: list[Happening]) -> None:
        for pattern, piece, guard in alike.apart:
            if pattern not in self.disabled:
                self._forbidden.append((pattern, piece, guard, own))
                self.journal.note(self._forbidden.pop)
        for group in alike.groups:
            for live, guard in self.pool.at(group.number, group.names, own.binds):
                self._break(live, guard, own, told)

    def _break_all(self, pattern: int, piece: int, guard: int, own: Found, told: list[Happening]) -> None:
        """Threads that look after a guard which is known only when its time is over."""
        group = self.watch.guard_groups[pattern][piece][guard]
        for live, _ in self.pool.at(group.number, group.names, own.binds):
            self._break(live, guard, own, told)

    def _break(self, live: Live, number: int, own: Found, told: list[Happening]) -> None:
        if live.watching.broken_at(number) is not None:
            return
        ready = self.patterns[live.pattern]
        guard = ready.rules[ready.program.slots[live.thread.slot].piece].guards[number]
        window = guard.window(live.thread)
        if window is None or (window[0] is not None and own.time <= window[0]):
            return
        by = guard.completed(own, live.thread, self.edges)
        if by is None:
            return
        if not live.watching.broken:
            told.append(Negated(ready.name, live.id, live.thread.binds, number, by.binds))
        broken = (*live.watching.broken, (number, own.time))
        self.pool.change(live, watching=replace(live.watching, broken=broken))

    # Begin and advance.

    def _finds(self, alike: Alike, own: Found, told: list[Happening]) -> None:
        groups = alike.groups
        waiting = [one for g in groups for one in self.pool.at(g.number, g.names, own.binds)]
        for pattern, stage in alike.apart:
            if pattern not in self.disabled:
                self._found.append((pattern, stage, own))
                self.journal.note(self._found.pop)
                if not self.patterns[pattern].waits(stage):
                    self._join(pattern, stage, own, told)
        for pattern, stage in alike.begins:
            if pattern not in self.disabled:
                self._start(pattern, stage, own, told)
        for live, stage in waiting:
            if live.id in self.pool.live:
                self._step(live, stage, own, told)

    def _join(self, pattern: int, stage: int, own: Found, told: list[Happening]) -> None:
        """A stage that others stand beside of which something is known only when the time is over."""
        group = self.watch.stage_groups[pattern][stage]
        waiting = self.pool.at(group.number, group.names, own.binds)
        self._start(pattern, stage, own, told)
        for live, _ in waiting:
            if live.id in self.pool.live:
                self._step(live, stage, own, told)

    def _start(self, pattern: int, stage: int, own: Found, told: list[Happening]) -> None:
        ready = self.patterns[pattern]
        for begun in ready.begun_in(ready.slot_of[stage]):
            self._step(Live(0, pattern, begun), stage, own, told)

    def _step(self, live: Live, number: int, own: Found, told: list[Happening]) -> None:
        ready = self.patterns[live.pattern]
        stage = ready.stages[number]
        for found in self._completed(stage, own, live.thread.binds):
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
                self._enter(live, thread, number, watching, told)
                continue
            for moved in ready.moved_on(thread):
                self._move(live, thread, moved, number, watching, told)

    def _completed(self, stage: ReadyStage, own: Found, binds: Binds) -> Iterable[Found]:
        """Most stages say nothing of other nodes or of variables of others: then all is found."""
        if not stage.is_alone:
            return completed(stage, own, self.edges, binds)
        bound = merged(binds, own.binds)
        return () if bound is None else (Found(bound, own.time, own.own, ()),)

    def _move(
        self,
        live: Live,
        thread: Thread,
        moved: Thread,
        number: int,
        watching: Watching,
        told: list[Happening],
    ) -> None:
        ready = self.patterns[live.pattern]
        if moved.slot == DONE:
            self._end(live, moved, number, thread.slot, told)
            return
        rules = ready.block_done(thread)
        if rules is not None:  # another block, or another round
            rules = ready.rules[ready.program.slots[moved.slot].piece]
            again = watching_after(NOTHING, rules, moved, self.edges, self._time)
            if again is None:
                return
            watching = again
        self._enter(live, moved, number, watching, told)

    def _enter(
        self, live: Live, thread: Thread, number: int, watching: Watching, told: list[Happening]
    ) -> None:
        """A new thread, unless there is one like it."""
        ready = self.patterns[live.pattern]
        fingerprint = self.pool.fingerprint(live.pattern, thread)
        if self.pool.knows(fingerprint):
            return
        if self.choices.lost(live.pattern, ready, thread, self._time):
            return
        stage = ready.program.stages[number].name
        new = self.pool.born(live, thread, stage, watching, fingerprint)
        if ready.pattern.within is not None:
            self.journal.push(self._too_late, (thread.first + ready.pattern.within, new.id))
        self._has_deadline(ready, new)
        if not watching.broken:
            told.append(Advanced(ready.name, new.id, thread.binds, stage, live.id or None))

    def _has_deadline(self, ready: ReadyPattern, live: Live) -> None:
        if ready.pattern.deadline is not None:
            self.journal.push(self._deadlines, (live.thread.created + ready.pattern.deadline, live.id))

    # Complete.

    def _end(self, live: Live, thread: Thread, number: int, slot: int, told: list[Happening]) -> None:
        ready = self.patterns[live.pattern]
        alternative = ready.program.slots[slot].alternative
        if not thread.owed:
            self._complete(live, thread, alternative, told)
            return
        decided = truth(thread, self.edges, self._time) if ready.decides_at_once else None
        if decided is True:
            self._complete(live, thread, alternative, told)
            return
        fingerprint = self.pool.fingerprint(live.pattern, thread)
        if decided is None and not self.pool.knows(fingerprint):
            stage = ready.program.stages[number].name
            new = self.pool.born(live, thread, stage, NOTHING, fingerprint, alternative)
            self._has_deadline(ready, new)
            self._owes(new.id)
            told.append(Advanced(ready.name, new.id, thread.binds, stage, live.id or None))

    def _owes(self, number: int) -> None:
        """Its relations are looked at when this time is over."""
        if number not in self._owing:
            self._owing[number] = None
            self.journal.note(self._owing.pop, number)

    def _meets(self, live: Live) -> None:
        """The deadline, and so do those it comes from: they go without a word."""
        for number in (*live.ancestors, live.id):
            ancestor = self.pool.live.get(number)
            if ancestor is not None and not ancestor.met:
                self.pool.change(ancestor, met=True)

    def _complete(self, live: Live, thread: Thread, alternative: int, told: list[Happening]) -> None:
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
        self._meets(live)
        if self.completing_leaves and live.id in self.pool.live:
            self.pool.remove(live.id)
        told.append(Completed(ready.name, live.id, match.binds, match))
