"""One stage in a graph: edges for its clauses, all about one node.

The time of a stage is when the last edge of its node starts; what it says of other nodes must hold at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cepheid.graph.clauses import Binds, ReadyClause, bound_to, candidates, exists, merged, ready
from cepheid.graph.edges import Edges
from cepheid.pattern.graph_pattern import Clause


@dataclass(frozen=True)
class ReadyStage:
    """Clauses by what they are about: `own` of its node, `others` of other nodes, `absent` negated ones of both."""

    anchor: str
    own: tuple[ReadyClause, ...]
    others: tuple[ReadyClause, ...]
    absent: tuple[ReadyClause, ...]
    beside: frozenset[str] = frozenset()  # variables that only stages in any order with it bind

    @cached_property
    def waits(self) -> bool:
        """Is it known only when its time is over? An edge may end, or one that must not be there may still come."""
        return bool(self.others or self.absent)

    @cached_property
    def is_alone(self) -> bool:
        """Is everything said of it by the edges of its own node?"""
        return not self.others and all(clause.late is None for clause in self.own)

    @cached_property
    def finds(self) -> frozenset[str]:
        """The variables that its own edges bind."""
        return frozenset({self.anchor} | {c.bind for c in self.own if c.bind is not None})

    @property
    def positive(self) -> tuple[ReadyClause, ...]:
        return (*self.own, *self.others)


def ready_stage(anchor: str, clauses: Sequence[Clause]) -> ReadyStage:
    made = [ready(clause) for clause in clauses]
    return ReadyStage(
        anchor,
        tuple(c for c in made if not c.clause.negated and c.source == anchor),
        tuple(c for c in made if not c.clause.negated and c.source != anchor),
        tuple(c for c in made if c.clause.negated),
    )


@dataclass(frozen=True)
class Found:
    """A stage as it was found."""

    binds: dict[str, Any]
    time: int
    own: tuple[int, ...]  # edges of its node, by clause
    others: tuple[int, ...]

    @property
    def edges(self) -> tuple[int, ...]:
        return (*self.own, *self.others)


def find(stage: ReadyStage, edges: Edges, binds: Binds, after: int | None = None) -> Iterator[Found]:
    """Every way to find it with these variables, later than a time. Whether it stands is not looked at."""
    for own in own_edges(stage, edges, binds):
        if after is None or own.time > after:
            yield from completed(stage, own, edges, binds)


def own_edges(stage: ReadyStage, edges: Edges, binds: Binds, number: int | None = None) -> Iterator[Found]:
    """Ways to find the edges of its own node, which is all that can be said of it alone; with a certain one in them."""
    if number is None:
        for bound, own in _assigned(stage.own, edges, binds, {}):
            yield _own(stage, edges, bound, own)
        return
    lone = _lone(stage, edges, number) if not binds else None
    if lone is not None:
        yield from _if_it_fits(stage, edges, lone)
        return
    seen = set()
    for place, clause in enumerate(stage.own):
        edge = edges[number]
        bound_here = bound_to(clause, edge, binds) if clause.fits(edge) else None
        if bound_here is None:
            continue
        for bound, own in _assigned(stage.own, edges, bound_here, {place: number}):
            found = _own(stage, edges, bound, own)
            if found.own not in seen:
                seen.add(found.own)
                yield found


def _lone(stage: ReadyStage, edges: Edges, number: int) -> tuple[int, ...] | None:
    """Most nodes have one edge of each label: then there is one way at most, and this is it."""
    source, found = edges[number].source, []
    for clause in stage.own:
        numbers = edges.leaving(source, clause.label)
        if len(numbers) != 1:
            return None
        found.append(numbers[0])
    return tuple(found) if number in found else None


def _if_it_fits(stage: ReadyStage, edges: Edges, lone: tuple[int, ...]) -> Iterator[Found]:
    binds: dict[str, Any] = {}
    for clause, number in zip(stage.own, lone, strict=True):
        edge = edges[number]
        bound = bound_to(clause, edge, binds) if clause.fits(edge) else None
        if bound is None or (clause.needs <= bound.keys() and not clause.passes(edge, bound)):
            return
        binds = bound
    yield Found(binds, max([edges[n].start for n in lone]), lone, ())


def _own(stage: ReadyStage, edges: Edges, bound: Binds, own: dict[int, int]) -> Found:
    numbers = tuple(own[place] for place in range(len(stage.own)))
    return Found(dict(bound), max(edges[n].start for n in numbers), numbers, ())


def completed(stage: ReadyStage, own: Found, edges: Edges, binds: Binds) -> Iterator[Found]:
    """The same with other variables known, and edges for what is said of other nodes."""
    bound = merged(binds, own.binds)
    if bound is None:
        return
    for final, others in _assigned(stage.others, edges, bound, {}, own.time):
        numbers = tuple(others[place] for place in range(len(stage.others)))
        if _all_pass(stage.positive, (*own.own, *numbers), edges, final):
            yield Found(dict(final), own.time, own.own, numbers)


def _assigned(
    clauses: Sequence[ReadyClause],
    edges: Edges,
    binds: Binds,
    taken: dict[int, int],
    time: int | None = None,
) -> Iterator[tuple[Binds, dict[int, int]]]:
    """Edges for clauses by their places, the fewest candidates first; such that hold at a time, if one is given."""
    left = [place for place in range(len(clauses)) if place not in taken]
    if not left:
        yield binds, taken
        return
    numbers, place = _fewest(clauses, edges, binds, left)
    clause = clauses[place]
    for number in numbers:
        edge = edges[number]
        if (time is not None and not edge.holds_at(time)) or not clause.fits(edge):
            continue
        bound = bound_to(clause, edge, binds)
        if bound is None or (clause.needs <= bound.keys() and not clause.passes(edge, bound)):
            continue
        yield from _assigned(clauses, edges, bound, {**taken, place: number}, time)


def _fewest(
    clauses: Sequence[ReadyClause], edges: Edges, binds: Binds, left: Sequence[int]
) -> tuple[Sequence[int], int]:
    best, at = candidates(clauses[left[0]], edges, binds), left[0]
    for place in left[1:]:
        numbers = candidates(clauses[place], edges, binds)
        if len(numbers) < len(best):
            best, at = numbers, place
    return best, at


def _all_pass(clauses: Sequence[ReadyClause], taken: Sequence[int], edges: Edges, binds: Binds) -> bool:
    """Tests that had to wait for variables bound after them."""
    return all(c.passes(edges[n], binds) for c, n in zip(clauses, taken, strict=True) if c.late is not None)


def stands(stage: ReadyStage, found: Found, edges: Edges) -> bool:
    """Now that its time is over: do its edges hold at that time, and is what must be absent so?"""
    if not all(edges[n].holds_at(found.time) for n in found.others):
        return False
    known = found.binds
    if stage.absent and not stage.beside.isdisjoint(
        known
    ):  # the order in which they are found does not matter
        known = {name: value for name, value in known.items() if name not in stage.beside}
    return not any(exists(clause, edges, known, found.time) for clause in stage.absent)
