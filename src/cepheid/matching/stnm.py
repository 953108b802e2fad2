"""Skip till next match: one way for every run, and each event serves at most one run's matches."""

from __future__ import annotations

from typing import Any

from cepheid.matching import lifecycle
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run, Taken
from cepheid.matching.snapshot import EventTable, read_taken, taken_row
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.plan.automaton import Edge


class NextMatchPartition(Partition):
    """Runs are offered an event by age; a completed match uses its events up.

    A run that holds a used event is put where it would be had the used events never been there: it is played
    again from its start, over the events it saw.
    """

    one_way = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.owner: dict[int, int] = {}  # index of a used event -> the start of the run that used it
        self.history: list[tuple[Seen, Taken]] = []  # since the oldest open run
        self.given: dict[int, set[str]] = {}  # what tells the matches each open run has already given out
        self.replayed: set[int] = set()  # starts that were played again, the present event included

    def _choose(self, edges: list[Edge]) -> list[Edge]:
        return edges[:1]

    def _advance(self, seen: Seen, taken: Taken) -> list[Run]:
        if seen.relevant:
            self.history.append((seen, taken))
        self.replayed.clear()
        for start in sorted({r.start for r in self.runs}):
            family = [r for r in self.runs if r.start == start]
            if not family or start in self.replayed:  # an older run's match has seen to it
                continue
            kept, done = self._offer_unless_used(family, seen, taken)
            self.runs = sorted([r for r in self.runs if r.start != start] + kept, key=lambda r: r.start)
            self._finish(done, taken.event.time)
        if taken.index not in self.owner:
            kept, done = self._start(seen, taken)
            self.runs += kept
            self._finish(done, taken.event.time)
        self._forget()
        return []

    def _offer_unless_used(self, family: list[Run], seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        if not self._used_by_other(family[0].start, taken):
            return self._offer(family, seen, taken)
        return [r for r in family if self.moves.can_go_on(r, taken.index) or self._held(r)], []

    def _used_by_other(self, start: int, taken: Taken) -> bool:
        return self.owner.get(taken.index, start) != start

    def _chosen(self, complete: list[Run]) -> list[Run]:
        """A match that would use another run's event is not given out, so it skips nothing either."""
        free = [r for r in complete if not any(self.owner.get(i, r.start) != r.start for i in r.indexes())]
        chosen = super()._chosen(free)
        for run in chosen:
            self.owner.update(dict.fromkeys(run.indexes(), run.start))
        return chosen

    def _in_turn(self, run: Run, complete: list[Run]) -> bool:
        """One start after another: the match of an older one may put the others elsewhere."""
        return not complete or run.start == complete[0].start

    def _finish(self, complete: list[Run], detected: int) -> None:
        if not complete:
            return
        for start in sorted({r.start for r in complete}):
            mine = [r for r in complete if r.start == start]
            if self._holds_used(mine):  # an older run that completes now used it
                self.runs = [r for r in self.runs if r.start != start]
                self._replay(start, mine[0], detected)
                continue
            fresh = [r for r in mine if self._fingerprint(r) not in self.given.get(start, set())]
            for run in self._given(fresh):
                self.given.setdefault(start, set()).add(self._fingerprint(run))
                self._emit(run, detected)
            self._put_back(start, detected)

    def _put_back(self, user: int, detected: int) -> None:
        """Every other run that holds a used event goes back to where it would be without it."""
        for start in sorted({r.start for r in self.runs} - {user}):
            family = [r for r in self.runs if r.start == start]
            if self._holds_used(family):
                self.runs = [r for r in self.runs if r.start != start]
                self._replay(start, family[0], detected)

    def _holds_used(self, family: list[Run]) -> bool:
        return any(self.owner.get(i, r.start) != r.start for r in family for i in r.indexes())

    def _replay(self, start: int, run: Run, detected: int) -> None:
        if start in self.owner and self.owner[start] != start:
            self._tell(lifecycle.Dropped, run, detected, reason="its first event was used")
            return
        self.replayed.add(start)
        others, self.runs = self.runs, []
        complete: list[Run] = []
        told = len(self.found.matches)
        with self._untold():  # it was told when it happened
            for seen, taken in [h for h in self.history if h[1].index >= start]:
                if taken.index == start:
                    self.runs, done = self._start(seen, taken)
                else:
                    self.runs, done = self._again(seen, taken)
                complete += done
        del self.found.matches[told:]  # provisional rows: one for each captured event, when it is captured
        self.runs = sorted(others + self.runs, key=lambda r: r.start)
        self._finish(complete, detected)

    def _again(self, seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        """One event of the past, for one run only."""
        alive = []
        for run in self.runs:
            left, _ = self.moves.violated(run, seen, taken)
            if left is not None:
                alive.append(self._until(left, taken))
        return self._offer_unless_used(alive, seen, taken) if alive else ([], [])

    def _forget(self) -> None:
        oldest = min((r.start for r in self.runs), default=self.index + 1)
        self.history = [h for h in self.history if h[1].index >= oldest]
        self.owner = {i: s for i, s in self.owner.items() if i >= oldest}
        open_starts = {r.start for r in self.runs}
        self.given = {s: ids for s, ids in self.given.items() if s in open_starts}

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        return {
            **super().extra_state(events),
            "owner": list(self.owner.items()),
            "history": [taken_row(t, events) for _, t in self.history],
            "given": [[start, sorted(ids)] for start, ids in self.given.items()],
        }

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        self.owner = dict(state["owner"])
        taken = [read_taken(row, events) for row in state["history"]]
        self.history = [(self.tests.look_at(t.event), t) for t in taken]
        self.given = {start: set(ids) for start, ids in state["given"]}
