"""How an aggregate over trends is worked out, and what an event costs."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.explain.shared_trends_text import shared_lines
from cepheid.pattern.duration import duration_text
from cepheid.pattern.model import TrendRows
from cepheid.pattern.text import expr_text
from cepheid.plan.linear_trends import linear_trends, why_not_linear
from cepheid.plan.linked_trends import is_indexed, linked_trends
from cepheid.plan.plan import Plan
from cepheid.plan.trend_uses import marks_matter, repeated_names, uses_from

_ROWS = {
    TrendRows.CHANGE: "change (default): the running aggregate of the partition, whenever trends are complete",
    TrendRows.EACH: "each: the running aggregate of the partition, with every event the pattern reads",
    TrendRows.MOMENT: "moment: the aggregate of the trends that are complete at that moment alone",
    TrendRows.FINAL: "final: one row a partition, at the end of the input",
}


def trends_lines(plan: Plan, beside: Sequence[Plan] = ()) -> list[str]:
    """Nothing for a plan that lists its matches. `beside`: those that it may share work with."""
    if plan.trends is None:
        return []
    columns = [
        f"{c.name}: {c.function}({'.'.join(n for n in (c.alias, *c.path) if n)})" for c in plan.trends.columns
    ]
    lines = [", ".join(columns), f"rows: {_ROWS[plan.trends.rows]}"]
    if plan.trends.groups:
        lines.append("rows are told apart by " + ", ".join(expr_text(g) for g in plan.trends.groups))
    lines += [f"only rows with {expr_text(test)}" for test in plan.trends.having]
    return lines + _cost(plan) + shared_lines(plan, beside)


def _cost(plan: Plan) -> list[str]:
    linear = linear_trends(plan)
    if linear is not None and linear.within is None:
        return [f"an event costs O(1): one total for each of {linear.states} states"]
    if linear is not None:
        window = duration_text(linear.within or 0)
        return [
            f"an event costs O(1), whatever the {window} of the window hold: "
            f"products of matrices of {linear.states} states"
        ]
    linked = linked_trends(plan)
    if linked is not None and is_indexed(linked):
        return [
            "an event costs O(√n): its predecessors are found by an index of the values it is compared with"
        ]
    return [
        f"an event costs O(open classes of partial trends): {why_not_linear(plan)}",
        f"classes are told apart by {', '.join(_told_apart(plan))}",
    ]


def _told_apart(plan: Plan) -> list[str]:
    assert plan.trends is not None
    states = range(1, plan.automaton.states)
    repeated = repeated_names(plan.automaton)
    found = ["the state"]
    if plan.pattern.within is not None:
        found.append("the time of the first event")
    if any(marks_matter(plan, state) for state in states):
        found.append("the last event (its predecessors)")
    names: dict[str, frozenset[str]] = {}
    for state in states:
        for name, sides in uses_from(plan, state, plan.trends.groups, repeated).items():
            names[name] = names.get(name, frozenset()) | sides
    shown = (name for name in names if not name.startswith("$"))
    found += [f"{name} ({' and '.join(sorted(names[name]))})" if name in repeated else name for name in shown]
    if any(c.min > 1 or c.max not in (None, 1) for c in plan.automaton.closures):
        found.append("counts of closures")
    return found
