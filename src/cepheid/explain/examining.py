"""Why these events, each at its place, are not a match: the pattern is walked along them, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.explain.event_words import key_text, span_text
from cepheid.explain.failing import Rules, before_start, failures, ruled_out, too_few
from cepheid.explain.tested import Where, tested
from cepheid.matching.moment import Moment
from cepheid.matching.moves import Moves
from cepheid.matching.run import Run, Taken
from cepheid.pattern.event import Event
from cepheid.pattern.text import column_name
from cepheid.plan.automaton import START, Accept, Edge

Timeline = Sequence[Taken]  # the events of a partition, numbered as the matcher numbers them


@dataclass(frozen=True)
class Placed:
    """An event and the step it is to be."""

    position: int
    event: Event


def examine(
    rules: Rules,
    placed: Sequence[Placed],
    timeline: Timeline,
    keys: Sequence[tuple[Any, ...]],
    now: int | None = None,
) -> list[Cause]:
    """Everything that stands against it, in the order it is met; nothing: these events are a run that completes.

    `keys` are the partition keys of the events placed, as the pattern has them.
    """
    different = list(dict.fromkeys(keys))
    walk = _Walk(rules, rules.moves(different[0] if different else ()), timeline)
    if len(different) < 2:
        return list(walk.along(placed, now))
    # They do not meet, so nothing that happens between them in one partition counts.
    found = [
        c for c in walk.along(placed, now) if c.kind not in ("contiguity", "guard", "absence", "pending")
    ]
    return [_apart(rules, placed, keys), *found]


def _apart(rules: Rules, placed: Sequence[Placed], keys: Sequence[tuple[Any, ...]]) -> Cause:
    names = [column_name(e) for e in rules.plan.key]
    parts = [f"{rules.called(p.event)} has {key_text(names, k)}" for p, k in zip(placed, keys, strict=True)]
    shown = tuple(dict.fromkeys(key_text(names, k) for k in keys))
    differ = tuple(i for i in range(len(names)) if len({k[i] for k in keys}) > 1)
    text = f"the events are in different partitions: {', '.join(parts)}"
    return Cause("partition", text, event=placed[-1].event, names=shown, locus=("partition", differ))


class _Walk:
    def __init__(self, rules: Rules, moves: Moves, timeline: Timeline) -> None:
        self.rules, self.moves, self.timeline = rules, moves, timeline
        self.automaton = rules.plan.automaton
        self.taken_as = {id(t.event): t for t in timeline}

    def along(self, placed: Sequence[Placed], now: int | None) -> Iterator[Cause]:
        first = self.taken_as[id(placed[0].event)]
        run = Run(first.index, START, (), {}, {})
        for place in placed:
            taken = replace(self.taken_as[id(place.event)], position=place.position)
            edge, causes = self._edge(run, taken)
            if edge is None:
                yield self._out_of_order(run, taken, {p.position for p in placed})
                return
            yield from self._between(run, edge, taken)
            yield from causes
            run = self._forced(run, edge, taken)
        yield from self._completion(run, now)

    def _edge(self, run: Run, taken: Taken) -> tuple[Edge | None, list[Cause]]:
        """The way to this place against which the least stands."""
        best: tuple[Edge | None, list[Cause]] = (None, [])
        for edge in self.automaton.out[run.state]:
            if edge.position != taken.position:
                continue
            against = failures(self.rules, self.moves, run, edge, taken)
            against = [self._broken_by(c, run, edge, taken) for c in against]
            if best[0] is None or len(against) < len(best[1]):
                best = edge, against
        return best

    def _broken_by(self, cause: Cause, run: Run, edge: Edge, taken: Taken) -> Cause:
        """The event that stands between two that must be neighbours."""
        mark = run.mark(edge.component)
        if cause.kind != "contiguity" or mark is None:
            return cause
        between = [t.event for t in self.timeline if mark.index < t.index < taken.index]
        if not between:
            return cause
        by, one, two = (self.rules.called(e) for e in (between[0], mark.event, taken.event))
        text = f"{by} came between {one} and {two}, which must be neighbours"
        return replace(cause, text=text, by=between[0])

    def _forced(self, run: Run, edge: Edge, taken: Taken) -> Run:
        counts = {**dict.fromkeys(self.automaton.closures_of[edge.source], 0), **run.counts}
        return self.moves.extended(replace(run, counts=counts, blocked=frozenset()), edge, taken)

    def _between(self, run: Run, edge: Edge, taken: Taken) -> Iterator[Cause]:
        if run.state == START:
            earlier = [t.event for t in self.timeline if t.index < taken.index]
            yield from before_start(self.rules, self.moves, edge, taken, earlier)
            return
        for other in self._after(run.last.index, taken.index + 1):
            found = list(ruled_out(self.rules, self.moves, run, edge, edge.absences, other))
            found += self._stopped(run, edge, other)
            if found:
                yield found[0]
                return

    def _stopped(self, run: Run, edge: Edge, other: Taken) -> Iterator[Cause]:
        """`all B until p`: p came true before the closure took this event."""
        test = None if edge.loop is None else self.rules.tests.untils[edge.loop]
        if test is None or not test(Moment(other.event, run.binds, None, self.moves.key)):
            return
        name = self.rules.names.closures[edge.loop or 0]
        text = f"{name} is closed: its `until` came true with {self.rules.called(other.event)}"
        step = self.rules.names.positions[edge.position]
        yield Cause("closed", text, step, by=other.event, locus=("until", edge.loop))

    def _after(self, index: int, before: int | None = None) -> Iterator[Taken]:
        for taken in self.timeline:
            if taken.index > index and (before is None or taken.index < before):
                yield taken

    def _out_of_order(self, run: Run, taken: Taken, placed: set[int]) -> Cause:
        """Steps between are left out, or come only later."""
        wanted = {e.position for e in self.automaton.out[run.state] if e.loop is None}
        if not wanted & placed and run.taken:
            return missing(self.rules, run)
        step = self.rules.names.positions[taken.position]
        waits = [self.rules.names.positions[e.position] for e in self.automaton.out[run.state]]
        name = self.rules.called(taken.event)
        text = f"{name} came too early to be {step}: the run waits for {' or '.join(dict.fromkeys(waits)) or 'nothing'}"
        return Cause("order", text, step, taken.event, locus=("order", taken.position))

    # The end.

    def _completion(self, run: Run, now: int | None) -> Iterator[Cause]:
        accepts = self.automaton.accepting[run.state]
        if not accepts:
            yield missing(self.rules, run)
            return
        found = [list(self._accepted(run, a, now)) for a in accepts]
        yield from min(found, key=len)

    def _accepted(self, run: Run, accept: Accept, now: int | None) -> Iterator[Cause]:
        yield from too_few(self.rules, run, accept.leaves, None, None)
        for expr in accept.tests:
            moment = Moment(None, run.binds, None, self.moves.key)
            if found := tested(expr, moment, Where(keys=self.rules.plan.key_names)):
                kind = "condition" if found.value is False else "unknown"
                yield Cause(kind, f"the match does not hold: {found}", tested=found, locus=("where", expr))
        if accept.absences:
            yield from self._awaited(run, accept, now)

    def _awaited(self, run: Run, accept: Accept, now: int | None) -> Iterator[Cause]:
        deadline = self.moves.absence_deadline(run, accept)
        only_next = all(self.automaton.absences[a].node.next for a in accept.absences)
        for other in self._after(run.last.index):
            if deadline is not None and other.event.time > deadline:
                return
            found = list(ruled_out(self.rules, self.moves, run, None, accept.absences, other))
            if found:
                yield found[0]
                return
            if only_next or deadline is None:
                return  # `NOT next`: the next event has decided it
        reached = max([t.event.time for t in self.timeline] + ([now] if now is not None else []))
        if deadline is None or reached <= deadline:
            left = (
                "another event"
                if deadline is None
                else f"time has gone on for {span_text(deadline - reached)}"
            )
            text = f"the absence is not yet certain: it is when {left}"
            yield Cause("pending", text, bound=deadline, actual=reached, locus=("now",))


def missing(rules: Rules, run: Run) -> Cause:
    """A run that nothing came for any more."""
    edges = rules.plan.automaton.out[run.state]
    steps = list(dict.fromkeys(rules.names.positions[e.position] for e in edges if e.loop is None))
    types = tuple(dict.fromkeys(rules.plan.automaton.positions[e.position].step.type for e in edges))
    wanted = " or ".join(steps) or "more events"
    since = f" after {rules.called(run.last.event)}" if run.taken else ""
    text = f"no event for {wanted} came{since}"
    return Cause("missing", text, steps[0] if steps else None, names=types)
