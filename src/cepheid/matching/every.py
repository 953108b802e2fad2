"""`every (P)`: one run per partition, and again after each match."""

from __future__ import annotations

from typing import Any

from cepheid.matching import lifecycle
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run, Taken
from cepheid.matching.snapshot import EventTable, read_taken, taken_row
from cepheid.matching.tests import Seen
from cepheid.pattern.event import Event
from cepheid.pattern.model import Every
from cepheid.plan.automaton import START, Edge

Held = list[tuple[Seen, Taken]]


class EveryPartition(Partition):
    """Holds the events of the first step; once a later step is reached, an ordinary run."""

    one_way = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.first_step: Held = []
        self.first_positions = self.plan.automaton.first_positions
        self.mixed_start = self.plan.automaton.mixed_start
        self.most = self._most_of_first_step()
        self.keep_first = self.plan.pattern.every is Every.FIRST
        self.violated_at = 0  # the last event that ended a run by an absence

    def _most_of_first_step(self) -> int | None:
        entered = {c for e in self.plan.automaton.out[START] for c in e.enters}
        limits = [self.plan.automaton.closures[c].max for c in entered]
        return 1 if not limits else None if None in limits else max(m for m in limits if m is not None)

    def _choose(self, edges: list[Edge]) -> list[Edge]:
        return edges[:1]

    def _advance(self, seen: Seen, taken: Taken) -> list[Run]:
        if self._only_first_step():
            return self._from_first_step(seen, taken)
        kept, done = self._offer(self.runs, seen, taken)
        self.runs = kept
        return done

    def _only_first_step(self) -> bool:
        return self._in_first_step(self.runs) == self.runs

    def _from_first_step(self, seen: Seen, taken: Taken) -> list[Run]:
        """On to the second step if the event fits it, else a newer start."""
        onward, done = self._offer_onward(seen, taken)
        if onward or done:
            self.runs, self.first_step = onward, []
            return done
        return self._newer_start(seen, taken)

    def _offer_onward(self, seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        kept: list[Run] = []
        done: list[Run] = []
        for run in self.runs:
            ways = self.moves.fitting(run, seen, taken)
            ways = [e for e in ways if self._leaves_first_step(run, e)][:1]
            if ways:
                moved: list[Run] = []
                self._move(run, ways, seen, taken, moved, done)
                kept += [r for r in moved if r.last is not run.last]  # nothing stays in the first step
        return kept, done

    def _leaves_first_step(self, run: Run, edge: Edge) -> bool:
        if edge.position not in self.first_positions:
            return True
        return self.mixed_start and edge.position != run.taken[0].position

    def _newer_start(self, seen: Seen, taken: Taken) -> list[Run]:
        full = self.most is not None and len(self.first_step) >= self.most
        if self.runs and self.keep_first and full:
            return self._unmoved(taken)
        held = [*self.first_step, (seen, taken)]
        if self.most is not None and not self.keep_first:
            held = held[-self.most :]
        while held and held[-1][1] is taken:
            runs, done = self._built(held)
            if runs or done:
                self._tell_replaced(runs, taken)
                self.first_step, self.runs = held, runs
                return done
            if self.runs and self.keep_first:  # it does not fit what is held, and that stays
                break
            held = held[1:]
        return self._unmoved(taken)

    def _unmoved(self, taken: Taken) -> list[Run]:
        self.runs = [r for r in self.runs if self.moves.can_go_on(r, taken.index) or self._held(r)]
        return []

    def _built(self, held: Held) -> tuple[list[Run], list[Run]]:
        """The run that took exactly these events, or nothing if it cannot have."""
        with self._untold():  # it is told once, as a whole
            runs, done = self._start(*held[0])
            for seen, taken in held[1:]:
                runs, done = self._offer_within(runs, seen, taken)
        runs, done = self._in_first_step(runs), self._in_first_step(done)
        whole = [r for r in [*runs, *done] if len(r.taken) == len(held)]
        return (runs, done) if whole else ([], [])

    def _offer_within(self, family: list[Run], seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        """No event that is held could lead on to the second step when it came."""
        kept: list[Run] = []
        done: list[Run] = []
        for run in family:
            ways = [e for e in self.moves.fitting(run, seen, taken) if not self._leaves_first_step(run, e)]
            self._move(run, ways[:1], seen, taken, kept, done)
        return kept, done

    def _in_first_step(self, runs: list[Run]) -> list[Run]:
        """Of an AND, and after a step that may be left out, a second event of another position is beyond it."""
        inside = [r for r in runs if all(t.position in self.first_positions for t in r.taken)]
        if not self.mixed_start:
            return inside
        return [r for r in inside if len({t.position for t in r.taken}) == 1]

    def _tell_replaced(self, runs: list[Run], taken: Taken) -> None:
        if self.runs and self.most == 1:
            self._tell(
                lifecycle.Dropped, self.runs[0], taken.event.time, reason="a newer start took its place"
            )
        if runs:
            self._tell(lifecycle.Started, runs[-1], taken.event.time, event=taken.event)

    def _finish(self, complete: list[Run], detected: int) -> None:
        super()._finish(complete, detected)
        if complete:
            self.runs, self.first_step = [], []

    def _pass(self, deadline: int) -> None:
        """When the window of a counted first step ends, only its oldest events go."""
        later = self.first_step[1:]
        only_first = self._only_first_step()
        super()._pass(deadline)
        if not self.runs and only_first and later and self.most != 1:
            self.first_step, self.runs = [], []
            while later:
                runs, _ = self._built(later)
                if runs:
                    self.first_step, self.runs = later, runs
                    return
                later = later[1:]

    def _check_absences(self, seen: Seen, taken: Taken) -> None:
        before = bool(self.runs)
        super()._check_absences(seen, taken)
        if before and not self.runs:
            self.first_step = []
            self.violated_at = taken.index

    def _start(self, seen: Seen, taken: Taken) -> tuple[list[Run], list[Run]]:
        if taken.index == self.violated_at:  # it starts again with the next event
            return [], []
        return super()._start(seen, taken)

    def extra_state(self, events: EventTable) -> dict[str, Any]:
        held = [taken_row(t, events) for _, t in self.first_step]
        return {**super().extra_state(events), "first_step": held, "violated_at": self.violated_at}

    def restore_extra(self, state: dict[str, Any], events: list[Event]) -> None:
        super().restore_extra(state, events)
        taken = [read_taken(row, events) for row in state["first_step"]]
        self.first_step = [(self.tests.look_at(t.event), t) for t in taken]
        self.violated_at = state["violated_at"]
