"""Threads: how far a match has come. Immutable; a step makes a new one, and the old one stays where it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from cepheid.graph.checking import check_body, check_program
from cepheid.graph.clauses import Binds, merged, moment
from cepheid.graph.edges import Edges, key_of
from cepheid.graph.finding import Found, ReadyStage, ready_stage
from cepheid.graph.guards import Guard, guards_of
from cepheid.graph.program import DONE, GraphProgram, Move, flatten, variables_beside
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Test, Value
from cepheid.pattern.graph_pattern import Allen, GraphPattern, Relation, variables_in


class Hold(NamedTuple):
    """A stage that was found."""

    stage: int
    time: int
    edges: tuple[int, ...]  # of its own node


Owed = tuple[Relation, Hold, Hold]


class Thread(NamedTuple):
    """A tuple: they are made by the thousand."""

    slot: int  # that it waits for; DONE if it waits for nothing
    binds: dict[str, Any]
    holds: tuple[Hold | None, ...]  # by stage; of a loop those of this round
    counts: tuple[int, ...]  # rounds ended, by loop
    past: tuple[Hold, ...]  # of earlier rounds
    first: int  # the time of its first stage
    floor: int | None  # all that was found before this slot
    latest: int  # all that was found
    created: int  # the tick of its first stage
    tick: int  # of all that was found
    owed: tuple[Owed, ...] = ()  # relations that must still show to be true
    done: frozenset[int] = frozenset()  # stages of this slot

    def fingerprint(self, ends: bool = False) -> Any:
        """Two threads with the same say the same. `ends`: the edges matter, and not only when they start. So they do
        for stages in any order until all are found: no edge is part of two."""
        held: Any = self.holds
        past: Any = self.past
        if not ends:
            held = tuple([None if h is None else h.time for h in self.holds])
            if self.past:
                past = tuple((h.stage, h.time) for h in self.past)
            if self.done:
                held = (held, *(frozenset(h.edges) for s in self.done if (h := self.holds[s]) is not None))
        binds = tuple([(name, key_of(self.binds[name])) for name in sorted(self.binds)])
        return (self.slot, self.done, self.counts, held, past, binds)


class ReadyPattern:
    """A pattern made ready: all that batch and sifter ask of it."""

    def __init__(self, pattern: GraphPattern) -> None:
        self.pattern = pattern
        check_body(pattern.body)
        self.program: GraphProgram = flatten(pattern)
        check_program(self.program)
        self.stages: list[ReadyStage] = [
            replace(ready_stage(s.anchor, s.clauses), beside=variables_beside(self.program, number))
            for number, s in enumerate(self.program.stages)
        ]
        self.rules = [PieceRules(self.program, number) for number in range(len(self.program.pieces))]

        self.slot_of = {s: at for at, slot in enumerate(self.program.slots) for s in slot.stages}
        self._waiting = {s for s in range(len(self.stages)) if self._waits(s)}
        waiting = [slot for slot in self.program.slots if not self._waiting.isdisjoint(slot.stages)]
        self._remembered = {s for slot in waiting for s in slot.stages}

    def waits(self, stage: int) -> bool:
        """Is it known only when its time is over whether the stage is found, or what follows from it?"""
        return stage in self._waiting

    def remembered(self, stage: int) -> bool:
        """Is it asked for again when its time is over? So is one that stands beside another that waits."""
        return stage in self._remembered

    def _waits(self, stage: int) -> bool:
        rules = self.rules[self.program.slots[self.slot_of[stage]].piece]
        return self.stages[stage].waits or any(g.stage.waits and stage in g.ends for g in rules.guards)

    @cached_property
    def decides_at_once(self) -> bool:
        """Are all relations known as soon as the stages are?"""
        return not any(rules.waits for rules in self.rules)

    @property
    def name(self) -> str:
        return self.pattern.name

    @cached_property
    def labels(self) -> frozenset[str]:
        """Edges of other labels say nothing to it."""
        guards = [guard.stage for rules in self.rules for guard in rules.guards]
        return frozenset(
            clause.label for s in (*self.stages, *guards) for clause in (*s.own, *s.others, *s.absent)
        )

    @cached_property
    def ends_matter(self) -> bool:
        return any(piece.block.relations for piece in self.program.pieces)

    def begun_in(self, slot: int) -> tuple[Thread, ...]:
        """Those that may begin with a slot."""
        return self._begun.get(slot, ())

    @cached_property
    def _begun(self) -> dict[int, tuple[Thread, ...]]:
        begun = list(self.begin())
        return {thread.slot: tuple(t for t in begun if t.slot == thread.slot) for thread in begun}

    def begin(self) -> Iterator[Thread]:
        """A thread that has found nothing yet, for each way to begin."""
        nothing = (None,) * len(self.stages)
        counts = (0,) * len(self.program.loops)
        for move in self.program.begin:
            yield Thread(move.to, {}, nothing, counts, (), 0, None, 0, 0, 0)

    def wanted(self, thread: Thread) -> tuple[int, ...]:
        """The stages that a thread waits for."""
        if thread.slot == DONE:
            return ()
        return tuple(s for s in self.program.slots[thread.slot].stages if s not in thread.done)

    def advanced(self, thread: Thread, number: int, found: Found, edges: Edges) -> Thread | None:
        """The thread with a stage found; None if it cannot be. It stays in its slot, even if that is done."""
        if thread.floor is not None and found.time <= thread.floor:
            return None
        if self._taken(thread, found):
            return None
        binds = merged(thread.binds, found.binds)
        if binds is None:
            return None
        rules = self.rules[self.program.slots[thread.slot].piece]
        begins = thread.slot == rules.piece.first and not thread.done
        if not rules.computed_and_true(thread.binds, binds, begins):
            return None
        hold = Hold(number, found.time, found.own)
        holds = (*thread.holds[:number], hold, *thread.holds[number + 1 :])
        done = thread.done | {number}
        tick = max([edges.all[n].tick for n in found.edges])
        if thread.floor is None and not thread.done:
            first, latest, created = found.time, found.time, tick
        else:
            opening = (
                thread.floor is None
            )  # the order in which the stages of the first slot are found does not matter
            first = min(thread.first, found.time) if opening else thread.first
            created = min(thread.created, tick) if opening else thread.created
            latest, tick = max(thread.latest, found.time), max(thread.tick, tick)
        within = self.pattern.within
        if within is not None and latest - first > within:
            return None
        return Thread(
            thread.slot,
            binds,
            holds,
            thread.counts,
            thread.past,
            first,
            thread.floor,
            latest,
            created,
            tick,
            thread.owed,
            done,
        )

    def _taken(self, thread: Thread, found: Found) -> bool:
        """Does another stage of the slot hold one of the edges?"""
        if not thread.done:
            return False
        held = (thread.holds[s] for s in thread.done)
        return any(not set(found.own).isdisjoint(h.edges) for h in held if h is not None)

    def slot_done(self, thread: Thread) -> bool:
        return len(thread.done) == len(self.program.slots[thread.slot].stages)

    def block_done(self, thread: Thread) -> PieceRules | None:
        """What is asked when the last slot of a block is done."""
        rules = self.rules[self.program.slots[thread.slot].piece]
        return rules if self.slot_done(thread) and thread.slot == rules.piece.last else None

    def moved_on(self, thread: Thread) -> Iterator[Thread]:
        """From a slot that is done to all that may come after. Relations of a block that is done are owed."""
        rules = self.block_done(thread)
        if rules is not None and rules.relations:
            thread = thread._replace(owed=(*thread.owed, *rules.owed(thread)))
        for move in self.program.after[thread.slot]:
            moved = self._moved(thread, move)
            if moved is not None:
                yield moved

    def _moved(self, thread: Thread, move: Move) -> Thread | None:
        if not move.steps:
            return thread._replace(slot=move.to, floor=thread.latest, done=frozenset())
        counts, binds, holds, past = list(thread.counts), thread.binds, thread.holds, thread.past
        for step in move.steps:
            loop = self.program.loops[step.loop]
            rounds = counts[step.loop] + 1
            if step.again:
                if loop.most is not None and rounds >= loop.most:
                    return None
                counts[step.loop] = rounds
                binds = {name: value for name, value in binds.items() if name not in loop.cleared}
                own = [s for slot in loop.slots for s in self.program.slots[slot].stages]
                past = (*past, *sorted((h for s in own if (h := holds[s]) is not None), key=lambda h: h.time))
                holds = tuple(None if s in own else h for s, h in enumerate(holds))
            else:
                if rounds < loop.least:
                    return None
                counts[step.loop] = 0
        return Thread(
            move.to,
            binds,
            holds,
            tuple(counts),
            past,
            thread.first,
            thread.latest,
            thread.latest,
            thread.created,
            thread.tick,
            thread.owed,
        )


class PieceRules:
    """What a block asks beyond its stages."""

    def __init__(self, program: GraphProgram, number: int) -> None:
        self.piece = piece = program.pieces[number]
        self.lets: list[tuple[str, frozenset[str], Value]] = [
            (x.variable, variables_in(x.value), compile_value(x.value)) for x in piece.block.lets
        ]
        tests = [(variables_in(e), compile_test([e])) for e in piece.block.where]
        self.tests: list[tuple[frozenset[str], Test]] = [(n, t) for n, t in tests if t is not None]
        self.guards: list[Guard] = guards_of(program, number)
        self.relations = [
            (r, program.number(r.left, number), program.number(r.right, number))
            for r in piece.block.relations
        ]

    def owed(self, thread: Thread) -> Iterator[Owed]:
        for relation, left, right in self.relations:
            one, other = thread.holds[left], thread.holds[right]
            assert one is not None
            assert other is not None
            yield relation, one, other

    @property
    def waits(self) -> bool:
        """Is it known only when a time is over whether its relations hold? An interval may end just then."""
        return any(r.kind not in (Allen.BEFORE, Allen.AFTER) for r, _, _ in self.relations)

    def computed_and_true(self, before: Binds, binds: dict[str, Any], begins: bool) -> bool:
        """Adds what can be computed now; whether all tests hold that can be asked now and were not before.

        As the block begins none was: it may ask about variables of blocks before it alone.
        """
        for name, needs, value in self.lets:
            if name not in binds and needs <= binds.keys():
                binds[name] = value(moment(binds))
        return all(
            test(moment(binds))
            for needs, test in self.tests
            if needs <= binds.keys() and (begins or not needs <= before.keys())
        )
