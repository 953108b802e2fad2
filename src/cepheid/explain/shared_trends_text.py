"""What an aggregate over trends has in common with those of other streams, and is worked out once."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.explain.words import Names
from cepheid.plan.event_tests import tests_of
from cepheid.plan.linear_trends import linear_trends
from cepheid.plan.linked_trends import linked_trends
from cepheid.plan.plan import Plan
from cepheid.plan.shared_closures import LinkedPattern, sharing_sets

_WHERE = "in files, tables, lists and Spark batches"


def shared_lines(plan: Plan, beside: Sequence[Plan]) -> list[str]:
    """`beside`: the plans of the program that the same functions aggregate over the same partitions, this one too."""
    linked = {p.name: pattern for p in beside if (pattern := _linked(p)) is not None}
    names = list(linked)
    for numbers in sharing_sets(list(linked.values())):
        own = [names[number] for number in numbers]
        if plan.name in own:
            return _searches(plan, {name: linked[name] for name in own})
    same = [p.name for p in beside if p.name != plan.name and _totals(p) == _totals(plan) is not None]
    return [f"shared with {', '.join(same)} {_WHERE}: all totals, which are of one pattern"] if same else []


def _linked(plan: Plan) -> LinkedPattern | None:
    linked = linked_trends(plan) if linear_trends(plan) is None else None
    return None if linked is None else LinkedPattern.of(linked, tuple(tests_of(plan)))


def _searches(plan: Plan, together: dict[str, LinkedPattern]) -> list[str]:
    names = Names(plan).positions
    others: dict[str, list[str]] = {}
    for name, pattern in together.items():
        steps = together[plan.name].common_steps(pattern)
        if name != plan.name and steps:
            others.setdefault(", ".join(dict.fromkeys(names[step] for step in steps)), []).append(name)
    return [
        f"shared with {', '.join(streams)} {_WHERE}: the search for the trends that an event at {steps} can follow"
        for steps, streams in others.items()
    ]


def _totals(plan: Plan) -> object:
    """Plans with the same differ in nothing but what they aggregate."""
    linear = linear_trends(plan)
    if linear is None or plan.trends is None:
        return None
    names = tuple(p.step.alias for p in plan.automaton.positions)
    return linear, tuple(tests_of(plan)), names, plan.trends.rows
