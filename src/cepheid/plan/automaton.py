"""The automaton: states, and edges that take one event each. Plain data; `build.py` makes it, matchers run it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Absence, Arrow, Loop, Step

START = 0  # the state of a run that does not exist yet


@dataclass(frozen=True)
class Position:
    """A step of the pattern as the automaton sees it."""

    index: int
    step: Step
    alpha: tuple[Expr, ...]  # tests of the event alone
    beta: tuple[Expr, ...]  # tests that look at other events of the run
    repeated: bool  # the alias is a list


@dataclass(frozen=True)
class ClosureSpec:
    """Counted in every run: how often, how it goes on, when it stops."""

    index: int
    min: int
    max: int | None
    loop: Loop
    until: Expr | None
    trailing: bool = False


@dataclass(frozen=True)
class Scope:
    """A bound on the time of some events: since the scope's first event, or since the event before it."""

    index: int
    bound: int
    from_previous: bool


@dataclass(frozen=True)
class AbsenceSpec:
    """`NOT X` with its tests told apart."""

    index: int
    node: Absence
    alpha: tuple[Expr, ...]
    beta: tuple[Expr, ...]


# Which part of an AND an edge belongs to: () outside, then (and, operand) pairs, outermost first.
Component = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Edge:
    """One way to take an event. `base` is shared by its copies in the product states of an AND."""

    index: int
    base: int
    source: int
    target: int
    position: int
    arrow: Arrow
    component: Component = ()
    clears: Component | None = None  # entering an AND: what earlier rounds left in its parts is over
    loop: int | None = None  # the closure whose next round this begins
    enters: tuple[int, ...] = ()  # closures whose count starts at 1
    leaves: tuple[int, ...] = ()  # closures whose minimum must have been reached
    opens: tuple[int, ...] = ()  # scopes that begin with this event
    inside: tuple[int, ...] = ()  # scopes this event must respect
    gap: int | None = None  # at most so long after the event before
    absences: tuple[int, ...] = ()  # NOTs that guard this way
    tests: tuple[Expr, ...] = ()  # conditions on the whole pattern that are settled here


@dataclass(frozen=True)
class Accept:
    """A way to be complete in a state."""

    index: int
    state: int
    leaves: tuple[int, ...] = ()
    absences: tuple[int, ...] = ()  # trailing NOTs: complete only when their time has passed
    tests: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Automaton:
    states: int
    positions: tuple[Position, ...]
    closures: tuple[ClosureSpec, ...]
    scopes: tuple[Scope, ...]
    absences: tuple[AbsenceSpec, ...]
    edges: tuple[Edge, ...]
    accepts: tuple[Accept, ...]
    closures_of: tuple[frozenset[int], ...]  # per state: the closures a run in it is inside of

    @cached_property
    def out(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges by state, in the order of preference: later steps before earlier ones, loops last."""
        table: list[list[Edge]] = [[] for _ in range(self.states)]
        for edge in self.edges:
            table[edge.source].append(edge)
        return tuple(tuple(edges) for edges in table)

    @cached_property
    def accepting(self) -> tuple[tuple[Accept, ...], ...]:
        table: list[list[Accept]] = [[] for _ in range(self.states)]
        for accept in self.accepts:
            table[accept.state].append(accept)
        return tuple(tuple(accepts) for accepts in table)

    @cached_property
    def first_positions(self) -> frozenset[int]:
        """Those a run may begin with."""
        return frozenset(e.position for e in self.out[START])

    @cached_property
    def mixed_start(self) -> bool:
        """May one of the first positions follow another: operands of an AND, a step that may be left out?"""
        later = (e for e in self.edges if e.source != START and e.loop is None)
        return any(e.position in self.first_positions for e in later)

    def reachable(self, state: int) -> Iterator[Edge]:
        """Every edge that can still be taken from a state."""
        seen, todo = {state}, [state]
        while todo:
            for edge in self.out[todo.pop()]:
                yield edge
                if edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)
