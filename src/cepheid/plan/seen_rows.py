"""Which events of the input a plan has to see: those that pass a test of one event, those of some types, or all."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.pattern.model import Arrow
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class SeenRows:
    """Beside those that pass a test."""

    types: frozenset[str] = frozenset()  # every event of these counts, whatever it passes
    all: bool = False


def seen_rows(plan: Plan, type_column: str) -> SeenRows:
    """Fewer than all also for some plans that look at every event of their partition (`Plan.sees_all_events`)."""
    if not plan.sees_all_events:
        return SeenRows(plan.closing_types)
    if plan.forecast is not None:
        return SeenRows(all=True)
    by_type = Field(None, (type_column,))
    if by_type in plan.key:  # a key is of one type: where the pattern does not name it, nothing is found
        return SeenRows(frozenset(plan.event_types))
    ending = _ending_types(plan, by_type)
    return SeenRows(all=True) if ending is None else SeenRows(plan.closing_types | ending)


def _ending_types(plan: Plan, by_type: Field) -> frozenset[str] | None:
    """The types that `until` waits for, if that is all that every event is looked at for; None: it is not."""
    automaton = plan.automaton
    if any(e.arrow is Arrow.NEXT for e in automaton.edges) or any(a.node.next for a in automaton.absences):
        return None
    types = [_type_asked_for(c.until, by_type) for c in automaton.closures if c.until is not None]
    return None if None in types else frozenset(t for t in types if t is not None)


def _type_asked_for(until: Expr, by_type: Field) -> str | None:
    """That of `type == "Login"`."""
    if isinstance(until, Binary) and until.op == "==" and until.left == by_type:
        right = until.right
        return right.value if isinstance(right, Literal) and isinstance(right.value, str) else None
    return None
