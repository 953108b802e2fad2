"""What the rest of a pattern can still see of a partial trend: trends that look the same from here on are one class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheid.pattern.expr import Aggregate, Element, Expr, Field, Length, Literal, Opaque, aliases_in, walk
from cepheid.pattern.model import Arrow
from cepheid.plan.automaton import Automaton
from cepheid.plan.plan import Plan

BOUND, LENGTH, FIRST, LAST, WHOLE = "bound", "length", "first", "last", "whole"
Uses = Mapping[str, frozenset[str]]  # of each name: which of its sides are looked at


def repeated_names(automaton: Automaton) -> frozenset[str]:
    return frozenset(p.step.alias for p in automaton.positions if p.repeated and p.step.alias is not None)


def uses_of(exprs: Iterable[Expr], repeated: frozenset[str]) -> dict[str, frozenset[str]]:
    """How expressions look at each name."""
    found: dict[str, frozenset[str]] = {}
    for expr in exprs:
        for node in walk(expr):
            side = _side(node)
            if side is None:
                continue
            for name in node.aliases if isinstance(node, Opaque) else aliases_in(node):
                # Of a single event all sides are the event itself.
                own = side if name in repeated else LAST
                found[name] = found.get(name, frozenset()) | {own}
    return found


def _side(node: Expr) -> str | None:
    match node:
        case Field(alias=alias) if alias is not None:
            return LAST
        case Length():
            return LENGTH
        case Element(from_end=True):
            return LAST
        case Element(index=Literal(value=0)):
            return FIRST
        case Element() | Aggregate() | Opaque():
            return WHOLE
    return None


def uses_from(plan: Plan, state: int, groups: tuple[Expr, ...], repeated: frozenset[str]) -> Uses:
    """What of each name is still looked at after this state, by tests or by the columns of the answer."""
    automaton = plan.automaton
    edges = list(automaton.reachable(state))
    states = {state, *(e.target for e in edges)}
    exprs: list[Expr] = list(groups)
    for edge in edges:
        exprs += [*automaton.positions[edge.position].beta, *edge.tests]
        exprs += [b for a in edge.absences for b in automaton.absences[a].beta]
    for accept in automaton.accepts:
        if accept.state in states:
            exprs += [*accept.tests, *(b for a in accept.absences for b in automaton.absences[a].beta)]
    inside = frozenset(c for s in states for c in automaton.closures_of[s])
    exprs += [u for c in inside if (u := automaton.closures[c].until) is not None]
    exprs += [b for g in plan.guards for b in g.beta]
    found = uses_of(exprs, repeated)
    for guard in plan.guards:
        for name in (guard.guard.start, guard.guard.end):
            if name is not None:
                found[name] = found.get(name, frozenset()) | {BOUND}
    return found


def marks_matter(plan: Plan, state: int) -> bool:
    """Does a way on from this state look at the event taken just before?"""
    automaton = plan.automaton
    apart = any(e.component for e in automaton.edges)  # parts of an AND: one moves, the others' marks stay
    edges = list(automaton.reachable(state)) if apart else list(automaton.out[state])
    states = {state, *(e.target for e in edges)} if apart else {state}
    absences = [a for e in edges for a in e.absences]
    absences += [a for x in automaton.accepts if x.state in states for a in x.absences]
    return (
        any(e.arrow is Arrow.NEXT or e.gap is not None for e in edges)
        or any(automaton.scopes[s].from_previous for e in edges for s in e.opens)
        or any(
            automaton.absences[a].node.within is not None or automaton.absences[a].node.next for a in absences
        )
        or any(_names_itself(automaton, e.position) for e in edges)
    )


def _names_itself(automaton: Automaton, position: int) -> bool:
    """`all T[v > t.v] as t`: the first one is compared with the event before the closure."""
    own = automaton.positions[position]
    return own.repeated and any(own.step.alias in aliases_in(test) for test in own.beta)
