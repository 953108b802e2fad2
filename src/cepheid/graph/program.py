"""A graph pattern made flat: slots of stages, what may come after each, and the loops on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cepheid.errors import PatternMistake
from cepheid.graph.renaming import bound_by, bound_in, resolved
from cepheid.pattern.graph_pattern import (
    Block,
    Body,
    Choice,
    Concurrent,
    GraphPattern,
    Repeat,
    Stage,
    Then,
    variables_in,
)

DONE = -1


@dataclass(frozen=True)
class Step:
    """A round of a loop has ended: `again` begins the next, otherwise the loop is left."""

    loop: int
    again: bool


@dataclass(frozen=True)
class Move:
    """Where a thread may go, DONE or a slot, and what that means for the loops it is in."""

    to: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Loop:
    least: int
    most: int | None
    cleared: frozenset[str]  # variables of a round
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A block, and the slots it has become."""

    block: Block
    first: int
    last: int


@dataclass(frozen=True)
class Slot:
    stages: tuple[int, ...]  # by number; several of them come in any order
    piece: int
    alternative: int  # of an exclusive choice


@dataclass(frozen=True)
class GraphProgram:
    pattern: GraphPattern
    body: Body  # with names that are the same throughout
    stages: tuple[Stage, ...]
    slots: tuple[Slot, ...]
    begin: tuple[Move, ...]
    after: tuple[tuple[Move, ...], ...]  # by slot
    loops: tuple[Loop, ...]
    pieces: tuple[Piece, ...]
    shared: frozenset[str] | None  # of an exclusive choice; None if there is none
    bound: tuple[frozenset[str], ...]  # by slot: what surely has a value when it is waited for

    def number(self, stage: str, piece: int | None = None) -> int:
        """Of a stage by its name, which is that of one stage in its piece; other pieces may have such a stage too."""
        slots = self.slots if piece is None else [slot for slot in self.slots if slot.piece == piece]
        return next(s for slot in slots for s in slot.stages if self.stages[s].name == stage)


def flatten(pattern: GraphPattern) -> GraphProgram:
    building = _Building()
    body = resolved(pattern.body)
    exclusive = isinstance(body, Choice) and body.exclusive
    if exclusive:
        assert isinstance(body, Choice)
        entries = []
        for number, part in enumerate(body.parts):
            building.alternative = number
            entries.append(building.add(part, _done))
    else:
        entries = [building.add(body, _done)]
    begin = tuple(move for entry in entries for move in entry())
    after = tuple(tuple(exits()) for exits in building.exits)
    return GraphProgram(
        pattern=pattern,
        body=body,
        stages=tuple(building.stages),
        slots=tuple(building.slots),
        begin=begin,
        after=after,
        loops=tuple(building.loops),
        pieces=tuple(building.pieces),
        shared=body.shared if exclusive and isinstance(body, Choice) else None,
        bound=_surely_bound(building, begin, after),
    )


Exits = Callable[[], list[Move]]  # asked for when all is there: a loop leads back to what comes before


def _done() -> list[Move]:
    return [Move(DONE)]


@dataclass
class _Building:
    stages: list[Stage] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    exits: list[Exits] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    alternative: int = 0

    def add(self, body: Body, exits: Exits) -> Exits:
        """Adds a body that is left by these exits; the answer is the ways into it."""
        if isinstance(body, Block):
            return self._block(body, exits)
        if isinstance(body, Then):
            return self._then(body, exits)
        if isinstance(body, Repeat):
            return self._repeat(body, exits)
        assert isinstance(body, Choice)
        return self._choice(body, exits)

    def _block(self, block: Block, exits: Exits) -> Exits:
        first = len(self.slots)
        for i, part in enumerate(block.parts):
            numbers = tuple(
                self._stage(s) for s in (part.stages if isinstance(part, Concurrent) else (part,))
            )
            self.slots.append(Slot(numbers, len(self.pieces), self.alternative))
            self.exits.append(exits if i == len(block.parts) - 1 else _to(first + i + 1))
        self.pieces.append(Piece(block, first, len(self.slots) - 1))
        return _to(first)

    def _stage(self, stage: Stage) -> int:
        self.stages.append(stage)
        return len(self.stages) - 1

    def _then(self, body: Then, exits: Exits) -> Exits:
        for part in reversed(body.parts):
            exits = self.add(part, exits)
        return exits

    def _choice(self, body: Choice, exits: Exits) -> Exits:
        if body.exclusive:
            raise PatternMistake(
                "an exclusive choice can only be the whole of a pattern",
                code="inner_exclusive",
                place=body.place,
                hint="write each alternative out to its end, and choose between those; or take `|`",
            )
        entries = [self.add(part, exits) for part in body.parts]
        return lambda: [move for entry in entries for move in entry()]

    def _repeat(self, body: Repeat, exits: Exits) -> Exits:
        number, first = len(self.loops), len(self.slots)
        self.loops.append(Loop(body.least, body.most, frozenset(), ()))  # its place: inner loops come after

        def leave_or_go_on() -> list[Move]:
            leave = [Move(m.to, (Step(number, again=False), *m.steps)) for m in exits()]
            if body.most == 1:
                return leave
            return leave + [Move(m.to, (Step(number, again=True), *m.steps)) for m in entry()]

        entry = self.add(body.part, leave_or_go_on)
        cleared = bound_in(body.part) - body.shared
        self.loops[number] = Loop(body.least, body.most, cleared, tuple(range(first, len(self.slots))))
        return entry


def _to(slot: int) -> Exits:
    return lambda: [Move(slot)]


def _surely_bound(
    building: _Building, begin: tuple[Move, ...], after: tuple[tuple[Move, ...], ...]
) -> tuple[frozenset[str], ...]:
    """By slot what every way to it has bound: from everything down to what all agree on."""
    known: list[frozenset[str] | None] = [None] * len(building.slots)
    waiting: list[tuple[Move, frozenset[str]]] = [(move, frozenset()) for move in begin]
    while waiting:
        move, bound = waiting.pop()
        if move.to == DONE:
            continue
        for step in move.steps:
            if step.again:
                bound -= building.loops[step.loop].cleared
        before = known[move.to]
        now = bound if before is None else before & bound
        if now == before:
            continue
        known[move.to] = now
        slot = building.slots[move.to]
        own = frozenset[str]().union(*(bound_by(building.stages[s]) for s in slot.stages))
        left = now | own | computed(building.pieces[slot.piece].block, now | own)
        waiting += [(m, left) for m in after[move.to]]
    return tuple(k or frozenset() for k in known)


def variables_beside(program: GraphProgram, stage: int) -> frozenset[str]:
    """What only stages that come in any order with one bind: it does not see these."""
    number, slot = next((n, slot) for n, slot in enumerate(program.slots) if stage in slot.stages)
    others = (bound_by(program.stages[s]) for s in slot.stages if s != stage)
    return frozenset[str]().union(*others) - bound_by(program.stages[stage]) - program.bound[number]


def computed(block: Block, bound: frozenset[str]) -> frozenset[str]:
    """The variables of `let` that can be computed from others."""
    found: frozenset[str] = frozenset()
    for let in block.lets:
        if variables_in(let.value) <= bound | found:
            found |= {let.variable}
    return found
