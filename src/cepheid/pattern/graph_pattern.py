"""Patterns over a temporal graph: stages of clauses about one node, in order of time, joined by variables.

In expressions a variable is a bare field whose name begins with `?`, and the target of an edge is the field `value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from cepheid.errors import Place
from cepheid.pattern.expr import Expr, Field, walk

VALUE = Field(None, ("value",))
UNLESS_NODE = "unless"  # the node of an `unless` that does not say of which it speaks


def variable(name: str) -> Field:
    """
    >>> variable("guest")
    Field(alias=None, path=('?guest',))
    """
    return Field(None, (f"?{name}",))


def variables_in(expr: Expr) -> frozenset[str]:
    """
    >>> from cepheid.pattern.expr import Binary
    >>> sorted(variables_in(Binary("<", variable("a"), variable("b"))))
    ['a', 'b']
    """
    fields = (node for node in walk(expr) if isinstance(node, Field) and node.alias is None)
    return frozenset(f.path[0][1:] for f in fields if f.path[0].startswith("?"))


@dataclass(frozen=True)
class GraphNode:
    """A part of a graph pattern; `place` never takes part in equality."""

    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Clause(GraphNode):
    """An edge from a variable's node with this label, whose target is bound, tested, or only there.

    Negated: there is no such edge at the time of the stage.
    """

    source: str
    label: str
    bind: str | None = None
    test: Expr | None = None
    negated: bool = False

    def variables(self) -> frozenset[str]:
        bound = frozenset() if self.bind is None else frozenset({self.bind})
        return bound | {self.source} | (frozenset() if self.test is None else variables_in(self.test))


@dataclass(frozen=True)
class Stage(GraphNode):
    """Clauses about one node, the value of `anchor`; `name` is what windows and relations call it."""

    name: str
    anchor: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Concurrent(GraphNode):
    """Stages in any order of time."""

    stages: tuple[Stage, ...]


class Window(Enum):
    BETWEEN = "between"  # after the time of one stage, before that of another
    AFTER = "after"  # after the time of a stage, until the block is complete
    WHOLE = "whole"  # from the first stage of the block to its last
    GLOBAL = "global"  # at any time before the block is complete


@dataclass(frozen=True)
class Unless(GraphNode):
    """No node satisfies these clauses in a window of time. Variables the pattern does not bind are of its own."""

    anchor: str
    clauses: tuple[Clause, ...]
    window: Window = Window.WHOLE
    start: str | None = None
    end: str | None = None


class Allen(Enum):
    BEFORE = "before"
    AFTER = "after"
    MEETS = "meets"
    MET_BY = "met_by"
    OVERLAPS = "overlaps"
    OVERLAPPED_BY = "overlapped_by"
    STARTS = "starts"
    STARTED_BY = "started_by"
    DURING = "during"
    CONTAINS = "contains"
    FINISHES = "finishes"
    FINISHED_BY = "finished_by"
    EQUALS = "equals"


@dataclass(frozen=True)
class Relation(GraphNode):
    """How the intervals of two stages lie; the gap bounds the one distance that the relation leaves free."""

    left: str
    kind: Allen
    right: str
    low: int | None = None  # microseconds, both ends included
    high: int | None = None


@dataclass(frozen=True)
class Let(GraphNode):
    """`let ?x = ...`: a variable computed from others, as soon as they are bound."""

    variable: str
    value: Expr


@dataclass(frozen=True)
class Body(GraphNode):
    """Stages, or a composition of such."""


@dataclass(frozen=True)
class Block(Body):
    parts: tuple[Stage | Concurrent, ...]
    unless: tuple[Unless, ...] = ()
    relations: tuple[Relation, ...] = ()
    lets: tuple[Let, ...] = ()
    where: tuple[Expr, ...] = ()

    def stages(self) -> Iterator[Stage]:
        for part in self.parts:
            yield from part.stages if isinstance(part, Concurrent) else (part,)


@dataclass(frozen=True)
class Then(Body):
    """One after the other. Variables that are not shared are each part's own."""

    parts: tuple[Body, ...]
    shared: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()  # of the parts: what stands before a variable of its own


@dataclass(frozen=True)
class Choice(Body):
    """One of them. Exclusive: one that completes ends the threads of the others with the same shared values."""

    parts: tuple[Body, ...]
    exclusive: bool = False
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Repeat(Body):
    """Rounds, one after the other, complete at each number of rounds from `least` on. Variables not shared are of a
    round: at the end they are those of the last."""

    part: Body
    least: int
    most: int | None
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GraphPattern(GraphNode):
    name: str
    body: Body
    deadline: int | None = None  # ticks
    within: int | None = None  # microseconds from the first stage to the last
    metadata: Mapping[str, object] = field(default_factory=dict)
    private: bool = False  # only there for others to be made of

    def __str__(self) -> str:
        from cepheid.pattern.graph_text import graph_text

        return graph_text(self)
