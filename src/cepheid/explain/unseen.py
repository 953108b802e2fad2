"""Fields a query asks for that no event had: hardly what was meant, so it is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepheid.errors import nearest
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Aggregate, Element, Expr, Field, walk
from cepheid.plan.plan import Plan


class FieldsSeen:
    """Remembers which types came and, where no schema is known beforehand, which fields they had."""

    def __init__(self, plans: Sequence[Plan], fields_known: bool) -> None:
        self.plans = plans
        self.fields_known = fields_known
        self.fields: dict[str, set[str]] = {}

    def look_at(self, events: Iterable[Event]) -> None:
        for event in events:
            names = self.fields.get(event.type)
            if names is None:
                names = self.fields[event.type] = set()
            if not self.fields_known:
                names.update(event.fields)

    def warnings(self) -> list[str]:
        """One sentence for each field that never came, and for each type that looks misspelt."""
        found: dict[str, None] = {}
        derived = {plan.name for plan in self.plans}
        for plan in self.plans:
            for kind in plan.event_types:
                # A type of which nothing came is ordinary; one that is nearly another's name is not.
                hint = nearest(kind, set(self.fields)) if kind not in {*self.fields, *derived} else None
                if hint is not None:
                    found[f"no event of type `{kind}` came: {hint}"] = None
            for kind, name in _asked(plan) if not self.fields_known else ():
                if kind in self.fields and name not in self.fields[kind]:
                    found[f"no event of type `{kind}` had the field `{name}`"] = None
        return list(found)


def _asked(plan: Plan) -> Iterable[tuple[str, str]]:
    types = {p.step.alias: p.step.type for p in plan.automaton.positions if p.step.alias}
    for position in plan.automaton.positions:
        for test in (*position.alpha, *position.beta):
            own = position.step.alias if position.repeated else None
            yield from _fields_of(test, position.step.type, types, own)
    for expr in plan.key:
        for kind in plan.event_types:
            yield from _fields_of(expr, kind, types, None)


def _fields_of(expr: Expr, kind: str, types: dict[str, str], own: str | None) -> Iterable[tuple[str, str]]:
    for node in walk(expr):
        if isinstance(node, (Field, Element, Aggregate)) and node.path and node.alias != own:
            yield (types.get(node.alias, kind) if node.alias else kind), node.path[0]
        elif isinstance(node, Field) and node.path and node.alias is None:
            yield kind, node.path[0]
